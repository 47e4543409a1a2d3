"""BGP sessions as both ends configure them: each neighbour of a frr.conf, and the one that answers it at the far side.

By the link that an unnumbered session's interface is on, or by whose address the neighbour is. Not here: what is wrong
with a session (`rules/bgp`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from eastwest.checks.chain import Device
from eastwest.checks.links import End, Link
from eastwest.checks.read.frr import Frr, Neighbour


@dataclass(frozen=True)
class Session:
    """One side of a session.

    Attributes:
        device: whose it is, with its `frr`.
        neighbour: what it configures.
        far: the device at the other side, whose frr.conf is there too.
        back: what that one configures for this session; None where it has nothing that answers.
    """

    device: Device
    frr: Frr
    neighbour: Neighbour
    far: Device
    back: Neighbour | None

    @property
    def key(self) -> str:
        """The neighbour's first line."""
        return f"line {self.neighbour.line} neighbor {self.neighbour.name}"


def sessions(devices: list[Device], links: list[Link]) -> Iterator[Session]:
    """Each side of each session whose other device is known."""
    owners = address_owners(devices)
    across = {(end.owner, end.port): far for link in links for end, far in link.ends}
    for device in devices:
        frr = device.switch.frr
        for neighbour in frr.neighbours.values() if frr else ():
            end: End | None = across.get((device.name, neighbour.name))
            far = end.device if end else owners.get(neighbour.name)
            if frr and far and far is not device and far.switch.frr:
                yield Session(device, frr, neighbour, far, _answer(device, neighbour, far, across))


def _answer(device: Device, neighbour: Neighbour, far: Device, across: dict[tuple[str, str], End]) -> Neighbour | None:
    """The neighbour at the other side that a session meets: on the same link, or where none leads there by address."""
    theirs = far.switch.frr.neighbours if far.switch.frr else {}
    port, own = _local(device, neighbour)
    end = across.get((device.name, port))
    if end is not None and end.device is far and end.port in theirs:
        return theirs[end.port]
    return next((back for name, back in theirs.items() if name in own), None)


def _local(device: Device, neighbour: Neighbour) -> tuple[str, set[str]]:
    """The port by which a session leaves, and the addresses that the other side can know it by.

    A neighbour's address that is in the subnet of no port is reached over others: then by any address of the device.
    """
    held = list(_addresses(device))
    if neighbour.unnumbered:
        return neighbour.name, {str(each.ip) for port, each in held if port == neighbour.name}
    try:
        asked = ipaddress.ip_address(neighbour.name)
    except ValueError:
        return "", set()
    for port, each in held:
        if asked in each.network:
            return port, {str(each.ip)}
    return "", {str(each.ip) for _, each in held}


def _addresses(device: Device) -> Iterator[tuple[str, ipaddress.IPv4Interface | ipaddress.IPv6Interface]]:
    """All addresses of a device with the ports that they are on; what is none is left out."""
    written = [(port, address) for _, port, address in device.switch.addresses()]
    if device.switch.frr:
        written += [(port, address) for port, address, _ in device.switch.frr.addresses]
    for port, address in written:
        try:
            yield port, ipaddress.ip_interface(address)
        except ValueError:
            continue


def address_owners(devices: list[Device]) -> dict[str, Device]:
    """Whose each address is, where it is one device's alone."""
    found: dict[str, Device | None] = {}
    for device in devices:
        for address in {str(each.ip) for _, each in _addresses(device)}:
            found[address] = device if found.get(address, device) is device else None
    return {address: device for address, device in found.items() if device is not None}
