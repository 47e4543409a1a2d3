"""Tables of one message between two GPUs: what it takes from end to end."""

from __future__ import annotations

from eastwest.validation import cells, conditions
from eastwest.validation.exchange import exchange_s
from eastwest.validation.points import Point, shown_size
from eastwest.validation.tables import Table

FAMILY = "small-message latency"
COLUMNS = ("size", "to", *cells.TIMES)


def points(table: Table) -> list[Point]:
    """Each row's message from GPU 0 to the GPU that the column `to` names (1 where it is empty).

    Raises:
        TableError: a column is missing or says something that cannot be.
        StudyError: the fabric cannot be built, or the GPUs not be joined on it.
    """
    conditions.check(table, (), COLUMNS)
    found = []
    for row in table.rows:
        size, changed = cells.size_bytes(table, row), conditions.change(row)
        to = cells.whole(table, row, "to", row.cells.get("to", "1"), least=1)
        study = conditions.study(table, changed, row.line)
        gpus = study.gpus(conditions.MEASURED)
        if to >= gpus:
            raise table.refuse(row.line, f"to: the GPUs are 0 to {gpus - 1}, and there is no {to}")
        (taken_s,) = exchange_s(study, [size], [(0, to)], gpus)
        column = cells.the_one_of(table, row, cells.TIMES)
        measured_s = cells.number(table, row, column) * cells.TIMES[column]
        label = ", ".join((f"{shown_size(size)} to GPU {to}", *(cell for _, cell in changed)))
        found.append(Point(row.line, label, table.family or FAMILY, measured_s, taken_s))
    return found
