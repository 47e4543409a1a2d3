"""A table of measurements as a file: what was measured on what, as comments in YAML, and rows as CSV below.

Read here: the file, and what every table states. What a subject states besides, and what its rows mean, is the
subject's matter (`subjects`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from eastwest.document import Document, Mistake, MistakesError, Place, name_of, nearest, parse
from eastwest.errors import InputError
from eastwest.validation import logs

Role = Literal["fit", "check"]

LARGEST_BYTES = 1 << 22
MOST_ROWS = 10_000
_TEXTS = ("title", "source", "unclean", "notes", "software", "family", "why")
KEYS = ("subject", "role", "log", *_TEXTS)
"""What every table may state."""


class TableError(MistakesError):
    """A table that cannot be used, with every mistake in it."""


@dataclass(frozen=True)
class Row:
    """A line of a table: its cells by column, as written; empty ones are left out."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """Measurements of one kind.

    `subject` names what was measured, and so who predicts it. Constants are fitted on tables with the role fit, and the
    model is held against the others. `unclean` says why a table is no fair test, where it is none. `header` is all that
    is stated, `folder` where files that it names lie. `why` says what the model lacks, where it is far off.
    """

    name: str
    subject: str
    header: Document
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    folder: Path
    role: Role = "check"
    title: str = ""
    source: str = ""
    unclean: str = ""
    notes: str = ""
    software: str = ""
    family: str = ""
    why: str = ""

    def stated(self, key: str) -> Any:
        """What the header says of a key; None where nothing."""
        return self.header.data.get(key)

    def refuse(self, line: int, message: str, expected: Iterable[str] = (), near: str | None = None) -> TableError:
        """The error for something that is wrong in a line."""
        return TableError([Mistake(self.header.file, line, 1, message, tuple(expected), near)])

    def refuse_at(
        self, place: Place, message: str, expected: Iterable[str] = (), near: str | None = None
    ) -> TableError:
        """The error for something that is wrong in the header."""
        return TableError([self.header.mistake(place, message, expected, near)])


def read(path: Path, subjects: Iterable[str], shown: str | None = None) -> Table:
    """Reads a table of one of these subjects; `shown` is how messages name the file.

    Raises:
        TableError: the file cannot be read, its header is no YAML mapping or states something wrong, or its rows do not
            fit its columns.
    """
    file = shown or str(path)
    lines = _text(path, file).splitlines()
    first = next((index for index, line in enumerate(lines) if line.strip() and line[0] != "#"), len(lines))
    header = _header(lines[:first], file) if first else Document(file, {})
    columns, rows = _rows(lines, first, file) if "log" not in header.data else _logged(header, path, lines, first)
    if not first or not header.data:
        message = (
            "the lines that begin with # say what was measured, as in '# cluster: { server: hgx-h100, servers: 2 }'"
        )
        raise TableError([Mistake(file, 1, 1, f"{message}; there are none")])
    known = tuple(subjects)
    subject = header.data.get("subject", known[0])
    if subject not in known:
        said = f"{subject!r} is no subject of a table"
        raise TableError([header.mistake(("subject",), said, known, nearest(subject, known))])
    role = header.data.get("role", "check")
    if role not in ("fit", "check"):
        raise TableError([header.mistake(("role",), f"{role!r} is no role of a table", ("fit", "check"))])
    texts: dict[str, str] = {}
    for key in _TEXTS:
        said = header.data.get(key, "")
        if not isinstance(said, str):
            raise TableError([header.mistake((key,), f"{key} is a text, not {name_of(said)}")])
        texts[key] = said
    texts["title"] = texts["title"] or path.stem
    return Table(path.stem, subject, header, columns, rows, path.parent, role, **texts)


def _text(path: Path, file: str) -> str:
    def refuse(message: str) -> TableError:
        return TableError([Mistake(file, None, None, message)])

    try:
        if not path.is_file():
            raise refuse("is no file of text" if path.exists() else "there is no such file")
        with path.open("rb") as stream:
            raw = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror or error}") from None
    if len(raw) > LARGEST_BYTES:
        raise refuse(f"is larger than {LARGEST_BYTES >> 20} MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refuse("is not UTF-8 text") from None


def _header(lines: list[str], file: str) -> Document:
    """What stands in the comments, at the lines and columns where it stands."""
    text = "\n".join(" " + line[1:] if line.startswith("#") else line for line in lines)
    try:
        found = parse(text, file)
    except MistakesError as error:
        raise TableError(error.mistakes) from None
    if not isinstance(found.data, dict | None):
        message = "the lines that begin with # are keys and values, as in '# cluster: { server: hgx-h100, servers: 2 }'"
        raise TableError([Mistake(file, 1, 1, f"{message}, not {name_of(found.data)}")])
    return replace(found, data=found.data or {})


def _logged(header: Document, path: Path, lines: list[str], first: int) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Columns and rows of the log that the header names."""
    named = header.data["log"]
    if first < len(lines):
        raise TableError([Mistake(header.file, first + 1, 1, "has rows, and a log beside: leave one of them out")])
    if not isinstance(named, str):
        raise TableError([header.mistake(("log",), f"log names a file beside the table, not {name_of(named)}")])
    try:
        found = logs.rows(path.parent, named)
    except InputError as error:
        raise TableError([header.mistake(("log",), str(error))]) from None
    _, line, _ = header.locate(("log",))
    return logs.COLUMNS, tuple(Row(line or 1, cells) for cells in found)


def _rows(lines: list[str], first: int, file: str) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Columns and rows of the CSV from a line on."""
    if first == len(lines):
        message = "has no rows: a line of columns, as in 'size,time_us', and one for each measurement"
        raise TableError([Mistake(file, max(first, 1), 1, message)])
    reader = csv.reader(io.StringIO("\n".join(lines[first:])), skipinitialspace=True)
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    try:
        for cells in reader:
            line = first + reader.line_num
            if not cells or cells[0].startswith("#"):
                continue
            if not columns:
                columns = tuple(cell.strip() for cell in cells)
                twice = [column for index, column in enumerate(columns) if column in columns[:index]]
                if twice or "" in columns:
                    message = f"the column {twice[0]!r} appears twice" if twice else "a column has no name"
                    raise TableError([Mistake(file, line, 1, message)])
                continue
            if len(cells) != len(columns):
                message = f"has {len(cells)} cells, and there are {len(columns)} columns: {', '.join(columns)}"
                raise TableError([Mistake(file, line, 1, message)])
            found = zip(columns, (cell.strip() for cell in cells), strict=True)
            rows.append(Row(line, {column: cell for column, cell in found if cell}))
            if len(rows) > MOST_ROWS:
                raise TableError([Mistake(file, line, 1, f"has more than {MOST_ROWS:,} rows")])
    except csv.Error as error:
        raise TableError([Mistake(file, first + reader.line_num, 1, f"is no CSV: {error}")]) from None
    if not rows:
        raise TableError([Mistake(file, first + 1, 1, "has columns and no rows")])
    return columns, tuple(rows)
