"""What a collective by NCCL takes beyond its tuning tables: pipelines that fill, and what each chunk costs.

The tables know a latency and a bandwidth. In truth a channel works chunk by chunk: the first one passes all hops before
the last sets out, and each waits for a flag. Here are both, from NCCL's own chunks (`chunks`) and a few constants that
were fitted (`kernels` in `constants.yaml`, `transports.yaml`). Not here: what NCCL chooses (`model`, `choice`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from eastwest.workload.nccl.channels import Machine, search
from eastwest.workload.nccl.chunks import FULL_CHANNEL, full_channels, nvls_chunk, ring_chunk, tree_chunk
from eastwest.workload.nccl.constants import PROTOCOLS, constants, shared
from eastwest.workload.nccl.model import WIRE, Latency, Way

_STAGES = 3
"""Stages that a chunk passes in NVLS: scattered to the switch's buffers, summed and multicast, gathered."""
_OVER_TABLE = 1.05
"""What trees over two nodes carry over NCCL's table of what they do at most; fitted on 2 p5 and 2 a3-megagpu."""


@dataclass(frozen=True)
class Cost:
    """What a collective takes, paths included: once and a hop (s), and the algorithm bandwidth it never exceeds."""

    base_s: float
    intra_s: float
    inter_s: float
    bandwidth: float


@dataclass(frozen=True)
class Paths:
    """Latency of the paths that are part of NCCL's constants, s: GPU to GPU over NVLink, and by one switch."""

    nvlink_s: float
    network_s: float


def cost(way: Way, size: float) -> Cost:
    """What a way of running a collective of `size` bytes takes.

    Versions choose by their own constants; what hops take in truth does not change with them, and the newest know best.
    Its tables of what channels carry at most are of as many as it runs, and count for more or fewer in proportion.
    """
    newest = replace(way, constants=constants("HEAD"))
    if way.method in ("nvls", "nvls-tree"):
        return _nvls(newest, size)
    most, channels = _most(newest) * way.channels / newest.channels, full_channels(way, size)
    return (_ring if way.method == "ring" else _tree)(newest, size, channels, most)


def _most(newest: Way) -> float:
    """Bus bandwidth that no more is carried of, byte/s: NCCL's tables, but for trees that were seen to carry more."""
    seen = shared().tree_carries.get(newest.machine.architecture, 0.0)
    if newest.method != "tree" or newest.protocol != "simple":
        return newest.limit
    return max(newest.limit, search("tree", newest.group, newest.machine).count * seen)


def node_rate(way: Way) -> float:
    """What all NICs of a node that the group's ranks reach carry for it, byte/s."""
    return way.group.per_node * rank_rate(way.machine)


def rank_rate(machine: Machine) -> float:
    """What a GPU's NICs carry, byte/s."""
    return machine.nic * machine.nics * machine.transport.efficiency


def _between(way: Way, inter_s: float) -> float:
    """A hop between nodes: NCCL's constant, and what the transport adds."""
    return inter_s + way.machine.transport.added_s if way.group.nodes > 1 else 0.0


def _network(way: Way) -> float:
    """The algorithm bandwidth that a transport reaches on the NICs, byte/s; infinite where links alone hold it."""
    nodes, rate = way.group.nodes, node_rate(way)
    if nodes == 1 or way.machine.transport.efficiency == 1:
        return math.inf
    if way.method == "ring":
        return rate * way.algorithm_over_bus
    return rate / {2: 1.0, 3: 1.5}.get(nodes, 2.0)


def _together(way: Way) -> float:
    """Of all channels' first chunks, the part that passes a NIC at once at a hop of a tree between nodes: the mean.

    Channels take two trees in turn, in which a node is at different depths, so that half of them pass at a time; but a
    node hears from two children, and sends to two. The root has one.
    """
    depth = max(math.ceil(math.log2(way.group.nodes)), 1)
    return (2 * depth - 1) / (2 * depth)


def _nvls(way: Way, size: float) -> Cost:
    kernel, machine, group = shared().nvls, way.machine, way.group
    channels, heads = way.channels, max(int(group.per_node), 1)
    parts, sync_s = channels * heads, kernel.sync_s[machine.architecture]
    chunk = nvls_chunk(size, parts, group, machine.transport)
    loop_s = sync_s + parts * chunk / (kernel.channel[machine.architecture] * channels)
    bandwidth = min(parts * chunk / loop_s, _network(way))
    if way.method == "nvls-tree":
        most = way.limit * way.algorithm_over_bus
        bandwidth = min(bandwidth, most * (_OVER_TABLE if group.nodes == 2 else 1.0))
    filling_s = _together(way) * channels * chunk / rank_rate(machine)
    inter_s = _between(way, way.latency(size).inter_s + filling_s)
    # The first chunks have NVLink to themselves.
    alone_s = sync_s + parts * chunk / machine.nvlink
    return Cost(kernel.base_s + (_STAGES - 1) * alone_s, 0.0, inter_s, bandwidth)


def _tree(way: Way, size: float, channels: float, most: float) -> Cost:
    found = _plateaued(way, size)
    limit = most * way.algorithm_over_bus
    filling = channels * tree_chunk(way, size, channels) * WIRE[way.protocol]
    if way.protocol == "simple" and way.group.nodes == 2:
        limit *= _OVER_TABLE
    least_s = filling / channels / WIRE[way.protocol] / shared().ll_channel if way.protocol == "ll" else 0.0
    intra_s = found.intra_s + max(filling / way.machine.nvlink, least_s)
    inter_s = _between(way, found.inter_s + max(_together(way) * filling / node_rate(way), least_s))
    return Cost(found.base_s, intra_s, inter_s, min(limit, _network(way)))


def _ring(way: Way, size: float, channels: float, most: float) -> Cost:
    found = _plateaued(way, size)
    base_s = found.base_s
    if way.protocol == "simple" and way.kind not in ("broadcast", "reduce"):
        # The latencies have the first round's steps; each later one waits as often again.
        chunk = ring_chunk(size, way.group.ranks, channels, way.machine.transport)
        rounds = size / (way.group.ranks * channels * chunk)
        base_s += (rounds - 1) * (found.intra_hops + found.inter_hops) * way.latency(0).intra_s
    bandwidth = min(min(most, _kernels(way, channels)) * way.algorithm_over_bus, _network(way))
    return Cost(base_s, found.intra_s, _between(way, found.inter_s), bandwidth)


def _kernels(way: Way, channels: float) -> float:
    """Bus bandwidth that the channels of a ring do not exceed, byte/s, where that is less than NCCL's tables have."""
    known = shared()
    if way.protocol == "ll":
        return channels * known.ll_channel
    return known.ring_ll128.get(way.machine.architecture, math.inf) if way.protocol == "ll128" else math.inf


def _hops(way: Way, size: float) -> Latency:
    """Latencies of a ring or tree before they are plateaued: NCCL's constants, with what was measured on each GPU.

    To NCCL a ring's hop between nodes takes less than a tree's by LL and LL128, and posting to the NIC more than
    NVLink. Measured, it is the same hop, and posting does not show. And of m nodes that a ring joins, its slowest data
    crosses the network m times each way, once in the place of one of NVLink's hops: NCCL counts m - 1, as the engine
    does, so that these are as long as m.
    """
    if way.protocol == "simple" or way.kind in ("broadcast", "reduce"):
        return way.latency(0 if way.protocol == "simple" else size)
    found, constants, p = way.latency(size), way.constants, PROTOCOLS.index(way.protocol)
    nodes, added_s = way.group.nodes, way.machine.transport.added_s
    intra_s = constants.nvlink_s[way.method][p] * shared().nvlink[way.machine.architecture][p]
    inter_s = constants.net_s["tree"][p]
    if way.method == "ring" and 1 < nodes < way.group.ranks:
        inter_s = (nodes * (inter_s + added_s) - intra_s) / (nodes - 1) - added_s
    return replace(found, intra_s=intra_s, inter_s=inter_s)


def _plateaued(way: Way, size: float) -> Latency:
    """Latencies of a ring or tree: by Simple longer than NCCL's constants once a channel has work for all threads."""
    found = _hops(way, size)
    if way.protocol != "simple":
        return found
    if size < FULL_CHANNEL:
        return found
    known = shared()
    return found.times(known.ring_plateau[way.machine.architecture] if way.method == "ring" else known.tree_plateau)
