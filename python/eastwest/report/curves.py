"""The lines of a sweep: where exactly one number varies, step and communication over it, one plot a workload.

Not here: the table of a sweep (`sweep`), or bars that compare fabrics (`charts`).
"""

from __future__ import annotations

from typing import Any

from eastwest.report.charts import SERIES, Chart, figure_json, plain
from eastwest.report.figures import Scale
from eastwest.report.sweep import names_of, value_of, varies
from eastwest.study.result import Row, StudyResult

_HEIGHT_PX = 340
_LOGARITHMIC = 8.0
"""From this ratio of the largest to the smallest value on, the axis is logarithmic."""
_MOST_TICKS = 12


def lines(result: StudyResult) -> list[Chart]:
    """Give one plot for each workload; none where nothing, several values or words vary."""
    varying = [name for name in names_of(result) if varies(result, name)]
    if len(varying) != 1:
        return []
    (name,) = varying
    values = [value_of(row, name) for row in result.rows]
    if not all(value is not None and value.is_numeric for value in values):
        return []
    workloads = dict.fromkeys(row.workload for row in result.rows)
    return [_chart(name, workload, [row for row in result.rows if row.workload == workload]) for workload in workloads]


def _chart(name: str, workload: str, rows: list[Row]) -> Chart:
    scale = Scale.of([row.step_s for row in rows])
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_line(row, rows), []).append(row)
    traces: list[dict[str, Any]] = []
    words = []
    for number, (line, of_line) in enumerate(found.items()):
        ordered = sorted(of_line, key=lambda row: _number(row, name))
        for what, dash, times_s in (
            ("step", "solid", [row.step_s for row in ordered]),
            ("communication", "dot", [row.communication_s for row in ordered]),
        ):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "x": [_number(row, name) for row in ordered],
                    "y": [time_s / scale.seconds for time_s in times_s],
                    "text": [plain(_text(row, name)) for row in ordered],
                    "name": plain(f"{line}, {what}" if line else what),
                    "line": {"dash": dash, "width": 2},
                    "marker": {"color": SERIES[number % len(SERIES)]},
                    "hovertemplate": f"%{{text}}: %{{y:.3g}} {scale.unit}<extra>%{{fullData.name}}</extra>",
                }
            )
        first, last = ordered[0], ordered[-1]
        words.append(
            f"{line or workload} from {scale.with_unit(first.step_s)} at {_text(first, name)} "
            f"to {scale.with_unit(last.step_s)} at {_text(last, name)}"
        )
    title = f"{workload} over {name}"
    text = f"Step of {title}: {'; '.join(words)}."
    return Chart(title, figure_json(traces, _layout(name, rows, scale)), _HEIGHT_PX, text)


def _line(row: Row, rows: list[Row]) -> str:
    """Name the line that a row is of: what tells it from others but for the value that varies."""
    columns = ("fabric", "cluster", "placement")
    return ", ".join(
        str(getattr(row, column)) for column in columns if len({getattr(each, column) for each in rows}) > 1
    )


def _number(row: Row, name: str) -> float:
    value = value_of(row, name)
    return float(value.value or 0) if value and value.is_numeric else 0.0


def _text(row: Row, name: str) -> str:
    value = value_of(row, name)
    return value.text if value else ""


def _layout(name: str, rows: list[Row], scale: Scale) -> dict[str, Any]:
    ticks = dict(sorted((_number(row, name), _text(row, name)) for row in rows))
    least, most = min(ticks), max(ticks)
    axis: dict[str, Any] = {"title": {"text": plain(name), "standoff": 6, "font": {"size": 13}}, "fixedrange": True}
    if least > 0 and most / least >= _LOGARITHMIC:
        axis["type"] = "log"
    every = -(-len(ticks) // _MOST_TICKS)
    shown = list(ticks.items())[::every]
    axis |= {"tickvals": [value for value, _ in shown], "ticktext": [plain(text) for _, text in shown]}
    return {
        "height": _HEIGHT_PX,
        "margin": {"l": 10, "r": 12, "t": 40, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": axis,
        "yaxis": {
            "title": {"text": scale.unit, "standoff": 6, "font": {"size": 13}},
            "automargin": True,
            "rangemode": "tozero",
            "zeroline": False,
            "fixedrange": True,
        },
    }
