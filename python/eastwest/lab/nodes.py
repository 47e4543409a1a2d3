"""Switches, servers and cables of a lab, as `plan.json` in the folder that was built has them.

What a lab runs is what was built, whatever has become of the study since. Not here: how any of it is brought up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from eastwest.artifacts.plan_json import PLAN
from eastwest.document import nearest
from eastwest.lab.failure import LabError

HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")


@dataclass(frozen=True)
class End:
    """One end of a cable: a node and the name of its interface."""

    node: str
    interface: str

    def __str__(self) -> str:
        return f"{self.node}:{self.interface}"


@dataclass(frozen=True)
class Wire:
    """A cable by its number in the plan: its ends, `a` nearer to the servers, and its line rate each way."""

    number: int
    a: End
    b: End
    rate_bps: float

    def __str__(self) -> str:
        return f"{self.a} to {self.b}"


@dataclass(frozen=True)
class Port:
    """A port with a cable: of a switch, or of a server's NIC.

    `number` counts the ports of the switch, or the NIC's, which is `nic` (-1 at a switch); `tier` is the NIC's.
    Addresses have no prefix length, and `gateway` is the switch's end of a NIC's /31; all None where there is none.
    """

    name: str
    number: int
    peer: End
    mac: str
    is_to_host: bool = False
    address: str | None = None
    address6: str | None = None
    gateway: str | None = None
    tier: str = ""
    nic: int = -1


@dataclass(frozen=True)
class Node:
    """A switch or a host: its host name, its name in the fabric, and its ports that have a cable.

    A switch has a `tier`, an ASN, loopbacks and an `id` that no other switch has.
    """

    name: str
    fabric_name: str
    is_switch: bool
    ports: tuple[Port, ...]
    tier: str = ""
    id: int = 0
    asn: int = 0
    loopback: str = ""
    loopback6: str = ""


@dataclass(frozen=True)
class Nodes:
    """All of a lab's nodes and cables, and the technology of the GPUs' network."""

    technology: str
    all: tuple[Node, ...]
    wires: tuple[Wire, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """Every node by its host name."""
        return {node.name: node for node in self.all}

    @property
    def switches(self) -> tuple[Node, ...]:
        """The switches."""
        return tuple(node for node in self.all if node.is_switch)

    @property
    def hosts(self) -> tuple[Node, ...]:
        """Servers, and those of storage."""
        return tuple(node for node in self.all if not node.is_switch)

    def named(self, name: str) -> Node:
        """The node of that name.

        Raises:
            LabError: there is none; says which is near.
        """
        if name not in self.by_name:
            near = nearest(name, tuple(self.by_name))
            raise LabError(f"there is no node {name!r}{f'; did you mean {near!r}?' if near else ''}")
        return self.by_name[name]

    def wires_of(self, name: str) -> tuple[Wire, ...]:
        """The cables of a node."""
        return tuple(wire for wire in self.wires if name in (wire.a.node, wire.b.node))


def read_nodes(built: Path) -> Nodes:
    """Reads the plan of a folder that `eastwest build` wrote.

    Raises:
        LabError: it holds no plan.
    """
    path = built / PLAN
    try:
        plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        switches = tuple(_switch(each) for each in plan["switches"])
        hosts = tuple(_host(each) for each in plan["hosts"])
        wires = tuple(
            Wire(
                int(each["number"]),
                End(each["a"], each["a_interface"]),
                End(each["b"], each["b_interface"]),
                float(each["rate_bps"]),
            )
            for each in plan["cables"]
        )
        nodes = Nodes(str(plan["technology"]), (*switches, *hosts), wires)
        _check(nodes)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}: the lab runs what `eastwest build` wrote") from None
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{path}: this is no plan of `eastwest build`: {type(error).__name__} {error}") from None
    return nodes


def _switch(given: Mapping[str, Any]) -> Node:
    ports = tuple(
        Port(
            name=each["name"],
            number=each["number"],
            peer=End(each["peer"], each["peer_interface"]),
            mac=given["mac"],
            is_to_host=each["is_to_host"],
            address=each["address"],
            address6=each["address6"],
        )
        for each in given["ports"]
        if each["cable"] is not None
    )
    kept = ("name", "fabric_name", "tier", "id", "asn", "loopback", "loopback6")
    return Node(is_switch=True, ports=ports, **{key: given[key] for key in kept})


def _host(given: Mapping[str, Any]) -> Node:
    ports = tuple(
        Port(
            name=each["name"],
            number=each["port"],
            peer=End(each["peer"], each["peer_interface"]),
            mac=each["mac"],
            address=each["address"],
            gateway=each["gateway"],
            tier=each["tier"],
            nic=each["nic"],
        )
        for each in given["ports"]
        if each["cable"] is not None
    )
    return Node(name=given["name"], fabric_name=given["fabric_name"], is_switch=False, ports=ports)


def _check(nodes: Nodes) -> None:
    """Refuses what no build writes: names become files and words of commands that root runs.

    Raises:
        ValueError: a name, an address or a cable's end is none.
    """
    ends = [end for wire in nodes.wires for end in (wire.a, wire.b)]
    ends += [End(node.name, port.name) for node in nodes.all for port in node.ports]
    ends += [port.peer for node in nodes.all for port in node.ports]
    for end in ends:
        if end.node not in nodes.by_name or not INTERFACE.fullmatch(end.interface):
            raise ValueError(f"{str(end)!r} is no interface of a node")
    for node in nodes.all:
        if not HOST_NAME.fullmatch(node.name):
            raise ValueError(f"{node.name!r} is no host name")
        for given in (node.loopback, node.loopback6):
            ip_address(given or "::")
        for port in node.ports:
            for address in (port.address, port.address6, port.gateway):
                ip_address(address or "::")
            if not MAC.fullmatch(port.mac):
                raise ValueError(f"{port.mac!r} is no MAC")
