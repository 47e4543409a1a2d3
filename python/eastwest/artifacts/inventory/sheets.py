"""Tables as CSV: a header and rows, quoted where they must be (RFC 4180), with plain line ends."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def sheet(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a table; every row has a value for each column."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()
