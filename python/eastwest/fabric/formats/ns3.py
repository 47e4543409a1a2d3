"""Topologies of HPCC's ns-3 simulator: a header, the switches' numbers, and a line for each link.

`nodes switches links`, then the switches' node numbers, then `a b rate delay error-rate` for each link, as in
`0 1 100Gbps 0.001ms 0`. Nodes that are no switches are hosts. The error rate is the share of packets that a link loses,
each way.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from eastwest.errors import InputError
from eastwest.fabric.bare import LEAST_LOSS, Cabling, bare
from eastwest.fabric.tables import Fabric
from eastwest.textfile import Line, lines

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([GMk]?)bps", re.IGNORECASE)
_DELAY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s)", re.IGNORECASE)
_PREFIX = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_UNIT = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
MOST_NODES = 1 << 21
MOST_BPS = 1e15
MOST_DELAY_S = 1.0


def read_ns3_topology(path: Path) -> Fabric:
    """The fabric of an HPCC topology file; node n of the file is called "host-n" or "switch-n".

    Hosts come first in the fabric's own numbering, in the file's order.

    Raises:
        InputError: the file is no such topology, declares another number of links than it has, has no switch, or names
            a node that there is not; names the line.
    """
    rows = list(lines(path))
    if not rows:
        raise InputError(f"{path}: the file is empty")
    head = rows[0]
    nodes = head.count(0, "the number of nodes", 1, MOST_NODES)
    switches, links = head.count(1, "the number of switches", 0, nodes), head.count(2, "the number of links")
    if not switches:
        raise head.refuse("a network has at least one switch: hosts alone cannot be joined")
    named: list[int] = []
    used = 1
    while len(named) < switches and used < len(rows):
        row = rows[used]
        named += [row.count(place, "a switch", 0, nodes - 1) for place in range(len(row.words))]
        used += 1
    if len(named) != switches or len(set(named)) != switches:
        raise head.refuse(f"{switches} switches are declared and {len(set(named))} are named")
    given = rows[used:]
    if len(given) != links:
        raise head.refuse(f"{links} links are declared and {len(given)} are given")
    switching = set(named)
    order = sorted(range(nodes), key=lambda node: (node in switching, node))
    number = [0] * nodes  # the fabric's number of each node of the file
    for place, node in enumerate(order):
        number[node] = place
    cabling = [_cabling(row, number, nodes - switches) for row in given]
    return bare(path.stem, nodes - switches, (("switch", switches),), cabling, order)


def _cabling(row: Line, number: list[int], hosts: int) -> Cabling:
    ends = [number[row.count(place, "a link's end", 0, len(number) - 1)] for place in (0, 1)]
    if ends[0] == ends[1]:
        raise row.refuse("a link joins a node with itself")
    rate, delay = _RATE.fullmatch(row.word(2, "the rate")), _DELAY.fullmatch(row.word(3, "the delay"))
    if rate is None or not float(rate[1]) > 0:
        raise row.refuse(f"{row.words[2]!r} is no rate; write it as 100Gbps")
    if delay is None:
        raise row.refuse(f"{row.words[3]!r} is no delay; write it as 0.001ms")
    rate_bps, delay_s = float(rate[1]) * _PREFIX[rate[2].lower()], float(delay[1]) * _UNIT[delay[2].lower()]
    if rate_bps > MOST_BPS:
        raise row.refuse(f"a rate is at most {MOST_BPS / 1e9:g}Gbps, not {row.words[2]!r}")
    if delay_s > MOST_DELAY_S:
        raise row.refuse(f"a delay is at most {MOST_DELAY_S:g}s, not {row.words[3]!r}")
    loss = row.decimal(4, "the error rate", 1.0)
    row.ends_after(5)
    if loss > 1.0 - LEAST_LOSS:
        raise row.refuse("an error rate of 1 lets no packet through: leave the link out")
    if 0.0 < loss < LEAST_LOSS:
        raise row.refuse(f"an error rate is 0, or {LEAST_LOSS:g} and more, not {row.words[4]!r}")
    low, high = sorted(ends)
    if high < hosts:
        raise row.refuse("a link joins two hosts; hosts are joined by switches")
    tiers = "host-switch" if low < hosts else "switch-switch"
    return Cabling(tiers, np.array([low]), np.array([high]), rate_bps, delay_s, loss=loss)
