"""`eastwest sensitivity`: what more of each resource would buy."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("sensitivity", help="Show what 10 % more of each resource would buy of the step time.")(run)


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", "-f", help="Name of the fabric in the study.")],
    workload: Annotated[str, typer.Option("--workload", "-w", help="Name of the workload in the study.")],
    where: Annotated[
        str, typer.Option(metavar="CONDITIONS", help="Choose one of several combinations.", show_default=False)
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Runs a step again with more of each resource."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from eastwest import report
    from eastwest import spec as specification
    from eastwest import study as studies

    found = studies.sensitivity(specification.load(study), fabric, workload, where)
    if as_json:
        json.dump(asdict(found), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(report.sensitivity_table(found))
