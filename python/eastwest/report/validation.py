"""Predictions against measurements as tables for a terminal: families first, then the tables behind them.

Not here: the page of all rows that matter (`validation.page`).
"""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eastwest.validation import FamilyVerdict, TableVerdict, Verdict
from eastwest.validation.page import percent
from eastwest.validation.points import Point, median_error, worst


def validation_tables(verdict: Verdict) -> RenderableType:
    """Give both tables; errors are predicted over measured time, less one."""
    note = "Errors are predicted over measured time, less one; a table's is the median of its rows' without sign."
    return Group(_families(verdict.families), "", _tables(verdict.tables), "", Text(note, style="dim"))


def _families(families: tuple[FamilyVerdict, ...]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("family")
    for column in ("rows", "median", "worst"):
        shown.add_column(column, justify="right")
    shown.add_column("worst row")
    for each in families:
        furthest = worst(each.points)
        name = each.name if each.checked else f"{each.name} (fitted)"
        shown.add_row(name, str(len(each.points)), percent(median_error(each.points)), *_worst(furthest))
    return shown


def _tables(tables: tuple[TableVerdict, ...]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("table", "role"):
        shown.add_column(column)
    for column in ("rows", "median", "worst"):
        shown.add_column(column, justify="right")
    shown.add_column("worst row")
    for each in tables:
        role = each.table.role + (", unclean" if each.table.unclean else "")
        median = percent(median_error(each.points))
        shown.add_row(each.table.name, role, str(len(each.points)), median, *_worst(worst(each.points)))
    return shown


def _worst(point: Point) -> tuple[str, str]:
    return percent(point.error, sign=True), point.label
