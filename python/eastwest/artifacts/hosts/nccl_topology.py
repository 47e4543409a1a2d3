"""NCCL's topology file (NCCL_TOPO_FILE) of the catalogue's server: CPUs, PCIe switches, GPUs and NICs as a tree.

On a bare server NCCL reads all this from sysfs and needs no file; in a virtual machine, which hides the tree, it does.
The catalogue knows which GPUs and NICs share a PCIe hop, not the addresses at which a machine puts them: these count
up here in a PCI domain that no machine has, and a script beside the file puts the machine's own in their place. Not
here: NVLink, which NCCL asks the driver for, and CPU affinity, which it reads itself.

The grammar is NCCL's own (`src/graph/xml.cc`): what it demands of a CPU is `arch`, and of an x86 one its maker, family
and model too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any
from xml.etree import ElementTree

from eastwest.workload.nccl import Cpu

_GPU, _BRIDGE, _ETHERNET, _INFINIBAND = "0x030200", "0x060400", "0x020000", "0x020700"
"""PCI class codes, as the PCI Code and ID Assignment specification has them."""
_DOMAIN = "ee00"
_CPUS: Mapping[Cpu, Mapping[str, str]] = {
    "intel": {"arch": "x86_64", "vendor": "GenuineIntel", "familyid": "6", "modelid": "143"},  # Sapphire Rapids
    "amd": {"arch": "x86_64", "vendor": "AuthenticAMD", "familyid": "175", "modelid": "17"},  # Genoa
    "arm": {"arch": "arm64"},  # Grace
}
_PCIE: tuple[tuple[float, str], ...] = (
    (126.03e9, "8.0 GT/s PCIe"),
    (252.06e9, "16.0 GT/s PCIe"),
    (504.12e9, "32.0 GT/s PCIe"),
)
"""Payload rate of 16 lanes by generation (see the catalogue's NICs); above the last: Gen6."""


def nccl_topology(server: Mapping[str, Any], nic: Mapping[str, Any], cpu: Cpu, is_infiniband: bool) -> str:
    """The file's text for a server and NIC as a fabric's plan has them.

    Two CPUs share the PCIe hops evenly where there are several, as in all servers of the catalogue.
    """
    gpus, nics = int(server["gpus"]), int(server["nics"])
    hops = min(gpus, nics)
    sockets = 2 if hops > 1 else 1
    system = ElementTree.Element("system", version="1")
    # Servers that share a rack's NVLink have Grace CPUs.
    about = _CPUS["arm" if int(server["nvlink_domain_servers"]) > 1 else cpu]
    for socket in range(sockets):
        of_cpu = ElementTree.SubElement(system, "cpu", {"numaid": str(socket), **about})
        for hop in range(hops):
            if hop * sockets // hops != socket:
                continue
            bridge = _device(of_cpu, _address(hop, 0), _BRIDGE, max(server["gpu"]["pcie_bps"], nic["pcie_bps"]))
            behind = chain(
                ((_GPU, server["gpu"]) for gpu in range(gpus) if gpu * hops // gpus == hop),
                (
                    (_INFINIBAND if is_infiniband else _ETHERNET, nic)
                    for each in range(nics)
                    if each * hops // nics == hop
                ),
            )
            for number, (kind, device) in enumerate(behind, start=1):
                _device(bridge, _address(hop, number), kind, device["pcie_bps"])
    ElementTree.indent(system)
    return ElementTree.tostring(system, encoding="unicode") + "\n"


def addresses(server: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The addresses that stand in the file for the server's GPUs and NICs, in their order."""
    gpus, nics = int(server["gpus"]), int(server["nics"])
    hops = min(gpus, nics)
    of_gpus = list(_behind(gpus, hops))
    per_hop = [sum(1 for hop, _ in of_gpus if hop == each) for each in range(hops)]
    of_nics = [(hop, per_hop[hop] + number) for hop, number in _behind(nics, hops)]
    return [_address(*place) for place in of_gpus], [_address(*place) for place in of_nics]


def _behind(count: int, hops: int) -> Iterator[tuple[int, int]]:
    """Hop and number there, from 1, of each of so many devices spread over hops in order."""
    seen = [0] * hops
    for each in range(count):
        hop = each * hops // count
        seen[hop] += 1
        yield hop, seen[hop]


def _address(hop: int, number: int) -> str:
    return f"{_DOMAIN}:{hop + 1:02x}:{number:02x}.0"


def _device(parent: ElementTree.Element, address: str, kind: str, rate_bps: float) -> ElementTree.Element:
    speed = next((speed for most, speed in _PCIE if rate_bps <= most * (1 + 1e-6)), "64.0 GT/s PCIe")
    return ElementTree.SubElement(
        parent, "pci", {"busid": address, "class": kind, "link_speed": speed, "link_width": "16"}
    )
