"""`eastwest schema`: the JSON schema of study files, for editors."""

from __future__ import annotations

import sys

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("schema", help="Print the JSON schema of study files, with which an editor completes them.")(run)


def run() -> None:
    """Prints the schema."""
    import json

    from eastwest import spec as specification

    json.dump(specification.json_schema(), sys.stdout, indent=2)
    sys.stdout.write("\n")
