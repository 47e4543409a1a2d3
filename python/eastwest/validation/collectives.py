"""Tables of collectives over message sizes, as nccl-tests prints them, and what a fluid run of each says.

Rows that differ in size alone are one curve. Not here: what NCCL would choose (`study.tuning`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eastwest.document import nearest
from eastwest.errors import InputError
from eastwest.spec import StudyError
from eastwest.study.curve import bus_factor, curve
from eastwest.validation import cells, conditions
from eastwest.validation.exchange import exchange_s, ring
from eastwest.validation.points import Point, family, shown_size
from eastwest.validation.programs import ADDED_S
from eastwest.validation.tables import Row, Table
from eastwest.workload.nccl import METHOD_OF

RATES = {"busbw_GBs": 1e9, "algbw_GBs": 1e9}
"""Columns that hold a bandwidth, each with its unit in byte/s."""
CHOICES = ("collective", "algorithm", "protocol", "gpus")
"""What header or column may say of the collective itself."""
COLUMNS = ("size", *cells.TIMES, *RATES, *CHOICES, "issue")
SEND_RECV = "send-recv"
"""sendrecv_perf: every rank sends to the next and receives from the one before."""

Choice = Mapping[str, str | None]


def points(table: Table) -> list[Point]:
    """Each row's measurement, and what a run on the table's fabric takes.

    Raises:
        TableError: a column is missing or says something that cannot be.
        StudyError: the fabric cannot be built, or the collective not be run there.
    """
    conditions.check(table, (*CHOICES, "program"), COLUMNS)
    program = table.stated("program") or "nccl-tests"
    if program not in ADDED_S:
        said = f"nothing is known of the program {program!r}"
        raise table.refuse_at(("program",), said, ADDED_S, nearest(program, ADDED_S))
    curves: dict[tuple[conditions.Change, tuple[tuple[str, str | None], ...]], list[Row]] = {}
    for row in table.rows:
        choice = tuple((key, row.cells.get(key, _text(table.stated(key)))) for key in CHOICES)
        curves.setdefault((conditions.change(row), choice), []).append(row)
    found = [
        point
        for (changed, choice), rows in curves.items()
        for point in _curve(table, rows, changed, dict(choice), ADDED_S[program])
    ]
    return sorted(found, key=lambda each: each.line)


def _text(said: object) -> str | None:
    return None if said is None else str(said)


def _curve(
    table: Table, rows: list[Row], changed: conditions.Change, choice: Choice, added_s: float
) -> Iterable[Point]:
    """The points of rows that differ in size alone."""
    kind = choice["collective"] or "all-reduce"
    sizes = [cells.size_bytes(table, row) for row in rows]
    gpus = None if choice["gpus"] is None else cells.whole(table, rows[0], "gpus", choice["gpus"], least=2)
    study = conditions.study(table, changed, rows[0].line)
    try:
        if kind == SEND_RECV:
            ranks = gpus or study.gpus(conditions.MEASURED)
            times_s = exchange_s(study, sizes, ring(ranks), ranks)
        else:
            algorithm = choice["algorithm"] or "auto"
            protocol = choice["protocol"] or ("auto" if algorithm in METHOD_OF else None)
            ran = curve(study, conditions.MEASURED, kind, sizes, algorithm, gpus, protocol=protocol)
            ranks, times_s = ran.gpus, [point.time_s for point in ran.points]
    except StudyError as error:
        if all(mistake.file == str(study.file) for mistake in error.mistakes):
            raise
        first = error.mistakes[0]  # of the collective, which is in no study
        raise table.refuse(rows[0].line, first.message, first.expected, first.nearest) from None
    except InputError as error:
        raise table.refuse(rows[0].line, str(error)) from None
    for row, size, time_s in zip(rows, sizes, times_s, strict=True):
        told = (kind, shown_size(size), f"{ranks:,} GPUs", row.cells.get("algorithm", ""))
        label = ", ".join(word for word in told if word)
        yield Point(
            row.line,
            label,
            table.family or family(kind, size),
            _measured_s(table, row, size, kind, ranks),
            time_s + added_s,
        )


def _measured_s(table: Table, row: Row, size: float, kind: str, ranks: int) -> float:
    """What a row measured, in seconds: its time, or the time that its bandwidth tells."""
    column = cells.the_one_of(table, row, (*cells.TIMES, *RATES))
    value = cells.number(table, row, column)
    if column in cells.TIMES:
        return value * cells.TIMES[column]
    factor = 1.0 if kind == SEND_RECV or column == "algbw_GBs" else bus_factor(kind, ranks)
    return size * factor / (value * RATES[column])
