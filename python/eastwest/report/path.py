"""The path of the data: what sets the pace of each result, how busy its stages are, and where a month of GPUs goes.

As a table for the terminal; as charts and rows for the page. Not here: the step itself (`terminal`, `charts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from typing import Any

from rich.table import Table
from rich.text import Text

from eastwest.report.cases import cases_of
from eastwest.report.charts import COMPUTE, EXPOSED, SERIES, WAITING, Chart, figure_json, plain
from eastwest.report.figures import NBSP, Scale, amount, percent
from eastwest.study.result import Row, StudyResult
from eastwest.study.stages import DataPath, GpuHours
from eastwest.units import format_time

_SHORT = {"preprocessing": "prepro-\ncessing", "copy to GPU": "copy\nto GPU"}
"""Names of stages as they stand in a narrow column."""
MOST_DRAWN = 12
"""Of more results than these the first are drawn: the table has them all."""
_PX_A_BAR, _FRAME_PX, _PX_A_LINE = 24, 68, 22
_ENTRIES_A_LINE = 3
"""Of a legend, where the names of results are long."""
CAUSES = {
    "compute": ("compute", COMPUTE),
    "bubbles": ("pipeline bubbles", "#e69f00"),
    "network": ("exposed communication", EXPOSED),
    "data": ("waiting for data", WAITING),
    "checkpoints": ("checkpoints", "#56b4e9"),
    "lost_work": ("work done again", "#cc79a7"),
    "restarts": ("restarts", "#009e73"),
}
"""What a month of GPUs goes to, in words and in a colour."""


@dataclass(frozen=True)
class Told:
    """What one result tells of its path, as cells under `HEADS`."""

    name: str
    cells: tuple[str, ...]


HEADS = (
    "Pace",
    "Set by",
    "Then",
    "Storage is held by",
    "Goodput",
    "Steps a day",
    "Checkpoint every",
    "Failure every",
    "Lost a month",
)
EXPLANATION = (
    "Samples are read, prepared, copied to the GPUs and computed on by stages that work at the same time, on different "
    "batches: the slowest sets the pace. Goodput is the part of all time in which the job does steps that count, with "
    "checkpoints, failures and work done again."
)


def has_path(result: StudyResult) -> bool:
    """Whether any result tells of what feeds its steps."""
    return any(row.data_path for row in result.rows)


def path_tables(result: StudyResult) -> Iterator[Text | Table]:
    """Give the path of each case's results for a terminal: the pace, what sets it, and how busy each stage is."""
    for case in cases_of(result):
        found = [(row, row.data_path) for row in case.rows if row.data_path is not None]
        if not found:
            continue
        names = list(dict.fromkeys(stage.name for _, path in found for stage in path.stages))
        is_saved = any(path.checkpoints for _, path in found)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        for head in ("fabric", "pace", "set by", *(_SHORT.get(name, name) for name in names)):
            table.add_column(Text(head), justify="left" if head in ("fabric", "set by") else "right", overflow="fold")
        for head in ("goodput", "checkpoint\nevery") if is_saved else ():
            table.add_column(Text(head), justify="right")
        for row, path in found:
            busy = {stage.name: percent(stage.utilisation) for stage in path.stages}
            cells = [row.fabric, _time(path.pace_s), path.limited_by, *(busy.get(name, "") for name in names)]
            cells += [goodput(row), every(path)] if is_saved else []
            table.add_row(*map(Text, cells))
        yield Text(f"{case.name}: pace, and how busy each stage is", "bold underline")
        yield table
        yield Text()


def goodput(row: Row) -> str:
    """Give a result's goodput to a tenth of a per cent; empty where it has none."""
    saved = row.data_path.checkpoints if row.data_path else None
    return f"{saved.goodput * 100:.1f}{NBSP}%" if saved else ""


def every(path: DataPath) -> str:
    """Give the time between checkpoints; empty where there are none."""
    return _time(path.checkpoints.every_s) if path.checkpoints else ""


def told_of(result: StudyResult) -> list[Told]:
    """What each result tells of its path, in the result's order."""
    return [Told(_name(row), _cells(row, path)) for row, path in _found(result)]


def stages_chart(result: StudyResult) -> Chart | None:
    """Draw what each stage takes for a batch, a bar a stage and result; None where none has data."""
    found = [(row, path) for row, path in _found(result) if len(path.stages) > 1][:MOST_DRAWN]
    if not found:
        return None
    scale = Scale.of([path.pace_s for _, path in found])
    names = list(dict.fromkeys(stage.name for _, path in found for stage in path.stages))
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": plain(_name(row)),
            "y": [stage.name for stage in path.stages],
            "x": [stage.seconds / scale.seconds for stage in path.stages],
            "text": [scale.text(stage.seconds) for stage in path.stages],
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {"color": SERIES[number % len(SERIES)]},
            "hovertemplate": f"%{{y}}: %{{x:.3g}} {scale.unit}<extra>{plain(_name(row))}</extra>",
        }
        for number, (row, path) in enumerate(found)
    ]
    words = "; ".join(
        f"{_name(row)}: {', '.join(f'{s.name} {scale.with_unit(s.seconds)}' for s in path.stages)}"
        for row, path in found
    )
    layout = _layout(len(names) * len(found), f"for one batch ({scale.unit})", len(found))
    layout["yaxis"] |= {"categoryorder": "array", "categoryarray": names}
    return Chart("What each stage takes for a batch", figure_json(traces, layout), layout["height"], f"{words}.")


def hours_chart(result: StudyResult) -> Chart | None:
    """Draw where a month of all GPUs goes, a stacked bar a result, in per cent; None without any."""
    found = _found(result)[:MOST_DRAWN]
    if not found:
        return None
    names = [plain(_name(row)) for row, _ in found]
    traces: list[dict[str, Any]] = []
    for each in fields(GpuHours):
        words, colour = CAUSES[each.name]
        shares = [100 * _share(path.gpu_hours_a_month, each.name) for _, path in found]
        if max(shares) > 0:
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": words,
                    "y": names,
                    "x": shares,
                    "customdata": [amount(getattr(path.gpu_hours_a_month, each.name)) for _, path in found],
                    "marker": {"color": colour},
                    "hovertemplate": f"%{{y}}: %{{x:.3g}} % {words}, %{{customdata}} GPU-hours a month<extra></extra>",
                }
            )
    layout = _layout(len(found), "of a month of all GPUs (%)", len(traces))
    layout |= {"barmode": "stack"}
    layout["xaxis"]["range"] = [0, 100]
    words = "; ".join(
        f"{_name(row)}: "
        + ", ".join(
            f"{CAUSES[each.name][0]} {percent(_share(path.gpu_hours_a_month, each.name))}"
            for each in fields(GpuHours)
            if getattr(path.gpu_hours_a_month, each.name)
        )
        for row, path in found
    )
    return Chart("Where a month of GPUs goes", figure_json(traces, layout), layout["height"], f"{words}.")


def _found(result: StudyResult) -> list[tuple[Row, DataPath]]:
    return [(row, row.data_path) for row in result.rows if row.data_path is not None]


def _name(row: Row) -> str:
    return f"{row.workload}, {row.placement}, on {row.fabric}"


def _cells(row: Row, path: DataPath) -> tuple[str, ...]:
    saved, hours = path.checkpoints, path.gpu_hours_a_month
    lost = hours.checkpoints + hours.lost_work + hours.restarts
    return (
        _time(path.pace_s),
        path.limited_by,
        f"{path.behind}, {percent(path.behind_share)} of the pace" if path.behind else "",
        path.where,
        goodput(row),
        f"{path.steps_a_day:,.0f}",
        every(path),
        _time(saved.mtbf_s) if saved else "",
        f"{amount(lost)} GPU-hours" if saved else "",
    )


def _share(hours: GpuHours, cause: str) -> float:
    whole = sum(astuple(hours))
    return getattr(hours, cause) / whole if whole else 0.0


def _time(seconds: float) -> str:
    return format_time(seconds).replace(" ", NBSP)


def _layout(bars: int, axis: str, entries: int) -> dict[str, Any]:
    legend_px = _PX_A_LINE * -(-entries // _ENTRIES_A_LINE) if entries > 1 else 0
    return {
        "height": bars * _PX_A_BAR + _FRAME_PX + legend_px,
        "margin": {"l": 10, "r": 60, "t": 10 + legend_px, "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": entries > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal"},
        "xaxis": {
            "title": {"text": axis, "standoff": 6, "font": {"size": 13}},
            "rangemode": "tozero",
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "type": "category",
            "autorange": "reversed",
            "automargin": True,
            "showgrid": False,
            "fixedrange": True,
        },
    }


def fed(result: StudyResult) -> str:
    """Say in how many results the step waits for what feeds it; empty where none does."""
    found = _found(result)
    waiting = [path for _, path in found if path.gpu_hours_a_month.data > 0]
    if not waiting:
        return ""
    by = " or ".join(dict.fromkeys(path.limited_by for path in waiting))
    most = max(path.gpu_hours_a_month.data / sum(astuple(path.gpu_hours_a_month)) for path in waiting)
    where = "" if len(waiting) == len(found) else f" in {len(waiting)} of {len(found)} results"
    return f"Steps wait for their data{where}, held back by {by}, up to {percent(most)} of all time."
