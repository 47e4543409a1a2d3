"""In which order a pipeline's stages run the forward and backward passes of microbatches.

Each schedule is a list of turns for each stage: 1F1B and interleaved as Megatron has them (arXiv 2104.04473, section
2.2), zero-bubble as ZB-H1 (arXiv 2401.10241, section 2: the backward pass in two, that of weights later). Not here: how
long a turn takes, or what it sends (`step`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from eastwest.workload.training.description import Schedule

Pass = Literal["forward", "backward", "weights"]


@dataclass(frozen=True)
class Turn:
    """One pass of a microbatch through a chunk of layers.

    Chunk c of all chunks, in the order of the forward pass, is on stage c % stages. `backward` stands for the whole
    backward pass, unless the schedule has turns for `weights` too.
    """

    what: Pass
    chunk: int
    microbatch: int


def orders(schedule: Schedule, stages: int, virtual: int, microbatches: int) -> tuple[tuple[Turn, ...], ...]:
    """The turns of each stage in their order."""
    if schedule == "zero-bubble":
        return tuple(_zero_bubble(stage, stages, microbatches) for stage in range(stages))
    return tuple(_one_forward_one_backward(stage, stages, virtual, microbatches) for stage in range(stages))


def _one_forward_one_backward(stage: int, stages: int, virtual: int, microbatches: int) -> tuple[Turn, ...]:
    """Forward passes until the first backward pass can come, then one of each in turn, then what is left.

    Several chunks a stage take turns in groups of as many microbatches as there are stages.
    """
    forward = [
        Turn("forward", chunk * stages + stage, microbatch)
        for group in _groups(microbatches, stages)
        for chunk in range(virtual)
        for microbatch in group
    ]
    # the chunks of a stage the other way round, in the same groups
    backward = [Turn("backward", (virtual - 1) * stages + 2 * stage - turn.chunk, turn.microbatch) for turn in forward]
    ahead = stages - stage - 1
    if virtual > 1:
        ahead = 2 * ahead + (virtual - 1) * len(_groups(microbatches, stages)[-1])
    return tuple(_alternating(forward, backward, min(ahead, len(forward))))


def _groups(microbatches: int, stages: int) -> list[range]:
    """Microbatches in groups of as many as there are stages; the last takes up those that would not fill one."""
    starts = [group * stages for group in range(max(microbatches // stages, 1))]
    return [range(*ends) for ends in pairwise([*starts, microbatches])]


def _alternating(forward: Sequence[Turn], backward: Sequence[Turn], ahead: int) -> Iterator[Turn]:
    yield from forward[:ahead]
    for number, turn in enumerate(backward):
        yield from forward[ahead + number : ahead + number + 1]
        yield turn


def _zero_bubble(stage: int, stages: int, microbatches: int) -> tuple[Turn, ...]:
    """1F1B whose backward passes leave out the weights' part.

    That comes as many backward passes later as there are stages before this one: so the gradients of activations go up
    the pipeline without waiting, with the memory of 1F1B.
    """
    found: list[Turn] = []
    for turn in _one_forward_one_backward(stage, stages, 1, microbatches):
        found.append(turn)
        if turn.what == "backward" and turn.microbatch >= stage:
            found.append(Turn("weights", stage, turn.microbatch - stage))
    left = range(max(microbatches - stage, 0), microbatches)
    return (*found, *(Turn("weights", stage, microbatch) for microbatch in left))


def waits_for(turn: Turn, chunks: int) -> Turn | None:
    """The turn of another stage, or of this, whose result a turn takes up; None for the first forward pass."""
    if turn.what == "weights":
        return Turn("backward", turn.chunk, turn.microbatch)
    if turn.what == "forward":
        return Turn("forward", turn.chunk - 1, turn.microbatch) if turn.chunk else None
    if turn.chunk + 1 < chunks:
        return Turn("backward", turn.chunk + 1, turn.microbatch)
    return Turn("forward", turn.chunk, turn.microbatch)


def in_order(stages: Sequence[Sequence[Turn]], chunks: int) -> Iterator[tuple[int, Turn]]:
    """All turns with their stages, each behind those that it waits for and behind the one before it on its stage.

    Raises:
        ValueError: the stages wait for each other.
    """
    done: set[Turn] = set()
    next_of = [0] * len(stages)
    left = sum(map(len, stages))
    while left:
        before = left
        for stage, turns in enumerate(stages):
            while next_of[stage] < len(turns):
                turn = turns[next_of[stage]]
                awaited = waits_for(turn, chunks)
                if awaited is not None and awaited not in done:
                    break
                done.add(turn)
                next_of[stage] += 1
                left -= 1
                yield stage, turn
        if left == before:
            raise ValueError("the stages of the pipeline wait for each other")
