"""Joins the verbs into one command and turns every mistake into a message and an exit code.

Typer itself ends a run that Ctrl-C stopped, with exit code 130.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from eastwest.cli import (
    build,
    catalog,
    check,
    curve,
    expect,
    export,
    fabric,
    import_,
    init,
    lab,
    scaling,
    schema,
    sensitivity,
    simulate,
    study,
    validate,
)
from eastwest.errors import InputError

BROKEN = 70

app = typer.Typer(
    name="eastwest",
    help="Designs, proves, builds and runs the network of an AI cluster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"eastwest {version('eastwest')}\n")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something goes wrong.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Designs, proves, builds and runs the network of an AI cluster."""


for verb in (
    study,
    simulate,
    scaling,
    curve,
    expect,
    sensitivity,
    fabric,
    import_,
    export,
    build,
    check,
    lab,
    validate,
    init,
    schema,
    catalog,
):
    verb.add(app)


def run() -> None:
    """Runs the command line, and ends the process with its exit code."""
    debug = "--debug" in sys.argv[1:]
    try:
        app()
    except InputError as mistake:
        if debug:
            raise
        sys.stderr.write(f"{mistake}\n")
        sys.exit(mistake.exit_code)
    except OSError as refusal:
        if debug:
            raise
        where, what = refusal.filename or "output", refusal.strerror or str(refusal)
        sys.stderr.write(f"{where}: {what}; nothing half-written was left. Name another place with --out.\n")
        sys.exit(InputError.exit_code)
    except Exception as fault:
        if debug:
            raise
        sys.stderr.write(
            f"internal error: {type(fault).__name__}: {fault}\n"
            "This is a fault of eastwest, not of your file. `eastwest --debug ...` shows where; please report it.\n"
        )
        sys.exit(BROKEN)
