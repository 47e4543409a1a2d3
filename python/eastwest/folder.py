"""A folder of files, written whole or not at all, with a list of what it holds.

What is written takes the place of an older folder of the same kind; one that holds anything else is left alone. Not
here: the files' content.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eastwest.errors import InputError


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new empty folder, to be filled, which then takes the place of `folder`.

    It stands beside that under a temporary name until it is complete; where filling it fails, the old one stays.

    Raises:
        OSError: the disk refuses.
    """
    parent = folder.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=parent))
    try:
        new, old = scratch / "new", scratch / "old"
        new.mkdir()
        yield new
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


def write(
    kind: str, files: Mapping[str, bytes], about: Mapping[str, Any], folder: Path, executable: Collection[str] = ()
) -> None:
    """Writes files, by their paths in the folder, and `KIND.json`, which lists them and says what they are `about`.

    Raises:
        InputError: the folder holds what was not written so, or is a file or a link.
        OSError: the disk refuses.
    """
    check(kind, folder)
    with replacing(folder) as new:
        for name, content in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            if name in executable:
                path.chmod(path.stat().st_mode | 0o111)
        listed = {"eastwest": kind, **about, "files": sorted(files)}
        (new / _list_of(kind)).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


def check(kind: str, folder: Path) -> None:
    """Refuses a folder that files of a kind may not replace, before anything is computed.

    Raises:
        InputError: it holds what was not written so, or is a file or a link.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}: this is no folder; name another with --out")
    if not folder.exists():
        return
    ours = {_list_of(kind), *_listed(kind, folder)}
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            path = (Path(where) / name).relative_to(folder).as_posix()
            if path not in ours:
                raise InputError(f"{folder}: {path} is there, which no {kind} wrote; name another folder with --out")


def _list_of(kind: str) -> str:
    return f"{kind}.json"


def _listed(kind: str, folder: Path) -> set[str]:
    """The files of what was written there before; none where nothing was."""
    try:
        found = json.loads((folder / _list_of(kind)).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    names = found.get("files") if isinstance(found, dict) and found.get("eastwest") == kind else None
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
