"""`eastwest validate`: predictions beside measurements, of public tables or of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("validate", help="Hold predictions against measurements: public tables, or your own.")(run)


def run(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Tables of your own; the public ones that come with eastwest where left out."),
    ] = None,
    table: Annotated[str, typer.Option(help="Only tables whose name holds this.", show_default=False)] = "",
    family: Annotated[str, typer.Option(help="Only families whose name holds this.", show_default=False)] = "",
    out: Annotated[
        Path | None, typer.Option(help="Write a page in Markdown, as docs/validation.md is.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Predicts what was measured, and tells the errors."""
    import json

    from rich.console import Console

    from eastwest import report, validation

    tables = validation.own(files) if files else validation.bundled()
    verdict = validation.validate(validation.named(tables, table), family)
    if out is not None:
        validation.write_page(verdict, out)
    if as_json:
        json.dump(validation.to_json(verdict), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(report.validation_tables(verdict))
