"""In what pieces NCCL cuts a collective, and over how many channels: what decides how its pipelines fill.

Rules of `src/enqueue.cc` (`calcCollChunking`, `topoGetAlgoInfo`) at HEAD, and of `src/transport/nvls.cc`; versions
since 2.20 agree where they matter here. Not here: what a piece costs (`pipeline`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from eastwest.workload.nccl.channels import Group
from eastwest.workload.nccl.model import Way
from eastwest.workload.nccl.transports import Transport
from eastwest.workload.operations import Protocol

STEPS = 8
"""Slots that a channel's buffer is divided into (NCCL_STEPS)."""
_RING_STEPS = STEPS // 2
"""Slots that a chunk of a ring fills (ALLREDUCE_CHUNKSTEPS and its likes)."""
_KIB = 1024
FULL_CHANNEL = 512 * 64
"""Bytes of a message by Simple at which each of a channel's 512 threads has its 64 bytes of work."""
_LL_CHUNK, _LL128_CHUNK = 32 * _KIB, 8 * 640 * 120 * 15 / 16
"""Data in a slot of a channel's buffers by LL and LL128."""
_PARTS: Mapping[Protocol, int] = {"ll": 512 * 8, "ll128": 640 * 8, "simple": FULL_CHANNEL}
"""Bytes by which NCCL adds channels: so many for each thread; of a ring by LL, of each rank."""


def used_channels(way: Way, size: float) -> int:
    """Of the channels that run, those that a message of `size` bytes uses: all of NVLS, else as there is work."""
    return int(full_channels(way, size))


def full_channels(way: Way, size: float) -> float:
    """The same without rounding: channels that a message fills, so that what they take never falls as it grows."""
    if way.method in ("nvls", "nvls-tree"):
        return way.channels
    part = _PARTS[way.protocol] * (way.group.ranks if (way.method, way.protocol) == ("ring", "ll") else 1)
    return max(1.0, min(way.channels, size / part))


def ring_chunk(size: float, ranks: int, channels: float, transport: Transport) -> float:
    """Bytes that a channel of a ring sends in a step by Simple."""
    return min(transport.buffer_bytes / STEPS * _RING_STEPS, size / (ranks * channels))


def tree_chunk(way: Way, size: float, channels: float) -> float:
    """Bytes of payload that each of the `channels` of a tree passes on at a time."""
    if way.protocol == "simple":
        return min(way.machine.transport.buffer_bytes / STEPS, size / channels)
    if way.protocol == "ll":
        return min(_LL_CHUNK, size / channels)
    chunk, group = _LL128_CHUNK, way.group
    depth = 1 + int(math.log2(group.nodes)) + 0.1 * group.per_node
    for loops, least in ((64, 128 * _KIB), (16, 32 * _KIB)):
        while size // (channels * chunk) < depth * loops / group.per_node and chunk > least:
            chunk /= 2
    return min(chunk, size / channels)


def nvls_chunk(size: float, parts: int, group: Group, transport: Transport) -> float:
    """Bytes of each of the `parts` (channels times heads) that NVLS has under way; over several nodes, of NVLSTree."""
    chunk = transport.nvls_chunk_bytes
    if group.nodes == 1:
        for least, loops in ((64, 64), (32, 8), (16, 2)):
            if size < loops * parts * chunk and chunk > least * _KIB:
                chunk = least * _KIB
    else:
        most = transport.nvls_tree_chunk_bytes
        if most is None:
            most = 64 * _KIB if group.nodes >= 4 else chunk
        chunk = min(chunk, most)
        for least, loops in ((256, 32), (128, 16), (64, 4), (32, 1)):
            if size < loops * parts * chunk and chunk > least * _KIB:
                chunk = least * _KIB
    return min(chunk, size / parts)
