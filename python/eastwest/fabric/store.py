"""A fabric as a folder: one Parquet file a table and `plan.json`, written whole or not at all.

Not here: exports that other tools read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from eastwest.fabric.plan import FabricError
from eastwest.fabric.tables import CABLES, CAGES, LINKS, NODES, PORTS, Fabric, Schema
from eastwest.folder import replacing

FORMAT = 3
"""Version of the folder's layout."""

PLAN = "plan.json"
TABLES: dict[str, Schema] = {"nodes": NODES, "ports": PORTS, "cages": CAGES, "cables": CABLES, "links": LINKS}


def write(fabric: Fabric, folder: Path | str) -> Path:
    """Writes a fabric to a folder, in place of a fabric that it holds; returns its path.

    The new folder stands beside the old under a temporary name until it is complete. Raises `FabricError` on
    "folder" where something other than a fabric is in the way or the disk refuses.
    """
    path = Path(folder)
    _check_may_replace(path)
    try:
        with replacing(path) as new:
            _fill(fabric, new)
    except OSError as error:
        raise FabricError("folder", f"{path} cannot be written: {error.strerror or error}") from error
    return path


def read(folder: Path | str) -> Fabric:
    """Reads back a fabric that `write` wrote, equal in every table.

    Raises `FabricError` on "folder" where a file is missing, leads out of the folder, or is not what it should be.
    """
    path = Path(folder)
    if not path.is_dir():
        raise FabricError("folder", f"{path} is not a folder")
    header = _header(path)
    tables = {name: _table(path, name, schema) for name, schema in TABLES.items()}
    return Fabric(name=header["name"], plan=header["plan"], **tables)


def _fill(fabric: Fabric, folder: Path) -> None:
    for name in TABLES:
        table: pl.DataFrame = getattr(fabric, name)
        table.write_parquet(folder / f"{name}.parquet")
    header = {"format": FORMAT, "name": fabric.name, "plan": fabric.plan}
    (folder / PLAN).write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")


def _check_may_replace(path: Path) -> None:
    if path.is_symlink():
        raise FabricError("folder", f"{path} is a link; name the folder that it leads to")
    if path.exists() and not path.is_dir():
        raise FabricError("folder", f"{path} is a file; name a folder for the fabric")
    ours = {PLAN, *(f"{name}.parquet" for name in TABLES)}
    if path.is_dir() and (foreign := sorted({entry.name for entry in path.iterdir()} - ours)):
        raise FabricError("folder", f"{path} holds {foreign[0]}, which is no part of a fabric; name another folder")


def _inside(folder: Path, name: str) -> Path:
    file = folder / name
    if not file.resolve().is_relative_to(folder.resolve()):
        raise FabricError("folder", f"{file} leads out of its folder")
    if not file.is_file():
        raise FabricError("folder", f"{folder} has no {name}: it holds no fabric, or not all of one")
    return file


def _header(folder: Path) -> dict[str, Any]:
    file = _inside(folder, PLAN)
    try:
        header = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FabricError("folder", f"{file} is not readable as JSON: {error}") from error
    if (
        not isinstance(header, dict)
        or not isinstance(header.get("name"), str)
        or not isinstance(header.get("plan"), dict)
    ):
        raise FabricError("folder", f"{file} lacks the fabric's name and plan")
    if header.get("format") != FORMAT:
        raise FabricError("folder", f"{file} has format {header.get('format')!r}; this version reads format {FORMAT}")
    return header


def _table(folder: Path, name: str, schema: Schema) -> pl.DataFrame:
    file = _inside(folder, f"{name}.parquet")
    try:
        table = pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FabricError("folder", f"{file} is not readable as Parquet: {error}") from error
    if dict(table.schema) != pl.Schema(schema):
        wrong = next((column for column, dtype in schema.items() if table.schema.get(column) != dtype), None)
        found = f"column {wrong} is missing or of another type" if wrong else "it has other columns besides"
        raise FabricError("folder", f"{file} is not a table of {name}: {found}")
    return table
