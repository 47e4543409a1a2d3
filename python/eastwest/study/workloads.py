"""From the study file's workloads to steps that the engine runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from eastwest import spec
from eastwest import workload as workloads
from eastwest.document import Place
from eastwest.engine import Run
from eastwest.study.measured import UnsolvableError, message_bytes
from eastwest.study.selection import Combination, Mixture
from eastwest.workload import Collective, Compute, Groups, Measured, Operation, SendRecv, Step, Storage, Tuning


def groups(asked: spec.Group, ranks: int) -> Groups:
    """The groups of ranks that the study asks for."""
    return workloads.all_ranks(ranks) if asked.size is None else workloads.strided(ranks, asked.size, asked.stride)


def check_storage(chosen: Iterable[Combination], mixtures: Iterable[Mixture]) -> None:
    """Refuses workloads that read or write on fabrics without storage, before anything is run.

    Raises:
        StudyError: names the operation, or the data or checkpoint, and the fabric.
    """
    run_on = [(each.study, each.fabric, each.workload, True) for each in chosen]
    run_on += [
        (each.study, each.fabric, job.workload, False) for each in mixtures for job in each.study.mixes[each.mix].jobs
    ]
    for study, fabric, workload, is_alone in run_on:
        frontend = study.fabrics[fabric].frontend
        if frontend is not None and frontend.storage is not None:
            continue
        for what, place, instead in _of_storage(study.workloads[workload], is_alone=is_alone):
            called = study.base("fabrics", fabric)
            remedy = f"give it frontend: {{ ..., storage: {{ servers: 16 }} }}{instead}"
            raise study.error_at(
                ("workloads", workload, *place), f"{what} needs storage, and fabric {called!r} has none: {remedy}"
            )


def _of_storage(asked: spec.Workload, *, is_alone: bool) -> Iterator[tuple[str, Place, str]]:
    """What of a workload needs a fabric's storage servers, where it says so, and what else would do.

    Data and checkpoints are looked at where it `is_alone`: mixes leave them out.
    """
    if isinstance(asked, spec.Operations):
        for index, operation in enumerate(asked.operations):
            if isinstance(operation, spec.StorageOperation):
                yield f"operation {operation.name!r}", ("operations", index, "storage"), ""
    if not is_alone:
        return
    if asked.data is not None and asked.data.read_rate is None:
        yield "data", ("data",), ", or say what a server reads elsewhere, with read_rate: 50 Gb/s"
    if asked.checkpoint is not None and asked.checkpoint.write_rate is None:
        yield "checkpoint", ("checkpoint",), ", or say what a server writes elsewhere, with write_rate: 50 Gb/s"


def measured(asked: spec.Measured, ranks: int) -> Measured:
    """The measured step, on `ranks` ranks."""
    collective = asked.collective
    return Measured(
        asked.step,
        asked.exposed,
        asked.communication_s,
        collective.kind,
        collective.resolved_algorithm,
        collective.resolved_channels,
        groups(collective.group, ranks),
        ranks,
        collective.tuning,
    )


def solved_bytes(study: spec.Study, name: str, ranks: int, simulate: Callable[[Step], Run]) -> float:
    """Message size of a measured workload; `simulate` runs a step where it was measured.

    Raises:
        StudyError: the time measured cannot be met; names the line.
    """
    asked = study.workloads[name]
    assert isinstance(asked, spec.Measured)
    workload = measured(asked, ranks)
    try:
        return message_bytes(workload, lambda size: simulate(workload.step(size)))
    except UnsolvableError as error:
        raise study.error_at(("workloads", name, "exposed"), f"workload {name!r}: {error}") from None


def listed(asked: spec.Operations, ranks: int) -> Step:
    """The step that a list of operations describes, on `ranks` ranks."""
    operations: list[Operation] = []
    stands_for: dict[str, tuple[str, ...]] = {}
    for operation in asked.operations:
        after = tuple(name for each in operation.after for name in stands_for.get(each, (each,)))
        if isinstance(operation, spec.ScheduleOperation):
            members = groups(operation.group, ranks)
            steps = workloads.scheduled(operation.name, operation.schedule.listed, members, after)
            stands_for[operation.name] = tuple(step.name for step in steps)
            operations += steps
        else:
            operations.append(replace(_operation(operation, ranks), after=after))
    return Step(ranks, tuple(operations), asked.overlap_slowdown)


def imported(asked: spec.Imported) -> Step:
    """The step of an imported file, with algorithms for its collectives, and what its messages cost."""

    def dressed(operation: Operation) -> Operation:
        if isinstance(operation, Compute):
            return replace(operation, seconds=operation.seconds * asked.compute_factor)
        if isinstance(operation, SendRecv):
            is_asked = asked.is_nccl and not operation.is_without_nccl
            return replace(operation, tuning=Tuning() if is_asked else None)
        if not isinstance(operation, Collective):
            return operation
        algorithm = asked.algorithm_of(operation.kind, spec.default_algorithm(operation.kind))
        channels = asked.channels or spec.default_channels(algorithm)
        return replace(
            operation, algorithm=algorithm, channels=channels, tuning=asked.tuning_of(operation.kind, algorithm)
        )

    step = asked.file.step
    return replace(step, operations=tuple(map(dressed, step.operations)), overlap_slowdown=asked.overlap_slowdown)


def _operation(
    asked: spec.ComputeOperation | spec.CollectiveOperation | spec.SendRecvOperation | spec.StorageOperation, ranks: int
) -> Operation:
    if isinstance(asked, spec.ComputeOperation):
        return Compute(asked.name, asked.compute, asked.after)
    if isinstance(asked, spec.StorageOperation):
        read, write = asked.storage.read, asked.storage.write
        return Storage(asked.name, "write" if read is None else "read", read or write or 0.0, asked.queue, asked.after)
    if isinstance(asked, spec.SendRecvOperation):
        pairs = asked.send_recv.pairs
        numbers = (
            workloads.shift(ranks, asked.send_recv.shift or 0) if pairs is None else np.array(pairs, dtype=np.uint32)
        )
        tuning = None if asked.protocol is None else Tuning()
        return SendRecv(asked.name, asked.bytes, numbers, asked.queue, asked.after, tuning=tuning)
    return Collective(
        asked.name,
        asked.collective,
        asked.bytes or 0.0,
        # a broadcast goes out from the first rank of its group, and a reduce ends there
        tuple(np.roll(group, -asked.root) for group in groups(asked.group, ranks)),
        asked.resolved_algorithm,
        asked.resolved_channels,
        _matrix(asked, ranks),
        asked.queue,
        asked.after,
        carries=asked.carries,
        tuning=asked.tuning,
    )


def _matrix(asked: spec.CollectiveOperation, ranks: int) -> npt.NDArray[np.float64] | None:
    """The bytes from each rank of a group to each other, where they are uneven."""
    if asked.matrix is not None:
        return np.array(asked.matrix, dtype=np.float64)
    if asked.skew is None:
        return None
    skew = asked.skew
    return workloads.skewed(asked.group.size or ranks, asked.bytes or 0.0, skew.zipf, skew.seed, skew.side)
