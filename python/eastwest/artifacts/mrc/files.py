"""MRC's files: the static tables of each switch, the path list of each host, and the directory that all share.

A switch's table is written once as commands for `ip -6 -batch`, which Linux loads as they are, and once as SONiC's
tables (`sonic_tables`), which its config_db.json holds. Routes are static and complete: no routing daemon runs, no
route has two next hops, and none changes when something fails. Not here: which numbers and paths there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import Any

from eastwest.artifacts.file import File
from eastwest.artifacts.mrc.network import Network, network
from eastwest.artifacts.mrc.numbering import BLOCK_BITS, USID_BITS, block, port, prefix
from eastwest.artifacts.mrc.paths import Climb, climbs
from eastwest.artifacts.mrc.rows import rows
from eastwest.artifacts.mrc.tree import plane_of
from eastwest.artifacts.plan import Host, Plan, Port, Switch, link_local

LOOPBACK = "Loopback0"
"""The interface of a switch's own SIDs: it must be there whatever fails, and must not be `lo`, which drops them."""


def files(plan: Plan) -> Iterator[File]:
    """All of MRC's files: a table for each switch, a list for each host, and the directory."""
    of = network(plan)
    for switch in of.tree.switches.values():
        yield File(f"switches/{switch.name}/srv6.batch", batch(of, switch))
    yield File("mrc/fabric.json", rows(_head(of) | of.directory().as_json()))
    for host in plan.hosts:
        if any(nic.host == host.name for nic in of.tree.leaf_of):
            yield File(f"mrc/paths/{host.name}.json", path_list(of, host))


def batch(of: Network, switch: Switch) -> str:
    """The table of a switch as commands for `ip -6 -batch`; loaded again, it changes nothing."""
    plane = plane_of(switch)
    lines = [
        f"# {switch.name}: static SRv6 uSIDs of plane {plane}. Needs {LOOPBACK} and the other interfaces up, IPv6",
        "# forwarding and seg6_enabled; then: ip -6 -batch srv6.batch",
    ]
    lengths = f"lblen {BLOCK_BITS} nflen {USID_BITS}"
    for usid in of.usids[switch.name]:
        action = f"encap seg6local action End flavors next-csid {lengths} count"
        lines.append(f"route replace {prefix(plane, usid)} {action} dev {LOOPBACK}")
    for route in of.routes(switch):
        lines.append(f"# {route.comment}")
        lines.append(f"route replace {route.prefix} via {route.neighbour} dev {route.interface}")
    return "\n".join(lines) + "\n"


def sonic_tables(of: Network, switch: Switch) -> dict[str, dict[str, dict[str, str]]]:
    """The same as tables of SONiC's config_db.json: locators, SIDs (uN) and static routes.

    Each lane is a locator of its own, since SONiC takes a uN only inside its locator (bgpcfgd, managers_srv6).
    """
    plane, own, sids = plane_of(switch), {}, {}
    for lane, usid in enumerate(of.usids[switch.name]):
        name, at = f"lane{lane}", prefix(plane, usid)
        own[name] = {
            "prefix": at.split("/")[0],
            "block_len": str(BLOCK_BITS),
            "node_len": str(USID_BITS),
            "func_len": "0",
            "arg_len": "0",
        }
        sids[f"{name}|{at}"] = {"action": "uN", "decap_dscp_mode": "pipe"}
    routes = {
        f"default|{route.prefix}": {
            "nexthop": str(route.neighbour),
            "ifname": route.interface,
            "advertise": "false",
        }
        for route in of.routes(switch)
    }
    return {"SRV6_MY_LOCATORS": own, "SRV6_MY_SIDS": sids, "STATIC_ROUTE": routes}


def path_list(of: Network, host: Host) -> str:
    """The list of a host: for each NIC, where its ports are and which way up each of its entropy values takes."""
    nics = []
    for nic in (nic for nic in of.tree.leaf_of if nic.host == host.name):
        found = climbs(of.tree, nic)
        nics.append(
            {
                "nic": nic.name,
                "address": str(of.address(nic)),
                "ports": [_port(of, plane, leaf, at) for plane, (leaf, at) in sorted(of.tree.leaf_of[nic].items())],
                "entropy": [_value(of, value, climb) for value, climb in enumerate(found)],
            }
        )
    return rows(_head(of) | {"host": host.name, "nics": nics})


def _port(of: Network, plane: int, leaf: str, at: Port) -> dict[str, Any]:
    return {
        "plane": plane,
        "interface": at.peer_interface,
        "leaf": leaf,
        "gateway": str(link_local(of.tree.switches[leaf].mac)),
        "sid": prefix(plane, port(leaf, at.number)),
    }


def _value(of: Network, value: int, climb: Climb) -> dict[str, Any]:
    lanes = (0, *climb.up)
    usids = [of.usids[name][lane] for name, lane in zip(climb.switches, lanes, strict=True)]
    return {
        "ev": value,
        "plane": climb.plane,
        "climb": list(climb.switches),
        "up": list(climb.up),
        "down": list(climb.down),
        "usids": [f"{usid:04x}" for usid in usids],
    }


def _head(of: Network) -> dict[str, Any]:
    planes = sorted({plane_of(switch) for switch in of.tree.switches.values()})
    return {
        "format": 1,
        "fabric": of.plan.name,
        "blocks": {str(plane): f"{IPv6Address(block(plane))}/{BLOCK_BITS}" for plane in planes},
    }
