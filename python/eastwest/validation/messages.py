"""Tables of one message between two GPUs: what it takes from end to end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eastwest.study.curve import set_up
from eastwest.validation import cells, conditions
from eastwest.validation.points import Point, shown_size
from eastwest.validation.tables import Table
from eastwest.workload import SendRecv

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
        bench = set_up(study, conditions.MEASURED, None)
        if to >= len(bench.gpus):
            raise table.refuse(row.line, f"to: the GPUs are 0 to {len(bench.gpus) - 1:,}, and there is no {to}")
        message = SendRecv("message", size, np.array([(0, to)], dtype=np.uint32))
        taken_s = float(np.median(replace(bench, operation=message).times_s(size)[0]))
        column = cells.first_of(table, row, cells.TIMES)
        measured_s = cells.number(table, row, column) * cells.TIMES[column]
        label = ", ".join((f"{shown_size(size)} to GPU {to}", *(cell for _, cell in changed)))
        found.append(Point(row.line, label, table.family or FAMILY, measured_s, taken_s))
    return found
