"""Who sends what to whom: the alternating rail ring and the direct all-to-all, over GPUs given server by server."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]


@dataclass(frozen=True)
class Edges:
    """Connections from GPU node `sender` to `receiver`, all of `bytes` bytes; arrays have one entry a connection."""

    sender: Nodes
    receiver: Nodes
    channel: Nodes
    bytes: float

    def __len__(self) -> int:
        return len(self.sender)


def rail_ring(gpus: Nodes, buffer_bytes: float, channels: int) -> Edges:
    """All-reduce over `gpus` of shape (servers, GPUs of a server), whose order is that of the ring.

    Channel c alternates between rails a = c and b = c + 1 (modulo the rails): it enters the first server on a and
    leaves it on b, enters the next on b and leaves it on a, so that every hop between servers stays on one rail. In
    between it passes through the server's other GPUs in turn, from the one it entered on.
    """
    servers, rails = gpus.shape
    ranks = servers * rails
    ring = np.empty((channels, ranks), dtype=np.int64)
    for channel in range(channels):
        ends = (channel % rails, (channel + 1) % rails)
        stops = []
        for server in range(servers):
            enters, leaves = ends if server % 2 == 0 else ends[::-1]
            inner = [(enters + step) % rails for step in range(1, rails)]
            inner.remove(leaves)
            stops.append(gpus[server, [enters, *inner, leaves]])
        ring[channel] = np.concatenate(stops)
    sent = 2 * (ranks - 1) / ranks * buffer_bytes / channels  # nccl-tests, doc/PERFORMANCE.md
    channel_of = np.repeat(np.arange(channels), ranks)
    return Edges(ring.ravel(), np.roll(ring, -1, axis=1).ravel(), channel_of, sent)


def direct(groups: Nodes, buffer_bytes: float) -> Edges:
    """All-to-all within each row of `groups`: every GPU sends an n-th of its buffer to each of the n of its group."""
    count, size = groups.shape
    is_other = ~np.eye(size, dtype=bool)
    sender = np.broadcast_to(groups[:, :, None], (count, size, size))[:, is_other].ravel()
    receiver = np.broadcast_to(groups[:, None, :], (count, size, size))[:, is_other].ravel()
    return Edges(sender, receiver, np.zeros(len(sender), dtype=np.int64), buffer_bytes / size)


def queue_pair_shares(connection_bytes: float, qps: int, message_bytes: float) -> NDArray[np.float64]:
    """Part of a connection's bytes on each queue pair when whole messages take turns; the last message may be short."""
    whole, rest = divmod(connection_bytes, message_bytes)
    sizes = np.append(np.full(int(whole), message_bytes), [rest] if rest else [])
    carried = np.bincount(np.arange(len(sizes)) % qps, weights=sizes, minlength=qps)
    return carried / connection_bytes
