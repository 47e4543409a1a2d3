"""Predictions held against measured public tables, and a reader's own: errors by table and by family.

Not here: fitting. A constant belongs to a catalogue entry or a software version, and stands there.
"""

from eastwest.validation.page import page, write_page
from eastwest.validation.points import Point
from eastwest.validation.tables import Row, Table, TableError
from eastwest.validation.verdict import FamilyVerdict, TableVerdict, Verdict, bundled, named, own, to_json, validate

__all__ = [
    "FamilyVerdict",
    "Point",
    "Row",
    "Table",
    "TableError",
    "TableVerdict",
    "Verdict",
    "bundled",
    "named",
    "own",
    "page",
    "to_json",
    "validate",
    "write_page",
]
