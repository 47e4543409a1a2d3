"""Which format files are of, told by their content, and the step of the job that they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from eastwest.errors import InputError
from eastwest.workload.formats.asked import Asked, Imported
from eastwest.workload.step_file import is_step_file

START_BYTES = 4096


@dataclass(frozen=True)
class Format:
    """A format that can be imported: its name, whether a file that begins so is of it, and its reader."""

    name: str
    begins: Callable[[bytes, Path], bool]
    read: Callable[[Asked], Imported]


def formats() -> tuple[Format, ...]:
    """The formats, in the order in which they are tried."""
    from eastwest.workload.formats.chakra import is_chakra
    from eastwest.workload.formats.chakra_job import read_chakra_job
    from eastwest.workload.formats.goal import is_goal, read_goal
    from eastwest.workload.formats.kineto import is_profile, read_profiles
    from eastwest.workload.formats.msccl import is_msccl, read_msccl
    from eastwest.workload.formats.simai import is_simai, read_simai

    return (
        Format("GOAL schedules", is_goal, read_goal),
        Format("MSCCL algorithms (XML)", is_msccl, read_msccl),
        Format("SimAI workloads", is_simai, read_simai),
        Format("Chakra execution traces (.et)", is_chakra, read_chakra_job),
        Format("PyTorch profiles (Kineto JSON)", is_profile, read_profiles),
    )


def import_job(asked: Asked) -> Imported:
    """The step of a job's files.

    A folder, or a name to which `.0.et` is missing, stands for the Chakra traces there.

    Raises:
        InputError: a file is missing or of no format that is known, or its reader refuses it.
    """
    asked = replace(asked, paths=named_files(asked.paths))
    known = formats()
    for path in asked.paths:
        with path.open("rb") as stream:
            start = stream.read(START_BYTES)
        if not start:
            raise InputError(f"{path}: the file is empty")
        if is_step_file(start):
            raise InputError(f"{path}: this is a step already: a study names it with {{ kind: imported, file: ... }}")
        found = next((each for each in known if each.begins(start, path)), None)
        if found is not None:
            return found.read(asked)
    if start.lower().startswith(b"nodes"):
        raise InputError(f"{asked.paths[0]}: this is a connection matrix of htsim: `eastwest simulate --flows` runs it")
    names = "; ".join(each.name for each in known)
    raise InputError(f"{asked.paths[0]}: this is of no format that can be imported; there are: {names}")


def named_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The files that names stand for.

    Raises:
        InputError: there is none of a name.
    """
    return tuple(each for path in paths for each in _files(path))


def _files(path: Path) -> list[Path]:
    """The file, or the Chakra traces that a folder or a prefix stands for."""
    if path.is_file():
        return [path]
    if path.is_dir():
        if not (found := sorted(path.glob("*.et"))):
            raise InputError(f"{path}: this is a folder without Chakra traces (.et): name the files")
        return found
    if path.parent.is_dir() and (found := sorted(path.parent.glob(f"{escape(path.name)}.*.et"))):
        return found
    raise InputError(f"{path}: there is no such file")
