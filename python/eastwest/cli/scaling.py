"""`eastwest scaling`: one workload on one fabric of growing size."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("scaling", help="Show how a workload scales with the number of servers, and where it stops doing so.")(
        run
    )


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", "-f", help="Name of the fabric in the study.")],
    workload: Annotated[str, typer.Option("--workload", "-w", help="Name of the workload in the study.")],
    gpus: Annotated[
        str | None,
        typer.Option(
            metavar="FROM..TO",
            help="Numbers of GPUs, doubled from one to the other: 64..4096. The cluster's size halved where left out.",
        ),
    ] = None,
    strong: Annotated[
        bool, typer.Option("--strong", help="Share the smallest size's work among more GPUs; else each has as much.")
    ] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Cluster, where the fabric fits several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Runs a workload on a fabric of each size."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from eastwest import report
    from eastwest import spec as specification
    from eastwest import study as studies
    from eastwest.cli.progress import progress
    from eastwest.cli.spans import counts

    given, sizes = specification.load(study), None if gpus is None else counts("--gpus", gpus)
    with progress() as advance:
        found = studies.scaling(given, fabric, workload, sizes, cluster, advance, is_strong=strong)
    if as_json:
        json.dump(asdict(found), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(report.scaling_table(found))
