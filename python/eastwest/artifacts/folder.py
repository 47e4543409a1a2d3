"""The folder that a build is written to, with `build.json`, which lists its files. Not here: their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from eastwest import folder as folders
from eastwest.artifacts.file import File

KIND = "build"


def write(files: Sequence[File], about: Mapping[str, str], folder: Path) -> None:
    """Writes files to a folder, made if need be, in place of an older build; `about` says what they are of.

    Raises as `eastwest.folder.write`.
    """
    content = {file.path: file.text.encode() for file in files}
    folders.write(KIND, content, about, folder, {file.path for file in files if file.is_executable})


def check(folder: Path) -> None:
    """Refuses a folder that a build may not replace, before anything is computed; raises InputError."""
    folders.check(KIND, folder)
