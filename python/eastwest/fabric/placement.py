"""Placement: which GPU each rank runs on, as an array of node numbers indexed by rank.

Not here: which ranks form a group, or in which order a collective visits them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.tables import Fabric

Placement = Literal["packed", "by-rail", "scattered"]


def packed(fabric: Fabric) -> NDArray[np.uint32]:
    """Server by server, the GPUs of each in order: rank r on GPU r of the fabric. Shape (GPUs,)."""
    return _gpus(fabric, "server", "index")


def by_rail(fabric: Fabric) -> NDArray[np.uint32]:
    """Rail by rail, each across all servers: rank r on GPU r // servers of server r % servers. Shape (GPUs,)."""
    return _gpus(fabric, "index", "server")


def scattered(fabric: Fabric, seed: int) -> NDArray[np.uint32]:
    """Whole servers in an order shuffled by `seed`, the GPUs of each in order. Shape (GPUs,)."""
    gpus = packed(fabric)
    server = fabric.nodes["server"].to_numpy()[gpus]
    _, rank = np.unique(server, return_inverse=True)
    turn = np.random.default_rng(seed).permutation(int(rank.max()) + 1)
    return gpus[np.argsort(turn[rank], kind="stable")]


def place(fabric: Fabric, placement: Placement, seed: int = 0) -> NDArray[np.uint32]:
    """The placement of that name; `seed` matters to "scattered" only."""
    if placement == "scattered":
        return scattered(fabric, seed)
    return packed(fabric) if placement == "packed" else by_rail(fabric)


@dataclass(frozen=True)
class Part:
    """What one of several jobs asks for: so many servers, and ranks placed in this way on them."""

    servers: int
    placement: Placement = "packed"
    seed: int = 0


def parted(fabric: Fabric, parts: Sequence[Part]) -> tuple[NDArray[np.uint32], ...]:
    """The GPU of each rank of each part: whole servers, none in two parts, given out in the order of the parts.

    "packed" and "by-rail" take the first servers that are free, "scattered" any that are, drawn by its seed.

    Raises:
        ValueError: the fabric has fewer servers than the parts ask for.
    """
    table = servers(fabric)
    free = list(range(len(table)))
    placed = []
    for part in parts:
        if part.servers > len(free):
            raise ValueError(f"{part.servers} servers are asked for and {len(free)} are free")
        if part.placement == "scattered":
            chosen = np.random.default_rng(part.seed).permutation(free)[: part.servers].tolist()
        else:
            chosen = free[: part.servers]
        free = [server for server in free if server not in set(chosen)]
        gpus = table[chosen]
        placed.append((gpus.T if part.placement == "by-rail" else gpus).reshape(-1))
    return tuple(placed)


def servers(fabric: Fabric) -> NDArray[np.uint32]:
    """GPU nodes of each server, shape (servers, GPUs of each)."""
    gpus = packed(fabric)
    return gpus.reshape(len(np.unique(fabric.nodes["server"].to_numpy()[gpus])), -1)


def _gpus(fabric: Fabric, *order: str) -> NDArray[np.uint32]:
    gpus = fabric.nodes.filter(pl.col("kind") == "gpu").sort(*order, "node")
    return gpus["node"].to_numpy().astype(np.uint32)
