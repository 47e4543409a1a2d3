"""Several jobs as one program: each on ranks of its own, step after step, until each has done those that count.

A job's step begins on all its ranks when its last step has ended on all of them. Jobs know nothing of each other: what
they share is the network. Not here: on which GPUs they run (`fabric.placement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eastwest.workload.operations import Collective, Compute, Groups, Operation, SendRecv, Step, Storage

ENDED = "ended"
"""The operation that ends a step, after which none of its ranks is behind: an exchange of nothing."""


@dataclass(frozen=True)
class Job:
    """One of several jobs: a step that it does over and over, and how many of its steps count."""

    name: str
    step: Step
    steps: int = 1


def merged(jobs: Sequence[Job], repeats: Sequence[int]) -> Step:
    """Several jobs side by side, each `repeats` steps long; it ends when each job has done its `steps`.

    The first job has ranks 0 to n-1, the next those after it. Operation `sync` of the third step of `moe` is called
    `moe/3/sync`, and the end of that step `moe/3/ended`.
    """
    operations: list[Operation] = []
    slowdowns: list[float] = []
    for job, repeat in zip(jobs, repeats, strict=True):
        first = len(slowdowns)
        for number in range(1, repeat + 1):
            operations += _numbered(job, number, first)
        slowdowns += [job.step.overlap_slowdown] * job.step.ranks
    until = tuple(ended(job, job.steps) for job in jobs)
    return Step(len(slowdowns), tuple(operations), slowdown_of_rank=tuple(slowdowns), until=until)


def ended(job: Job, number: int) -> str:
    """Name of the operation that ends a job's step, counted from 1."""
    return f"{job.name}/{number}/{ENDED}"


def _numbered(job: Job, number: int, first: int) -> list[Operation]:
    """One step of a job whose rank 0 is rank `first` of all."""
    before = () if number == 1 else (ended(job, number - 1),)
    everyone = np.arange(first, first + job.step.ranks, dtype=np.uint32)

    def name(of: str) -> str:
        return f"{job.name}/{number}/{of}"

    def moved(groups: Groups) -> Groups:
        return tuple(group + np.uint32(first) for group in groups)

    def here(operation: Operation) -> Operation:
        after = (*before, *(name(each) for each in operation.after))
        if isinstance(operation, Compute):
            ranks = everyone if operation.ranks is None else operation.ranks + np.uint32(first)
            return replace(operation, name=name(operation.name), after=after, ranks=ranks)
        queue = f"{job.name}/{operation.queue}"
        if isinstance(operation, Storage):
            ranks = everyone if operation.ranks is None else operation.ranks + np.uint32(first)
            return replace(operation, name=name(operation.name), after=after, queue=queue, ranks=ranks)
        if isinstance(operation, SendRecv):
            pairs = operation.pairs + np.uint32(first)
            return replace(operation, name=name(operation.name), after=after, queue=queue, pairs=pairs)
        return replace(operation, name=name(operation.name), after=after, queue=queue, groups=moved(operation.groups))

    waits = tuple(name(operation.name) for operation in job.step.operations)
    end = Collective(name(ENDED), "all-reduce", 0.0, (everyone,), "ring", queue=f"{job.name}/{ENDED}", after=waits)
    return [*(here(operation) for operation in job.step.operations), end]
