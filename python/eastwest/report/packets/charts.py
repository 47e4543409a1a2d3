"""The plots of a simulation: completion times, and the queues of the worst ports over time.

Not here: throughput, losses and paths over time (`timeline`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.engine.links import port_names
from eastwest.report.charts import SERIES, Chart, figure_json, plain
from eastwest.report.figures import NBSP, Scale, count, duration, fine
from eastwest.simulation.result import SimulationResult
from eastwest.units import format_size

MOST_CLASSES = 5
"""Sizes of flows that are told apart; of more, tenfold ranges."""
_MOST_POINTS = 800
_LOGARITHMIC = 8.0
"""From this ratio of the slowest flow to the median on, the axis is logarithmic."""
_CDF_PX, _HEAT_ROW_PX, _HEAT_FRAME_PX = 390, 21, 96
_MOST_PORTS, _MOST_COLUMNS = 24, 260
_HEAT = ((0.0, "#a9bfd3"), (0.25, "#7fa6c9"), (0.5, "#e8cf7a"), (0.7, "#e6a83c"), (0.85, "#dd7a1e"), (1.0, "#c23b00"))
"""The page's colours from quiet to full."""


@dataclass(frozen=True)
class SizeClass:
    """Flows of like size, by number."""

    name: str
    flows: NDArray[np.int64]


def size_classes(result: SimulationResult) -> list[SizeClass]:
    """Flows by size, smallest first: each size of its own, or where there are more than a few, by powers of ten.

    Those of bursts are a class by themselves, the last.
    """
    bursts = np.arange(result.given, len(result.flows))
    apart = [SizeClass("bursts", bursts)] if len(bursts) else []
    return _by_size(result.flows.size_bytes[: result.given].astype(np.float64)) + apart


def _by_size(sizes: NDArray[np.float64]) -> list[SizeClass]:
    distinct = np.unique(sizes)
    if len(distinct) <= MOST_CLASSES:
        return [SizeClass(format_size(size), np.flatnonzero(sizes == size)) for size in distinct.tolist()]
    power = np.floor(np.log10(np.maximum(sizes, 1.0)) + 1e-12)
    return [
        SizeClass(f"{format_size(10**at)} to {format_size(10 ** (at + 1))}", np.flatnonzero(power == at))
        for at in np.unique(power).tolist()
    ]


def completion_chart(result: SimulationResult) -> Chart:
    """The share of flows that have ended within a time, by size; median, 99th percentile and slowest of all marked."""
    times = result.run.end_s - result.run.start_s
    median, p99, slowest = (float(each) for each in np.percentile(result.fct_s, [50, 99, 100]))
    scale = fine([slowest])
    classes = [each for each in size_classes(result) if not np.isnan(times[each.flows]).all()]
    traces = [_share_of_flows(each, times, scale, SERIES[number % len(SERIES)]) for number, each in enumerate(classes)]
    is_logarithmic = median > 0 and slowest / median >= _LOGARITHMIC
    marks = [("median", median), ("99th percentile", p99), ("slowest", slowest)]
    layout = _layout(_CDF_PX, f"completion time ({scale.unit})")
    layout["margin"] |= {"t": 92 if len(classes) > 1 else 64}
    layout["xaxis"] |= {"type": "log"} if is_logarithmic else {"rangemode": "normal"}
    layout["yaxis"] |= {"title": {"text": "flows that have ended (%)"}, "range": [0, 101.5], "ticksuffix": ""}
    layout["shapes"] = [_upright(time_s / scale.seconds) for _, time_s in marks]
    fastest = float(result.fct_s[0])
    layout["annotations"] = [
        _label(name, time_s, scale, is_logarithmic, turn, time_s < fastest + 0.25 * (slowest - fastest))
        for turn, (name, time_s) in enumerate(marks)
    ]
    layout |= {"showlegend": len(classes) > 1, "legend": {"orientation": "h", "x": 0, "y": 1.2, "yanchor": "bottom"}}
    ratio = slowest / median if median else 1.0
    title = (
        f"Half of the flows take {duration(median)} or less, 99{NBSP}% {duration(p99)}; "
        f"the slowest takes {ratio:.2f} times the median"
    )
    unfinished = f" {count(result.unfinished, 'flow')} never ended." if result.unfinished else ""
    return Chart(title, figure_json(traces, layout), _CDF_PX, f"{title}.{unfinished}")


def _share_of_flows(each: SizeClass, times: NDArray[np.float64], scale: Scale, colour: str) -> dict[str, Any]:
    """Of all flows of a class those that have ended: what never ends keeps the line below 100 %."""
    ended = np.sort(times[each.flows][~np.isnan(times[each.flows])])
    share = 100.0 * np.arange(1, len(ended) + 1) / len(each.flows)
    shown = np.unique(np.linspace(0, len(ended) - 1, _MOST_POINTS).astype(np.int64))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(f"{each.name} ({count(len(each.flows), 'flow')})"),
        "x": [float(ended[0] / scale.seconds), *(ended[shown] / scale.seconds).tolist()],
        "y": [0.0, *share[shown].tolist()],
        "line": {"shape": "hv", "width": 2.2, "color": colour},
        "hovertemplate": f"%{{y:.1f}} % within %{{x:.4g}} {scale.unit}<extra>{plain(each.name)}</extra>",
    }


def _label(name: str, time_s: float, scale: Scale, is_logarithmic: bool, turn: int, is_left: bool) -> dict[str, Any]:
    at = time_s / scale.seconds
    return {
        "x": float(np.log10(at)) if is_logarithmic and at > 0 else at,
        "y": 1.0 + 0.06 * (2 - turn),
        "yref": "paper",
        "yanchor": "bottom",
        "xanchor": "left" if is_left else "right",
        "text": f"{name} {duration(time_s)}",
        "showarrow": False,
        "font": {"size": 11.5},
    }


def _upright(at: float) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": at,
        "x1": at,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"width": 1, "dash": "dot", "color": "#8a95a3"},
    }


def queue_chart(result: SimulationResult) -> Chart | None:
    """Queues of the worst ports over time, deepest first; None where no data ever waited, or nothing was sampled."""
    series, run = result.run.series, result.run
    deepest = run.ports.deepest_bytes.astype(np.float64)
    worst = [int(link) for link in np.argsort(-deepest, kind="stable")[:_MOST_PORTS] if deepest[link] > 0]
    if series is None or not worst:
        return None
    names = port_names(result.network.fabric)
    together = -(-len(series.network) // _MOST_COLUMNS)
    columns = -(-len(series.network) // together)
    depth = np.zeros((len(worst), columns))
    found = series.ports.filter(pl.col("link").is_in(worst))
    row_of = np.zeros(len(deepest), dtype=np.int64)
    row_of[worst] = np.arange(len(worst))
    np.maximum.at(
        depth,
        (row_of[found["link"].to_numpy()], found["sample"].to_numpy() // together),
        found["deepest_bytes"].to_numpy(),
    )
    scale, (size, unit) = fine([run.simulated_s]), _size_unit(float(depth.max()))
    every = series.every_s * together
    heat: dict[str, Any] = {
        "type": "heatmap",
        "x0": every / 2 / scale.seconds,
        "dx": every / scale.seconds,
        "y": [plain(names[link]) for link in worst],
        "z": [[round(value / size, 3) if value else None for value in row] for row in depth.tolist()],
        "zmin": 0,
        "zmax": float(depth.max()) / size,
        "colorscale": [list(each) for each in _HEAT],
        "colorbar": {"title": {"text": unit, "side": "top"}, "thickness": 12, "outlinewidth": 0, "len": 1, "x": 1.01},
        "hovertemplate": f"%{{y}}: %{{z:.3g}} {unit} at %{{x:.4g}} {scale.unit}<extra></extra>",
    }
    height = len(worst) * _HEAT_ROW_PX + _HEAT_FRAME_PX
    layout = _layout(height, f"time ({scale.unit})")
    layout["xaxis"] |= {"range": [0, run.simulated_s / scale.seconds]}
    layout["yaxis"] |= {"type": "category", "autorange": "reversed", "ticks": "", "ticksuffix": "  ", "dtick": 1}
    title = f"The deepest queue, before {names[worst[0]]}, held {format_size(deepest[worst[0]])}"
    waits = deepest[worst[0]] * 8 / result.network.rate_bps[worst[0]]
    text = f"{title}, {duration(waits)} at its rate"
    return Chart(text, figure_json([heat], layout), height, f"{text}. {_in_words(worst[1:4], names, deepest)}")


def _in_words(worst: Sequence[int], names: Sequence[str], deepest: NDArray[np.float64]) -> str:
    return "; ".join(f"{names[link]} {format_size(deepest[link])}" for link in worst)


def _size_unit(most: float) -> tuple[float, str]:
    return next(((size, unit) for size, unit in ((1e6, "MB"), (1e3, "kB")) if most >= size), (1.0, "B"))


def _layout(height: int, axis: str) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 10, "r": 14, "t": 12, "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": False,
        "xaxis": {"title": {"text": axis, "standoff": 6, "font": {"size": 13}}, "zeroline": False},
        "yaxis": {"automargin": True, "fixedrange": True, "zeroline": False},
    }
