"""Which ports each cable of a wiring ends at.

A switch's ports down are taken in order, then those that face up or across behind all that its front sets aside for
down; where a wiring numbers its ports itself, those. Not here: what joins what (`shapes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from eastwest.fabric.equipment import Numbers, Placed
from eastwest.fabric.hosts import PlacedHosts
from eastwest.fabric.plan import FabricPlan, Tier, TierPair
from eastwest.fabric.shapes import Cables, Wiring
from eastwest.fabric.tables import HOST_TIERS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cabled:
    """Cables between two tiers: ports at both ends, the nodes that these belong to, and what they are.

    `below` and `above` name the tiers as directed links do ("nic", "leaf"), `tiers` as cables do ("server-leaf").
    """

    tiers: str
    below: str
    above: str
    port_a: Numbers
    port_b: Numbers
    node_a: Numbers
    node_b: Numbers
    rate_bps: Floats
    length_m: Floats


@dataclass
class _Taken:
    """How many ports of each switch of a tier are taken, by the way that they face."""

    placed: Placed
    down: Numbers = field(init=False)
    up: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.down = np.zeros(len(self.placed.switches), dtype=np.int64)
        self.up = self.placed.first_up.copy()

    def next_down(self, switch: Numbers) -> Numbers:
        """Ports down for cables that end at these switches, in order."""
        return self.placed.first_port[switch] + _next(self.down, switch)

    def next_up(self, switch: Numbers) -> Numbers:
        """Ports up or across for cables that end at these switches, in order."""
        return self.placed.first_port[switch] + _next(self.up, switch)


def cable(
    plan: FabricPlan, wiring: Wiring, nic_nodes: Numbers, placed: Mapping[Tier, Placed], hosts: PlacedHosts | None
) -> list[Cabled]:
    """The cables of a wiring, those of servers first, those of hosts last.

    `nic_nodes` are the GPUs' NICs, server by server; `hosts` those that the front-end network joins.
    """
    taken = {tier: _Taken(of) for tier, of in placed.items()}
    cabled = [_to_servers(plan, wiring, nic_nodes, taken["leaf"])] + [
        _between_switches(plan, cables, taken[cables.lower], taken[cables.upper]) for cables in wiring.cables
    ]
    return cabled if hosts is None else [*cabled, *_to_hosts(plan, hosts, taken[hosts.tier])]


def _to_servers(plan: FabricPlan, wiring: Wiring, nic_nodes: Numbers, leaf: _Taken) -> Cabled:
    leaf_of_port = wiring.leaf_of_port.reshape(-1).astype(np.int64)
    port_a = np.flatnonzero(leaf_of_port >= 0)
    joined, details = leaf_of_port[port_a], wiring.server_cables
    return Cabled(
        tiers="server-leaf",
        below="nic",
        above="leaf",
        port_a=port_a,
        port_b=leaf.next_down(joined) if details is None else leaf.placed.first_port[joined] + details.ports[1],
        node_a=nic_nodes[port_a // plan.planes],
        node_b=leaf.placed.first_node + joined,
        rate_bps=np.full(len(joined), plan.cable_bps("server-leaf")) if details is None else details.rate_bps,
        length_m=np.full(len(joined), plan.cable_length_m("server-leaf")) if details is None else details.length_m,
    )


def _to_hosts(plan: FabricPlan, hosts: PlacedHosts, low: _Taken) -> Iterator[Cabled]:
    """The cables of the servers' front-end NICs, and of storage servers."""
    for kind in HOST_TIERS:
        number = np.flatnonzero(hosts.kind == kind)
        if not len(number):
            continue
        joined, tiers = hosts.switch[number], cast(TierPair, f"{kind}-{hosts.tier}")
        yield Cabled(
            tiers=tiers,
            below=kind,
            above=hosts.tier,
            port_a=hosts.first_port + number,
            port_b=low.next_down(joined),
            node_a=hosts.nic_nodes[number],
            node_b=low.placed.first_node + joined,
            rate_bps=np.full(len(number), plan.cable_bps(tiers)),
            length_m=np.full(len(number), plan.cable_length_m(tiers)),
        )


def _between_switches(plan: FabricPlan, cables: Cables, low: _Taken, high: _Taken) -> Cabled:
    a, b = cables.ends.astype(np.int64)
    details = cables.details
    if details is not None:
        port_a, port_b = low.placed.first_port[a] + details.ports[0], high.placed.first_port[b] + details.ports[1]
    else:  # within a tier, both ends face across
        port_a, port_b = low.next_up(a), high.next_up(b) if low is high else high.next_down(b)
    return Cabled(
        tiers=cables.tiers,
        below=cables.lower,
        above=cables.upper,
        port_a=port_a,
        port_b=port_b,
        node_a=low.placed.first_node + a,
        node_b=high.placed.first_node + b,
        rate_bps=np.full(len(a), plan.cable_bps(cables.tiers)) if details is None else details.rate_bps,
        length_m=np.full(len(a), plan.cable_length_m(cables.tiers)) if details is None else details.length_m,
    )


def _next(counter: Numbers, switch: Numbers) -> Numbers:
    """The next number of each switch's counter, in order of the entries; moves the counters on."""
    number = counter[switch] + turn(switch)
    counter += np.bincount(switch, minlength=len(counter))
    return number


def turn(of: Numbers) -> Numbers:
    """For each entry, how many equal ones come before it."""
    order = np.argsort(of, kind="stable")
    ordered = of[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    run = np.arange(len(of)) - np.repeat(starts, np.diff(starts, append=len(of)))
    turns = np.empty_like(run)
    turns[order] = run
    return turns
