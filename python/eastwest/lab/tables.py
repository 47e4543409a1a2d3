"""What switches forward by, read from their kernels, and as the forwarding tables that a study reads.

A row of the table is for a NIC, or for all NICs of a switch where they are alike. Not here: how a control plane came
to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Interface
from pathlib import Path

from eastwest.errors import InputError
from eastwest.lab.driver import RouteRow
from eastwest.lab.nodes import Node, Nodes, Port
from eastwest.lab.registry import Lab
from eastwest.lab.wiring import run

Hop = tuple[str, float]
"""The interface that a share of a destination's traffic leaves by, and its weight."""

HEADER = "switch,destination,next,port,weight"


def forwarding(lab: Lab, node: str) -> dict[str, tuple[Hop, ...]]:
    """A node's IPv4 routes: for each prefix the interfaces that it leaves by, those with no carrier left out.

    Raises:
        LabError: there is no such node.
    """
    table = {}
    for route in json.loads(run(lab.inside(["ip", "-n", node, "-j", "-4", "route", "show", "table", "main"])) or "[]"):
        hops = route.get("nexthops", [route])
        alive = [hop for hop in hops if "dev" in hop and not {"dead", "linkdown"} & set(hop.get("flags", ()))]
        if alive:
            table[str(route["dst"])] = tuple((str(hop["dev"]), float(hop.get("weight", 1))) for hop in alive)
    return table


def planned(nodes: Nodes) -> dict[str, dict[str, frozenset[str]]]:
    """For each switch and each subnet of hosts that it is joined to: all interfaces on shortest paths there.

    Those of a switch's own hosts are left out.
    """
    found: dict[str, dict[str, frozenset[str]]] = {switch.name: {} for switch in nodes.switches}
    for leaf in nodes.switches:
        there = [_subnet(port) for port in leaf.ports if port.is_to_host]
        if not there:
            continue
        distance = _distances(nodes, leaf)
        for switch in nodes.switches:
            if switch is not leaf and switch.name in distance:
                nearer = distance[switch.name] - 1
                hops = frozenset(
                    port.name for port in switch.ports if not port.is_to_host and distance[port.peer.node] == nearer
                )
                found[switch.name].update(dict.fromkeys(there, hops))
    return found


def complaints(planned: Mapping[str, frozenset[str]], chosen: Mapping[str, tuple[Hop, ...]]) -> list[str]:
    """What a switch's routes lack of those that are planned."""
    missing = sorted(set(planned) - set(chosen))
    other = [each for each in planned if each in chosen and {hop for hop, _ in chosen[each]} != planned[each]]
    told = []
    if missing:
        told.append(f"no route to {len(missing)} of {len(planned)} host subnets, the first {missing[0]}")
    if other:
        first = min(other)
        told.append(
            f"{len(other)} of {len(planned)} host subnets over other paths than all the shortest, as {first} over "
            f"{len(chosen[first])} of {len(planned[first])}"
        )
    return told


def rows(nodes: Nodes, tables: Mapping[str, Mapping[str, tuple[Hop, ...]]]) -> list[RouteRow]:
    """The switches' routes to NICs as rows; a switch stands for its NICs where another sends to all of them alike."""
    found = []
    for switch in nodes.switches:
        ports = {port.name: port for port in switch.ports}
        for leaf in nodes.switches:
            by_nic = {
                port.name: hops
                for port in leaf.ports
                if port.is_to_host and (hops := tables[switch.name].get(_subnet(port))) and leaf is not switch
            }
            for destination, hops in _destinations(nodes, leaf, by_nic):
                found += [
                    RouteRow(
                        switch.fabric_name,
                        destination,
                        nodes.by_name[ports[interface].peer.node].fabric_name,
                        ports[interface].number,
                        weight,
                    )
                    for interface, weight in sorted(hops, key=lambda hop: ports[hop[0]].number)
                ]
    return found


def write(rows: Iterable[RouteRow], out: Path) -> None:
    """Writes rows as the CSV file that a study's `routes` names.

    Raises:
        InputError: there is a folder of that name.
    """
    if out.is_dir():
        raise InputError(f"{out} is a folder: name a file with --out")
    lines = [f"{row.switch},{row.destination},{row.next},{row.port},{row.weight:g}" for row in rows]
    scratch = out.with_name(f".{out.name}.part")
    try:
        scratch.write_text("\n".join((HEADER, *lines)) + "\n", encoding="utf-8")
        scratch.replace(out)
    finally:
        scratch.unlink(missing_ok=True)


def _destinations(
    nodes: Nodes, leaf: Node, by_nic: Mapping[str, tuple[Hop, ...]]
) -> Iterable[tuple[str, tuple[Hop, ...]]]:
    """Names and hops: the leaf's own where all its NICs are sent to alike, or those of its NICs."""
    to_hosts = [port for port in leaf.ports if port.is_to_host]
    kinds = {tuple(sorted(hops)) for hops in by_nic.values()}
    if len(kinds) == 1 and len(by_nic) == len(to_hosts):
        return [(leaf.fabric_name, next(iter(by_nic.values())))]
    names = {port.name: _nic(nodes, port) for port in to_hosts}
    return [(names[interface], hops) for interface, hops in by_nic.items()]


def _nic(nodes: Nodes, port: Port) -> str:
    """The fabric's name of the NIC at the other end of a switch's port."""
    host = nodes.by_name[port.peer.node]
    (nic,) = (each for each in host.ports if each.name == port.peer.interface)
    return f"{host.fabric_name}/nic-{nic.nic}"


def _subnet(port: Port) -> str:
    """The /31 of a switch's port to a host."""
    return str(IPv4Interface(f"{port.address}/31").network)


def _distances(nodes: Nodes, leaf: Node) -> dict[str, int]:
    """Hops between switches from each that is joined to one."""
    distance, edge = {leaf.name: 0}, [leaf]
    while edge:
        further = []
        for switch in edge:
            for port in switch.ports:
                if not port.is_to_host and port.peer.node not in distance:
                    distance[port.peer.node] = distance[switch.name] + 1
                    further.append(nodes.by_name[port.peer.node])
        edge = further
    return distance
