"""Who sends what to whom: the alternating rail ring, the double binary tree and the direct all-to-all, over GPUs given
server by server."""

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


def double_tree(gpus: Nodes, buffer_bytes: float, channels: int) -> tuple[Edges, Nodes]:
    """All-reduce over two binary trees of servers, a chain inside each; and the tree of each edge, two a channel.

    Server i of the first tree stands on the level of its odd multiple of 2^level; its parent is the neighbour 2^level
    away that stands on the next level, or the one before it where that is beyond the last. The second tree is the first
    with servers counted from the end, or, for an odd number, from the second on. Channel c enters a server at GPU c
    (modulo its GPUs). Each tree's edges go up, children before parents, and then down the same way.
    """
    servers, rails = gpus.shape

    def parent(server: int) -> int:
        level = 1
        while server % (2 * level) == 0:
            level *= 2
        near, far = sorted((server - level, server + level), key=lambda other: other % (4 * level) != 2 * level)
        return near if near < servers else far

    first = [(parent(server), server) for server in range(1, servers)]
    moved = (lambda s: servers - 1 - s) if servers % 2 == 0 else (lambda s: (s + 1) % servers)
    second = [(moved(above), moved(below)) for above, below in first]
    sender, receiver, channel_of, tree_of = [], [], [], []
    for channel in range(channels):
        at = (channel + np.arange(rails)) % rails
        inside = [(gpus[s, at[i]], gpus[s, at[i + 1]]) for s in range(servers) for i in range(rails - 1)]
        for twin, between in enumerate((first, second)):
            links = inside + [(gpus[above, at[0]], gpus[below, at[0]]) for above, below in between]
            above = {below: above for above, below in links}

            def depth(node: int, above: dict[int, int] = above) -> int:
                return 1 + depth(above[node]) if node in above else 0

            down = sorted(links, key=lambda link: depth(link[1]))
            for start, end in [(below, above) for above, below in reversed(down)] + down:
                sender.append(start)
                receiver.append(end)
                channel_of.append(channel)
                tree_of.append(2 * channel + twin)
    ends = np.array(sender, dtype=np.int64), np.array(receiver, dtype=np.int64)
    return Edges(*ends, np.array(channel_of), buffer_bytes / channels / 2), np.array(tree_of)


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
