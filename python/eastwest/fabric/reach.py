"""Which nodes of a fabric are joined. Not here: over which path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def parts(nodes: int, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every node the smallest number of those that links in both directions join it with. Shape (nodes,)."""
    least = np.arange(nodes)
    while True:
        spread = least.copy()
        np.minimum.at(spread, dst, least[src])
        spread = spread[spread]  # what a node reaches, those that it reached before reach too
        if np.array_equal(spread, least):
            return least
        least = spread
