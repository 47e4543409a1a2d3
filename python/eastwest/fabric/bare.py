"""Fabrics of bare hosts and switches: what files of other simulators describe, which know no servers or parts.

A host is a NIC alone. Rates are bits per second, times seconds. Not here: how a file is read (`formats`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.cabling import turn
from eastwest.fabric.tables import CABLES, CAGES, LINKS, NODES, PORTS, Fabric, both_ways, numbered

Numbers = NDArray[np.int64]

LEAST_LOSS = 1e-9
"""Share of packets, and step, in which bit errors are counted."""

_PLACES = [column for column in NODES if column not in ("node", "name", "kind", "tier", "device", "index")]
"""Columns that say where a node stands: bare ones stand nowhere."""


@dataclass(frozen=True)
class Cabling:
    """Cables between two tiers: the nodes at both ends (lower first), one rate and latency for all.

    `latency_s` is that of the link and of the node that it enters; `back_s` that of the other way, from `b` to `a`,
    where it differs. `loss` is the share of packets that bit errors take, each way.
    """

    tiers: str
    a: Numbers
    b: Numbers
    rate_bps: float
    latency_s: float
    back_s: float | None = None
    loss: float = 0.0


def bare(
    name: str,
    hosts: int,
    tiers: Sequence[tuple[str, int]],
    cabling: Sequence[Cabling],
    numbers: Sequence[int] | None = None,
) -> Fabric:
    """A fabric of `hosts` hosts (nodes 0 to hosts - 1) and, after them, the switches of each tier (name, number).

    Nodes are called by their tier and their place in it, or by `numbers`, one a node.
    """
    a = np.concatenate([cables.a for cables in cabling])
    b = np.concatenate([cables.b for cables in cabling])
    sizes = [len(cables.a) for cables in cabling]
    rate_bps = np.repeat([cables.rate_bps for cables in cabling], sizes)
    forth_s = np.repeat([cables.latency_s for cables in cabling], sizes)
    back_s = np.repeat([cables.latency_s if cables.back_s is None else cables.back_s for cables in cabling], sizes)
    pairs = pl.Series([cables.tiers for cables in cabling]).gather(np.repeat(np.arange(len(sizes)), sizes))
    loss = np.repeat([cables.loss for cables in cabling], sizes)
    errors = [[int(cable), float(loss[cable])] for cable in np.flatnonzero(loss)]
    ends = np.concatenate([a, b])  # the port numbers: all lower ends, then all upper ones
    count = len(a)
    cable = np.arange(count)
    forth = pairs.str.replace("host", "nic")
    back = forth.str.split("-").list.reverse().list.join("-")
    ports = pl.DataFrame(
        {
            "node": ends,
            "number": turn(ends),
            "cage": np.arange(2 * count),
            "rate_bps": np.tile(rate_bps, 2),
            "cable": np.tile(cable, 2),
        }
    )
    links = pl.DataFrame(
        {
            "src": both_ways(a, b),
            "dst": both_ways(b, a),
            "src_port": both_ways(cable, cable + count),
            "dst_port": both_ways(cable + count, cable),
            "cable": np.repeat(cable, 2),
            "tier": pl.concat([forth, back]).gather(both_ways(cable, cable + count)),
            "rate_bps": np.repeat(rate_bps, 2),
            "efficiency": np.ones(2 * count),
            "latency_s": both_ways(forth_s, back_s),
        }
    )
    return Fabric(
        name=name,
        plan={"shape": "bare", "hosts": hosts, **({"bit_errors": errors} if errors else {})},
        nodes=numbered(_nodes(hosts, tiers, numbers), "node", NODES),
        ports=numbered(ports, "port", PORTS),
        cages=numbered(
            pl.DataFrame({"node": ends, "number": turn(ends), "breakout": np.ones(2 * count)}), "cage", CAGES
        ),
        cables=numbered(
            pl.DataFrame(
                {
                    "port_a": cable,
                    "port_b": cable + count,
                    "tiers": pairs,
                    "rate_bps": rate_bps,
                    "length_m": np.zeros(count),
                }
            ),
            "cable",
            CABLES,
        ),
        links=numbered(links, "link", LINKS),
    )


def _nodes(hosts: int, tiers: Sequence[tuple[str, int]], numbers: Sequence[int] | None) -> pl.DataFrame:
    counts = [hosts, *(count for _, count in tiers)]
    called = [(name, index) for name, count in [("host", hosts), *tiers] for index in range(count)]
    if numbers is not None:
        called = [(name, number) for (name, _), number in zip(called, numbers, strict=True)]
    names = [f"{name}-{number}" for name, number in called]
    nowhere = pl.Series(np.full(sum(counts), -1, dtype=np.int32))
    tier_names = ["server", *(name for name, _ in tiers)]
    kind = ["nic", *("switch" for _ in tiers)]
    which = np.repeat(np.arange(len(counts)), counts)
    return pl.DataFrame(
        {
            "name": names,
            "kind": pl.Series(kind).gather(which),
            "tier": pl.Series(tier_names).gather(which),
            "device": pl.repeat("", sum(counts), eager=True),
            "index": np.concatenate([np.arange(count, dtype=np.int32) for count in counts]),
            **dict.fromkeys(_PLACES, nowhere),
        }
    )
