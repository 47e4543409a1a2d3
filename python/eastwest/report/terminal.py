"""The comparison in a terminal: one row a result, grouped by case, with what the reader must know below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from eastwest.report import path
from eastwest.report.answer import FIDELITIES, answer
from eastwest.report.cases import cases_of, scales_of, told_apart
from eastwest.report.figures import amount, percent
from eastwest.report.limits import in_short, reasons_of
from eastwest.study.result import Row, StudyResult

MARK = "▸"
_AIRY, _ROOMY = 96, 120
"""From these widths on, columns stand two blanks apart, and heads are spelled out."""
_LEAST = 10
"""A bottleneck has at least this width, however narrow the terminal."""


@dataclass(frozen=True)
class _Column:
    head: str
    long_head: str
    cell: Callable[[Row], Text]
    justify: Literal["left", "right"] = "right"
    spared: int = 0  # where there is no room, columns with 1 are left out first, then 2 and so on; 0 stays

    def width(self, rows: tuple[Row, ...], roomy: bool) -> int:
        lines = (self.long_head if roomy else self.head).format(step="ms", exposed="ms").split("\n")
        return max(*map(len, lines), *(self.cell(row).cell_len for row in rows))


class Comparison:
    """A rich renderable of a study's result."""

    def __init__(self, result: StudyResult) -> None:
        self._result = told_apart(result)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the result out for the width that there is."""
        if self._result.rows:
            yield from self._tables(options.max_width)
        yield from path.path_tables(self._result)
        yield from _below(self._result)

    def _tables(self, width: int) -> Iterator[Text | Table]:
        rows, scales = self._result.rows, scales_of(self._result)
        roomy = width >= _ROOMY
        gap = 2 if width >= _AIRY else 1

        def used(columns: list[_Column]) -> int:
            return len(MARK) + sum(gap + column.width(rows, roomy) for column in columns)

        # Where all does not fit, directions of bottlenecks go first, then columns that can be spared.
        columns = _columns(self._result, in_full=True)
        if used(columns) > width:
            columns = _columns(self._result, in_full=False)
        while used(columns) > width and (spared := [column for column in columns if column.spared]):
            columns.remove(min(spared, key=lambda column: column.spared))
        widths = [column.width(rows, roomy) for column in columns]
        short = max(0, used(columns) - width)
        for case in cases_of(self._result):
            units = {"step": scales[case.workload].step.unit, "exposed": scales[case.workload].exposed.unit}
            table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
            table.add_column("", width=len(MARK), no_wrap=True)
            for column, own in zip(columns, widths, strict=True):
                is_limit = column.head == "bottleneck"
                table.add_column(
                    Text((column.long_head if roomy else column.head).format(**units)),
                    justify=column.justify,
                    vertical="top",
                    width=max(own - short, _LEAST) if is_limit else own,
                    overflow="fold",  # a figure that has no room goes on below; cut, it would be another figure
                )
            for row in case.rows:
                fastest = case.is_fastest(row)
                cells = (column.cell(row) for column in columns)
                table.add_row(Text(MARK if fastest else "", "green"), *cells, style="bold" if fastest else "")
            yield Text(case.name, "bold underline")
            yield table
            yield Text()


def _columns(result: StudyResult, in_full: bool) -> list[_Column]:
    """Give all columns; bottlenecks `in_full` or without their direction. In heads, units stand for those of a case."""
    scales, reasons = scales_of(result), reasons_of(result)
    currency = next((row.cost.currency for row in result.rows if row.cost.idle_cost_per_day is not None), None)

    def step(time_s: Callable[[Row], float]) -> Callable[[Row], Text]:
        return lambda row: Text(scales[row.workload].step.text(time_s(row)))

    def exposed(row: Row) -> Text:
        return Text(scales[row.workload].exposed.text(row.exposed_s))

    def tail(row: Row) -> Text:
        told = scales[row.workload].exposed.text(row.exposed_p95_s)
        return Text("" if told == exposed(row).plain else told, "dim")

    def limit(row: Row) -> Text:
        where = row.bottleneck.where if in_full else in_short(row.bottleneck.where)
        return Text.assemble(where, (f" [{reasons[row.bottleneck.why].number}]", "dim"))

    columns = [
        _Column("fabric", "fabric", lambda row: Text(row.fabric), "left"),
        _Column("step\n{step}", "step\n({step})", step(lambda row: row.step_s)),
        _Column("exposed\n{exposed}", "exposed\n({exposed})", exposed),
        _Column("p95\n{exposed}", "its p95\n({exposed})", tail, spared=2),
        _Column("net", "network's\nshare", lambda row: Text(percent(row.exposed_share))),
        _Column("GPU\nidle", "GPU\nidle", lambda row: Text(percent(row.gpu_idle_share)), spared=4),
        _Column("ideal\n{step}", "ideal\nstep ({step})", step(lambda row: row.ideal_step_s), spared=1),
        _Column("bottleneck", "bottleneck", limit, "left"),
        _Column("busy", "busy", lambda row: Text(percent(row.bottleneck.utilisation)), spared=3),
        _Column(f"idle\n{currency}/d", f"idle cost\n({currency}/day)", _cost)
        if currency
        else _Column(
            "idle h\na day", "idle GPU-\nhours/day", lambda row: Text(amount(row.cost.idle_gpu_hours_per_day))
        ),
    ]
    return [column for column in columns if any(column.cell(row) for row in result.rows)]


def _cost(row: Row) -> Text:
    return Text("" if row.cost.idle_cost_per_day is None else amount(row.cost.idle_cost_per_day))


def _below(result: StudyResult) -> Iterator[Table | Text]:
    """Give the reasons, the legend, warnings and notes, and last, where the eye is, the answer."""
    for reason in reasons_of(result).values():
        yield _item(f"[{reason.number}]".rjust(4), f"{reason.where}: {reason.text}", "")
    yield Text()
    yield Text(
        f"{MARK} fastest of its group; exposed: communication that compute does not hide; net: its share of the step; "
        "ideal: the step if only servers and their ports set the pace.",
        "dim",
    )
    draws = max((row.draws for row in result.rows), default=1)
    if draws > 1:
        what = "hashes and paths" if any(row.packets for row in result.rows) else "the ECMP hash"
        yield Text(f"Times are the median of {draws} draws of {what}; p95 is told where it differs.", "dim")
    for warning in result.warnings:
        yield _item("!", warning, "yellow")
    for note in result.notes:
        yield _item("•", note, "")
    for fidelity in dict.fromkeys(row.fidelity for row in result.rows):
        if fidelity in FIDELITIES:
            yield _item("•", f"{fidelity.capitalize()} leaves out {FIDELITIES[fidelity][1]}.", "dim")
    yield Text()
    yield Text(" ".join(answer(result)), "bold")


def _item(sign: str, text: str, style: str) -> Table:
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_row(Text(sign, style), Text(text, style))
    return line
