"""What happens when in a step, for people to look at: a few ranks' operations, what they wait for, and link loads.

Large steps are sampled: the rank with the most exposed communication, rank 0, and others spread evenly over the classes
of ranks that differ. Not here: how a timeline is drawn or written (`report`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eastwest.engine import Record, Run
from eastwest.spec import Parameter
from eastwest.workload import Collective, Compute, Operation, SendRecv, Step, Storage

MOST_TRACKS = 16
"""Of more classes of ranks only so many are kept."""

SPANS = 400
"""Loads are means over this part of a step."""

COMPUTE = "compute"

Kind = Literal["compute", "communication", "waiting", "transfer", "flow", "unfinished", "event"]


@dataclass(frozen=True)
class Slice:
    """Something that takes time; times are picoseconds. Waiting and transfers lie within a communication."""

    name: str
    kind: Kind
    start_ps: int
    end_ps: int


@dataclass(frozen=True)
class Lane:
    """One queue of a rank: `compute` or a communicator; communications in it follow one another."""

    name: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True)
class Track:
    """A rank that stands for the `alike` ranks of its class, itself included."""

    name: str
    alike: int
    is_slowest: bool
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Load:
    """Utilisation (0 to 1) of a tier's mean and busiest link, span by span."""

    tier: str
    mean: tuple[float, ...]
    most: tuple[float, ...]


@dataclass(frozen=True)
class Timeline:
    """One case in one draw of the hash seeds; `classes` counts the classes of ranks, of which `tracks` shows some."""

    name: str
    step_ps: int
    draw: int
    draws: int
    ranks: int
    classes: int
    tracks: tuple[Track, ...]
    every_ps: int
    loads: tuple[Load, ...]


def name(parameters: Iterable[Parameter], *words: str) -> str:
    """What a case is called: its words and what is swept."""
    return ", ".join([*words, *(f"{each.name} {each.text}" for each in parameters)])


def timeline(
    name: str,
    step: Step,
    run: Run,
    record: Callable[[int, int], Record],
    rank_name: Callable[[int], str] = "rank {}".format,
) -> Timeline:
    """The timeline of a run's median draw; `record` runs it once more, given the draw and the span of loads in ps."""
    draw = run.median_draw
    every_ps = max(1, -(-round(float(run.step_s[draw]) * 1e12) // SPANS))
    found = record(draw, every_ps)
    _, first, alike = np.unique(found.class_of, return_index=True, return_counts=True)
    slowest = int(found.class_of[int(np.argmax(run.exposed_s[draw]))]) if step.ranks else -1
    shown = {each: int(first[each]) for each in _sampled(len(first), slowest)}
    lanes = _lanes(found, step, shown, rank_name)
    tracks = tuple(
        Track(
            rank_name(rank),
            int(alike[each]),
            each == slowest and len(first) > 1,
            tuple(Lane(queue, tuple(slices)) for queue, slices in lanes[each].items()),
        )
        for each, rank in shown.items()
    )
    loads = tuple(
        Load(tier, tuple(found.mean[:, column].tolist()), tuple(found.most[:, column].tolist()))
        for column, tier in enumerate(found.tiers)
    )
    return Timeline(name, found.step_ps, draw, len(run.step_s), step.ranks, len(first), tracks, found.every_ps, loads)


def _sampled(classes: int, slowest: int) -> list[int]:
    """The classes to show: the slowest first, then the first, then others spread evenly."""
    spread = np.linspace(0, classes - 1, min(classes, MOST_TRACKS)).round().astype(int).tolist() if classes else []
    return list(dict.fromkeys([slowest, *spread]))[:MOST_TRACKS] if classes else []


def _lanes(
    record: Record, step: Step, shown: dict[int, int], rank_name: Callable[[int], str]
) -> dict[int, dict[str, list[Slice]]]:
    """The slices of each class shown (its rank: `shown`), by queue."""
    computes = any(isinstance(operation, Compute) for operation in step.operations)
    lanes: dict[int, dict[str, list[Slice]]] = {each: {COMPUTE: []} if computes else {} for each in shown}
    moves = _moves(record)
    bounds = np.searchsorted(record.turns[:, 0], np.arange(len(step.operations) + 1))
    for number, operation in enumerate(step.operations):
        turns = record.turns[bounds[number] : bounds[number + 1]]
        arrivals = {int(each): int(start) for _, each, start, _ in turns}
        groups = _Groups(operation, record.class_of, arrivals)
        for _, each, start, end in turns.tolist():
            if each not in shown or start == end:
                continue
            if isinstance(operation, Compute):
                lanes[each][COMPUTE].append(Slice(operation.name, "compute", start, end))
                continue
            lane = lanes[each].setdefault(operation.queue, [])
            lane.append(Slice(operation.name, "communication", start, end))
            if isinstance(operation, Storage):  # its transfers are those of hosts, not of ranks
                continue
            lane += _inside(groups, shown[each], moves.get(number, {}), start, end, rank_name)
    return lanes


Moves = dict[int, list[tuple[int, int]]]
"""When each phase of each part of an operation began and ended."""


def _moves(record: Record) -> dict[int, Moves]:
    """The phases of every operation's parts, in order."""
    moves: dict[int, Moves] = {}
    for operation, part, _, start, end in record.transfers.tolist():
        moves.setdefault(operation, {}).setdefault(part, []).append((start, end))
    return moves


@dataclass(frozen=True)
class _Groups:
    """Who communicates with whom in an operation, and when each class came to it."""

    operation: Operation
    class_of: npt.NDArray[np.uint32]
    arrivals: dict[int, int]

    def of(self, rank: int) -> list[tuple[int, npt.NDArray[np.uint32]]]:
        """Number and ranks of each group or pair that a rank is in."""
        if isinstance(self.operation, SendRecv):
            pairs = np.asarray(self.operation.pairs)
            return [(int(part), pairs[part]) for part in np.flatnonzero((pairs == rank).any(axis=1))]
        if isinstance(self.operation, Collective):
            return [(part, group) for part, group in enumerate(self.operation.groups) if (group == rank).any()]
        return []

    def last(self, group: npt.NDArray[np.uint32]) -> int:
        """The rank of a group that came last; the first of several."""
        ranks: list[int] = group.tolist()
        return max(ranks, key=lambda rank: self.arrivals.get(int(self.class_of[rank]), 0))


def _inside(
    groups: _Groups, rank: int, moves: Moves, start: int, end: int, rank_name: Callable[[int], str]
) -> Iterator[Slice]:
    """What a rank's communication consists of: waiting for others, then the phases of its transfer."""
    own = groups.of(rank)
    begun = [(moves[part][0][0], part, group) for part, group in own if part in moves]
    first, _, group = min(begun, key=lambda each: each[:2]) if begun else (end, 0, own[0][1])
    if first > start:
        yield Slice(f"waits for {rank_name(groups.last(group))}", "waiting", start, first)
    if len(begun) > 1:  # messages to and from several, one beside the other
        yield Slice("transfers", "transfer", first, end)
    elif begun:
        phases = moves[begun[0][1]]
        for number, (phase_start, phase_end) in enumerate(phases, start=1):
            name = f"phase {number} of {len(phases)}" if len(phases) > 1 else "transfer"
            yield Slice(name, "transfer", phase_start, phase_end)
