"""Bursts: flows that all begin at once, to one host or from it, beside those that are given.

A checkpoint that many hosts write to one storage server, or read from it. Not here: how a burst is written
(`eastwest.engine.events`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from eastwest.engine.events import Event, read_event
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.workload.flows import Flows
from eastwest.workload.flows import flows as plain


def with_bursts(given: Flows, events: Sequence[str], fabric: Fabric, seed: int = 0) -> Flows:
    """The flows given, and after them those of all bursts.

    The other ends are drawn by `seed`: each host once, then each a second time, and so on.

    Raises:
        InputError: an event cannot be read, or names no host.
    """
    hosts = fabric.nodes.filter(fabric.nodes["kind"] == "nic")["name"].to_list()
    for number, event in enumerate(map(read_event, events)):
        if event.what == "burst":
            given = _joined(given, _burst(event, hosts, np.random.default_rng((seed, number))))
    return given


def _burst(event: Event, hosts: Sequence[str], random: np.random.Generator) -> Flows:
    if event.a not in hosts:
        raise InputError(f"{event.text!r}: {event.a!r} is no host")
    here = hosts.index(event.a)
    others = np.delete(np.arange(len(hosts)), here)
    if not len(others):
        raise InputError(f"{event.text!r}: there is no other host")
    rounds = -(-event.flows // len(others))
    ends = np.concatenate([random.permutation(others) for _ in range(rounds)])[: event.flows]
    this = np.full(event.flows, here)
    source, destination = (this, ends) if event.outward else (ends, this)
    return plain(source, destination, event.size_bytes, event.at_s)


def _joined(first: Flows, second: Flows) -> Flows:
    columns = [field.name for field in fields(Flows) if field.name != "triggers"]
    both: dict[str, Any] = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in columns}
    return replace(first, **both)
