"""`eastwest study`: runs every combination of a study file and compares them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("study", help="Run a study: every fabric with every workload, compared.")(run)


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study (pune-1024).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write report.html, results.json and results.parquet there."),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option("--timeline", metavar="DIR", help="Write a Perfetto trace of each case's step there."),
    ] = None,
    where: Annotated[
        str,
        typer.Option(
            "--where",
            "-w",
            metavar="CONDITIONS",
            help="Run only combinations that meet them: 'fabric=roce,link>=200 Gb/s'.",
            show_default=False,
        ),
    ] = "",
    fidelity: Annotated[
        Literal["ideal", "fluid", "packet"] | None,
        typer.Option(help="Override the study's fidelity.", show_default=False),
    ] = None,
    routes: Annotated[
        Path | None,
        typer.Option(
            "--routes",
            metavar="FILE",
            help="Forwarding tables of a fabric, as `eastwest lab routes` writes them.",
        ),
    ] = None,
    fabric: Annotated[
        str | None,
        typer.Option("--fabric", "-f", help="Whose --routes they are, where there are several fabrics."),
    ] = None,
) -> None:
    """Runs a study."""
    import json

    from rich.console import Console

    from eastwest import report
    from eastwest import spec as specification
    from eastwest import study as studies
    from eastwest.cli.progress import progress
    from eastwest.errors import InputError

    given = specification.load(study)
    for folder in (out, timeline):
        if folder is not None:
            report.check_folder(folder)
    if fidelity is not None:
        given = given.model_copy(update={"fidelity": fidelity})
    if routes is not None:
        given = studies.with_routes(given, routes, fabric)
    elif fabric is not None:
        raise InputError(f"--fabric says whose --routes are meant; to run one fabric alone: --where fabric={fabric}")
    with progress() as advance:
        result = studies.run(given, advance, where, is_timed=timeline is not None)
    written = report.write_all(result, out) if out is not None else None
    if as_json:
        json.dump(report.to_json(result), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(report.table(result))
    if written is not None:
        sys.stderr.write(f"report: {written}\n")
    if timeline is not None:
        paths = report.write_traces(result, timeline)
        sys.stderr.write(f"timelines: {len(paths)} in {timeline}, for ui.perfetto.dev\n")
    if out is None and timeline is None and not as_json:
        sys.stderr.write("For a report with pictures add: --out DIR\n")
