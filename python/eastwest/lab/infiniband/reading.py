"""What a subnet in the lab says of itself, held against the plan, and as forwarding tables of the fabric.

A host's adapters are known here by what they call themselves: host and interface, as in "server-003 rail0". Not here:
asking (`simulator`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from eastwest.lab.driver import RouteRow
from eastwest.lab.nodes import End, Node, Nodes
from eastwest.lab.nodes import Port as LabPort
from eastwest.observe.cabling import Difference, Plug, Wire, compare
from eastwest.observe.forwarding import Tables
from eastwest.observe.subnet import End as Port
from eastwest.observe.subnet import Subnet


def differences(nodes: Nodes, seen: Subnet, names: Collection[str]) -> tuple[Difference, ...]:
    """What of a subnet, whose nodes go by `names`, is not as planned but for rates, of which ibsim knows the lower."""
    planned = [
        Wire(plug(nodes, wire.a), plug(nodes, wire.b)) for wire in nodes.wires if plug(nodes, wire.a).node in names
    ]
    return compare(planned, seen.wires)


def plug(nodes: Nodes, end: End) -> Plug:
    """An end of a cable as InfiniBand has it: a switch's port by number, or the one port of an adapter."""
    if nodes.by_name[end.node].is_switch:
        return Plug(end.node, end.interface)
    return Plug(f"{end.node} {end.interface}", "1")


def hosts_reached(seen: Subnet, table: Mapping[int, int]) -> int:
    """LIDs of adapters that a switch's table has a port for."""
    return sum(1 for lid in table if lid in seen.lids and seen.nodes[seen.lids[lid].guid].kind == "ca")


def unreached(seen: Subnet, tables: Tables) -> dict[int, int]:
    """By switch that adapters are plugged into, at how many LIDs of adapters no path from there arrives."""
    facing = {end: far for cable in seen.cables for end, far in ((cable.a, cable.b), (cable.b, cable.a))}
    leaves = {far.guid for end, far in facing.items() if seen.nodes[end.guid].kind == "ca"} & tables.keys()
    lost: Counter[int] = Counter()
    for lid, end in seen.lids.items():
        if seen.nodes[end.guid].kind != "ca" or end not in facing:
            continue
        arrives = {end.guid: True}
        for leaf in leaves:
            lost[leaf] += not _arrives(leaf, lid, tables, facing, arrives)
    return dict(lost)


def _arrives(switch: int, lid: int, tables: Tables, facing: Mapping[Port, Port], known: dict[int, bool]) -> bool:
    """Whether what a switch has for a LID gets there; `known` keeps what was found for others on the way."""
    way = []
    while switch not in known:
        way.append(switch)
        known[switch] = False  # comes here again: a loop
        port = tables.get(switch, {}).get(lid)
        far = facing.get(Port(switch, port)) if port else None
        if far is None:
            break
        switch = far.guid
    does = known[switch]
    known.update(dict.fromkeys(way, does))
    return does


def has_gap(tables: Tables, seen: Subnet) -> bool:
    """Whether an adapter's LID is in no switch's table, as where infiniband-diags leave out the topmost."""
    adapters = {lid for lid, end in seen.lids.items() if seen.nodes[end.guid].kind == "ca"}
    return not adapters <= {lid for table in tables.values() for lid in table}


def filled(tables: Tables, records: Tables, seen: Subnet) -> Tables:
    """Tables with what the switches' lack as they were read, from what the manager gave them (by their LIDs)."""
    full = {guid: dict(table) for guid, table in tables.items()}
    for lid, table in records.items():
        end = seen.lids.get(lid)
        if end is not None and end.guid in full:
            full[end.guid] = table | full[end.guid]
    return full


def rows(nodes: Nodes, subnets: Iterable[tuple[Subnet, Tables]]) -> list[RouteRow]:
    """The switches' tables as rows for each switch and NIC: the cables that the NIC's LIDs leave by.

    Where a NIC has several LIDs, a cable weighs by how many of these leave by it: who sends spreads over all. What a
    leaf hands to a NIC itself is no row.
    """
    nics = {f"{host.name} {port.name}": _nic(host, port) for host in nodes.hosts for port in host.ports}
    counts: Counter[tuple[str, str, str, int]] = Counter()
    for seen, tables in subnets:
        name = {guid: node.name for guid, node in seen.nodes.items()}
        nic_of = {lid: nics[name[end.guid]] for lid, end in seen.lids.items() if name[end.guid] in nics}
        for guid, table in tables.items():
            switch = nodes.by_name[name[guid]]
            ports = {port.number: nodes.by_name[port.peer.node] for port in switch.ports if not port.is_to_host}
            for lid, port in table.items():
                if lid in nic_of and port - 1 in ports:
                    counts[switch.fabric_name, nic_of[lid], ports[port - 1].fabric_name, port - 1] += 1
    return [RouteRow(*row, weight=float(count)) for row, count in sorted(counts.items())]


def _nic(host: Node, port: LabPort) -> str:
    """The fabric's name of the NIC behind an adapter."""
    return f"{host.fabric_name}/{'frontend-nic' if port.tier == 'frontend' else 'nic'}-{port.nic}"
