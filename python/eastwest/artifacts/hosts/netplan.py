"""netplan of a host: each NIC with its address, its name, and a routing table that its own traffic alone uses.

Without such tables a server with eight NICs answers by whichever route comes first, and rails leak into each other. Not
here: what else a host is told (`hosts.settings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from eastwest.artifacts.file import File
from eastwest.artifacts.headroom import PORT_MTU
from eastwest.artifacts.plan import Host, NicPort, Plan
from eastwest.artifacts.texts import text

FIRST_TABLE = 100
"""Number and priority of the first NIC's routing table; the kernel's own are 253 to 255, main's rule is 32766."""
_GPUS, _FRONTEND = IPv4Network("10.0.0.0/9"), IPv4Network("172.16.0.0/12")
"""Where `fabric.addressing` has NICs of GPUs, and those of CPUs and storage."""


@dataclass(frozen=True)
class _Nic:
    """A NIC's port as the template wants it.

    `anywhere` are the networks that its own traffic reaches, `own` those that any traffic reaches over it; none of a
    NIC that chooses its paths itself.
    """

    interface: str
    mac: str
    address: str
    length: int
    gateway: str
    table: int
    mtu: int
    leaf: str
    leaf_interface: str
    anywhere: tuple[str, ...]
    own: tuple[str, ...]


def netplan(plan: Plan, host: Host, ports: Sequence[NicPort]) -> File:
    """The file of a host whose `ports` are on Ethernet."""
    nics = [_nic(plan, port, FIRST_TABLE + number) for number, port in enumerate(ports)]
    return File(
        f"hosts/{host.name}/netplan.yaml",
        text("hosts/netplan.yaml.j2", server=host.name, fabric=plan.name, nics=nics, mrc=plan.technology == "mrc"),
    )


def _nic(plan: Plan, port: NicPort, table: int) -> _Nic:
    anywhere: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    if port.tier == "server":
        if plan.technology != "mrc":
            anywhere, own = (str(_GPUS),), (str(rail(plan, port)),)
    else:  # users are beyond, so a NIC's own traffic may go anywhere; the rest takes the first NIC
        anywhere = ("0.0.0.0/0",)
        own = (str(_FRONTEND),) if port.nic == 0 else ()
    return _Nic(
        interface=port.name,
        mac=port.mac,
        address=str(port.address),
        length=31,
        gateway=str(port.gateway),
        table=table,
        mtu=PORT_MTU,
        leaf=port.peer or "nothing",
        leaf_interface=port.peer_interface or "",
        anywhere=anywhere,
        own=own,
    )


def rail(plan: Plan, port: NicPort) -> IPv4Network:
    """The subnet of all NICs of a port's rail and plane."""
    asked = plan.fabric.plan
    nic_bits = (int(asked["server"]["nics"]) - 1).bit_length()
    port_bits = (int(asked.get("planes", 1)) - 1).bit_length()
    return IPv4Network((int(port.address), _GPUS.prefixlen + nic_bits + port_bits), strict=False)
