"""From a network file to a wiring: on which tier each switch stands, which ports each cable takes, what is refused.

Broken networks are refused with both ends and the line: two cables on one port, more cables than ports, rates that a
device lacks, a cable to itself or between servers, parts that nothing joins. Not here: reading (`read`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from eastwest.document import Mistake, MistakesError
from eastwest.fabric.equipment import Equipment
from eastwest.fabric.network.jacks import RefusedError, ServerJacks, SwitchJacks
from eastwest.fabric.network.read import MOST_MISTAKES
from eastwest.fabric.network.values import NetworkCable, NetworkEnd, NetworkFile, NetworkServer, NetworkSwitch
from eastwest.fabric.plan import TIERS, FabricError, FabricPlan, Tier
from eastwest.fabric.shapes import Cables, Details, Wiring, pair_of, switches


@dataclass(frozen=True)
class _Jacks:
    """The ports of all nodes, by name."""

    servers: dict[str, ServerJacks]
    switches: dict[str, SwitchJacks]

    def of(self, node: str) -> ServerJacks | SwitchJacks:
        """Those of one node."""
        return self.servers[node] if node in self.servers else self.switches[node]


@dataclass(frozen=True)
class _Laid:
    """One cable with a port at either end, the lower tier's first."""

    ends: tuple[str, str]
    ports: tuple[int, int]
    rate_bps: float
    length_m: float


def wire(plan: FabricPlan, network: NetworkFile) -> tuple[Wiring, dict[Tier, Equipment]]:
    """The wiring of a network and the devices of its tiers.

    Raises `FabricError` on "network" where it has not the servers that the plan has, and `MistakesError` with what is
    wrong in the file.
    """
    if len(network.servers) != plan.servers:
        found = f"{network.nodes_file} has {len(network.servers)} servers, the cluster has {plan.servers}"
        raise FabricError("network", f"{found}: make them as many")
    tier_of, mistakes = _tiers(network)
    mistakes += [*_devices(plan, network), *_senseless(network), *_apart(plan, network)]
    if mistakes:
        raise MistakesError(mistakes[:MOST_MISTAKES])
    jacks = _jacks(plan, network)
    laid: dict[int, list[_Laid]] = {}
    for number, cable in _named_ports_first(network.cables):
        try:
            laid[number] = _lay(plan, cable, tier_of, jacks)
        except RefusedError as refused:
            mistakes.append(_mistake(network.cables_file, cable, f"the {cable} {refused}"))
    if mistakes:
        raise MistakesError(mistakes[:MOST_MISTAKES])
    in_order = [cable for number in range(len(network.cables)) for cable in laid[number]]
    tiers = {tier: [switch for switch in network.switches if tier_of[switch.name] == tier] for tier in TIERS}
    tiers = {tier: members for tier, members in tiers.items() if members}
    return _wiring(plan, network, tiers, tier_of, in_order), {
        tier: _equipment(members, jacks) for tier, members in tiers.items()
    }


def _tiers(network: NetworkFile) -> tuple[dict[str, Tier], list[Mistake]]:
    """Tier of each switch: as stated, else a leaf where servers join it, a spine next to leaves, a core beyond."""
    servers = {server.name for server in network.servers}
    around: dict[str, list[str]] = {switch.name: [] for switch in network.switches}
    level: dict[str, int] = {}
    for cable in network.cables:
        for here, there in ((cable.a.node, cable.b.node), (cable.b.node, cable.a.node)):
            if here in servers and there not in servers:
                level[there] = 0
            elif here not in servers and there not in servers:
                around[here].append(there)
    leaves, queue = set(level), deque(level)
    while queue:
        here = queue.popleft()
        for there in around[here]:
            if there not in level:
                level[there] = level[here] + 1
                queue.append(there)
    found: dict[str, Tier] = {}
    mistakes = []
    for switch in network.switches:
        if switch.tier not in (None, "leaf") and switch.name in leaves:
            told = f"{switch.name} stands on tier {switch.tier}, and a server joins it: servers join leaves"
            mistakes.append(_mistake(network.nodes_file, switch, told))
        found[switch.name] = switch.tier or TIERS[min(level.get(switch.name, 0), 2)]
    return found, mistakes


def _devices(plan: FabricPlan, network: NetworkFile) -> Iterator[Mistake]:
    """Servers that are not the cluster's, and switches on no plane of the fabric or of another technology."""
    technology = plan.link_layer.technology
    for server in network.servers:
        if server.device not in (None, plan.server.name):
            told = f"{server.name} is a {server.device}; the cluster's servers are {plan.server.name}"
            yield _mistake(network.nodes_file, server, told)
    for switch in network.switches:
        if technology not in switch.device.technologies:
            speaks = ", ".join(switch.device.technologies)
            told = f"{switch.name} is a {switch.device.name}, which speaks {speaks}; the fabric is {technology}"
            yield _mistake(network.nodes_file, switch, told)
        if switch.plane >= plan.planes:
            there = f"planes 0 to {plan.planes - 1}" if plan.planes > 1 else "one plane, 0"
            told = f"{switch.name} stands on plane {switch.plane}; the fabric has {there}"
            yield _mistake(network.nodes_file, switch, told)


def _senseless(network: NetworkFile) -> Iterator[Mistake]:
    """Cables from a node to itself, or between servers."""
    servers = {server.name for server in network.servers}
    for cable in network.cables:
        if cable.a.node == cable.b.node:
            yield _mistake(network.cables_file, cable, f"the {cable} ends twice at {cable.a.node}")
        elif cable.a.node in servers and cable.b.node in servers:
            told = f"the {cable} joins two servers: one end must be a switch"
            yield _mistake(network.cables_file, cable, told)


def _apart(plan: FabricPlan, network: NetworkFile) -> list[Mistake]:
    """The first node that nothing joins with the first server, if any; or that no cable ends at a server."""
    names = [server.name for server in network.servers]
    if not {end.node for cable in network.cables for end in (cable.a, cable.b)} & set(names):
        return [Mistake(network.cables_file, None, None, "no cable ends at a server")]
    nodes: list[NetworkServer | NetworkSwitch] = [*network.servers, *network.switches]
    part = {node.name: node.name for node in nodes}

    def root(name: str) -> str:
        while part[name] != name:
            part[name] = name = part[part[name]]
        return name

    for cable in network.cables:
        part[root(cable.a.node)] = root(cable.b.node)
    domain = plan.server.nvlink_domain_servers
    for number, name in enumerate(names):
        part[root(name)] = root(names[number - number % domain])
    for node in nodes:
        if root(node.name) != root(names[0]):
            told = f"no cable leads from {names[0]} to {node.name}: the parts of a network are joined"
            return [_mistake(network.nodes_file, node, told)]
    return []


def _jacks(plan: FabricPlan, network: NetworkFile) -> _Jacks:
    fastest: dict[str, float] = {}
    servers = {server.name for server in network.servers}
    for cable in network.cables:
        rate_bps = cable.rate_bps or _own_rate_bps(plan, cable.a.node in servers or cable.b.node in servers)
        for end in (cable.a, cable.b):
            fastest[end.node] = max(fastest.get(end.node, 0.0), rate_bps)
    return _Jacks(
        {name: ServerJacks(plan) for name in servers},
        {switch.name: SwitchJacks(switch, fastest.get(switch.name, 0.0)) for switch in network.switches},
    )


def _own_rate_bps(plan: FabricPlan, joins_server: bool) -> float:
    return plan.port_bps if joins_server else plan.between_switches_bps


def _named_ports_first(cables: tuple[NetworkCable, ...]) -> Iterator[tuple[int, NetworkCable]]:
    """Cables with their numbers; those that name a port come before those that take what is left."""
    has_name = [cable.a.port is not None or cable.b.port is not None for cable in cables]
    for wanted in (True, False):
        yield from ((number, cable) for number, cable in enumerate(cables) if has_name[number] == wanted)


def _lay(plan: FabricPlan, cable: NetworkCable, tier_of: dict[str, Tier], jacks: _Jacks) -> list[_Laid]:
    """Plugs in the cables of one entry; raises `RefusedError`."""

    def height(end: NetworkEnd) -> int:
        return TIERS.index(tier_of[end.node]) if end.node in tier_of else -1

    low, high = sorted((cable.a, cable.b), key=height)
    is_servers = height(low) < 0
    rate_bps = cable.rate_bps or _own_rate_bps(plan, is_servers)
    length_m = cable.length_m
    if length_m is None:
        length_m = plan.cable_length_m(pair_of("server" if is_servers else tier_of[low.node], tier_of[high.node]))
    laid = []
    for number in range(cable.count):
        ports = []
        for end in (low, high):
            try:
                ports.append(jacks.of(end.node).take(end, number, rate_bps, str(cable)))
            except RefusedError as refused:
                raise RefusedError(f"cannot end at {end.node}: {refused}") from None
        laid.append(_Laid((low.node, high.node), (ports[0], ports[1]), rate_bps, length_m))
    return laid


def _equipment(members: list[NetworkSwitch], jacks: _Jacks) -> Equipment:
    """Every switch of a tier as a kind of its own, since the rates of its cages are."""
    fronts = tuple(jacks.switches[member.name].front() for member in members)
    return Equipment(tuple(member.device for member in members), fronts, np.arange(len(members), dtype=np.int32))


def _wiring(
    plan: FabricPlan,
    network: NetworkFile,
    tiers: dict[Tier, list[NetworkSwitch]],
    tier_of: dict[str, Tier],
    laid: list[_Laid],
) -> Wiring:
    number = {switch.name: place for members in tiers.values() for place, switch in enumerate(members)}
    number |= {server.name: place for place, server in enumerate(network.servers)}
    nic_ports = plan.server.nics * plan.planes
    leaf_of_port = np.full(plan.servers * nic_ports, -1, dtype=np.int32)
    # Cables of servers are told in the order of the NICs' ports, those of switches tier by tier.
    to_servers = [cable for cable in laid if cable.ends[0] not in tier_of]
    to_servers.sort(key=lambda cable: number[cable.ends[0]] * nic_ports + cable.ports[0])
    by_pair: dict[tuple[Tier, Tier], list[_Laid]] = {pair: [] for pair in product(TIERS, TIERS)}
    for cable in laid:
        if cable.ends[0] in tier_of:
            by_pair[tier_of[cable.ends[0]], tier_of[cable.ends[1]]].append(cable)
    for cable in to_servers:
        leaf_of_port[number[cable.ends[0]] * nic_ports + cable.ports[0]] = number[cable.ends[1]]
    return Wiring(
        unit_of_server=np.array([server.unit for server in network.servers], dtype=np.int32),
        pod_of_server=np.array([server.pod for server in network.servers], dtype=np.int32),
        leaf_of_port=leaf_of_port.reshape(plan.servers, plan.server.nics, plan.planes),
        tiers={
            tier: replace(
                switches(
                    len(members),
                    0,
                    0,
                    **{
                        place: np.array([getattr(member, place) for member in members], dtype=np.int32)
                        for place in ("unit", "pod", "rail", "site")
                    },
                ),
                plane=np.array([member.plane for member in members], dtype=np.int32),
                names=tuple(member.name for member in members),
            )
            for tier, members in tiers.items()
        },
        cables=tuple(
            Cables(
                lower=low,
                upper=high,
                ends=np.array([[number[end] for end in cable.ends] for cable in cables], dtype=np.int32).T,
                details=_details(cables),
            )
            for (low, high), cables in by_pair.items()
            if cables
        ),
        site_of_server=np.array([server.site for server in network.servers], dtype=np.int32),
        server_names=tuple(server.name for server in network.servers),
        server_cables=_details(to_servers),
    )


def _details(cables: list[_Laid]) -> Details:
    return Details(
        ports=np.array([cable.ports for cable in cables], dtype=np.int64).reshape(-1, 2).T,
        rate_bps=np.array([cable.rate_bps for cable in cables]),
        length_m=np.array([cable.length_m for cable in cables]),
    )


def _mistake(file: str, at: NetworkCable | NetworkServer | NetworkSwitch, message: str) -> Mistake:
    return Mistake(file, at.line, 1 if at.line else None, message)
