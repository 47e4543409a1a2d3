"""`eastwest build`: everything needed to bring a fabric up, as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("build", help="Write a fabric's configuration: address plan, switches, hosts, inventory.")(run)


def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", "-f", help="Name of the fabric in the study.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the files.")],
    cluster: Annotated[str | None, typer.Option("--cluster", help="Cluster, where the fabric fits several.")] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PARTS", help="Parts to write, as in 'sonic,hosts'; all where left out."),
    ] = None,
) -> None:
    """Builds the files of one fabric and says how many there are of each kind."""
    from collections import Counter

    from eastwest import artifacts
    from eastwest import spec as specification

    given = specification.load(study)
    artifacts.check(out)
    subject = artifacts.subject(given, fabric, cluster)
    files = artifacts.build(subject, [] if only is None else [name.strip() for name in only.split(",")])
    artifacts.write(files, {"study": given.name, "fabric": subject.plan.name, "cluster": subject.cluster}, out)
    kinds = Counter(file.path.split("/")[0] for file in files)
    told = ", ".join(f"{name} ({count} files)" if count > 1 else name for name, count in sorted(kinds.items()))
    sys.stdout.write(f"wrote {told} to {out}\n")
