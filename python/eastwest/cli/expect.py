"""`eastwest expect`: what nccl-tests should show on a fabric, and what it means where it shows something else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

DIFFERS = 1


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("expect", help="Show what nccl-tests should show on a fabric, beside what it did.")(run)


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", help="Name of the fabric in the study.")],
    collective: Annotated[
        str | None,
        typer.Option(
            "--collective", "-c", help="all_reduce (where left out, and no log says), all_gather, alltoall, ..."
        ),
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Servers that take part; all, or as the log says.")] = None,
    gpus_per_node: Annotated[int | None, typer.Option(help="GPUs of each; all, or as the log says.")] = None,
    first: Annotated[str, typer.Option("--minbytes", "-b", help="Smallest size, as nccl-tests writes it.")] = "8",
    last: Annotated[str, typer.Option("--maxbytes", "-e", help="Largest size.")] = "16G",
    factor: Annotated[int, typer.Option("--stepfactor", "-f", help="Each size is so many times the one before.")] = 2,
    datatype: Annotated[str, typer.Option("--datatype", "-d", help="Of the elements that are counted.")] = "float",
    measured: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="A log (text or -J); once for each of several.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Part of the rate that large messages may miss; others twice that.")
    ] = 0.2,
    algorithm: Annotated[str | None, typer.Option(help="NCCL's choice where left out.")] = None,
    protocol: Annotated[str | None, typer.Option(help="ll, ll128, simple; NCCL's choice where left out.")] = None,
    where: Annotated[
        str, typer.Option(metavar="CONDITIONS", help="Choose one where the fabric is swept.", show_default=False)
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Prints the table that is expected, or sets logs beside it."""
    import json

    from rich.console import Console

    from eastwest import expect, observe
    from eastwest import spec as specification
    from eastwest.errors import InputError
    from eastwest.report import expectation

    given = specification.load(study)
    asked = None if collective is None else expect.program(collective)
    if datatype not in expect.BYTES_OF:
        raise InputError(f"--datatype {datatype}: no such type (there are: {', '.join(expect.BYTES_OF)})")
    if not 0 < tolerance < 0.5:
        raise InputError(f"--tolerance {tolerance}: a part above 0 and below 0.5")
    if not measured:
        which = asked or expect.program("all_reduce")
        scene = expect.scene(given, fabric, which, nodes, gpus_per_node, algorithm, protocol, where)
        rows = scene.rows(expect.sizes(first, last, factor), expect.BYTES_OF[datatype])
        if as_json:
            json.dump(expectation.expectation_json(scene, rows), sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in expect.lines(scene, rows, datatype))
        return
    benchmarks = [each for path in measured for each in observe.read(path)]
    ways = (algorithm, protocol, where, tolerance)
    compared = [expect.compare(given, fabric, each, asked, nodes, gpus_per_node, *ways) for each in benchmarks]
    findings = [expect.diagnosed(each) for each in compared]
    together = expect.across(compared)
    agrees = all(each.agrees for each in compared)
    if as_json:
        pairs = zip(compared, findings, strict=True)
        told = {
            "agrees": agrees,
            "comparisons": [expectation.comparison_json(*pair) for pair in pairs],
            "findings": [expectation.finding_json(each) for each in together],
        }
        json.dump(told, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        console = Console()
        for number, pair in enumerate(zip(compared, findings, strict=True)):
            console.print(*([""] if number else []), expectation.comparison_table(*pair), sep="\n")
        for part in expectation.finding_parts(together):
            console.print(part)
    if not agrees:
        raise typer.Exit(DIFFERS)
