"""`eastwest lab paths`: what each path of an MRC lab carries from one NIC to another."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def paths(
    source: Annotated[str, typer.Argument(help="A server, or one of its NICs as in server-000:rail1.")],
    destination: Annotated[str, typer.Argument(help="Another.")],
    count: Annotated[int, typer.Option("--count", min=1, max=10_000, help="Datagrams along each path.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    name: Annotated[str | None, typer.Option("--lab", metavar="NAME", help="Which, where there are several.")] = None,
) -> None:
    """MRC: send along every listed path from one NIC to another; exit code 1 where one does not carry all."""
    import json

    from rich.console import Console

    from eastwest.lab import labs, trial
    from eastwest.lab.failure import LabError
    from eastwest.lab.source_routes import read_lists

    running = labs.found(name)
    lists = read_lists(running.lab.built)
    sender, receiver = lists.named(source), lists.named(destination)
    if sender.split("/")[0] == receiver.split("/")[0]:
        raise LabError(f"{source} cannot send to itself over the fabric: name another server")
    tried = trial.try_paths(running.lab, lists, [node.name for node in running.nodes.switches], sender, receiver, count)
    if as_json:
        json.dump([each.as_json() for each in tried], sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(trial.table(sender, receiver, tried))
    if not all(each.carries for each in tried):
        raise typer.Exit(1)
