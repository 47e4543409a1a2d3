"""What a server has in its namespace: its NICs' addresses, and a way out by the NIC that a packet's source belongs to.

Not here: settings of NICs and GPUs, which no namespace has.
"""

from __future__ import annotations

from eastwest.lab.nodes import Node
from eastwest.lab.wiring import MTU, Place

FIRST_TABLE = 100
"""Number of the routing table of a server's first NIC port; the others' follow."""


def host_place(host: Node) -> Place:
    """A server: for each NIC port a routing table, which packets from its address use."""
    ports = [port for port in host.ports if port.address and port.gateway]
    commands = []
    for table, port in enumerate(ports, FIRST_TABLE):
        commands.append(f"route add default via {port.gateway} dev {port.name} table {table}")
        commands.append(f"rule add from {port.address} table {table}")
    if ports:
        hops = " ".join(f"nexthop via {port.gateway} dev {port.name}" for port in ports)
        commands.append(f"route add default {hops}")
    return Place(
        name=host.name,
        addresses={port.name: (f"{port.address}/31",) for port in ports},
        macs={port.name: port.mac for port in host.ports},
        mtus={port.name: MTU for port in host.ports},
        commands=commands,
    )
