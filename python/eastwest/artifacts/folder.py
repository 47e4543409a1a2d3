"""The folder that a build is written to: whole or not at all, with `build.json`, which lists its files.

A build takes the place of an older one; a folder that holds anything else is left alone. Not here: the files' text.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from eastwest.artifacts.file import File
from eastwest.errors import InputError

ABOUT = "build.json"


def write(files: Sequence[File], about: Mapping[str, str], folder: Path) -> None:
    """Writes files to a folder, made if need be; `about` says what they are of.

    Raises:
        InputError: the folder holds what no build wrote, or is a file or a link.
        OSError: the disk refuses.
    """
    check(folder)
    parent = folder.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=parent))
    try:
        new, old = scratch / "new", scratch / "old"
        new.mkdir()
        for file in files:
            path = new / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.text.encode())
            if file.is_executable:
                path.chmod(path.stat().st_mode | 0o111)
        listed = {"eastwest": "build", **about, "files": sorted(file.path for file in files)}
        (new / ABOUT).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def check(folder: Path) -> None:
    """Refuses a folder that a build may not replace, before anything is computed.

    Raises:
        InputError: it holds what no build wrote, or is a file or a link.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}: this is no folder; name another with --out")
    if not folder.exists():
        return
    ours = {ABOUT, *_listed(folder / ABOUT)}
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            path = (Path(where) / name).relative_to(folder).as_posix()
            if path not in ours:
                raise InputError(f"{folder}: {path} is there, which no build wrote; name another folder with --out")


def _listed(about: Path) -> set[str]:
    """The files of the build that is there; none where it is no build."""
    try:
        found = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    is_build = isinstance(found, dict) and found.get("eastwest") == "build"
    names = found.get("files") if is_build else None
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
