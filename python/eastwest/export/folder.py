"""A folder of exported files, written whole or not at all, with `export.json`, which says what was left out.

An export takes the place of an older one; a folder that holds anything else is left alone.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eastwest.errors import InputError

ABOUT = "export.json"


@dataclass(frozen=True)
class Exported:
    """Files by name, what they are of, and what their format cannot say."""

    files: Mapping[str, bytes]
    about: Mapping[str, Any]
    told: tuple[str, ...] = ()


def write(exported: Exported, folder: Path) -> None:
    """Writes an export to a folder, made if need be.

    Raises:
        InputError: the folder holds what no export wrote, or is a file.
        OSError: the disk refuses.
    """
    check(folder)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        new, old = scratch / "new", scratch / "old"
        new.mkdir()
        for name, content in exported.files.items():
            (new / name).write_bytes(content)
        about = {"eastwest": "export", **exported.about, "told": exported.told, "files": sorted(exported.files)}
        (new / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
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
    """Refuses a folder that an export may not replace, before anything is computed.

    Raises:
        InputError: it holds what no export wrote, or is a file or a link.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}: this is no folder; name another with --out")
    if not folder.exists():
        return
    found = {each.name for each in folder.iterdir()}
    foreign = sorted(found - {ABOUT, *_listed(folder / ABOUT)})
    if foreign:
        raise InputError(f"{folder}: {foreign[0]} is there, which no export wrote; name another folder with --out")


def _listed(about: Path) -> set[str]:
    """The files of the export that is there; none where it is no export."""
    try:
        found = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    is_export = isinstance(found, dict) and found.get("eastwest") == "export"
    names = found.get("files") if is_export else None
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
