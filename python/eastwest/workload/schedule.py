"""A schedule of one's own: who sends what to whom within a group, after what, as MSCCL's algorithms are lists of steps.

A step is one message of each group. It starts when those that it waits for have ended at its two ranks, whatever else
is under way. Not here: how steps are written (`spec.schedules`), or what data they stand for, which nothing checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eastwest.workload.operations import Groups, SendRecv


class ScheduleError(ValueError):
    """Steps that cannot be carried out; `step` is the number, from 0, of one at fault."""

    def __init__(self, step: int, message: str) -> None:
        super().__init__(message)
        self.step = step
        self.message = message


@dataclass(frozen=True)
class ScheduleStep:
    """`bytes` from one rank of a group to another, numbered within the group, `after` the steps of these names."""

    name: str
    sender: int
    receiver: int
    bytes: float
    after: tuple[str, ...] = ()


def in_turn(steps: Sequence[ScheduleStep]) -> tuple[ScheduleStep, ...]:
    """The steps, each behind those that it waits for, otherwise in their order.

    Raises:
        ScheduleError: two steps share a name, or one waits for a step that there is not, for one in which its ranks
            take no part, or for itself by way of others.
    """
    number: dict[str, int] = {}
    for index, step in enumerate(steps):
        if number.setdefault(step.name, index) != index:
            raise ScheduleError(index, f"two steps are named {step.name!r}")
    for index, step in enumerate(steps):
        for name in step.after:
            if name not in number:
                raise ScheduleError(index, f"step {step.name!r} waits for {name!r}, which is no step")
            awaited = steps[number[name]]
            if {step.sender, step.receiver}.isdisjoint((awaited.sender, awaited.receiver)):
                message = f"step {step.name!r} waits for {name!r}, in which neither of its ranks takes part"
                raise ScheduleError(index, message)
    turn: list[ScheduleStep] = []
    is_placed = [False] * len(steps)
    for first in range(len(steps)):
        way = [(first, iter(steps[first].after))]
        on_way = {first: None}
        while way and not is_placed[first]:
            index, waits = way[-1]
            before = next((number[name] for name in waits if not is_placed[number[name]]), None)
            if before is None:
                is_placed[index] = True
                turn.append(steps[index])
                way.pop()
                del on_way[index]
            elif before in on_way:
                circle = [steps[each].name for each in on_way][list(on_way).index(before) :]
                shown = " after ".join(map(repr, reversed([*circle, circle[0]])))
                raise ScheduleError(before, f"steps wait for each other: {shown}")
            else:
                way.append((before, iter(steps[before].after)))
                on_way[before] = None
    return tuple(turn)


def scheduled(
    name: str, steps: Sequence[ScheduleStep], groups: Groups, after: tuple[str, ...] = ()
) -> tuple[SendRecv, ...]:
    """The steps as messages of every group, `name/step` by name and each in a queue of its own.

    Raises:
        ScheduleError: as `in_turn`; a rank sends to itself, or is in none of the groups.
    """
    for index, step in enumerate(steps):
        if step.sender == step.receiver:
            raise ScheduleError(index, f"step {step.name!r} sends from rank {step.sender} to itself")
        size = min(len(group) for group in groups)
        if max(step.sender, step.receiver) >= size:
            outside = max(step.sender, step.receiver)
            raise ScheduleError(index, f"step {step.name!r}: rank {outside} is not among the {size} of a group, from 0")
    return tuple(
        SendRecv(
            f"{name}/{step.name}",
            step.bytes,
            np.array([(group[step.sender], group[step.receiver]) for group in groups], dtype=np.uint32),
            f"{name}/{step.name}",
            (*after, *(f"{name}/{before}" for before in step.after)),
        )
        for step in in_turn(steps)
    )
