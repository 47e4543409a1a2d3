"""Background traffic: what others on the network send all the time, beside the jobs of a mix.

Every GPU offers the same rate of payload, from its own NIC to GPUs of other servers. Not here: what becomes of it where
links are full (the engine gives it its fair share and no more than it offers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Traffic = Literal["permutation", "all-to-all", "incast"]
Nodes = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Background:
    """GPU nodes that send, shape (senders,), and to each one's row of `receivers`, shape (senders, receivers).

    Each sender offers `rate_bps`, bit/s of payload, in equal parts to its receivers; where the network has less for
    one of them, all of them get less alike.
    """

    senders: Nodes
    receivers: Nodes
    rate_bps: float


def background(traffic: Traffic, servers: Nodes, rate_bps: float, seed: int = 0) -> Background:
    """Traffic between all GPUs of `servers`, an array of GPU nodes of shape (servers, GPUs of each).

    permutation: servers stand in a ring in random order, and the GPUs of each send to those of the next, one to one in
    random order. all-to-all: every GPU sends to all of other servers alike. incast: all GPUs send to one, drawn at
    random, except those of its own server. `seed` draws what is random.

    Raises:
        ValueError: there are fewer than two servers.
    """
    count, gpus = servers.shape
    if count < 2:
        raise ValueError("background traffic goes between servers, and there is one")
    draw = np.random.default_rng(seed)
    if traffic == "permutation":
        ring = draw.permutation(count)
        receivers = np.empty_like(servers)
        for server, following in zip(ring, np.roll(ring, -1), strict=True):
            receivers[server] = draw.permutation(servers[following])
        return Background(servers.reshape(-1), receivers.reshape(-1, 1), rate_bps)
    if traffic == "incast":
        server = int(draw.integers(count))
        receiver = servers[server, int(draw.integers(gpus))]
        senders = np.delete(servers, server, axis=0).reshape(-1)
        return Background(senders, np.full((len(senders), 1), receiver, dtype=np.uint32), rate_bps)
    others = [np.delete(servers, server, axis=0).reshape(-1) for server in range(count)]
    return Background(servers.reshape(-1), np.repeat(np.stack(others), gpus, axis=0), rate_bps)
