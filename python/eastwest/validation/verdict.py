"""How far predictions are off: errors of tables and of families.

A family's figures are those of the tables that nothing was fitted on; what was fitted stands beside them. A family of
which all was fitted has those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from eastwest.document import nearest
from eastwest.errors import InputError
from eastwest.validation.points import Point, median_error, worst
from eastwest.validation.subjects import SUBJECTS
from eastwest.validation.tables import Table, read


@dataclass(frozen=True)
class TableVerdict:
    """A table and its points."""

    table: Table
    points: tuple[Point, ...]

    @property
    def family(self) -> str:
        """The family of most of its points; of several, the first by name."""
        families = [each.family for each in self.points]
        return max(sorted(set(families)), key=families.count)


@dataclass(frozen=True)
class FamilyVerdict:
    """A family: the points that were checked, and those of tables on which constants were fitted."""

    name: str
    checked: tuple[Point, ...]
    fitted: tuple[Point, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """Those that count: what was checked, or where nothing was, what was fitted."""
        return self.checked or self.fitted


@dataclass(frozen=True)
class Verdict:
    """Predictions against measurements."""

    families: tuple[FamilyVerdict, ...]
    tables: tuple[TableVerdict, ...]


def bundled() -> list[Table]:
    """The tables that come with eastwest, in the order of their folders and names."""
    with as_file(files("eastwest.validation") / "tables") as folder:
        paths = sorted(folder.glob("*/*.csv"))
        return [read(path, SUBJECTS, f"{path.parent.name}/{path.name}") for path in paths]


def own(paths: Iterable[Path]) -> list[Table]:
    """A reader's own tables. Raises `TableError`."""
    return [read(path, SUBJECTS, str(path)) for path in paths]


def named(tables: Iterable[Table], word: str) -> list[Table]:
    """The tables whose name holds a word.

    Raises:
        InputError: none does.
    """
    tables = list(tables)
    found = [table for table in tables if word in table.name]
    if not found:
        names = [table.name for table in tables]
        meant = nearest(word, names)
        raise InputError(
            f"--table {word}: no table's name holds it{f'; did you mean {meant!r}?' if meant else ''} (there are: "
            f"{', '.join(names)})"
        )
    return found


def validate(tables: Iterable[Table], family: str = "") -> Verdict:
    """Predicts every row of the tables and sets it beside what was measured; keeps families whose name holds a word.

    Raises:
        InputError: no family's name does.
        TableError: a table says something that cannot be.
        StudyError: what it was measured on cannot be built, or what was measured not be run there.
    """
    predicted = [TableVerdict(table, tuple(SUBJECTS[table.subject](table))) for table in tables]
    kept = [replace(each, points=tuple(point for point in each.points if family in point.family)) for each in predicted]
    found = tuple(each for each in kept if each.points)
    if not found:
        families = sorted({point.family for each in predicted for point in each.points})
        raise InputError(f"--family {family}: no family's name holds it (there are: {'; '.join(families)})")
    names = sorted({point.family for each in found for point in each.points}, key=_order)
    return Verdict(tuple(_family(name, found) for name in names), found)


def _order(family: str) -> tuple[bool, str]:
    """Collectives first, by kind, large before small."""
    return ("latency" in family, family)


def _family(name: str, tables: Sequence[TableVerdict]) -> FamilyVerdict:
    def points(role: str) -> tuple[Point, ...]:
        return tuple(
            point for each in tables if each.table.role == role for point in each.points if point.family == name
        )

    return FamilyVerdict(name, points("check"), points("fit"))


def to_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as plain values: errors are shares, 0.08 is 8 %; times are seconds."""

    def figures(points: Sequence[Point]) -> dict[str, Any]:
        return {
            "rows": len(points),
            "median_abs_error": median_error(points),
            "worst_abs_error": abs(worst(points).error),
        }

    return {
        "families": [
            {
                "name": each.name,
                **figures(each.points),
                "checked_rows": len(each.checked),
                "fitted_rows": len(each.fitted),
                "fitted_median_abs_error": median_error(each.fitted) if each.fitted else None,
            }
            for each in verdict.families
        ],
        "tables": [
            {
                "name": each.table.name,
                "title": each.table.title,
                "subject": each.table.subject,
                "family": each.family,
                "role": each.table.role,
                "clean": not each.table.unclean,
                "unclean": each.table.unclean,
                **figures(each.points),
                "source": each.table.source,
                "points": [
                    {
                        "line": point.line,
                        "label": point.label,
                        "family": point.family,
                        "measured_s": point.measured_s,
                        "predicted_s": point.predicted_s,
                        "error": point.error,
                    }
                    for point in each.points
                ],
            }
            for each in verdict.tables
        ],
    }
