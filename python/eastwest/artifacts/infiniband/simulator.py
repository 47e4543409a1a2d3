"""The subnet as a net file of ibsim, which plays its switches and adapters to a real subnet manager.

Node names are those that ibnetdiscover gives (S- or H- and the GUID), descriptions what the nodes call themselves.
ibsim before 0.11 (Debian's is 0.10) knows no rate above HDR and takes one for SDR, so faster links are written as HDR:
the file is for the shape of the network, its rates are in `plan.json`. And it counts GUIDs of ports up from their
node's, where NVIDIA's adapters have one GUID for both: adapters' node GUIDs here are one less than the plan's, those of
their ports are the plan's.
"""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.artifacts.infiniband.subnets import Adapter, Link, Subnet, Switch

KNOWN = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR")
"""Speeds that every version of ibsim knows."""


def net_file(subnet: Subnet) -> str:
    """The text of the file, switches first."""
    ends: dict[str, list[tuple[int, str, int, Link]]] = {}
    for link in subnet.links:
        ends.setdefault(link.a, []).append((link.a_port, link.b, link.b_port, link))
        ends.setdefault(link.b, []).append((link.b_port, link.a, link.a_port, link))
    lines: list[str] = []
    for node in subnet.nodes:
        lines += _record(subnet, node, sorted(ends.get(node.name, []), key=lambda end: end[0]))
    return "\n".join(lines)


def node_id(node: Switch | Adapter) -> str:
    """What ibnetdiscover and ibsim call a node."""
    return f"S-{node.guid:016x}" if isinstance(node, Switch) else f"H-{node.guid - 1:016x}"


def _record(subnet: Subnet, node: Switch | Adapter, ends: list[tuple[int, str, int, Link]]) -> Iterator[str]:
    name, is_switch = node_id(node), isinstance(node, Switch)
    if isinstance(node, Switch):
        yield f"switchguid=0x{node.guid:016x}"
        yield f'Switch\t{node.ports} "{name}"\t# "{node.name}" enhanced port 0 lid 0 lmc 0'
    else:
        yield f"sysimgguid=0x{node.system_guid:016x}"
        yield f"caguid=0x{node.guid - 1:016x}"
        yield f'Ca\t{node.ports} "{name}"\t# "{node.name}"'
    for port, other, other_port, link in ends:
        speed = link.speed if link.speed in KNOWN else KNOWN[-1]
        told = "" if is_switch else "lid 0 lmc 0 "
        peer = node_id(subnet.by_name[other])
        yield f'[{port}]\t"{peer}"[{other_port}]\t# {told}"{other}" lid 0 {link.lanes}x{speed}'
    yield ""
