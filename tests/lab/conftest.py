"""What tests of live labs share: the command as a person runs it, what a lab leaves on the machine, figures to report.

Live tests stand in `live_*.py`, which `make test-lab` runs and plain pytest does not collect. They need root and what
their lab needs: elsewhere they are skipped, in CI they fail.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from eastwest.lab import machine, registry
from eastwest.lab.driver import Driver
from eastwest.lab.failure import MissingError

ROOT = Path(__file__).parents[2]
_figures: list[str] = []


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def lab(*words: object, code: int | None = 0, folder: Path = ROOT) -> Said:
    """Runs `eastwest lab ...` in a process of its own, which is to end with this code (any where None)."""
    done = subprocess.run(command(*words), capture_output=True, text=True, timeout=300, cwd=folder, check=False)
    said = Said(done.returncode, done.stdout, done.stderr)
    assert code is None or said.code == code, said
    return said


def command(*words: object) -> list[str]:
    """`eastwest lab ...` as words of a command."""
    return [sys.executable, "-c", "from eastwest.cli import main; main()", "lab", *map(str, words)]


def need(driver: Driver) -> None:
    """Skips live tests where the machine cannot run such a lab; in CI they fail."""
    try:
        machine.check(driver.tools, driver.features)
    except MissingError as missing:
        if os.environ.get("CI"):
            pytest.fail(f"CI must run the lab: {missing}")
        pytest.skip(str(missing))


@dataclass(frozen=True)
class Traces:
    """Where a running lab can be seen from outside: its folder, its process and network namespaces."""

    folder: Path
    processes: str
    networks: frozenset[str]

    def left(self) -> list[str]:
        """What of them is still there."""
        there = [f"process {pid}" for pid, kind, name in namespaces() if kind == "pid" and name == self.processes]
        there += [f"network {name}" for _, kind, name in namespaces() if kind == "net" and name in self.networks]
        return there + ([str(self.folder)] if self.folder.exists() else [])


def traces(name: str) -> Traces:
    """Those of a lab that runs."""
    found = registry.find(name)
    assert found.keeper is not None
    inside = str(Path(f"/proc/{found.keeper.pid}/ns/pid_for_children").readlink())
    pids = {pid for pid, kind, name in namespaces() if kind == "pid" and name == inside}
    own = str(Path("/proc/self/ns/net").readlink())
    networks = {name for pid, kind, name in namespaces() if kind == "net" and pid in pids and name != own}
    return Traces(found.folder, inside, frozenset(networks))


def namespaces() -> Iterator[tuple[int, str, str]]:
    """Process and network namespace of every process of the machine."""
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            for kind in ("pid", "net"):
                try:
                    yield int(each.name), kind, str((each / "ns" / kind).readlink())
                except OSError:  # it has ended meanwhile
                    break


def mounts_and_names() -> tuple[list[str], list[str], list[str]]:
    """What a lab could leave on the machine at large: mounts, names of network namespaces, interfaces."""
    mounts = sorted(line.split(" ", 4)[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    lists = (Path("/run/netns"), Path("/sys/class/net"))
    names, interfaces = (sorted(each.name for each in path.iterdir()) if path.is_dir() else [] for path in lists)
    return mounts, names, interfaces


@pytest.fixture
def report() -> Callable[[str], None]:
    """Takes a figure that the run is to end with."""
    return _figures.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ends the run with what was measured."""
    if _figures:
        terminalreporter.section("measured in labs")
        for each in _figures:
            terminalreporter.write_line(each)
