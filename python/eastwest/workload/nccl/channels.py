"""How many channels NCCL would find in a server, and how fast it would take each to be.

NCCL searches the topology for rings and trees of channels that all have one of a few speeds, and takes what carries
most (`src/graph/search.cc`). Here the same speeds are tried on a server whose GPUs all reach an NVLink switch, and as
many NICs as its catalogue entry has. Not here: PCIe trees, CPUs between sockets, NICs that GPUs reach over others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import floor

from eastwest.catalog.entries import Architecture
from eastwest.workload.nccl.constants import Cpu, Method, Version, constants, shared
from eastwest.workload.nccl.transports import Transport, transport

MOST_CHANNELS = 64
_CLOSE = 0.49
"""A slower speed is tried as long as it is more than this part of the best so far."""
_SLACK = 1e-9


@dataclass(frozen=True)
class Machine:
    """What NCCL's model looks at: rates are of one GPU's NVLink and of one NIC, byte/s one way.

    `nics` is how many NICs there are for a GPU; `nvlink_sharp` says whether the NVLink switch adds up; `transport` is
    what carries NCCL between nodes.
    """

    architecture: Architecture
    nvlink: float
    nic: float
    nics: float = 1.0
    nvlink_sharp: bool = True
    cpu: Cpu = "intel"
    transport: Transport = field(default_factory=transport)


@dataclass(frozen=True)
class Group:
    """Ranks of one communicator, and the nodes (NVLink domains) that they are spread over.

    `is_even`: each node has as many of them as any other.
    """

    ranks: int
    nodes: int
    is_even: bool = True

    @property
    def per_node(self) -> float:
        """Ranks of a node."""
        return self.ranks / self.nodes


@dataclass(frozen=True)
class Channels:
    """What a search finds: so many channels, and the bandwidth of each inside a node and between nodes, byte/s."""

    count: int
    intra: float
    inter: float


@lru_cache(maxsize=1024)
def search(method: Method, group: Group, machine: Machine, version: Version = "HEAD") -> Channels:
    """The channels that a method would have; of count 0 where it has none."""
    speeds = constants(version).speeds[machine.architecture]["intra" if group.nodes == 1 else "inter"]
    if method in ("nvls", "nvls-tree"):
        return _nvls(group, machine, speeds)
    ring = _ring(group, machine, speeds)
    return ring if method == "ring" else _tree(ring, group, machine, speeds)


def running(method: Method, group: Group, machine: Machine, version: Version = "HEAD") -> int:
    """Channels that run: those that were found twice, and once more on Hopper and later where few carry much."""
    if method in ("nvls", "nvls-tree"):
        return shared().nvls_channels[machine.architecture][min(group.nodes, 2) - 1]
    if machine.transport.channels is not None and group.nodes > 1:
        return machine.transport.channels
    found = search("ring", group, machine, version)
    count = min(2 * found.count, MOST_CHANNELS)
    if group.nodes > 1 and machine.architecture != "ampere" and found.intra > 45e9 and count < 16:
        return 2 * count
    return count


def _ring(group: Group, machine: Machine, speeds: Sequence[float]) -> Channels:
    local = max(group.ranks // group.nodes, 1)
    nics = max(floor(local * machine.nics + _SLACK), 1)
    limit = machine.nvlink if group.nodes == 1 else machine.nic
    # The chain of a channel that comes in from a NIC leaves one GPU of the node without a hop.
    crossed = 1.0 if group.nodes == 1 else (local - 1) / local
    best = Channels(0, 0.0, 0.0)
    for speed in speeds:
        if speed > limit + _SLACK:
            continue
        if best.count and speed / best.intra <= _CLOSE:
            break
        count = MOST_CHANNELS // 2
        if crossed:
            count = min(count, floor(machine.nvlink / crossed / speed + _SLACK))
        if group.nodes > 1:
            count = min(count, nics * floor(machine.nic / speed + _SLACK))
        if count * speed > best.count * best.intra:
            best = Channels(count, speed, speed)
        if local > 1 and best.count * best.intra >= machine.nvlink:
            break
    return _doubled(best, machine)


def _doubled(found: Channels, machine: Machine) -> Channels:
    """Twice the channels of half the bandwidth, as NCCL has it where each carries much."""
    is_ampere = machine.architecture == "ampere"
    if found.count == 0 or found.intra < 25e9 or (not is_ampere and found.intra < 50e9 and found.count > 4):
        return found
    count = min(2 * found.count, MOST_CHANNELS // 2)
    parts = -(-count // found.count)
    return Channels(count, found.intra / parts, found.inter / parts)


def _tree(ring: Channels, group: Group, machine: Machine, speeds: Sequence[float]) -> Channels:
    """As many channels as the ring; inside a node as fast as NVLink allows, up to twice what the NICs do."""
    local = max(group.ranks // group.nodes, 1)
    most = machine.nvlink * local / max(local - 1, 1) / max(ring.count, 1)
    if group.nodes == 1:
        fitting = next((speed for speed in speeds if speed <= most + _SLACK), speeds[-1])
        return Channels(ring.count, fitting, fitting)
    intra = ring.inter
    for speed in reversed(speeds):
        if speed > intra and intra < 2 * ring.inter:
            if speed > most + _SLACK:
                break
            intra = speed
    return Channels(ring.count, intra, ring.inter)


def _nvls(group: Group, machine: Machine, speeds: Sequence[float]) -> Channels:
    """A channel for each GPU of a node, whose switch ports carry it once, and twice on the GPU that it is for."""
    heads = max(group.ranks // group.nodes, 1)
    if not machine.nvlink_sharp or heads < 2:
        return Channels(0, 0.0, 0.0)
    most = min(machine.nvlink / (heads + 1), machine.nvlink if group.nodes == 1 else machine.nic)
    intra = next((speed for speed in speeds if speed <= most + _SLACK), speeds[-1])
    inter = intra
    for speed in reversed(speeds):
        if speed > inter and inter < 2 * intra and (group.nodes == 1 or speed <= machine.nic + _SLACK):
            inter = speed
    return Channels(heads, intra, inter)
