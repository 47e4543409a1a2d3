"""All rows of a verdict in one picture, as SVG: predicted over measured against the measured time.

Not here: the page that shows it (`page`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from eastwest import units
from eastwest.validation.verdict import Verdict

_WIDTH, _HEIGHT = 960, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 320, 14, 44
_MOST = 4.0
"""Predicted over measured, or measured over predicted, at the edge; what is further off stands there."""
_COLOURS = (
    "#1f77b4",
    "#d62728",
    "#2ca02c",
    "#9467bd",
    "#ff7f0e",
    "#17becf",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
)


def picture(verdict: Verdict) -> str:
    """The picture: a dot for each row, full where it was checked, a ring where constants were fitted on its table."""
    points = [point for each in verdict.tables for point in each.points]
    low = math.floor(math.log10(min(point.measured_s for point in points)))
    high = math.ceil(math.log10(max(point.measured_s for point in points)))
    span = max(high - low, 1)

    def across(seconds: float) -> float:
        return _LEFT + (math.log10(seconds) - low) / span * (_WIDTH - _LEFT - _RIGHT)

    def up(ratio: float) -> float:
        share = math.log(min(max(ratio, 1 / _MOST), _MOST)) / math.log(_MOST)
        return _TOP + (1 - share) / 2 * (_HEIGHT - _TOP - _BOTTOM)

    def drawn() -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
            'font-size="12" role="img" aria-label="Predicted over measured time of every row">'
        )
        yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
        right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        upper, lower = up(1.1), up(1 / 1.1)
        band = f'y="{upper:.1f}" width="{right - _LEFT}" height="{lower - upper:.1f}"'
        yield f'<rect x="{_LEFT}" {band} fill="#eaf3ea"/>'
        for ratio, name in ((4, "4 x +"), (2, "2 x"), (1, "right"), (0.5, "1/2"), (0.25, "1/4 -")):
            yield f'<line x1="{_LEFT}" x2="{right}" y1="{up(ratio):.1f}" y2="{up(ratio):.1f}" stroke="#cccccc"/>'
            yield f'<text x="{_LEFT - 6}" y="{up(ratio) + 4:.1f}" text-anchor="end">{name}</text>'
        for power in range(low, low + span + 1):
            x = across(10.0**power)
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{floor}" stroke="#eeeeee"/>'
            yield f'<text x="{x:.1f}" y="{floor + 16}" text-anchor="middle">{units.format_time(10.0**power)}</text>'
        yield f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">measured time</text>'
        for number, family in enumerate(verdict.families):
            colour, y = _COLOURS[number % len(_COLOURS)], _TOP + 12 + 18 * number
            yield f'<circle cx="{right + 14}" cy="{y - 4}" r="4" fill="{colour}"/>'
            yield f'<text x="{right + 24}" y="{y}">{escape(family.name)}</text>'
            for found, look in (
                (family.fitted, f'fill="none" stroke="{colour}"'),
                (family.checked, f'fill="{colour}" fill-opacity="0.6"'),
            ):
                for point in found:
                    x, y_of_point = across(point.measured_s), up(1 + point.error)
                    yield f'<circle cx="{x:.1f}" cy="{y_of_point:.1f}" r="3" {look}/>'
        yield "</svg>"

    return "\n".join(drawn()) + "\n"
