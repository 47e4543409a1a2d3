"""`eastwest export`: a study's fabric and step as files of other simulators."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

_NAMED = 4
"""Of more files only so many are named."""


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("export", help="Write a fabric and a step as Chakra traces, or for htsim, SimAI or ASTRA-sim.")(run)


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", "-f", help="Name of the fabric in the study.")],
    to: Annotated[
        Literal["chakra", "htsim", "simai", "astra-sim"], typer.Option("--to", help="What is to read the files.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the files.")],
    workload: Annotated[
        str | None,
        typer.Option("--workload", "-w", help="Workload of the study, where the format takes one."),
    ] = None,
    where: Annotated[
        str,
        typer.Option(
            "--where",
            metavar="CONDITIONS",
            help="Choose one of several combinations: 'cluster=pod,placement=packed'.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Writes the files and says what the format leaves out."""
    from eastwest import export
    from eastwest import spec as specification

    given = specification.load(study)
    export.check(out)
    found = export.export(given, to, fabric, workload, where)
    export.write(found, out)
    for text in found.told:
        sys.stderr.write(f"note: {text}\n")
    names = sorted(found.files)
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    sys.stdout.write(f"wrote {', '.join(names[:_NAMED])}{more} to {out}\n")
