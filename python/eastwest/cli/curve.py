"""`eastwest curve`: a collective over message sizes, as nccl-tests would print it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("curve", help="Show a collective's time and bandwidth over message sizes, as nccl-tests does.")(run)


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", "-f", help="Name of the fabric in the study.")],
    collective: Annotated[str, typer.Option("--collective", "-c", help="all-reduce, all-to-all, ...")] = "all-reduce",
    algorithm: Annotated[
        str | None, typer.Option(help="The collective's usual one where left out; auto: what NCCL would choose.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="ll, ll128, simple or auto; NCCL's costs with it.")] = None,
    gpus: Annotated[int | None, typer.Option(help="The first so many GPUs; all where left out.")] = None,
    sizes: Annotated[str, typer.Option(metavar="FROM..TO", help="Sizes, doubled from one to the other.")] = "8B..16GiB",
    where: Annotated[
        str, typer.Option(metavar="CONDITIONS", help="Choose one where the fabric is swept.", show_default=False)
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Runs a collective at each size."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from eastwest import report
    from eastwest import spec as specification
    from eastwest import study as studies
    from eastwest.cli import spans

    given, over = specification.load(study), spans.sizes("--sizes", sizes)
    found = studies.curve(given, fabric, collective, over, algorithm, gpus, where, protocol)
    if as_json:
        json.dump(asdict(found), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(report.curve_table(found))
