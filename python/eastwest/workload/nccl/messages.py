"""What NCCL's sends and receives cost beyond paths and bytes: send/recv, and all-to-alls, which are many of both.

NCCL has no tuning model of them. They pass the same buffers as a ring's step, so they take the same latencies; each
message to another node is posted by one thread. Not here: groups of sends that do not fit channels at once, which NCCL
runs one after another, and the fewer channels that versions before 2.24 give a peer among many.
"""

from __future__ import annotations

from eastwest.workload.nccl.channels import Group, Machine
from eastwest.workload.nccl.constants import PROTOCOLS, constants, shared
from eastwest.workload.nccl.pipeline import Paths
from eastwest.workload.operations import Overheads

LL_MOST_BYTES = 16384
"""Bytes of a message within a node up to which NCCL sends it by LL (NCCL_P2P_LL_THRESHOLD, src/enqueue.cc)."""
_POSTS = 3
"""Times that a message by Simple costs the CPU what NCCL calls network overhead, as in its tuning of rings."""


def send_recv(size: float, others: int, machine: Machine, paths: Paths) -> Overheads:
    """What sends of `size` bytes cost where each rank has few, so many of them to other nodes at most."""
    return _messages(size, others, shared().send_recv[machine.architecture], machine, paths)


def all_to_all(size: float, group: Group, machine: Machine, paths: Paths) -> Overheads:
    """What an all-to-all of `size` bytes a rank costs: a message to each other rank."""
    others = group.ranks - int(group.per_node) if group.nodes > 1 else 0
    return _messages(size / group.ranks, others, shared().all_to_all, machine, paths)


def _messages(size: float, others: int, efficiency: float, machine: Machine, paths: Paths) -> Overheads:
    """What messages of `size` bytes cost when each rank sends to so many `others`, of other nodes, or to none of them.

    Between nodes they are by the Simple protocol: NCCL has no buffers for LL there unless told to
    (NCCL_ALLOC_P2P_NET_LL_BUFFERS).
    """
    crosses = others > 0
    newest, transport = constants("HEAD"), machine.transport
    protocol = "ll" if not crosses and size <= LL_MOST_BYTES and "ll" in transport.protocols else "simple"
    p = PROTOCOLS.index(protocol)
    posts_s = max(others - 1, 0) * _POSTS * shared().net_overhead_s[machine.cpu]
    return Overheads(
        base_s=newest.base_s["ring"][p] + posts_s,
        intra_s=newest.nvlink_s["ring"][p] - paths.nvlink_s,
        inter_s=newest.net_s["ring"][p] + transport.added_s - paths.network_s if crosses else 0.0,
        wire=1 / (transport.efficiency if crosses else efficiency),
    )
