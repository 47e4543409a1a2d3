"""How busy links are, as the tables of link load and the drawings show it: figures as text, and a colour step.

A pair of tiers is one thing to a reader, so both directions share a cell and are told apart only where they differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eastwest.report.figures import NBSP, percent
from eastwest.study.result import Row, StudyResult, TierLoad

HEAT = (0.2, 0.4, 0.6, 0.8, 0.95)
"""Loads at which the colour changes; above the last a link is as good as full."""

_ENDS = {
    "gpu": "GPU",
    "nvlink": "NVLink",
    "disk": "disk",
    "host": "host",
    "pcie": "PCIe",
    "nic": "NIC",
    "leaf": "leaf",
    "spine": "spine",
    "core": "core",
    "border": "border",
    "frontend": "front-end NIC",
    "storage": "storage NIC",
    "access": "access",
    "aggregation": "aggregation",
}
"""What bytes pass on their way up, innermost first, and how it is spelled."""
_ORDER = {end: place for place, end in enumerate(_ENDS)}


@dataclass(frozen=True)
class Pair:
    """Two tiers that links join, `near` the one closer to the GPU."""

    near: str
    far: str

    @property
    def name(self) -> str:
        """Give its name as a column's head: `NIC ↔ leaf`."""
        return f"{_ENDS.get(self.near, self.near)}{NBSP}↔ {_ENDS.get(self.far, self.far)}"


@dataclass(frozen=True)
class Load:
    """The load of a pair's links: (arrow, spread, busiest) of each direction that is told, and the busier's colour."""

    directions: tuple[tuple[str, str, str], ...]
    heat: int


def heat(load: float) -> int:
    """Give the colour step of a load: 0 for a quiet link to 5 for a full one."""
    return sum(load >= step for step in HEAT)


def pairs_of(result: StudyResult) -> tuple[Pair, ...]:
    """Give all pairs of tiers that have a load, from the GPU outwards."""
    pairs = {_pair(load) for row in result.rows for load in row.tiers}
    return tuple(sorted(pairs, key=lambda pair: (_place(pair.near), _place(pair.far), pair.name)))


def load_of(row: Row, pair: Pair) -> Load | None:
    """Give the load that a result puts on a pair of tiers; None where its fabric has no such links."""
    ways = {load.tier.partition("-")[0] == pair.near: load for load in row.tiers if _pair(load) == pair}
    if not ways:
        return None
    texts = [("↑" if up else "↓", *_figures(ways[up])) for up in sorted(ways, reverse=True)]
    if len({text[1:] for text in texts}) == 1:
        texts = [("", *texts[0][1:])]
    return Load(tuple(texts), heat(max(load.max for load in ways.values())))


def band_of(loads: Iterable[TierLoad]) -> dict[str, str | int] | None:
    """Give the text and the colour step of cables with these loads in their two directions; None where unknown."""
    ways = list(loads)
    if not ways:
        return None
    mean, most = max(load.mean for load in ways), max(load.max for load in ways)
    if percent(mean) != percent(most):
        text = f"mean {percent(mean)}, busiest {percent(most)}"
    else:
        text = f"all {percent(most)} busy" if most > 0 else "idle"
    return {"text": text, "heat": heat(most)}


def _figures(load: TierLoad) -> tuple[str, str]:
    """Give mean and 99th percentile, empty where all links carry the same, and the busiest link; bare per cents."""
    mean, p99, most = (percent(value).removesuffix(f"{NBSP}%") for value in (load.mean, load.p99, load.max))
    return ("" if mean == most else f"{mean} / {p99} / "), most


def _pair(load: TierLoad) -> Pair:
    here, _, there = load.tier.partition("-")
    return Pair(here, there) if _place(here) <= _place(there) else Pair(there, here)


def _place(end: str) -> int:
    return _ORDER.get(end, len(_ORDER))
