"""Labs brought up, looked at and taken down.

Not here: what a lab of one technology is made of (its driver), or what its servers send (`traffic`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from eastwest import artifacts
from eastwest.errors import InputError
from eastwest.lab import machine, registry
from eastwest.lab.driver import Driver, NodeState
from eastwest.lab.drivers import driver_of
from eastwest.lab.failure import LabError
from eastwest.lab.nodes import Nodes, read_nodes
from eastwest.lab.registry import Lab
from eastwest.lab.sandbox import ENTER, Sandbox
from eastwest.spec import Study

POLL_S = 0.3
MOST_NODES = 400
"""More network namespaces than that, with a routing daemon each, are no longer one machine's lab."""


@dataclass(frozen=True)
class Running:
    """A lab with what drives it and what is in it."""

    lab: Lab
    driver: Driver
    nodes: Nodes

    def state(self) -> list[NodeState]:
        """How every node is."""
        return self.driver.state(self.lab, self.nodes)


@dataclass(frozen=True)
class Settled:
    """How a lab was when waiting for it ended: the seconds that took, and the nodes with which something is wrong."""

    seconds: float
    wrong: tuple[NodeState, ...]


def up(
    study: Study,
    fabric: str,
    cluster: str | None = None,
    name: str | None = None,
    rate_scale: float | None = None,
    patience_s: float = 60,
    built: Path | None = None,
) -> tuple[Running, Settled]:
    """Builds a fabric's files (or takes those of a folder), brings them up as a lab and waits until it has settled.

    Where bringing it up fails, all that was made is taken down. A lab that has not settled in time stays up.

    Raises:
        InputError: the study has no such fabric, or it cannot be built.
        LabError: there is a lab of that name, or a command in it failed.
        MissingError: this machine lacks something.
    """
    subject = artifacts.subject(study, fabric, cluster)
    driver = driver_of(subject.plan.technology)
    size = len(subject.plan.switches) + len(subject.plan.hosts)
    if size > MOST_NODES:
        raise LabError(f"{fabric} has {size:,} nodes; a lab has at most {MOST_NODES}: give the study a smaller cluster")
    scale = scale_for(subject.plan) if rate_scale is None else rate_scale
    machine.check(driver.tools, driver.features)
    began = time.monotonic()
    with registry.made(_name(fabric) if name is None else name, driver.name, str(study.file), fabric, scale) as lab:
        if built is None:
            files = artifacts.build(subject, [part for part in driver.parts if part in artifacts.PARTS])
            artifacts.write(files, {"study": study.name, "fabric": fabric, "cluster": subject.cluster}, lab.built)
        else:
            _copy(built, lab.built)
        nodes = read_nodes(lab.built)
        enter = lab.folder / "enter"
        enter.write_text(ENTER.replace("FOLDER", str(lab.folder)))
        enter.chmod(0o755)
        sandbox = Sandbox(lab.folder)
        try:
            lab = lab.with_keeper(sandbox.keeper)
            driver.start(lab, nodes)
            running = Running(lab, driver, nodes)
            settled = settle(running, patience_s, began)
            sandbox.stay()
        except BaseException:
            sandbox.end()
            raise
    return running, settled


def settle(running: Running, patience_s: float, began: float | None = None) -> Settled:
    """Waits until nothing is wrong with any node, or patience ends.

    Raises:
        LabError: a node cannot be asked.
    """
    began = time.monotonic() if began is None else began
    end = time.monotonic() + patience_s
    while True:
        wrong = tuple(each for each in running.state() if each.wrong)
        now = time.monotonic()
        if not wrong or now >= end:
            return Settled(now - began, wrong)
        time.sleep(POLL_S)


def found(name: str | None) -> Running:
    """A lab by name, or the only one there is.

    Raises:
        LabError: there is none, there are several, or it has died.
    """
    lab = registry.find(name)
    lab.inside([])  # a dead lab is told as such
    return Running(lab, driver_of(read_nodes(lab.built).technology), read_nodes(lab.built))


def down(name: str | None) -> str:
    """Takes a lab down, running or dead, and gives its name.

    Raises:
        LabError: there is none of that name, or another command is changing it.
    """
    with registry.taken(name) as lab:
        if lab.keeper is not None:
            lab.keeper.end()
        registry.remove(lab.folder)
        return lab.name


LAB_BPS = 100e6
"""Rate of a lab's fastest link where nobody says how many times slower its links are: a hundred of them fit a CPU."""


def scale_for(plan: artifacts.Plan) -> float:
    """How many times slower a lab's links are, so that its fastest has `LAB_BPS`."""
    return max(1.0, max((cable.rate_bps for cable in plan.cables), default=LAB_BPS) / LAB_BPS)


def _name(fabric: str) -> str:
    """A lab's name after its fabric's."""
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in fabric.lower()).strip("-")
    return plain[:31] or "lab"


def _copy(built: Path, to: Path) -> None:
    import shutil

    if not (built / "plan.json").is_file():
        raise InputError(f"--built: {built} is no folder that `eastwest build` wrote: it has no plan.json")
    shutil.copytree(built, to)
