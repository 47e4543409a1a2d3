"""Imports files of other tools for a study. Not here: their formats (`workload.formats`), or running what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eastwest.catalog import Catalog, UnknownPartError
from eastwest.errors import InputError
from eastwest.units import UnitError, parse_size
from eastwest.workload.formats import Asked, Imported, Roofline, import_job
from eastwest.workload.step_file import MOST_RANKS, write_step

BITS = 8.0


def import_files(
    files: Sequence[Path], ranks: int | None = None, gpu: str = "", size: str = "", step: int | None = None
) -> Imported:
    """What the files of one job hold, for `ranks` ranks (None: as many as it had); of several steps, the one numbered.

    `gpu` names one of the catalogue, on whose roofline computes without a time are reckoned; `size` is the buffer of
    files that leave it open, as in "64 MiB".

    Raises:
        InputError: a file cannot be used, or there is no such GPU.
    """
    if ranks is not None and ranks > MOST_RANKS:
        raise InputError(f"--ranks {ranks}: {MOST_RANKS:,} at most")
    try:
        size_bytes = parse_size(size) if size else None
    except UnitError as error:
        raise InputError(f"--bytes: {error}") from None
    return import_job(Asked(tuple(files), ranks, _roofline(gpu) if gpu else None, size_bytes, step))


def write_imported(found: Imported, files: Sequence[Path], out: Path) -> None:
    """Writes the step where a study can name it, whole or not at all."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    write_step(found.step, out, f"{found.format}: {files[0].name}{more}")


def _roofline(name: str) -> Roofline:
    try:
        gpu = Catalog.bundled().gpu(name)
    except UnknownPartError as error:
        raise InputError(f"--gpu: {error}") from None
    return Roofline(gpu.bf16_flops, gpu.memory_bps / BITS)
