"""The report's plots as plotly figures, written as the plain values that plotly's JavaScript reads.

Colours that mean something are set here; those of text and grid are the page's, which knows light from dark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from eastwest.report.cases import Case
from eastwest.report.figures import Scale, amount
from eastwest.study.result import Row

# Okabe and Ito's palette (2008), told apart under the common colour blindnesses and in grey print.
COMPUTE, OVERLAPPED, EXPOSED, WAITING = "#6b7f99", "#56b4e9", "#d55e00", "#f0e442"
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6b7f99", "#f0e442")
SYMBOLS = tuple(
    f"{shape}-open" for shape in ("circle", "diamond", "square", "triangle-up", "cross", "x", "pentagon", "star")
)
"""Open, so that of two cases that cost the same both are seen."""
_ROW_PX, _FRAME_PX, _LEGEND_PX = 27, 74, 34
_FIGURE_PX = 58
"""Room beside the longest bar for its figure, however narrow the plot."""
_SEEN = 0.005
"""A part below this share of the step would not be seen in a bar."""


@dataclass(frozen=True)
class Chart:
    """One plot: its figure as JSON, its height in pixels, and what it shows in words for those who do not see it."""

    title: str
    figure: str
    height: int
    text: str


def parts_of(row: Row) -> tuple[tuple[str, str, float], ...]:
    """Split a step into (name, colour, seconds), which add up to it; the last part is a rank waiting for a slower one.

    Overlapped communication runs under compute: the bar shows the compute that it runs under in its colour.
    """
    return (
        ("compute", COMPUTE, max(0.0, row.compute_s - row.overlapped_s)),
        ("overlapped communication", OVERLAPPED, min(row.overlapped_s, row.compute_s)),
        ("exposed communication", EXPOSED, row.exposed_s),
        ("waiting for others", WAITING, max(0.0, row.step_s - row.compute_s - row.exposed_s)),
    )


def seen_parts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Give (name, colour) of the parts that are seen in some bar of these rows: those that a legend must name."""
    split = [(row, parts_of(row)) for row in rows]
    return [
        (name, colour)
        for place, (name, colour, _) in enumerate(split[0][1] if split else ())
        if any(parts[place][2] > _SEEN * row.step_s for row, parts in split)
    ]


def has_tail(row: Row) -> bool:
    """Tell whether the 95th percentile of a step is far enough from its median to be drawn."""
    return row.step_p95_s > 1.002 * row.step_s


def step_chart(case: Case, scale: Scale, longest_s: float) -> Chart:
    """Stack the parts of each fabric's step, with the ideal step as a tick and a whisker to the 95th percentile.

    Charts with the same `scale` and `longest_s` can be compared with each other.
    """
    fabrics = [plain(row.fabric) for row in case.rows]
    split = [parts_of(row) for row in case.rows]
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "y": fabrics,
            "x": [parts[place][2] / scale.seconds for parts in split],
            "name": name,
            "marker": {"color": colour},
            "hovertemplate": f"%{{y}}: %{{x:.3g}} {scale.unit} {name}<extra></extra>",
        }
        for place, (name, colour, _) in enumerate(split[0])
    ]
    steps = [row.step_s / scale.seconds for row in case.rows]
    tails = [max(0.0, row.step_p95_s - row.step_s) / scale.seconds for row in case.rows]
    figures: dict[str, Any] = {
        "type": "scatter",
        "mode": "text",
        "y": fabrics,
        "x": [step + tail for step, tail in zip(steps, tails, strict=True)],
        "text": [f"  {scale.text(row.step_s)}" for row in case.rows],
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    whiskers: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "y": fabrics,
        "x": steps,
        "marker": {"symbol": "line-ns", "size": 1, "line": {"width": 1}},
        # None: no whisker at all, where a bare end cap would stand on the bar.
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [tail if has_tail(row) else None for row, tail in zip(case.rows, tails, strict=True)],
            "thickness": 1.5,
            "width": 4,
        },
        "hoverinfo": "skip",
    }
    ideal: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "y": fabrics,
        "x": [row.ideal_step_s / scale.seconds for row in case.rows],
        "marker": {"symbol": "line-ns", "size": 17, "line": {"width": 3}},
        "hovertemplate": f"%{{y}}: ideal step %{{x:.3g}} {scale.unit}<extra></extra>",
    }
    layout = _layout(len(fabrics), f"step ({scale.unit})")
    layout["barmode"] = "stack"
    layout["xaxis"]["range"] = [0, longest_s / scale.seconds or 1.0]
    layout["margin"]["r"] = _FIGURE_PX
    words = "; ".join(
        f"{row.fabric} {scale.with_unit(row.step_s)}, {scale.with_unit(row.exposed_s)} of it exposed exchange"
        for row in case.rows
    )
    traces = [*bars, figures, whiskers, ideal]
    return Chart(case.name, figure_json(traces, layout), layout["height"], f"Step of {case.name}: {words}.")


def cost_chart(cases: Sequence[Case], fabrics: Sequence[str]) -> Chart:
    """Show what idle GPUs cost a day on each fabric, one mark a case; in GPU-hours where there is no price."""
    costs = [row.cost for case in cases for row in case.rows]
    currency = next((cost.currency for cost in costs if cost.idle_cost_per_day is not None), None)
    unit = f"{currency} a day" if currency else "idle GPU-hours a day"
    traces, words = [], []
    for number, case in enumerate(cases):
        values = [
            (row.cost.idle_cost_per_day if currency else row.cost.idle_gpu_hours_per_day) or 0.0 for row in case.rows
        ]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "y": [plain(row.fabric) for row in case.rows],
                "x": values,
                "name": plain(case.name),
                "marker": {
                    "size": 11,
                    "color": SERIES[number % len(SERIES)],
                    "symbol": SYMBOLS[number % len(SYMBOLS)],
                    "line": {"width": 2.5},
                },
                "hovertemplate": f"%{{y}}: %{{x:,.3s}} {plain(unit)}<extra></extra>",
            }
        )
        words.append(f"{case.name} from {amount(min(values))} to {amount(max(values))}")
    layout = _layout(len(fabrics), plain(unit))
    layout["xaxis"] |= {"rangemode": "tozero", "tickformat": ",~r"}
    if len(cases) > 1:
        layout |= {"showlegend": True, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}}
        layout["height"] += _LEGEND_PX
        layout["margin"]["t"] += _LEGEND_PX
    title = f"Idle GPUs, {unit}" if currency else "Idle GPU-hours a day"
    return Chart(title, figure_json(traces, layout), layout["height"], f"In {unit}: {'; '.join(words)}.")


def _layout(rows: int, axis: str) -> dict[str, Any]:
    """Give what all charts share: one row of the same height for each fabric, the first on top."""
    return {
        "height": rows * _ROW_PX + _FRAME_PX,
        "margin": {"l": 10, "r": 12, "t": 6, "b": 44},
        "bargap": 0.32,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": {
            "title": {"text": axis, "standoff": 6, "font": {"size": 13}},
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "type": "category",
            "autorange": "reversed",
            "automargin": True,
            "ticks": "",
            "ticksuffix": "  ",
            "showgrid": False,
            "fixedrange": True,
        },
    }


def plain(text: str) -> str:
    """Keep plotly from reading a name as its own bit of HTML; it knows &lt;, &gt; and &amp; but not &quot;."""
    return escape(text, quote=False)


def figure_json(traces: Sequence[dict[str, Any]], layout: dict[str, Any]) -> str:
    """Give a figure as JSON that cannot end the script element it stands in."""
    text = json.dumps({"data": traces, "layout": layout}, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
