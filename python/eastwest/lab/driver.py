"""What a lab of one technology must be able to do: the verbs know only this.

A driver is one object for each kind of lab. It keeps nothing: what there is, it finds in the lab (its folder, the
files of `eastwest build` in it, the kernel), so any command can be the first after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eastwest.lab.machine import Feature, Tool
from eastwest.lab.nodes import Nodes, Wire
from eastwest.lab.registry import Lab


@dataclass(frozen=True)
class NodeState:
    """How one node is: its name, what there is to count, and what is wrong with it, if anything.

    `figures` are numbers by what they count, as in {"sessions": 8, "routes": 76}.
    """

    node: str
    figures: dict[str, int]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class RouteRow:
    """One row of a forwarding table, as `eastwest.fabric.read_routes` reads it; names are the fabric's."""

    switch: str
    destination: str
    next: str
    port: int
    weight: float = 1.0


@dataclass(frozen=True)
class Fault:
    """What is to fail: cables, and nodes with all of theirs; `silently`, with no loss of carrier to notice."""

    wires: tuple[Wire, ...] = ()
    nodes: tuple[str, ...] = ()
    is_silent: bool = False


class Driver(Protocol):
    """One kind of lab."""

    name: str
    """What the lab is called in messages: "ethernet", "infiniband", "mrc"."""

    parts: tuple[str, ...]
    """Parts of `eastwest build` that the lab runs."""

    tools: tuple[Tool, ...]
    features: tuple[Feature, ...]

    carries_data: bool
    """Whether servers can send each other traffic, so that `reach`, `flow` and `fail --measure` have a meaning."""

    def start(self, lab: Lab, nodes: Nodes) -> None:
        """Brings up all nodes in a sandbox that is there and empty.

        Raises:
            LabError: a command in it failed; says which, where, and what it said.
        """

    def state(self, lab: Lab, nodes: Nodes) -> list[NodeState]:
        """How every node is; the lab has settled once nothing is wrong with any."""

    def fail(self, lab: Lab, nodes: Nodes, fault: Fault) -> None:
        """Makes something fail."""

    def heal(self, lab: Lab, nodes: Nodes) -> None:
        """Brings back all that has failed."""

    def routes(self, lab: Lab, nodes: Nodes) -> list[RouteRow]:
        """What the switches' control planes chose."""

    def capture(self, lab: Lab, end: str, seconds: float, out: Path) -> None:
        """Writes what passes at one place ("NODE:INTERFACE") to a capture file.

        Raises:
            LabError: there is no such place, or nothing to be captured in such a lab.
        """


def down_wires(nodes: Nodes, fault: Fault) -> Sequence[Wire]:
    """All cables that a fault takes down, those of its nodes too."""
    of_nodes = (wire for name in fault.nodes for wire in nodes.wires_of(name))
    return tuple({wire.number: wire for wire in (*fault.wires, *of_nodes)}.values())
