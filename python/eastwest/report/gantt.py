"""A step as a Gantt chart: what a few ranks do, queue by queue, and below it how busy the links are meanwhile.

Not here: every rank that a timeline holds; those are in its trace (`perfetto`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eastwest.report import charts
from eastwest.report.charts import Chart, figure_json, plain
from eastwest.report.figures import Scale, percent
from eastwest.report.perfetto import sampled, track_name
from eastwest.study.timeline import Lane, Load, Slice, Timeline, Track
from eastwest.units import format_time

MOST_DRAWN = 12
"""Of more cases than these no Gantt chart is drawn for the rest: the traces have them all."""

_TRACKS = 4
"""Ranks drawn; a page has no room for more."""
_MOST_BARS = 2000
"""Of more slices than these the shortest are left out: none of them would be seen."""
_TIERS = 6
"""Tiers drawn: those with the busiest links."""
_KINDS = {
    "compute": ("compute", charts.COMPUTE),
    "transfer": ("communication", charts.OVERLAPPED),
    "waiting": ("waiting for others", charts.WAITING),
}
_ROW_PX, _LOAD_PX, _FRAME_PX, _GAP = 30, 130, 110, 0.1
PS_PER_S = 1e12


@dataclass(frozen=True)
class Gantt:
    """A case's chart, and which of its ranks are drawn."""

    chart: Chart
    shown: str


@dataclass(frozen=True)
class _Bar:
    row: str
    kind: str
    label: str
    text: str
    start_ps: int
    end_ps: int


def gantts(timelines: Sequence[Timeline]) -> list[Gantt]:
    """Chart each timeline, up to `MOST_DRAWN`."""
    return [_gantt(each) for each in timelines[:MOST_DRAWN]]


def _gantt(timeline: Timeline) -> Gantt:
    scale = Scale.of([timeline.step_ps / PS_PER_S])
    tracks = timeline.tracks[:_TRACKS]
    rows = [_row(track, lane, tracks) for track in tracks for lane in track.lanes]
    bars = [bar for track in tracks for lane in track.lanes for bar in _bars(_row(track, lane, tracks), lane)]
    bars = sorted(sorted(bars, key=lambda bar: bar.start_ps - bar.end_ps)[:_MOST_BARS], key=lambda bar: bar.start_ps)
    loads = sorted((each for each in timeline.loads if any(each.most)), key=lambda each: -max(each.most))[:_TIERS]
    traces = [*_bar_traces(bars, scale), *_load_traces(loads, timeline, scale)]
    height = len(rows) * _ROW_PX + (_LOAD_PX if loads else 0) + _FRAME_PX
    words = [
        f"{bar.row.replace('<br>', ' ')}: {bar.label} from {_when(bar.start_ps)} to {_when(bar.end_ps)}"
        for bar in bars[:8]
    ]
    text = f"Step of {timeline.name}, {scale.with_unit(timeline.step_ps / PS_PER_S)}. {'; '.join(words)}."
    chart = Chart(timeline.name, figure_json(traces, _layout(rows, height, timeline, scale, bool(loads))), height, text)
    drawn = f" Drawn: {', '.join(track_name(track) for track in tracks)}." if len(timeline.tracks) > len(tracks) else ""
    return Gantt(chart, f"{sampled(timeline)}{drawn}")


def _when(time_ps: int) -> str:
    return format_time(time_ps / PS_PER_S)


def _row(track: Track, lane: Lane, tracks: Sequence[Track]) -> str:
    """What a row is called: its queue, and its rank where several are drawn."""
    queue = _last_word(lane.name)
    return plain(queue if len(tracks) == 1 else f"{track.name}: {queue}")


def _last_word(name: str) -> str:
    """A name without the job and the step that it is of, which the row and the time tell."""
    return name.rpartition("/")[2]


def _bars(row: str, lane: Lane) -> Iterator[_Bar]:
    """Bars of a lane; of a communication, its parts."""
    for number, each in enumerate(lane.slices):
        if each.kind == "compute":
            yield _Bar(row, "compute", each.name, _last_word(each.name), each.start_ps, each.end_ps)
        elif each.kind == "communication":
            parts = _parts(lane.slices, number)
            longest = max(parts, key=lambda part: part.end_ps - part.start_ps, default=None)
            for part in parts:
                text = _last_word(each.name) if part is longest else ""
                yield _Bar(row, part.kind, f"{each.name}, {part.name}", text, part.start_ps, part.end_ps)


def _parts(slices: Sequence[Slice], number: int) -> list[Slice]:
    """The slices within a communication, which follow it."""
    parts: list[Slice] = []
    for each in slices[number + 1 :]:
        if each.kind not in ("waiting", "transfer"):
            break
        parts.append(each)
    return parts


def _bar_traces(bars: Sequence[_Bar], scale: Scale) -> Iterator[dict[str, Any]]:
    for kind, (name, colour) in _KINDS.items():
        of_kind = [bar for bar in bars if bar.kind == kind]
        if of_kind:
            yield {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "y": [bar.row for bar in of_kind],
                "base": [bar.start_ps / PS_PER_S / scale.seconds for bar in of_kind],
                "x": [(bar.end_ps - bar.start_ps) / PS_PER_S / scale.seconds for bar in of_kind],
                "text": [plain(bar.text) for bar in of_kind],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "insidetextfont": {"color": "#ffffff" if kind == "compute" else "#000000"},
                "customdata": [[plain(bar.label), _when(bar.start_ps), _when(bar.end_ps)] for bar in of_kind],
                "hovertemplate": "%{customdata[0]}: %{customdata[1]} to %{customdata[2]}<extra></extra>",
                "marker": {"color": colour, "line": {"color": "rgba(255,255,255,0.7)", "width": 0.5}},
            }


def _load_traces(loads: Sequence[Load], timeline: Timeline, scale: Scale) -> Iterator[dict[str, Any]]:
    for number, load in enumerate(loads):
        ends = [*(at * timeline.every_ps for at in range(len(load.most))), timeline.step_ps]
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": load.tier,
            "yaxis": "y2",
            "x": [end / PS_PER_S / scale.seconds for end in ends],
            "y": [100 * most for most in (*load.most, load.most[-1])],
            "line": {"shape": "hv", "width": 1.8, "color": charts.SERIES[number % len(charts.SERIES)]},
            "hovertemplate": f"{load.tier}: busiest link %{{y:.0f}} %<extra></extra>",
            "meta": percent(max(load.most)),
        }


def _layout(rows: Sequence[str], height: int, timeline: Timeline, scale: Scale, has_loads: bool) -> dict[str, Any]:
    top = _LOAD_PX / (height - _FRAME_PX) if has_loads else 0.0
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 10, "r": 12, "t": 44, "b": 44},
        "barmode": "overlay",
        "bargap": 0.25,
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "uniformtext": {"minsize": 9, "mode": "hide"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "dragmode": "zoom",
        "xaxis": {
            "title": {"text": f"time ({scale.unit})", "standoff": 6, "font": {"size": 13}},
            "range": [0, timeline.step_ps / PS_PER_S / scale.seconds],
            "zeroline": False,
            "anchor": "y2" if has_loads else "y",
        },
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(rows),
            "autorange": "reversed",
            "automargin": True,
            "ticks": "",
            "ticksuffix": "  ",
            "fixedrange": True,
            "domain": [min(top + _GAP * (1 - top), 1.0) if has_loads else 0, 1],
        },
    }
    if has_loads:
        layout["yaxis2"] = {
            "title": {"text": "busiest link (%)", "font": {"size": 12}},
            "range": [0, 104],
            "tickvals": [0, 50, 100],
            "zeroline": False,
            "fixedrange": True,
            "automargin": True,
            "domain": [0, top * (1 - _GAP)],
        }
    return layout
