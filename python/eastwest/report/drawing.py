"""Where the boxes and bands of a fabric's drawing stand: geometry only, from the sketch that the study made.

Tiers are rows, servers at the bottom; cables within a tier are arcs above its row. A small fabric shows every switch; a
large one shows groups (a pod, a unit of servers) with the count in the box, and names how many alike it leaves out. Not
here: SVG text and colours, which are the page's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from eastwest.report.figures import count, rate

WIDTH, MARGIN = 640.0, 168.0
"""Units of the view box; the margin on the left holds what the rows and bands are."""
_BOX, _STEP = 26.0, 92.0
_TOP, _BOTTOM = 14.0, 34.0
_ARC = 46.0
"""Room above a row whose boxes are joined with each other, and how high the arcs of the farthest rise."""
_ORDER = ("server", "leaf", "spine", "core", "border")
_MOST_GROUPS, _SHOWN = 16, 8
"""Where boxes are groups, a row of more than the first figure shows at most the second, and counts the rest."""
_REST_PX = 76.0
"""Room for that count, the same in every row, so that what belongs together stands above each other."""
_SWITCH_PX = 44.0
"""A single switch is never wider, however few there are."""
_COUNT_PX, _NAME_PX = 22.0, 44.0
"""Narrower boxes hold no count, and have no name below."""


@dataclass(frozen=True)
class Box:
    """A server unit, switch or group of switches; `x` is its left edge, `inside` its text, `title` its tooltip."""

    x: float
    y: float
    width: float
    height: float
    inside: str
    below: str
    title: str
    is_single: bool

    def meet(self, other: Box) -> float:
        """Give where cables to another box leave this one: a switch at its middle, a wide group straight below them."""
        if self.is_single or self.width <= other.width:
            return self.middle
        x = other.middle
        inset = min(6.0, self.width / 2)
        return min(max(x, self.x + inset), self.x + self.width - inset)

    @property
    def middle(self) -> float:
        """Give the x of its centre."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Row:
    """One tier: its boxes, and what the margin says of it. `more` tells what is not drawn, at `more_x`."""

    tier: str
    y: float
    boxes: tuple[Box, ...]
    label: str
    label_below: str
    more: str
    more_x: float


@dataclass(frozen=True)
class Band:
    """All cables between two tiers: strokes as (SVG path, width), the directed tiers whose load colours them."""

    strokes: tuple[tuple[str, float], ...]
    y: float
    label: str
    tiers: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """A whole fabric, as tall as its tiers need."""

    height: float
    rows: tuple[Row, ...]
    bands: tuple[Band, ...]
    text: str  # the drawing in words


def draw(sketch: dict[str, Any]) -> Drawing:
    """Lay out a sketch (see `study.sketch`)."""
    boxes: list[dict[str, Any]] = sketch["boxes"]
    present = {box["tier"] for box in boxes}
    tiers = [tier for tier in _ORDER if tier in present] + sorted(present - set(_ORDER))
    across = {boxes[bundle["a"]]["tier"] for bundle in sketch["bundles"] if _is_across(bundle, boxes)}
    y_of, y = {}, _TOP
    for tier in reversed(tiers):
        y_of[tier] = y = y + (_ARC if tier in across else 0.0)
        y += _STEP
    height = y - _STEP + _BOX + _BOTTOM
    placed: dict[int, Box] = {}
    homes = _shown(boxes)
    rows = []
    for tier in tiers:
        members = [(number, box) for number, box in enumerate(boxes) if box["tier"] == tier]
        rows.append(_row(tier, y_of[tier], members, homes, placed))
    bands = tuple(_bands(sketch["bundles"], placed))
    text = "; ".join(
        [f"{row.label} {row.label_below}".strip() for row in reversed(rows)] + [band.label for band in bands]
    )
    return Drawing(height, tuple(rows), bands, text)


def _shown(boxes: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Give the homes (pod, unit) that are drawn: all where there is room, else those of the first pods or units."""
    homes = sorted({_home(box) for box in boxes})
    in_groups = any(box["count"] > 1 for box in boxes if box["tier"] != "server")
    fullest = max(len({_home(box) for box in boxes if box["tier"] == tier}) for tier in {box["tier"] for box in boxes})
    if not in_groups or fullest <= _MOST_GROUPS:
        return set(homes)
    drawn, units = {(-1, -1)}, 0
    for _, family in groupby(homes, key=lambda home: home if home[0] < 0 else home[0]):
        # A pod is drawn with all of its units, or not at all; the first one in any case.
        pod = set(family) - drawn
        if not pod:
            continue
        across = sum(unit >= 0 for _, unit in pod) or 1
        if units and units + across > _SHOWN:
            break
        drawn |= pod
        units += across
    return drawn


def _row(
    tier: str, y: float, members: list[tuple[int, dict[str, Any]]], homes: set[tuple[int, int]], placed: dict[int, Box]
) -> Row:
    clusters = [list(cluster) for _, cluster in groupby(members, key=lambda member: _home(member[1]))]
    total = sum(box["count"] for _, box in members)
    shown = [cluster for cluster in clusters if _home(cluster[0][1]) in homes]
    hidden = len(clusters) - len(shown)
    room = WIDTH - MARGIN - 2 - (_REST_PX if hidden else 0)
    pitch = room / max(len(shown), 1)
    for place, cluster in enumerate(shown):
        gap = min(10.0, pitch * 0.2) if len(shown) > 1 else 0.0
        each = (pitch - gap) / len(cluster)
        between = min(4.0, each * 0.25) if len(cluster) > 1 else 0.0
        for slot, (number, box) in enumerate(cluster):
            wide = each - between if box["count"] > 1 else min(each - between, _SWITCH_PX)
            placed[number] = Box(
                x=MARGIN + place * pitch + gap / 2 + (slot + 0.5) * each - wide / 2,
                y=y,
                width=wide,
                height=_BOX,
                inside=f"{box['count']:,}" if box["count"] > 1 and wide >= _COUNT_PX else "",
                below=box["name"] if tier == "server" and wide >= _NAME_PX else "",
                title=f"{box['name']}: {count(box['count'], _thing(tier))}" if box["count"] > 1 else box["name"],
                is_single=box["count"] == 1,
            )
    gpus = sum(box["gpus"] for _, box in members)
    return Row(
        tier,
        y,
        tuple(placed[number] for cluster in shown for number, _ in cluster),
        count(total, _thing(tier)),
        count(gpus, "GPU") if gpus else "",
        f"… {hidden:,} more" if hidden else "",
        MARGIN + room + _REST_PX / 2,
    )


def _thing(tier: str) -> str:
    """Name one node of a tier; a core alone could be one of a processor."""
    return f"{tier} switch" if tier in ("core", "border") else tier


def _home(box: dict[str, Any]) -> tuple[int, int]:
    return box["pod"], box["unit"]


def _bands(bundles: list[dict[str, Any]], placed: dict[int, Box]) -> list[Band]:
    bands = []
    for tiers, group in groupby(sorted(bundles, key=lambda bundle: bundle["tiers"]), key=lambda b: b["tiers"]):
        members = list(group)
        drawn = [bundle for bundle in members if bundle["a"] in placed and bundle["b"] in placed]
        if not drawn:
            continue
        # Bundles of one size share one SVG path: a full mesh of leaves and spines is then one element, not hundreds.
        paths: dict[float, list[str]] = {}
        for bundle in drawn:
            low, high = placed[bundle["a"]], placed[bundle["b"]]
            line = _arc(low, high) if low.y == high.y else _line(low, high)
            paths.setdefault(_stroke(bundle["cables"], len(drawn)), []).append(line)
        low, high = placed[drawn[0]["a"]], placed[drawn[0]["b"]]
        near, far = tiers.split("-", 1)
        nearest = "nic" if near == "server" else near
        total = sum(bundle["cables"] for bundle in members)
        speed = rate(max(bundle["rate_bps"] for bundle in members))
        bands.append(
            Band(
                tuple((" ".join(lines), width) for width, lines in paths.items()),
                low.y - _ARC / 2 if low.y == high.y else (low.y + high.y + high.height) / 2,
                f"{count(total, 'cable')} of {speed}",
                (f"{nearest}-{far}", f"{far}-{nearest}", tiers),
            )
        )
    return sorted(bands, key=lambda band: band.y)


def _line(low: Box, high: Box) -> str:
    """Give the path of cables between two rows."""
    return f"M{low.meet(high):.1f} {low.y:.1f}L{high.meet(low):.1f} {high.y + high.height:.1f}"


def _arc(a: Box, b: Box) -> str:
    """Give the path of cables within a row, higher the farther they reach; within a group, over its box."""
    left, right = sorted((a.middle, b.middle)) if a is not b else (a.x + a.width * 0.25, a.x + a.width * 0.75)
    # A quadratic curve rises half as high as its control point.
    rise = 2 * _ARC * (0.3 + 0.6 * (right - left) / (WIDTH - MARGIN))
    return f"M{left:.1f} {a.y:.1f}Q{(left + right) / 2:.1f} {a.y - rise:.1f} {right:.1f} {a.y:.1f}"


def _is_across(bundle: dict[str, Any], boxes: list[dict[str, Any]]) -> bool:
    return bool(boxes[bundle["a"]]["tier"] == boxes[bundle["b"]]["tier"])


def _stroke(cables: int, bundles: int) -> float:
    """Give a width that grows with the bundle, thinner where many must stand beside each other."""
    return round(max(0.5, min(12.0, 0.7 * math.sqrt(cables)) * min(1.0, 40 / bundles)), 1)
