"""What an export is, and the folder that it is written to, with `export.json`, which says what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eastwest import folder as folders

KIND = "export"


@dataclass(frozen=True)
class Exported:
    """Files by name, what they are of, and what their format cannot say."""

    files: Mapping[str, bytes]
    about: Mapping[str, Any]
    told: tuple[str, ...] = ()


def write(exported: Exported, folder: Path) -> None:
    """Writes an export to a folder, made if need be, in place of an older export; raises as `eastwest.folder.write`."""
    folders.write(KIND, exported.files, {**exported.about, "told": exported.told}, folder)


def check(folder: Path) -> None:
    """Refuses a folder that an export may not replace, before anything is computed; raises InputError."""
    folders.check(KIND, folder)
