"""A study's result for people: a table in the terminal and one HTML file that opens offline.

Not here: the figures themselves (`study.result`) and the machine-readable forms of them. Rich, Jinja2 and plotly are
loaded on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from eastwest.errors import InputError
from eastwest.study.result import StudyResult, replacing, to_json, write_jobs_parquet, write_parquet

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eastwest.study import Curve, Scaling, Sensitivity
    from eastwest.validation import Verdict

__all__ = [
    "catalog_table",
    "check_folder",
    "curve_table",
    "fabric_table",
    "html",
    "scaling_table",
    "sensitivity_table",
    "table",
    "to_json",
    "validation_tables",
    "write_all",
    "write_html",
    "write_traces",
]


def table(result: StudyResult) -> RenderableType:
    """Give the comparison for a terminal, to be printed by a rich console; it fits 80 columns and uses more."""
    from eastwest.report.sweep import SweepTable, is_sweep
    from eastwest.report.terminal import Comparison

    rows: RenderableType = SweepTable(result) if is_sweep(result) else Comparison(result)
    from rich.console import Group

    if any(row.training for row in result.rows):
        from eastwest.report.training import training_table

        rows = Group(training_table(result), "", rows)
    if not result.jobs:
        return rows
    from eastwest.report.jobs import jobs_table

    return Group(rows, "", jobs_table(result)) if result.rows else jobs_table(result)


def fabric_table(summary: dict[str, Any]) -> RenderableType:
    """Give one fabric's summary, as `fabric.summary` makes it, for a terminal."""
    from eastwest.report.inventory import inventory

    return inventory(summary)


def catalog_table(listing: list[dict[str, Any]]) -> RenderableType:
    """Give catalogue entries, as `Catalog.listing` makes them, for a terminal: one alone with its sources."""
    from eastwest.report.parts import parts

    return parts(listing)


def scaling_table(scaling: Scaling) -> RenderableType:
    """Give how a workload scales, for a terminal."""
    from eastwest.report import questions

    return questions.scaling_table(scaling)


def curve_table(curve: Curve) -> RenderableType:
    """Give a collective over message sizes, for a terminal."""
    from eastwest.report import questions

    return questions.curve_table(curve)


def sensitivity_table(found: Sensitivity) -> RenderableType:
    """Give what more of each resource would buy, for a terminal."""
    from eastwest.report import questions

    return questions.sensitivity_table(found)


def html(result: StudyResult) -> str:
    """Give the whole report as one HTML page that asks for nothing over the network."""
    from eastwest.report.page import page

    return page(result)


def write_html(result: StudyResult, path: Path) -> None:
    """Write the report to `path`, whole or not at all."""
    _write_text(html(result), path)


def write_traces(result: StudyResult, folder: Path) -> list[Path]:
    """Write a Perfetto trace of each timeline of a result to a folder, made if need be, and give their paths."""
    from eastwest.report import perfetto

    return perfetto.write_traces(result.timelines, folder)


def check_folder(folder: Path) -> None:
    """Refuse, before anything is computed, a folder that cannot be written to; raises `InputError`."""
    import os

    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"{folder}: {there} is a file, not a folder; name another folder")
    if not os.access(there, os.W_OK):
        raise InputError(f"{folder}: {there} cannot be written to; name another folder")


def write_all(result: StudyResult, folder: Path) -> Path:
    """Write report.html, results.json and results.parquet to a folder, made if need be, and give the report's path.

    The jobs of mixes are in jobs.parquet.
    """
    import json

    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.html"
    write_html(result, report)
    _write_text(json.dumps(to_json(result), indent=2) + "\n", folder / "results.json")
    if result.rows or not result.jobs:
        write_parquet(result, folder / "results.parquet")
    if result.jobs:
        write_jobs_parquet(result, folder / "jobs.parquet")
    return report


def _write_text(text: str, path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def validation_tables(verdict: Verdict) -> RenderableType:
    """Give predictions against measurements for a terminal: families, and the tables behind them."""
    from eastwest.report.validation import validation_tables

    return validation_tables(verdict)
