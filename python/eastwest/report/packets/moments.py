"""When links change during a simulation, and what to call that: the events that a timeline marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eastwest.engine.packets import LinkChange
from eastwest.fabric import Fabric
from eastwest.report.figures import count
from eastwest.simulation.result import SimulationResult
from eastwest.units import format_rate, format_time

BITS = 8.0


@dataclass(frozen=True)
class Moment:
    """Something that happens to links at a time, in words."""

    at_s: float
    text: str


def moments(result: SimulationResult) -> list[Moment]:
    """What happens to links while a simulation runs, soonest first; equal changes at one time are one moment."""
    together: dict[tuple[float, str], list[int]] = {}
    for change in sorted(result.changes, key=lambda change: change.at_s):
        if change.at_s <= result.run.simulated_s:
            together.setdefault((change.at_s, _becomes(change)), []).append(change.link)
    fabric = result.network.fabric
    return [Moment(at_s, f"{_whose(links, fabric)} {becomes}") for (at_s, becomes), links in together.items()]


def _becomes(change: LinkChange) -> str:
    match change.becomes:
        case "rate":
            return f"at {format_rate(change.rate * BITS)}"
        case "erring" if change.loss == 1:
            return "without routes"
        case "erring":
            return f"loses {change.loss:.2g} of packets" if change.loss else "loses none"
        case "late":
            return f"late by {format_time(change.late_s)}" if change.late_s else "on time again"
        case other:
            return other


def _whose(links: Sequence[int], fabric: Fabric) -> str:
    """The node that all links share, the two nodes that they join, or how many there are."""
    names = fabric.nodes["name"]
    ends = [{int(fabric.links[end][link]) for end in ("src", "dst")} for link in links]
    shared = set.intersection(*ends)
    if not shared:
        return count(len(links), "link")
    return " and ".join(names[node] for node in sorted(shared))
