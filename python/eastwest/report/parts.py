"""Catalogue entries for a terminal: many as a list of their figures, one alone with the source of each figure."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def parts(listing: list[dict[str, Any]]) -> RenderableType:
    """Give a table of each kind of part, or, for one part, a table of its figures with their sources."""
    if len(listing) == 1:
        return _one(listing[0])
    kinds = dict.fromkeys(part["kind"] for part in listing)
    return Group(*(_kind(kind, [part for part in listing if part["kind"] == kind]) for kind in kinds))


def _one(part: dict[str, Any]) -> Table:
    table = Table(title=part["name"], title_justify="left", box=None, pad_edge=False)
    for heading in ("figure", "value", "source"):
        table.add_column(heading, overflow="fold")
    for figure in part["figures"]:
        table.add_row(Text(figure["figure"]), Text(_shown(figure["value"])), Text(figure["source"], style="dim"))
    return table


def _shown(value: Any) -> str:
    """A figure as a catalogue file has it, lists without brackets."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _kind(kind: str, listed: list[dict[str, Any]]) -> Table:
    table = Table(kind, "", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for part in listed:
        figures = "; ".join(f"{figure['figure']} {_shown(figure['value'])}" for figure in part["figures"])
        table.add_row(Text(part["name"], no_wrap=True), Text(figures, style="dim"))
    return table
