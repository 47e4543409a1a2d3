"""`eastwest check`: what is there, held against what should be. `config`: configuration files, offline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

FAULTY = 1


def add(app: typer.Typer) -> None:
    """Adds the verb and what it can check."""
    verb = typer.Typer(help="Check configuration files of switches and hosts.", no_args_is_help=True)
    verb.command("config", help="Follow a RoCE packet through configuration files and name every break.")(config)
    app.add_typer(verb, name="check")


def config(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Files or folders: SONiC's config_db.json, frr.conf; hosts' mlnx_qos, netplan, sysctl, NCCL settings.",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Reads the files, tries every rule and ends with 1 where there are errors."""
    import json

    from rich.console import Console

    from eastwest.checks import check
    from eastwest.report.config_check import config_check_json, config_check_parts

    report = check(paths)
    if as_json:
        json.dump(config_check_json(report), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        console = Console()
        for part in config_check_parts(report):
            console.print(part)
    if not report.passes:
        raise typer.Exit(FAULTY)
