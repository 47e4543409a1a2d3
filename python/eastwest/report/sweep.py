"""A sweep for people: one table in the terminal, what is swept in its first columns; names that say what was chosen.

Not here: the comparison of a study in which nothing is swept (`terminal`), nor the lines of a sweep (`curves`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from eastwest.report import path
from eastwest.report.answer import FIDELITIES
from eastwest.report.figures import NBSP, percent
from eastwest.report.limits import in_short
from eastwest.spec import Parameter
from eastwest.study.result import FabricFacts, Row, StudyResult
from eastwest.units import format_time

MOST_ROWS = 200
"""More are not read in a terminal."""

GAP = 2


def is_sweep(result: StudyResult) -> bool:
    """Tell whether values were swept."""
    return any(row.parameters for row in result.rows)


def names_of(result: StudyResult) -> tuple[str, ...]:
    """Give the swept columns, in the order in which they first appear."""
    return tuple(dict.fromkeys(each.name for row in result.rows for each in row.parameters))


def value_of(row: Row, name: str) -> Parameter | None:
    """Give a row's value in a swept column; None where it has none."""
    return next((each for each in row.parameters if each.name == name), None)


def told_in_full(result: StudyResult) -> StudyResult:
    """Name fabrics, clusters and workloads with what was chosen for them, so that a name means one candidate."""
    if not is_sweep(result):
        return result

    def name(base: str, of: tuple[str, ...], parameters: tuple[Parameter, ...]) -> str:
        return ", ".join((base, *(f"{each.name} {each.text}" for each in parameters if each.of in of)))

    def row(each: Row) -> Row:
        return replace(
            each,
            fabric=name(each.fabric, ("fabric",), each.parameters),
            cluster=name(each.cluster, ("cluster",), each.parameters),
            workload=name(each.workload, ("workload", "study"), each.parameters),
        )

    def facts(each: FabricFacts) -> FabricFacts:
        return replace(
            each,
            name=name(each.name, ("fabric",), each.parameters),
            cluster=name(each.cluster, ("cluster",), each.parameters),
        )

    return replace(result, rows=tuple(map(row, result.rows)), fabrics=tuple(map(facts, result.fabrics)))


class SweepTable:
    """A rich renderable of a sweep's result."""

    def __init__(self, result: StudyResult) -> None:
        self._result = result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out, then what the reader must know."""
        rows = self._result.rows
        columns = _that_fit(list(_columns(self._result)), rows, options.max_width)
        table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim")
        for column in columns:
            table.add_column(Text(column.head), justify=column.justify, overflow="fold", vertical="bottom")
        for row in rows[:MOST_ROWS]:
            table.add_row(*(column.cell(row) for column in columns))
        if everywhere := _everywhere(self._result):
            yield Text(f"Everywhere: {everywhere}.\n")
        yield table
        if len(rows) > MOST_ROWS:
            yield Text(f"... and {len(rows) - MOST_ROWS:,} more: --where chooses, --json and --out have all", "dim")
        yield Text()
        yield from _below(self._result)


@dataclass(frozen=True)
class _Column:
    head: str
    cell: Callable[[Row], str]
    justify: Literal["left", "right"] = "right"
    spared: int = 0  # where there is no room, columns with 1 are left out first, then 2 and so on; 0 stays

    def width(self, rows: Sequence[Row]) -> int:
        return max(*map(len, self.head.split("\n")), *(len(self.cell(row)) for row in rows))


def _that_fit(columns: list[_Column], rows: Sequence[Row], width: int) -> list[_Column]:
    """The columns for which there is room."""
    widths = {column.head: column.width(rows) + GAP for column in columns}
    while sum(widths[column.head] for column in columns) - GAP > width:
        spared = [column for column in columns if column.spared]
        if not spared:
            break
        columns.remove(min(spared, key=lambda column: column.spared))
    return columns


def _columns(result: StudyResult) -> Iterator[_Column]:
    rows = result.rows
    cases = (
        _Column("fabric", lambda row: row.fabric, "left"),
        _Column("cluster", lambda row: row.cluster, "left"),
        _Column("workload", lambda row: row.workload, "left"),
        _Column("placement", lambda row: row.placement, "left"),
    )
    yield from (column for column in cases if len({column.cell(row) for row in rows}) > 1)
    for name in names_of(result):
        if varies(result, name):
            numeric = all(value.is_numeric for row in rows if (value := value_of(row, name)))
            yield _Column(name.replace(".", ".\n"), _parameter(name), "right" if numeric else "left")
    yield _Column("step", lambda row: _time(row.step_s))
    if path.has_path(result):
        yield _Column("pace", lambda row: _time(row.pace_s))
        yield _Column("set by", lambda row: row.data_path.limited_by if row.data_path else "", "left")
    if any(path.goodput(row) for row in rows):
        yield _Column("goodput", path.goodput)
    yield _Column("communi-\ncation", lambda row: _time(row.communication_s), spared=1)
    yield _Column("exposed", lambda row: _time(row.exposed_s))
    if any(_time(row.exposed_p95_s) != _time(row.exposed_s) for row in rows):
        yield _Column("its p95", lambda row: _time(row.exposed_p95_s), spared=3)
    yield _Column("net", lambda row: percent(row.exposed_share), spared=5)
    yield _Column("ideal", lambda row: _time(row.ideal_step_s), spared=2)
    yield _Column("bottleneck", lambda row: in_short(row.bottleneck.where), "left", spared=4)


def varies(result: StudyResult, name: str) -> bool:
    """Tell whether a swept column has several values."""
    return len({value_of(row, name) for row in result.rows}) > 1


def _everywhere(result: StudyResult) -> str:
    """Say what all rows have in common of what is swept."""
    alike = (value_of(result.rows[0], name) for name in names_of(result) if not varies(result, name))
    return ", ".join(f"{each.name} {each.text}" for each in alike if each)


def _parameter(name: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        value = value_of(row, name)
        return value.text.replace(" ", NBSP) if value else ""

    return cell


def _time(time_s: float) -> str:
    return format_time(time_s).replace(" ", NBSP)


def _below(result: StudyResult) -> Iterator[Text]:
    yield Text(
        "exposed: communication that compute does not hide; net: its share of the step; ideal: the step if only "
        "servers and their ports set the pace.",
        "dim",
    )
    draws = max(row.draws for row in result.rows)
    if draws > 1:
        yield Text(f"Times are the median of {draws} draws of the ECMP hash.", "dim")
    for warning in result.warnings:
        yield Text(f"! {warning}", "yellow")
    for note in result.notes:
        yield Text(f"• {note}")
    for fidelity in dict.fromkeys(row.fidelity for row in result.rows):
        yield Text(f"• {fidelity.capitalize()} leaves out {FIDELITIES[fidelity][1]}.", "dim")
    yield Text()
    yield from (Text(sentence, "bold") for sentence in answer(result))


def answer(result: StudyResult) -> list[str]:
    """Give the fastest and the slowest combination of each workload, in a sentence each."""
    told = []
    for workload in dict.fromkeys(row.workload for row in result.rows):
        rows = [row for row in result.rows if row.workload == workload]
        best, worst = min(rows, key=lambda row: row.pace_s), max(rows, key=lambda row: row.pace_s)
        takes = "a step, with what feeds it, takes" if any(row.data_path for row in rows) else "a step takes"
        if _time(best.pace_s) == _time(worst.pace_s):
            told.append(f"{workload}: {takes} {_time(best.pace_s)} in all {len(rows)} combinations.")
        else:
            told.append(
                f"{workload}: {takes} {_time(best.pace_s)} at best ({_chosen(best, result)}), "
                f"{_time(worst.pace_s)} at worst ({_chosen(worst, result)})."
            )
    return told


def _chosen(row: Row, result: StudyResult) -> str:
    """Say which combination it is."""
    words = [
        str(getattr(row, column))
        for column in ("fabric", "cluster", "placement")
        if len({getattr(each, column) for each in result.rows}) > 1
    ]
    return ", ".join([*words, *(f"{each.name} {each.text}" for each in row.parameters if varies(result, each.name))])
