"""The cells of a table's rows as numbers: sizes, counts and times, and what is wrong with them by line."""

from __future__ import annotations

import math
from collections.abc import Iterable

from eastwest import units
from eastwest.validation.tables import Row, Table

TIMES = {"time_us": 1e-6, "time_ms": 1e-3, "time_s": 1.0}
"""Columns that hold a time, each with its unit in seconds."""


def size_bytes(table: Table, row: Row, column: str = "size") -> float:
    """A message's size, written in bytes or with a unit.

    Raises:
        TableError: there is none, or it is none.
    """
    written = row.cells.get(column)
    if written is None:
        raise table.refuse(row.line, "says not how large the message is", ("a column size, in bytes or as in 16 MiB",))
    try:
        size = float(written) if written.isascii() and written.isdigit() else units.parse_size(written)
    except ValueError as error:
        raise table.refuse(row.line, f"{column}: {error}") from None
    if not 1 <= size <= 1e15:
        raise table.refuse(row.line, f"{column}: {written} is no size of a message: 1 B to 1 PB are")
    return size


def whole(table: Table, row: Row, column: str, written: str, least: int) -> int:
    """What a column says, as a whole number from `least` on.

    Raises:
        TableError: it is none.
    """
    if not (written.isascii() and written.isdigit() and least <= int(written[:9]) and len(written) < 10):
        raise table.refuse(row.line, f"{column} is a whole number from {least} on, not {written!r}")
    return int(written)


def number(table: Table, row: Row, column: str) -> float:
    """A cell that is a number above 0.

    Raises:
        TableError: it is none.
    """
    try:
        value = float(row.cells[column])
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise table.refuse(row.line, f"{column} is a number above 0, not {row.cells[column]!r}")
    return value


def first_of(table: Table, row: Row, columns: Iterable[str]) -> str:
    """The first of some columns that a row fills.

    Raises:
        TableError: it fills none.
    """
    columns = tuple(columns)
    for column in columns:
        if column in row.cells:
            return column
    raise table.refuse(row.line, "says not what was measured", columns)
