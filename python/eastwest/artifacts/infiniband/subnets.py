"""The InfiniBand subnets of a fabric: who manages what. Nodes with their GUIDs, links, and which switches are on top.

A subnet is what hangs together by InfiniBand cables alone: one for most fabrics, one a plane where NICs are split over
planes, one a rail where nothing joins the rails, and one more for a front-end network that is apart and InfiniBand too.
Each has a subnet manager of its own. Not here: what is written about a subnet (`opensm`, `simulator`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from eastwest.artifacts.plan import Cable, Plan
from eastwest.artifacts.plan import Switch as PlannedSwitch
from eastwest.observe.cabling import Plug, Wire

INFINIBAND = "infiniband"


@dataclass(frozen=True)
class Switch:
    """A switch: what it is called, its GUID, and how many ports it has, counted from 1."""

    name: str
    guid: int
    ports: int
    tier: str


@dataclass(frozen=True)
class Adapter:
    """A channel adapter: one port of a NIC, since NVIDIA's NICs show each of their ports as a device of its own.

    `guid` is that of the device and of its port, its number 1; `system_guid` that of the whole NIC.
    """

    server: str
    device: str
    guid: int
    system_guid: int

    @property
    def name(self) -> str:
        """What it calls itself: server and device, as rdma-core's rdma-ndd has it."""
        return f"{self.server} {self.device}"

    ports = 1


@dataclass(frozen=True)
class Link:
    """A cable from a port of a node to one of another, by name; ports count from 1. `rate_bps` is that of the cable."""

    a: str
    a_port: int
    b: str
    b_port: int
    rate_bps: float
    lanes: int
    speed: str
    cable: int


@dataclass(frozen=True)
class Subnet:
    """What one subnet manager manages; `name` is empty where the fabric is but one subnet."""

    name: str
    switches: tuple[Switch, ...]
    adapters: tuple[Adapter, ...]
    links: tuple[Link, ...]

    @property
    def nodes(self) -> tuple[Switch | Adapter, ...]:
        """Switches, then adapters."""
        return (*self.switches, *self.adapters)

    @cached_property
    def by_name(self) -> Mapping[str, Switch | Adapter]:
        """Switches and adapters by what they are called."""
        return {node.name: node for node in self.nodes}

    @property
    def wires(self) -> list[Wire]:
        """The cables, to be compared with those that were seen."""
        return [
            Wire(Plug(link.a, str(link.a_port)), Plug(link.b, str(link.b_port)), link.rate_bps) for link in self.links
        ]

    @cached_property
    def heights(self) -> Mapping[str, int]:
        """By switch, cables between it and the nearest adapter, less one: 0 for a leaf."""
        neighbours: dict[str, set[str]] = {switch.name: set() for switch in self.switches}
        reached = set()
        for link in self.links:
            for here, there in ((link.a, link.b), (link.b, link.a)):
                if here in neighbours and there in neighbours:
                    neighbours[here].add(there)
                elif here in neighbours:
                    reached.add(here)
        heights, height = dict.fromkeys(reached, 0), 0
        while reached:
            height += 1
            reached = {there for here in reached for there in neighbours[here]} - heights.keys()
            heights.update(dict.fromkeys(reached, height))
        return heights

    @cached_property
    def rises(self) -> tuple[tuple[int, int], ...]:
        """Of each cable between switches, the lower and the higher of its ends' heights."""
        ends = [(self.heights.get(link.a), self.heights.get(link.b)) for link in self.links]
        return tuple((min(a, b), max(a, b)) for a, b in ends if a is not None and b is not None)

    @property
    def is_flat(self) -> bool:
        """Whether no path needs two cables between switches: one switch, or a full mesh."""
        pairs = {frozenset((link.a, link.b)) for link in self.links if {link.a, link.b} <= self.heights.keys()}
        switches = len(self.switches)
        return len(pairs) == switches * (switches - 1) // 2

    @property
    def is_tree(self) -> bool:
        """Whether every cable between switches leads from one height to the next: folded Clos networks of any sort."""
        return bool(self.rises) and all(high == low + 1 for low, high in self.rises)

    @property
    def is_layered(self) -> bool:
        """Whether it is a tree but for cables that join its top switches, as those between sites do."""
        top = max(self.heights.values(), default=0)
        return top > 0 and all(high == low + 1 or low == high == top for low, high in self.rises)

    @cached_property
    def tops(self) -> tuple[Switch, ...]:
        """Switches with nothing above them, in a subnet of more than one height."""
        heights = self.heights
        below = set()
        for link in self.links:
            if link.a in heights and link.b in heights and heights[link.a] != heights[link.b]:
                below.add(min((link.a, link.b), key=heights.__getitem__))
        return tuple(each for each in self.switches if heights.get(each.name, 0) > 0 and each.name not in below)


LANE_BPS = {25e9: "EDR", 50e9: "HDR", 100e9: "NDR", 200e9: "XDR", 14e9: "FDR", 10e9: "QDR"}
"""What a lane's rate is called."""

ANY_LANE_BPS = max(LANE_BPS)

_WIDTHS = (4, 2, 1, 8, 12)
"""Lanes that a port can have, the usual one first (InfiniBand specification, volume 2)."""


def lanes(rate_bps: float, fastest_bps: float) -> tuple[int, str]:
    """Lanes of a link and what their speed is called, where each of its ends does at most `fastest_bps` a lane.

    A port whose rate is less than four of its fastest lanes has fewer of these, as NVIDIA's split ports do: 200 Gb/s of
    a Quantum-2 is two lanes of NDR. Where no number of these fits, the lanes are slower ones.
    """
    for lane_bps in sorted((each for each in LANE_BPS if each <= fastest_bps), reverse=True):
        for width in _WIDTHS:
            if width * lane_bps == rate_bps:
                return width, LANE_BPS[lane_bps]
    # A rate of no InfiniBand link, as a network of one's own may have: the nearest below.
    lane_bps = max((each for each in LANE_BPS if 4 * each <= rate_bps), default=10e9)
    return 4, LANE_BPS[lane_bps]


def subnets(plan: Plan) -> tuple[Subnet, ...]:
    """The InfiniBand subnets of a fabric, in the order of their first cable; none where it speaks something else."""
    parts: dict[str, list[Cable]] = {}
    cables = list(_cables(plan))
    part_of = _parts(plan, cables)
    for cable in cables:
        parts.setdefault(part_of[_end(plan, cable.a, cable.a_interface)], []).append(cable)
    labels = [""] if len(parts) == 1 else _labels(plan, list(parts.values()))
    return tuple(_subnet(plan, part, label) for part, label in zip(parts.values(), labels, strict=True))


def _cables(plan: Plan) -> Iterator[Cable]:
    """The cables that carry InfiniBand."""
    frontend = plan.fabric.plan["frontend"]
    speaks = {False: plan.technology, True: frontend["link_layer"]["technology"] if frontend else None}
    for cable in plan.cables:
        if speaks[cable.tiers.startswith(("frontend-", "storage-", "access-"))] == INFINIBAND:
            yield cable


def _end(plan: Plan, node: str, interface: str) -> str:
    """What the node at one end of a cable is called in a subnet: a switch as it is, an adapter by server and device."""
    return node if isinstance(plan.by_name[node], PlannedSwitch) else f"{node} {interface}"


def _parts(plan: Plan, cables: Sequence[Cable]) -> Mapping[str, str]:
    """For each end of the cables, one that stands for all that hang together with it."""
    above: dict[str, str] = {}

    def top(end: str) -> str:
        while above.setdefault(end, end) != end:
            above[end] = end = above[above[end]]
        return end

    for cable in cables:
        a, b = _end(plan, cable.a, cable.a_interface), _end(plan, cable.b, cable.b_interface)
        above[top(a)] = top(b)
    return {end: top(end) for end in above}


def _labels(plan: Plan, parts: Sequence[Sequence[Cable]]) -> list[str]:
    """A name for each part: its plane and rail, which tell them apart where shapes do; else a number."""
    labels = []
    for part in parts:
        ends = {end for cable in part for end in (cable.a, cable.b)}
        switches = [each for each in (plan.by_name[end] for end in ends) if isinstance(each, PlannedSwitch)]
        words = ["frontend"] if any(each.tier in ("access", "aggregation") for each in switches) else []
        for what in ("site", "plane", "rail"):
            values = {getattr(each, what) for each in switches}
            if len(values) == 1 and min(values) >= 0:
                words.append(f"{what}-{min(values)}")
        labels.append("-".join(words))
    is_telling = all(labels) and len(set(labels)) == len(labels)
    return labels if is_telling else [f"subnet-{number}" for number in range(len(parts))]


def _subnet(plan: Plan, part: Sequence[Cable], label: str) -> Subnet:
    ends = {end for cable in part for end in (cable.a, cable.b)}
    switches = tuple(
        Switch(each.name, each.guid, len(each.ports), each.tier) for each in plan.switches if each.name in ends
    )
    here = {
        _end(plan, node, interface) for c in part for node, interface in ((c.a, c.a_interface), (c.b, c.b_interface))
    }
    adapters = tuple(
        Adapter(host.name, port.name, port.guid, port.nic_guid)
        for host in plan.hosts
        for port in host.ports
        if f"{host.name} {port.name}" in here
    )
    fastest = _fastest_lanes(plan)
    return Subnet(label, switches, adapters, tuple(_link(plan, cable, fastest) for cable in part))


def _link(plan: Plan, cable: Cable, fastest: Mapping[str, float]) -> Link:
    ends, most = [], ANY_LANE_BPS
    for name, interface in ((cable.a, cable.a_interface), (cable.b, cable.b_interface)):
        node = plan.by_name[name]
        if isinstance(node, PlannedSwitch):
            ends.append((name, int(interface)))
            device = node.device
        else:
            ends.append((f"{name} {interface}", 1))
            device = next(port.device for port in node.ports if port.name == interface)
        most = min(most, fastest.get(device, ANY_LANE_BPS))
    (a, a_port), (b, b_port) = ends
    return Link(a, a_port, b, b_port, cable.rate_bps, *lanes(cable.rate_bps, most), cable.number)


def _fastest_lanes(plan: Plan) -> Mapping[str, float]:
    """By device, the rate of a lane of its fastest ports, which are of four lanes."""
    asked = plan.fabric.plan
    entries = [asked["nic"], *asked["switches"].values()]
    if asked["frontend"] is not None:
        entries += [asked["frontend"]["nic"], *asked["frontend"]["switches"].values()]
    return {entry["name"]: max(entry["port_speeds_bps"]) / 4 for entry in entries}
