"""What happens when in a simulation: throughput, the busiest ports, losses, pauses and paths over one axis of time.

What happens to links stands across all of it, so that a failure and what follows are seen together. Not here: the
queues (`charts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.engine.links import port_names
from eastwest.engine.series import Series
from eastwest.report.charts import EXPOSED, SERIES, Chart, figure_json, plain
from eastwest.report.figures import Scale, count, duration, fine
from eastwest.report.packets.conditions import CREDITS, PAUSES, halts
from eastwest.report.packets.moments import Moment, moments
from eastwest.simulation.result import SimulationResult
from eastwest.units import format_rate

BITS = 8.0
_MOST_POINTS = 160
"""Points of a line: more would show single packets."""
_PANEL_PX, _FRAME_PX, _GAP_PX = 150, 96, 34
_PORTS = 5
_FLOWS = 8
"""Of more flows than these none has a line of its own."""
_MOST_TOLD, _MOST_DRAWN = 12, 200
"""Of more moments than these only the first are told, and drawn."""
_RATES = ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"))

Values = NDArray[np.float64]


@dataclass(frozen=True)
class _Line:
    name: str
    values: Values
    colour: str


@dataclass(frozen=True)
class _Panel:
    """Lines that share an axis; `span` is where that ends, None where the lines say."""

    axis: str
    lines: list[_Line]
    span: float | None = None


@dataclass(frozen=True)
class _Bins:
    """Intervals of a series joined to as many as a line has points."""

    together: int
    starts_s: Values
    lengths_s: Values

    @classmethod
    def of(cls, series: Series, end_s: float) -> _Bins:
        together = -(-len(series.network) // _MOST_POINTS)
        first = np.arange(0, len(series.network), together)
        return cls(together, series.starts_s()[first], np.add.reduceat(series.lengths_s(end_s), first))

    def sums(self, sample: NDArray[np.uint32], value: NDArray[Any]) -> Values:
        """The sum of values in each bin."""
        sums: Values = np.bincount(sample // self.together, value, len(self.starts_s)).astype(np.float64)
        return sums

    def lasts(self, value: NDArray[Any]) -> Values:
        """The last value in each bin, of one value an interval."""
        last = np.minimum(
            np.arange(self.together - 1, len(self.starts_s) * self.together, self.together), len(value) - 1
        )
        lasts: Values = value[last].astype(np.float64)
        return lasts


def timeline_chart(result: SimulationResult) -> Chart | None:
    """The run over time, one panel above the other; None where it was not sampled."""
    series, run = result.run.series, result.run
    if series is None or series.network.is_empty():
        return None
    bins = _Bins.of(series, run.simulated_s)
    scale = fine([run.simulated_s])
    panels = [panel for panel in _panels(result, series, bins) if any(line.values.any() for line in panel.lines)]
    happening = moments(result)[:_MOST_DRAWN]
    arrives = panels[0].lines[0].values if panels else np.zeros(1)
    height = len(panels) * _PANEL_PX + (len(panels) - 1) * _GAP_PX + _FRAME_PX + 16 * min(len(happening), 3)
    traces = [_trace(line, bins, scale, number, panel) for number, panel in enumerate(panels) for line in panel.lines]
    title = _title(result, arrives, happening)
    words = "; ".join(f"{moment.text} at {duration(moment.at_s)}" for moment in happening[:_MOST_TOLD])
    layout = _layout(panels, height, scale, run.simulated_s, happening)
    return Chart(title, figure_json(traces, layout), height, f"{title}.{f' {words}.' if words else ''}")


def _title(result: SimulationResult, arrives: Values, happening: list[Moment]) -> str:
    """What the panels show, in figures: what became of packets where something happened, else how fast they arrive."""
    run = result.run
    if happening:
        first = happening[0]
        told = [f"{count(run.drops, 'packet')} dropped", f"{run.retransmits:,} sent again"] if run.drops else []
        return f"{first.text} at {duration(first.at_s)}: {' and '.join(told) or 'no packet is lost'}"
    busy = arrives[arrives > 0]
    usual = float(np.median(busy)) if len(busy) else 0.0
    most = float(arrives.max(initial=0.0))
    return f"Hosts receive {format_rate(usual)} in all in the median, at most {format_rate(most)}"


def _panels(result: SimulationResult, series: Series, bins: _Bins) -> Iterator[_Panel]:
    links, nodes = result.network.fabric.links, result.network.fabric.nodes
    is_host = np.zeros(len(nodes), dtype=bool)
    is_host[result.network.hosts] = True
    into_host = is_host[links["dst"].to_numpy()]
    sample, link = series.ports["sample"].to_numpy(), series.ports["link"].to_numpy()
    rates = series.ports["bytes"].to_numpy() * BITS

    def throughput(chosen: NDArray[np.bool_]) -> Values:
        return bins.sums(sample[chosen], rates[chosen]) / bins.lengths_s

    arrives = throughput(into_host[link])
    yield _Panel("into hosts", [_Line("all hosts", arrives, SERIES[0])])
    if not series.flows.is_empty() and len(result.flows) <= _FLOWS:
        lines = [
            _Line(f"flow {flow}", _arrived(series, bins, flow, int(result.flows.size_bytes[flow])), SERIES[flow])
            for flow in range(len(result.flows))
        ]
        yield _Panel("arrived (%)", lines, 104.0)
    names = port_names(result.network.fabric)
    worst = np.argsort(-result.run.ports.deepest_bytes.astype(np.float64), kind="stable")[:_PORTS]
    of_rate = [
        _Line(names[port], 100 * throughput(link == port) / result.network.rate_bps[port], SERIES[number])
        for number, port in enumerate(worst.tolist())
    ]
    yield _Panel("port load (%)", of_rate, 104.0)
    per_us = bins.lengths_s / 1e-6
    lost = series.ports
    counts = {
        "sent again": bins.sums(series.network["sample"].to_numpy(), series.network["retransmits"].to_numpy()),
        "dropped": bins.sums(sample, lost["drops"].to_numpy()),
        "trimmed": bins.sums(sample, lost["trims"].to_numpy()),
        "marked": bins.sums(sample, lost["marks"].to_numpy()),
    }
    colours = (SERIES[0], EXPOSED, SERIES[1], SERIES[6])
    lines = [
        _Line(what, value / per_us, colour)
        for (what, value), colour in zip(counts.items(), colours, strict=True)
        if value.any()
    ]
    yield _Panel("packets a µs", lines)
    paused = bins.sums(sample, series.ports["paused_s"].to_numpy()) / bins.lengths_s
    said = halts(result.settings)
    yield _Panel(said.ports, [_Line(said.line, paused, SERIES[3])])
    values = np.maximum(bins.lasts(series.network["paths"].to_numpy()), 1.0)
    health = [
        _Line(what, 100 * bins.lasts(series.network[column].to_numpy()) / values, colour)
        for what, column, colour in (
            ("retired: lost a packet", "retired", EXPOSED),
            ("avoided: met congestion", "avoided", SERIES[1]),
        )
    ]
    yield _Panel("entropy values (%)", [line for line in health if line.values.any()])


def _arrived(series: Series, bins: _Bins, flow: int, size_bytes: int) -> Values:
    """How much of a flow has arrived by the end of each bin, %."""
    of_flow = series.flows.filter(pl.col("flow") == flow)
    sums = bins.sums(of_flow["sample"].to_numpy(), of_flow["delivered_bytes"].to_numpy())
    return 100 * np.cumsum(sums) / max(size_bytes, 1)


def _unit(panel: _Panel) -> tuple[float, str]:
    """In what a panel's lines are shown: rates in bit/s in the unit that suits the fastest, all else as it is."""
    if "(%)" in panel.axis or panel.axis in ("packets a µs", PAUSES.ports, CREDITS.ports):
        return 1.0, ""
    most = max(float(line.values.max(initial=0.0)) for line in panel.lines)
    return next((each for each in _RATES if most >= each[0]), _RATES[-1])


def _trace(line: _Line, bins: _Bins, scale: Scale, number: int, panel: _Panel) -> dict[str, Any]:
    size, unit = _unit(panel)
    ends = [*bins.starts_s, bins.starts_s[-1] + bins.lengths_s[-1]]
    values = line.values / size
    shown = unit or ("%" if "(%)" in panel.axis else "")
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(line.name),
        "legend": f"legend{number + 1 if number else ''}",
        "xaxis": "x",
        "yaxis": f"y{number + 1 if number else ''}",
        "x": [float(f"{time_s / scale.seconds:.6g}") for time_s in ends],
        "y": [float(f"{value:.5g}") for value in (*values, values[-1])],
        "line": {"shape": "hv", "width": 1.8, "color": line.colour},
        "hovertemplate": f"{plain(line.name)}: %{{y:.3g}} {shown} at %{{x:.4g}} {scale.unit}<extra></extra>",
    }


def _layout(panels: list[_Panel], height: int, scale: Scale, end_s: float, happening: list[Moment]) -> dict[str, Any]:
    top = 30 + 16 * min(len(happening), 3)
    inside = height - _FRAME_PX - 16 * min(len(happening), 3)
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 10, "r": 14, "t": top + 20, "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": True,
        "xaxis": {
            "title": {"text": f"time ({scale.unit})", "standoff": 6, "font": {"size": 13}},
            "range": [0, end_s / scale.seconds],
            "zeroline": False,
            "anchor": f"y{len(panels) if len(panels) > 1 else ''}",
        },
        "shapes": [
            {
                "type": "line",
                "x0": moment.at_s / scale.seconds,
                "x1": moment.at_s / scale.seconds,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"width": 1.4, "dash": "dot", "color": EXPOSED},
            }
            for moment in happening
        ],
        "annotations": [
            {
                "x": moment.at_s / scale.seconds,
                "y": 1 + (26 + 16 * (turn % 3)) / inside,
                "yref": "paper",
                "yanchor": "bottom",
                "xanchor": "left" if moment.at_s < end_s / 2 else "right",
                "text": plain(f"{moment.text}, {duration(moment.at_s)}"),
                "showarrow": False,
                "font": {"size": 11.5, "color": EXPOSED},
            }
            for turn, moment in enumerate(happening[:_MOST_TOLD])
        ],
    }
    for number, panel in enumerate(panels):
        above = number * (_PANEL_PX + _GAP_PX)
        high, low = 1 - above / inside, 1 - (above + _PANEL_PX) / inside
        suffix = number + 1 if number else ""
        _, unit = _unit(panel)
        title = panel.axis if unit == "" or unit in panel.axis else f"{panel.axis} ({unit})"
        layout[f"yaxis{suffix}"] = {
            "title": {"text": title, "font": {"size": 12}},
            "domain": [max(low, 0.0), high],
            "rangemode": "tozero",
            "zeroline": False,
            "fixedrange": True,
            "automargin": True,
            "nticks": 5,
            **({"range": [0, panel.span]} if panel.span else {}),
        }
        layout[f"legend{suffix}"] = {
            "orientation": "h",
            "x": 0,
            "y": high,
            "yanchor": "bottom",
            "font": {"size": 11.5},
            "bgcolor": "rgba(0,0,0,0)",
        }
    return layout
