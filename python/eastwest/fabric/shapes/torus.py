"""Torus: switches on a grid of two or three dimensions that closes on itself, each with servers of its own.

Not here: routing. Traffic takes all shortest paths; a machine that keeps to dimension order has fewer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.clos import in_order
from eastwest.fabric.shapes.wiring import Cables, Indices, Wiring, switches


def torus(servers: int, nics: int, leaf: Faceplate, dims: tuple[int, ...], links: int = 1) -> Wiring:
    """`servers` of `nics` NICs, spread evenly over as many switches as the product of `dims`, the last varying fastest.

    `links` parallel cables join neighbours; where a dimension has two switches, they are neighbours once and not twice.
    Raises `FabricError` on "dims" where there are fewer servers than switches, or a switch has too few ports.
    """
    count = int(np.prod(dims))
    if servers < count:
        raise FabricError("dims", f"{_times(dims)} are {count} switches, for {servers} servers: each has at least one")
    across = sum(links * min(size - 1, 2) for size in dims)
    down = -(-servers // count) * nics
    if not leaf.fits(down, across):
        raise FabricError(
            "dims",
            f"each of {_times(dims)} switches needs {down} ports down and {across} to its neighbours; {leaf.has()}: "
            f"try {leaf.wider() or 'a switch with more ports'}, more switches, or fewer links_per_pair",
        )
    place = np.stack(np.unravel_index(np.arange(count), dims), axis=1)
    nowhere = np.full(servers, -1, dtype=np.int32)
    return Wiring(
        unit_of_server=nowhere,
        pod_of_server=nowhere,
        leaf_of_port=np.repeat(in_order(servers, count), nics).reshape(servers, nics, 1),
        tiers={"leaf": replace(switches(count, down, across), names=_names(place, dims))},
        cables=(Cables("leaf", "leaf", np.repeat(_neighbours(place, dims), links, axis=1)),),
    )


def _neighbours(place: NDArray[np.int64], dims: tuple[int, ...]) -> Indices:
    """Each pair of neighbours once: every switch with the next one along each dimension."""
    pairs = []
    for axis, size in enumerate(dims):
        following = place.copy()
        following[:, axis] = (place[:, axis] + 1) % size
        has_next = place[:, axis] + 1 < size if size == 2 else np.ones(len(place), dtype=bool)
        pairs.append(np.stack([place[has_next], following[has_next]]))
    joined = np.concatenate(pairs, axis=1)
    return np.stack([np.ravel_multi_index(tuple(end.T), dims) for end in joined]).astype(np.int32)


def _names(place: NDArray[np.int64], dims: tuple[int, ...]) -> tuple[str, ...]:
    """Coordinates as names: leaf-0-1-2."""
    wide = [len(str(size - 1)) for size in dims]
    return tuple(
        "leaf-" + "-".join(f"{at:0{digits}}" for at, digits in zip(row, wide, strict=True)) for row in place.tolist()
    )


def _times(dims: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in dims)
