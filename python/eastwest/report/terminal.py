"""The comparison in a terminal: one row a result, grouped by case, with what the reader must know below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from eastwest.report.answer import FIDELITIES
from eastwest.report.cases import cases_of, told_apart
from eastwest.report.figures import Scale, amount, percent
from eastwest.study.result import Row, StudyResult

MARK = "▸"
_AIRY, _ROOMY = 96, 120
"""From these widths on, columns stand two blanks apart, and heads are spelled out."""
_READABLE = 13
"""The least width for a bottleneck; where it has less, columns that can be spared give way."""


@dataclass(frozen=True)
class _Column:
    head: str
    long_head: str
    cell: Callable[[Row], Text]
    justify: Literal["left", "right"] = "right"
    spared: bool = False  # left out first where there is no room

    def width(self, rows: tuple[Row, ...], roomy: bool) -> int:
        lines = (self.long_head if roomy else self.head).split("\n")
        return max(*map(len, lines), *(self.cell(row).cell_len for row in rows))


class Comparison:
    """A rich renderable of a study's result."""

    def __init__(self, result: StudyResult) -> None:
        self._result = told_apart(result)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the result out for the width that there is."""
        if self._result.rows:
            yield from self._tables(options.max_width)
        yield from _below(self._result)

    def _tables(self, width: int) -> Iterator[Text | Table]:
        rows = self._result.rows
        roomy = width >= _ROOMY
        gap = 2 if width >= _AIRY else 1
        columns = _columns(self._result)

        def rest() -> int:
            used = sum(column.width(rows, roomy) + gap for column in columns if column.head != "bottleneck")
            return width - used - len(MARK) - gap

        while rest() < _READABLE and (spared := [column for column in columns if column.spared]):
            columns.remove(spared[-1])
        widest = max(rest(), _READABLE // 2)
        for case in cases_of(self._result):
            table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
            table.add_column("", width=len(MARK), no_wrap=True)
            for column in columns:
                own = column.width(rows, roomy)
                table.add_column(
                    column.long_head if roomy else column.head,
                    justify=column.justify,
                    vertical="top",
                    width=min(own, widest) if column.head == "bottleneck" else own,
                    overflow="fold",
                    no_wrap=column.head != "bottleneck",
                )
            for row in case.rows:
                fastest = case.is_fastest(row)
                cells = (column.cell(row) for column in columns)
                table.add_row(Text(MARK if fastest else "", "green"), *cells, style="bold" if fastest else "")
            yield Text(case.name, "bold underline")
            yield table
            yield Text()


def _columns(result: StudyResult) -> list[_Column]:
    rows = result.rows
    # Times that are compared with each other share a unit: the step with its bound, the exchange with its tail.
    step = Scale.of(row.step_s for row in rows)
    exposed = Scale.of(row.exposed_p95_s for row in rows)
    currency = next((row.cost.currency for row in rows if row.cost.idle_cost_per_day is not None), None)

    def tail(row: Row) -> Text:
        differs = exposed.text(row.exposed_p95_s) != exposed.text(row.exposed_s)
        return Text(exposed.text(row.exposed_p95_s) if differs else "", "dim")

    columns = [
        _Column("fabric", "fabric", lambda row: Text(row.fabric), "left"),
        _Column(f"step\n{step.unit}", f"step\n({step.unit})", lambda row: Text(step.text(row.step_s))),
        _Column(
            f"exposed\n{exposed.unit}",
            f"exchange\nexposed ({exposed.unit})",
            lambda row: Text(exposed.text(row.exposed_s)),
        ),
    ]
    if any(tail(row) for row in rows):
        columns.append(_Column(f"p95\n{exposed.unit}", f"its p95\n({exposed.unit})", tail, spared=True))
    columns += [
        _Column("net", "network's\nshare", lambda row: Text(percent(row.exposed_share))),
        _Column("GPU\nidle", "GPU\nidle", lambda row: Text(percent(row.gpu_idle_share))),
        _Column(
            f"ideal\n{step.unit}",
            f"ideal\nstep ({step.unit})",
            lambda row: Text(step.text(row.ideal_step_s)),
            spared=True,
        ),
        _Column("bottleneck", "bottleneck", lambda row: Text(row.bottleneck.where.removesuffix(" links")), "left"),
        _Column("busy", "busy", lambda row: Text(percent(row.bottleneck.utilisation))),
    ]
    if currency is None:
        hours = _Column(
            "idle h\na day", "idle GPU-\nhours/day", lambda row: Text(amount(row.cost.idle_gpu_hours_per_day))
        )
        return [*columns, hours]
    return [*columns, _Column(f"idle\n{currency}/d", f"idle cost\n({currency}/day)", _cost)]


def _cost(row: Row) -> Text:
    return Text("" if row.cost.idle_cost_per_day is None else amount(row.cost.idle_cost_per_day))


def _below(result: StudyResult) -> Iterator[Table | Text]:
    """Give the legend, the warnings, what the figures show, and what the fidelities leave out."""
    yield Text(
        f"{MARK} fastest of its group; exposed: exchange that GPUs wait for; net: its share of the step; "
        "ideal: the step if only servers and their ports set the pace.",
        "dim",
    )
    draws = max((row.draws for row in result.rows), default=1)
    if draws > 1:
        yield Text(f"Median of {draws} draws of the ECMP hash, and the 95th percentile where it differs.", "dim")
    for warning in result.warnings:
        yield _item("!", warning, "yellow")
    for note in result.notes:
        yield _item("•", note, "")
    for fidelity in dict.fromkeys(row.fidelity for row in result.rows):
        if fidelity in FIDELITIES:
            yield _item("•", f"{fidelity.capitalize()} leaves out {FIDELITIES[fidelity][1]}.", "dim")


def _item(sign: str, text: str, style: str) -> Table:
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_row(Text(sign, style), Text(text, style))
    return line
