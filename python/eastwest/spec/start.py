"""The study file that a newcomer starts from."""

from __future__ import annotations

import os
import tempfile
from importlib.resources import files
from pathlib import Path

from eastwest.document import Mistake
from eastwest.spec.study import StudyError


def starting_file() -> str:
    """A small commented study that runs as it is."""
    return (files("eastwest.spec") / "starting.yaml").read_text(encoding="utf-8")


def write_starting_file(path: Path, *, overwrite: bool = False) -> None:
    """Writes the starting study; raises `StudyError` where a file is there already or none can be written."""

    def refuse(message: str) -> StudyError:
        return StudyError([Mistake(str(path), None, None, message)])

    if path.is_dir():
        raise refuse("is a folder; name a file in it")
    if path.exists() and not overwrite:
        raise refuse("is there already; --force overwrites it")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(starting_file())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise refuse(f"cannot be written: {error.strerror}") from None
