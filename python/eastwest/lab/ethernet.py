"""The Ethernet lab: FRR in every switch, started from the frr.conf that was built, and LLDP on every cable.

A switch is a network namespace whose kernel forwards what FRR tells it to, hashing flows over equal paths by their
5-tuple with a seed of its own. What a SONiC switch would take from config_db.json (addresses of interfaces and
loopbacks) the lab sets itself, from the plan; a server has what its netplan and sysctl files say. Not here: queues, PFC
and ECN of a switch chip, which no kernel has.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from eastwest.lab import capture, faults, routing, tables
from eastwest.lab.driver import Fault, NodeState, RouteRow
from eastwest.lab.hosts import host_place
from eastwest.lab.machine import TBF, VETH, Feature, Tool
from eastwest.lab.nodes import Node, Nodes
from eastwest.lab.registry import Lab
from eastwest.lab.wiring import MTU, Place, lay, processes, run, side_by_side

LLDP = """\
mkdir -p /run/lldpd
printf 'configure lldp portidsubtype ifname\\nconfigure system hostname %s\\n' "$(hostname)" >/run/lldpd.conf
lldpd -k -O /run/lldpd.conf -u /run/lldpd.socket >/var/tmp/lldpd.log 2>&1
"""

SWITCH_SYSCTLS = {
    "net.ipv4.ip_forward": 1,
    "net.ipv6.conf.all.forwarding": 1,
    "net.ipv4.fib_multipath_hash_policy": 1,  # of addresses and ports
    "net.ipv6.fib_multipath_hash_policy": 1,
    "net.ipv4.conf.all.ignore_routes_with_linkdown": 1,
    "net.ipv4.conf.default.ignore_routes_with_linkdown": 1,
}


class Ethernet:
    """Namespaces, FRR and lldpd."""

    name = "ethernet"
    parts: tuple[str, ...] = ("frr", "hosts")
    tools: tuple[Tool, ...] = (*routing.TOOLS, Tool("lldpd", "lldpd"))
    features: tuple[Feature, ...] = (VETH, TBF)
    carries_data = True

    def start(self, lab: Lab, nodes: Nodes) -> None:
        """Lays namespaces and cables, and starts the daemons of each node."""
        for switch in nodes.switches:
            routing.prepare(lab, switch.name)
        places = [*map(switch_place, nodes.switches), *(host_place(lab, host) for host in nodes.hosts)]
        lay(lab, places, nodes.wires)
        side_by_side(lambda switch: routing.start(lab, switch.name), nodes.switches)
        side_by_side(lambda node: run(lab.on(node.name, ["sh", "-e"]), LLDP), nodes.all)

    def state(self, lab: Lab, nodes: Nodes) -> list[NodeState]:
        """Sessions up and routes of each switch; what is wrong where some lack, or equal paths are not all used."""
        wanted = tables.planned(nodes)
        return side_by_side(lambda switch: _state(lab, switch, wanted[switch.name]), nodes.switches)

    def fail(self, lab: Lab, nodes: Nodes, fault: Fault) -> None:
        """Takes links down, and kills what runs in a node that fails."""
        faults.fail(lab, nodes, fault)

    def heal(self, lab: Lab, nodes: Nodes) -> None:
        """Brings links back, and starts FRR and LLDP where they do not run."""
        faults.heal(lab, nodes)
        for node in nodes.all:
            there = processes(lab, node.name)
            if node.is_switch and not there.issuperset(routing.DAEMONS):
                routing.start(lab, node.name)
            if "lldpd" not in there:
                run(lab.on(node.name, ["sh", "-e"]), LLDP)

    def routes(self, lab: Lab, nodes: Nodes) -> list[RouteRow]:
        """Routes to NICs in the switches' kernels."""
        return tables.rows(nodes, {switch.name: tables.forwarding(lab, switch.name) for switch in nodes.switches})

    def capture(self, lab: Lab, end: str, seconds: float, out: Path) -> None:
        """Records what an interface sends and receives."""
        capture.record(lab, end, seconds, out)


def switch_place(switch: Node) -> Place:
    """What a switch has in its namespace."""
    addresses: dict[str, tuple[str, ...]] = {"lo": (f"{switch.loopback}/32", f"{switch.loopback6}/128")}
    for port in switch.ports:
        pair = ((port.address, 31), (port.address6, 127))
        addresses[port.name] = tuple(f"{address}/{bits}" for address, bits in pair if address)
    return Place(
        name=switch.name,
        addresses=addresses,
        macs={port.name: port.mac for port in switch.ports},
        mtus={port.name: MTU for port in switch.ports},
        sysctls=SWITCH_SYSCTLS,
        hash_seed=switch.id + 1,
    )


def _state(lab: Lab, switch: Node, wanted: Mapping[str, frozenset[str]]) -> NodeState:
    links = {port.name: port.peer for port in switch.ports if not port.is_to_host}
    lacking = set(routing.DAEMONS) - processes(lab, switch.name)
    if lacking:
        told = f"{', '.join(sorted(lacking))} of FRR does not run"
        return NodeState(switch.name, {"sessions": 0, "of": len(links), "routes": 0}, (told,))
    found = routing.sessions(lab, switch.name)
    up = [each for each in found if each.is_established]
    wrong = [
        f"BGP over {each.interface} to {links.get(each.interface, '?')} is {each.state}"
        for each in found
        if each not in up
    ]
    routes = tables.forwarding(lab, switch.name)
    wrong += tables.complaints(wanted, routes)
    return NodeState(switch.name, {"sessions": len(up), "of": len(links), "routes": len(routes)}, tuple(wrong))


ETHERNET = Ethernet()
