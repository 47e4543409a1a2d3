"""The labs of this machine: a folder each under /run/eastwest, which says what the lab is and which process keeps it.

A folder is made by the `up` that wants its name, so no two have one, and locked while a command changes the lab; the
lock ends with its process. A lab whose keeper has ended is dead: its folder is all that is left of it.

Not here: what is in a lab.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eastwest.document import nearest
from eastwest.lab.failure import LabError
from eastwest.lab.sandbox import Keeper

ROOT = Path("/run/eastwest")
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
ABOUT = "lab.json"


@dataclass(frozen=True)
class Lab:
    """One lab: its folder, what drives it, what it was made of, and its keeper once it is up.

    `rate_scale` is how many times slower its links are than the fabric's, 0 where their rates are not limited.
    """

    name: str
    folder: Path
    driver: str
    study: str
    fabric: str
    rate_scale: float
    keeper: Keeper | None = None

    @property
    def built(self) -> Path:
        """Folder of what `eastwest build` wrote, which the lab runs."""
        return self.folder / "built"

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.keeper is not None and self.keeper.is_alive()

    def node(self, name: str) -> Path:
        """Folder of one node: what is its /run, /var/tmp and /etc/frr, and logs."""
        return self.folder / "nodes" / name

    def inside(self, command: list[str]) -> list[str]:
        """A command, to be run inside the lab but in none of its nodes.

        Raises:
            LabError: the lab is not running.
        """
        if self.keeper is None or not self.keeper.is_alive():
            raise LabError(f"lab {self.name} has died; remove what is left: eastwest lab down --lab {self.name}")
        return self.keeper.inside(command)

    def on(self, node: str, command: list[str]) -> list[str]:
        """A command, to be run in a node; errors as `inside`."""
        return self.inside([str(self.folder / "enter"), node, *command])

    def with_keeper(self, keeper: Keeper) -> Lab:
        """The same with its keeper, written down."""
        kept = replace(self, keeper=keeper)
        plain = {**asdict(kept), "folder": str(self.folder)}
        scratch = self.folder / f".{ABOUT}.part"
        scratch.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
        scratch.replace(self.folder / ABOUT)
        return kept


@contextlib.contextmanager
def made(name: str, driver: str, study: str, fabric: str, rate_scale: float) -> Iterator[Lab]:
    """Makes a lab's folder and locks it; removes it again where what follows fails.

    Raises:
        LabError: the name is no name, or there is such a lab.
    """
    if not NAME.fullmatch(name):
        raise LabError(
            f"{name!r} is no name for a lab: lower-case letters, digits and -, at most 31, as in --lab lab-2"
        )
    folder = ROOT / name
    ROOT.mkdir(mode=0o755, exist_ok=True)
    try:
        folder.mkdir(mode=0o755)
    except FileExistsError:
        raise LabError(
            f"there is a lab {name} already: name another with --lab, or take it down: eastwest lab down --lab {name}"
        ) from None
    try:
        with _locked(folder, name):
            yield Lab(name, folder, driver, study, fabric, rate_scale)
    except BaseException:
        remove(folder)
        raise


@contextlib.contextmanager
def taken(name: str | None) -> Iterator[Lab]:
    """A lab by name (or the only one there is), locked.

    Raises:
        LabError: there is no such lab, or another command is changing it.
    """
    lab = find(name)
    with _locked(lab.folder, lab.name):
        yield lab


def find(name: str | None) -> Lab:
    """A lab by name, or the only one there is.

    Raises:
        LabError: there is none, or there are several and none is named.
    """
    there = names()
    if name is None:
        if len(there) == 1:
            return _read(there[0])
        if not there:
            raise LabError("there is no lab on this machine: eastwest lab up STUDY --fabric NAME")
        raise LabError(f"there are labs {', '.join(there)}: name one with --lab")
    if name not in there:
        near = nearest(name, tuple(there))
        meant = f"; did you mean {near!r}?" if near else ""
        has = f" (there are: {', '.join(there)})" if there else ", nor any other"
        raise LabError(f"there is no lab {name!r}{meant}{has}")
    return _read(name)


def names() -> list[str]:
    """Names of the labs there are, dead ones too."""
    try:
        return sorted(each.name for each in ROOT.iterdir() if each.is_dir() and NAME.fullmatch(each.name))
    except FileNotFoundError:
        return []


def remove(folder: Path) -> None:
    """Removes a lab's folder, and that of all labs with the last."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are there
        ROOT.rmdir()


def _read(name: str) -> Lab:
    """What is known of a lab; one that was never finished has no keeper."""
    folder = ROOT / name
    try:
        found: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        keeper = Keeper(**found.pop("keeper"))
        return Lab(**{**found, "folder": folder}, keeper=keeper)
    except (OSError, ValueError, TypeError, KeyError):
        return Lab(name, folder, driver="", study="", fabric="", rate_scale=0)


@contextlib.contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise LabError(f"lab {name} is gone") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise LabError(f"another command is changing lab {name}: wait for it, or end it") from None
    finally:
        os.close(handle)
