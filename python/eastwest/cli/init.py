"""`eastwest init`: writes a commented study file to start from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("init", help="Write a commented study file to start from.")(run)


def run(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("study.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Writes a starting study."""
    from eastwest import spec as specification

    specification.write_starting_file(path, overwrite=force)
    sys.stderr.write(f"wrote {path}: edit it, then run `eastwest study {path}`\n")
