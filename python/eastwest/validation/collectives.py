"""Tables of collectives over message sizes, as nccl-tests prints them, and what a fluid run of each says.

Rows that differ in size alone are one curve. Not here: what NCCL would choose (`study.tuning`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from eastwest.document import nearest
from eastwest.spec import Study, StudyError
from eastwest.study.curve import Bench, bus_factor, set_up
from eastwest.validation import cells, conditions
from eastwest.validation.points import Point, family, shown_size
from eastwest.validation.programs import PROGRAMS
from eastwest.validation.tables import Row, Table
from eastwest.workload import Operation
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
    conditions.check(table, (*CHOICES, "program", "gpus_per_process"), COLUMNS)
    seen_s = _seen_s(table)
    curves: dict[tuple[conditions.Change, tuple[tuple[str, str | None], ...]], list[Row]] = {}
    for row in table.rows:
        choice = tuple((key, row.cells.get(key, _text(table.stated(key)))) for key in CHOICES)
        curves.setdefault((conditions.change(row), choice), []).append(row)
    found = [
        point
        for (changed, choice), rows in curves.items()
        for point in _curve(table, rows, changed, dict(choice), seen_s)
    ]
    return sorted(found, key=lambda each: each.line)


def _seen_s(table: Table) -> Callable[[float, Operation], float]:
    """What the program that measured shows of a collective's time, by what ran."""
    program, processes = table.stated("program") or "nccl-tests", table.stated("gpus_per_process")
    if program not in PROGRAMS:
        said = f"nothing is known of the program {program!r}"
        raise table.refuse_at(("program",), said, PROGRAMS, nearest(program, PROGRAMS))
    gpus = 1 if processes is None else processes
    if isinstance(gpus, bool) or not isinstance(gpus, int) or not 1 <= gpus <= 1024:
        raise table.refuse_at(("gpus_per_process",), f"{gpus!r} is no number of GPUs that a process has")
    return lambda taken_s, ran: PROGRAMS[program].seen_s(taken_s, gpus, ran)


def _text(said: object) -> str | None:
    return None if said is None else str(said)


def _curve(
    table: Table,
    rows: list[Row],
    changed: conditions.Change,
    choice: Choice,
    seen_s: Callable[[float, Operation], float],
) -> Iterable[Point]:
    """The points of rows that differ in size alone."""
    kind = choice["collective"] or "all-reduce"
    sizes = [cells.size_bytes(table, row) for row in rows]
    gpus = None if choice["gpus"] is None else cells.whole(table, rows[0], "gpus", choice["gpus"], least=2)
    bench = _bench(table, rows[0], conditions.study(table, changed, rows[0].line), choice, gpus)
    ranks = len(bench.gpus)
    for row, size in zip(rows, sizes, strict=True):
        times_s, step = bench.times_s(size)
        (ran,) = step.operations
        told = (kind, shown_size(size), f"{ranks:,} GPUs", row.cells.get("algorithm", ""))
        label = ", ".join(word for word in told if word)
        yield Point(
            row.line,
            label,
            table.family or family(kind, size),
            _measured_s(table, row, size, kind, ranks),
            seen_s(float(np.median(times_s)), ran),
        )


def _bench(table: Table, row: Row, study: Study, choice: Choice, gpus: int | None) -> Bench:
    """The collective of a row, ready to be run on the first `gpus` GPUs of its fabric (all, where None).

    What the row leaves open NCCL chooses; of GPUs that it does not know, the collective's usual algorithm runs.
    """
    is_nccl = study.server(conditions.MEASURED).gpu.architecture is not None
    kind, algorithm = choice["collective"] or "all-reduce", choice["algorithm"] or ("auto" if is_nccl else None)
    protocol = choice["protocol"] or ("auto" if is_nccl and algorithm in METHOD_OF else None)
    try:
        if kind == SEND_RECV:
            if choice["algorithm"] or choice["protocol"]:
                raise table.refuse(row.line, f"{SEND_RECV} has no algorithm or protocol to choose: leave them out")
            bench = set_up(study, conditions.MEASURED, None)
        else:
            bench = set_up(study, conditions.MEASURED, kind, algorithm, protocol)
    except StudyError as error:
        if all(mistake.file == str(study.file) for mistake in error.mistakes):
            raise
        first = error.mistakes[0]  # of the collective, which is in no study
        raise table.refuse(row.line, first.message, first.expected, first.nearest) from None
    if gpus is None:
        return bench
    if gpus > len(bench.gpus):
        raise table.refuse(row.line, f"gpus: {gpus} are more than the {len(bench.gpus):,} that the fabric joins")
    return bench.among(bench.gpus[:gpus])


def _measured_s(table: Table, row: Row, size: float, kind: str, ranks: int) -> float:
    """What a row measured, in seconds: its time, or the time that its bandwidth tells."""
    column = cells.first_of(table, row, (*cells.TIMES, *RATES))
    value = cells.number(table, row, column)
    if column in cells.TIMES:
        return value * cells.TIMES[column]
    factor = 1.0 if kind == SEND_RECV or column == "algbw_GBs" else bus_factor(kind, ranks)
    return size * factor / (value * RATES[column])
