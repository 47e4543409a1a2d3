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
                yield Session(device, frr, neighbour, far, _answer(device, neighbour, far, end, across))


def _answer(
    device: Device, neighbour: Neighbour, far: Device, end: End | None, across: dict[tuple[str, str], End]
) -> Neighbour | None:
    """The neighbour at the other side that a session meets."""
    theirs = far.switch.frr.neighbours if far.switch.frr else {}
    if end is not None and end.port in theirs:
        return theirs[end.port]
    mine = set(_plain_addresses(device))
    for name, back in theirs.items():
        if name in mine and not (neighbour.unnumbered and end and not _on_link(name, device, neighbour.name)):
            return back
        if not neighbour.unnumbered and back.unnumbered:
            there = across.get((far.name, name))
            if there and there.device is device:
                return back
    return None


def _on_link(address: str, device: Device, port: str) -> bool:
    """Whether an address of a device is one of a port's."""
    return any(
        interface == port and written.split("/")[0] == address for _, interface, written in device.switch.addresses()
    ) or any(name == port and written.split("/")[0] == address for name, written, _ in _frr_addresses(device))


def _frr_addresses(device: Device) -> list[tuple[str, str, int]]:
    return device.switch.frr.addresses if device.switch.frr else []


def _plain_addresses(device: Device) -> Iterator[str]:
    """All addresses of a device, without prefix length and in one spelling."""
    written = [address for _, _, address in device.switch.addresses()]
    written += [address for _, address, _ in _frr_addresses(device)]
    for each in written:
        try:
            yield str(ipaddress.ip_interface(each).ip)
        except ValueError:
            continue


def address_owners(devices: list[Device]) -> dict[str, Device]:
    """Whose each address is, where it is one device's alone."""
    found: dict[str, Device | None] = {}
    for device in devices:
        for address in _plain_addresses(device):
            found[address] = device if found.get(address, device) is device else None
    return {address: device for address, device in found.items() if device is not None}
