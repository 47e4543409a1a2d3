"""How busy the links are during the communication of a run: by tier, and as shares of the traffic.

A link's utilisation is the payload it carried over what it could have carried in the time in which the slowest rank
communicated.
"""

from __future__ import annotations

import numpy as np

from eastwest.engine import Network, Run
from eastwest.engine.network import Floats
from eastwest.engine.program import BITS
from eastwest.study.result import TierLoad


def window_s(run: Run) -> float:
    """Seconds in which the slowest rank communicated, in the median draw."""
    return float(run.communication_s[run.median_draw].max(initial=0.0))


def utilisation(network: Network, run: Run) -> Floats:
    """Utilisation of each link, in the median draw; shape (links,). Zero where nothing was communicated."""
    window = window_s(run)
    if window == 0.0:
        return np.zeros(len(network.rate_bps))
    carried: Floats = run.link_bytes[run.median_draw] * BITS / (network.rate_bps * window)
    return np.minimum(carried, 1.0)


def by_tier(network: Network, run: Run) -> tuple[TierLoad, ...]:
    """Mean, 99th percentile and maximum of the utilisation of each directed tier's links."""
    busy = utilisation(network, run)
    tiers = network.fabric.links["tier"]
    loads = []
    for tier in tiers.unique(maintain_order=True):
        links = busy[(tiers == tier).to_numpy()]
        loads.append(TierLoad(tier, float(links.mean()), float(np.percentile(links, 99)), float(links.max())))
    return tuple(loads)


def crossing_share(network: Network, run: Run) -> float | None:
    """Of the bytes that leave servers for leaves, the part that goes on beyond one; None where none leave a server."""
    carried = run.link_bytes[run.median_draw]
    tiers = network.fabric.links["tier"]
    ways = (["nic-leaf", "frontend-leaf", "storage-leaf"], ["leaf-spine"])
    leaving, beyond = (float(carried[tiers.is_in(way).to_numpy()].sum()) for way in ways)
    return beyond / leaving if leaving > 0.0 else None
