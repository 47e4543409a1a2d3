"""Skewed experts: how much of an all-to-all goes to each rank where some experts are more popular than others.

Popularity falls off as Zipf's law has it: the k-th most popular of n ranks draws a share of k^-s / (1^-s + ... + n^-s)
of all tokens, the same from every rank. Exponent 0 is even. Not here: where experts sit, or tokens that are dropped.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Side = Literal["receivers", "senders"]
Floats = npt.NDArray[np.float64]


def popularity(ranks: int, exponent: float, seed: int = 0) -> Floats:
    """Share of all tokens that the experts of each rank draw, sum 1; `seed` draws which rank is how popular."""
    weight = np.arange(1, ranks + 1, dtype=np.float64) ** -exponent
    shares: Floats = (weight / weight.sum())[np.random.default_rng(seed).permutation(ranks)]
    return shares


def skewed(ranks: int, bytes_each: float, exponent: float, seed: int = 0, side: Side = "receivers") -> Floats:
    """Bytes from each rank (row) to each (column) of a skewed all-to-all, shape (ranks, ranks).

    Every rank has `bytes_each` for all experts together, its own included, as in the even exchange. With `side`
    "senders" it is the way back: what came in goes out again, and popular ranks send most.
    """
    matrix = np.tile(bytes_each * popularity(ranks, exponent, seed), (ranks, 1))
    return matrix if side == "receivers" else np.ascontiguousarray(matrix.T)
