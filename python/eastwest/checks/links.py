"""Which port is cabled to which: from a plan, DEVICE_NEIGHBOR, addresses of one small subnet, or descriptions.

A pair is taken from the first of these that names it; a port that two of them see differently is a rule's business.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from eastwest.checks.chain import Device
from eastwest.checks.read import Evidence, Host


@dataclass(frozen=True)
class End:
    """One end of a cable: a switch's port, or a server's."""

    port: str
    device: Device | None = None
    host: Host | None = None

    @property
    def owner(self) -> str:
        """The name of the switch or server."""
        return self.device.name if self.device else (self.host.name if self.host else "")

    def __str__(self) -> str:
        return f"{self.owner} {self.port}"


@dataclass(frozen=True)
class Link:
    """Two ends, what says that they are joined, and the cable's length where a plan gives it."""

    a: End
    b: End
    by: str
    metres: float | None = None

    @property
    def ends(self) -> tuple[tuple[End, End], tuple[End, End]]:
        """Each end with the other."""
        return (self.a, self.b), (self.b, self.a)

    @property
    def switches(self) -> bool:
        """Whether both ends are of switches."""
        return self.a.device is not None and self.b.device is not None


def pair(evidence: Evidence, devices: list[Device]) -> list[Link]:
    """The links that can be told."""
    out: dict[tuple[str, str], Link] = {}
    for link in (
        *_planned(evidence, devices),
        *_neighbours(devices),
        *subnets(evidence, devices),
        *_described(devices),
    ):
        keys = [(end.owner, end.port) for end in (link.a, link.b)]
        if keys[0] != keys[1] and not any(key in out for key in keys):
            out[keys[0]] = out[keys[1]] = link
    return list(dict.fromkeys(out.values()))


def by_name(devices: list[Device]) -> dict[str, Device]:
    """Devices whose name is theirs alone, in lower case: hostnames are."""
    names = [device.name.lower() for device in devices]
    return {device.name.lower(): device for device in devices if names.count(device.name.lower()) == 1}


def port_of(device: Device, written: str) -> str | None:
    """A port of a switch by its name or its alias."""
    ports = device.switch.table("PORT")
    if written in ports:
        return written
    return next((name for name, row in ports.items() if written and row.get("alias") == written), None)


def _planned(evidence: Evidence, devices: list[Device]) -> Iterator[Link]:
    """A plan's cables, where both ends were given."""
    if evidence.plan is None:
        return
    named, hosts = by_name(devices), {host.name.lower(): host for host in evidence.hosts}
    for cable in evidence.plan.cables:
        ends = []
        for node, port in cable.ends:
            device = named.get(node.lower())
            if device is not None:
                ends.append(End(port, device=device))
            elif node.lower() in hosts:
                ends.append(End(port, host=hosts[node.lower()]))
        if len(ends) == 2:
            yield Link(ends[0], ends[1], evidence.plan.file, cable.metres)


def _neighbours(devices: list[Device]) -> Iterator[Link]:
    """DEVICE_NEIGHBOR, where the neighbour's file is there and has such a port."""
    named = by_name(devices)
    for device in devices:
        for key, row in device.switch.table("DEVICE_NEIGHBOR").items():
            port = port_of(device, row.get("local_port") or key)
            other = named.get(row.get("name", "").lower())
            far = port_of(other, row.get("port", "")) if other else None
            if port and other and far:
                yield Link(End(port, device), End(far, other), "DEVICE_NEIGHBOR")


def subnets(evidence: Evidence, devices: list[Device]) -> Iterator[Link]:
    """Two interfaces of two devices that are alone in a subnet of two or four addresses."""
    members: dict[str, list[End]] = {}
    for device in devices:
        written = [(name, address) for table, name, address in device.switch.addresses() if table == "INTERFACE"]
        if device.switch.frr:
            written += [(name, address) for name, address, _ in device.switch.frr.addresses if name != "lo"]
        for name, address in dict.fromkeys(written):
            _join(members, address, End(name, device))
    for host in evidence.hosts:
        for port in host.ports.values():
            for address in port.addresses:
                _join(members, address, End(port.name, host=host))
    for ends in members.values():
        if len(ends) == 2 and ends[0].owner != ends[1].owner:
            yield Link(ends[0], ends[1], "addresses")


def _join(members: dict[str, list[End]], address: str, end: End) -> None:
    """Puts an interface with its subnet, where that is one of a link."""
    try:
        interface = ipaddress.ip_interface(address)
    except ValueError:
        return
    if 1 <= interface.max_prefixlen - interface.network.prefixlen <= 2:
        members.setdefault(str(interface.network), []).append(end)


def _described(devices: list[Device]) -> Iterator[Link]:
    """Descriptions that name another switch and one of its ports, e.g. `leaf01:Ethernet4`."""
    named = by_name(devices)
    for device in devices:
        for port, row in device.switch.table("PORT").items():
            words = re.split(r"[\s:,|>()\[\]]+", row.get("description", ""))
            for word, following in itertools.pairwise(words):
                other = named.get(word.lower())
                far = port_of(other, following) if other and other is not device else None
                if other and far:
                    yield Link(End(port, device), End(far, other), "descriptions")
