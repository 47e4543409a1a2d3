"""`eastwest fabric`: one fabric of a study as built."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("fabric", help="Show a fabric as built: switches, cables, ports, bisection, oversubscription.")(run)


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", "-f", help="Name of the fabric in the study.")],
    cluster: Annotated[str | None, typer.Option("--cluster", help="Cluster, where the fabric fits several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write the fabric's tables (Parquet) there.")
    ] = None,
    network: Annotated[
        Path | None,
        typer.Option(
            "--network",
            metavar="PATH",
            help="Write its nodes and cables as a network file (.yaml), or as a folder of CSV tables.",
        ),
    ] = None,
    routes: Annotated[
        Path | None,
        typer.Option("--routes", metavar="FILE", help="Write the switches' forwarding tables there, as CSV."),
    ] = None,
) -> None:
    """Builds one fabric and says what it is made of."""
    import json

    from rich.console import Console

    from eastwest import report
    from eastwest import spec as specification
    from eastwest import study as studies
    from eastwest.fabric import summary, write, write_network, write_routes

    given = specification.load(study)
    if routes is None:
        built = studies.build_fabric(given, fabric, cluster)
    else:
        built, tables = studies.routes(given, fabric, cluster)
        write_routes(tables, built, routes)
    if out is not None:
        write(built, out)
    if network is not None:
        write_network(built, network)
    if as_json:
        json.dump(summary(built), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(report.fabric_table(summary(built)))
    if out is not None:
        sys.stderr.write(f"tables: {out}\n")
    if network is not None:
        sys.stderr.write(f"network: {network}\n")
    if routes is not None:
        sys.stderr.write(f"routes: {routes}\n")
