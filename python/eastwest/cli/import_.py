"""`eastwest import`: what other tools' traces and workloads hold, and the same as a file that a study names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("import", help="Say what traces or workloads of other tools hold, and write them for a study.")(run)


def run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of one job, told by their content.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the step there, for kind: imported.")
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", min=1, help="Ranks that the job is to have, where not as many as it had."),
    ] = None,
    gpu: Annotated[
        str, typer.Option("--gpu", metavar="NAME", help="GPU of the catalogue that computes without a time run on.")
    ] = "",
    size: Annotated[
        str, typer.Option("--bytes", metavar="SIZE", help="Buffer of an algorithm that is for any, as in '64 MiB'.")
    ] = "",
    step: Annotated[
        int | None, typer.Option("--step", min=0, help="Number of the step, of profiles that have several.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Imports files."""
    import json

    from rich.console import Console

    from eastwest.errors import InputError
    from eastwest.report.imported import contents, imported_table
    from eastwest.study.importing import import_files, write_imported
    from eastwest.workload.formats import named_files

    if out is not None and not out.absolute().parent.is_dir():
        raise InputError(f"--out: there is no folder {out.parent}")
    if out is not None and out.exists() and not out.is_file():
        raise InputError(f"--out: {out} cannot be written: it is there already, and no file; name another")
    if out is not None and out.exists() and any(each.samefile(out) for each in named_files(files)):
        raise InputError(f"--out: {out} is one of the files to import: name another, or it would be overwritten")
    found = import_files(files, ranks, gpu, size, step)
    if out is not None:
        write_imported(found, files, out)
    if as_json:
        json.dump(contents(found), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(imported_table(found))
    if out is not None:
        sys.stderr.write(f"step: {out}; a study runs it with {{ kind: imported, file: {out.name} }}\n")
