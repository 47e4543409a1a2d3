"""What NCCL would choose for a collective, and what that costs beyond paths and bytes.

The choice is the algorithm and protocol of the least predicted time. Its costs go into `Overheads`; the constants
contain the paths of the systems on which they were fitted, which are taken out again. Not here: the network's part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eastwest.workload.nccl.channels import Group, Machine
from eastwest.workload.nccl.chunks import used_channels
from eastwest.workload.nccl.constants import Constants, Method
from eastwest.workload.nccl.messages import all_to_all
from eastwest.workload.nccl.model import WIRE, Way
from eastwest.workload.nccl.pipeline import Paths, cost
from eastwest.workload.operations import Algorithm, CollectiveKind, Overheads, Protocol

METHOD_OF: Mapping[Algorithm, Method] = {
    "ring": "ring",
    "rail-ring": "ring",
    "tree": "tree",
    "nvls": "nvls",
    "nvls-tree": "nvls-tree",
}
"""Algorithms for which NCCL has constants, and what it calls them."""
_ALGORITHM: Mapping[Method, Algorithm] = {
    "ring": "rail-ring",
    "tree": "tree",
    "nvls": "nvls",
    "nvls-tree": "nvls-tree",
}


class NoConstantsError(ValueError):
    """NCCL has no constants for what is asked."""


@dataclass(frozen=True)
class Choice:
    """How a collective is to run: `channels` as an operation counts them, `protocol` None where NCCL has no model."""

    algorithm: Algorithm
    protocol: Protocol | None
    channels: int
    overheads: Overheads


def choose(
    kind: CollectiveKind,
    size: float,
    group: Group,
    machine: Machine,
    constants: Constants,
    paths: Paths,
    algorithm: Algorithm | None = None,
    protocol: Protocol | None = None,
    channels: int | None = None,
) -> Choice:
    """What NCCL would choose for a collective of `size` bytes, of what algorithm, protocol and channels leave open.

    An all-to-all is sends and receives to NCCL: over the receiver's rail where ranks share nodes.

    Raises:
        NoConstantsError: NCCL has none for the GPUs, the algorithm, or the protocol.
    """
    if machine.architecture not in constants.ll_one_node:
        raise NoConstantsError(f"NCCL {constants.version} has no constants for {machine.architecture} GPUs")
    if kind == "all-to-all" and algorithm is None and protocol is None:
        passes_on = group.nodes > 1 and group.ranks > group.nodes
        found = all_to_all(size, group, machine, paths)
        return Choice("pxn" if passes_on else "direct", None, channels or 1, found)
    if algorithm is not None and algorithm not in METHOD_OF:
        raise NoConstantsError(f"NCCL has no constants for {algorithm}")
    methods = machine.transport.methods if algorithm is None else (METHOD_OF[algorithm],)
    protocols = machine.transport.protocols if protocol is None else (protocol,)
    ways = [Way(kind, method, each, group, machine, constants) for method in methods for each in protocols]
    open_ways = [way for way in ways if way.is_open]
    if not open_ways:
        over = "one node" if group.nodes == 1 else f"{group.nodes} nodes"
        asked = " by ".join(word for word in (algorithm, protocol) if word)
        raise NoConstantsError(f"NCCL {constants.version} does not run {kind} by {asked} over {over}")
    best = min(open_ways, key=lambda way: way.time_s(size))
    used = channels or channels_of(best, size)
    return Choice(algorithm or _ALGORITHM[best.method], best.protocol, used, overheads(best, size, paths, used))


def channels_of(way: Way, size: float) -> int:
    """Channels of an operation of `size` bytes that runs so; of NVLS, those of each rail."""
    used = used_channels(way, size)
    if way.method in ("nvls", "nvls-tree"):
        return max(used // max(int(way.group.per_node), 1), 1)
    return used


def overheads(way: Way, size: float, paths: Paths, channels: int) -> Overheads:
    """What a way of running a collective of `size` bytes costs beyond paths and bytes, over so many channels.

    A hop of the engine takes what its path takes and this; so this is NCCL's constant less the path that it contains.
    """
    found = cost(way, size)
    base_s, intra_s = found.base_s, found.intra_s
    if way.kind in ("broadcast", "reduce"):
        # NCCL counts one step more than there are hops, and on one node one alone, since it pipelines the others
        base_s, intra_s = base_s + found.intra_s, intra_s if way.group.nodes > 1 else 0.0
    return Overheads(
        base_s=base_s,
        intra_s=intra_s - paths.nvlink_s,
        inter_s=found.inter_s - paths.network_s if way.group.nodes > 1 else 0.0,
        wire=WIRE[way.protocol],
        channel_rate=_channel_rate(way, found.bandwidth, channels),
    )


def _channel_rate(way: Way, bandwidth: float, channels: int) -> float:
    """Payload that one channel cannot exceed, byte/s: of what all do not exceed (algorithm bandwidth), its share."""
    if way.method == "ring":
        return bandwidth / way.algorithm_over_bus / channels
    rails = int(way.group.per_node) if way.method in ("nvls", "nvls-tree") else 1
    return bandwidth / (channels * rails)
