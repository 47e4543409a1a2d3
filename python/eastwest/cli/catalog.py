"""`eastwest catalog`: the parts that a study can name, and where their figures come from."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("catalog", help="List the parts that a study can name, with their figures and sources.")(run)


def run(
    part: Annotated[str | None, typer.Argument(help="A part, to see its figures and their sources.")] = None,
    kind: Annotated[
        Literal["gpus", "nics", "switches", "servers", "links"] | None, typer.Option(help="Only parts of this kind.")
    ] = None,
    study: Annotated[str | None, typer.Option(help="Include the parts of this study's own catalogue.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Lists the catalogue."""
    import json

    from rich.console import Console

    from eastwest import report
    from eastwest import spec as specification
    from eastwest.catalog import Catalog

    catalog = Catalog.bundled() if study is None else specification.load(study).catalog_entries()
    listing = catalog.listing(part, kind)
    if as_json:
        json.dump(listing, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(report.catalog_table(listing))
