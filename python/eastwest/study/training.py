"""Training jobs of a study: from what the file says to a step, and from a run of that to where its time went.

Not here: what a job costs (`workload.training`), or how its step is run (`runs`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eastwest import spec
from eastwest.catalog import Gpu
from eastwest.engine import Run
from eastwest.fabric import Fabric
from eastwest.spec import StudyError
from eastwest.units import format_time
from eastwest.workload import Collective, Compute, Operation, SendRecv, Step
from eastwest.workload import training as jobs
from eastwest.workload.training import Training
from eastwest.workload.training.arithmetic import hardware_flops, step_flops
from eastwest.workload.training.compute import Measured, chunk_times, efficiency, update_seconds
from eastwest.workload.training.efficiency import peak_flops
from eastwest.workload.training.memory import StageMemory, check_fits, memory

KINDS = ("tensor", "context", "expert", "pipeline", "data")
"""Kinds of groups by which exposed communication is told."""
_KIND = {"expert-tensor": "expert", "expert-data": "data", "embedding": "data"}
LITTLE = 0.02
"""A smaller part of the step is no limit worth naming."""


@dataclass(frozen=True)
class TrainingFacts:
    """What a step of a training job comes to, in the median draw. Times are means over all GPUs and add up to the step.

    `compute_s` is compute, update included; `bubble_s` waiting for other stages; `exposed_s` communication that nothing
    hides, by kind of group. FLOPs are those of a step: of the model (attention's whole square of scores counted), and
    with what is computed again. `mfu` and `hfu` are these over what the GPUs' peak would do in that
    time. `memory` is that of the fullest stage, bytes of a GPU; `limit` names what takes most beside compute, `why`
    says it in a sentence.
    """

    microbatches: int
    data_parallel: int
    compute_s: float
    bubble_s: float
    exposed_s: Mapping[str, float]
    model_flops: float
    hardware_flops: float
    mfu: float
    hfu: float
    flops_per_gpu: float
    tokens_per_s: float
    tokens_per_s_per_gpu: float
    memory: StageMemory
    memory_bytes: float
    memory_of_gpu: float
    limit: str
    why: str


@dataclass(frozen=True)
class Job:
    """A training job on the GPUs of a cluster."""

    training: Training
    gpu: Gpu
    measured: Measured | None
    overlap_slowdown: float
    is_checked: bool

    def step(self) -> Step:
        """Its step, with collectives for NCCL to choose, or where it has no constants round rings.

        Raises:
            ValueError: the catalogue lacks figures of the GPU, or memory does not suffice.
        """
        times = chunk_times(self.training, self.gpu, self.measured)
        if self.is_checked:
            check_fits(self.training, self.gpu)
        found = jobs.step(self.training, times, update_seconds(self.training, self.gpu), self.overlap_slowdown)
        return found if self.gpu.architecture else replace(found, operations=tuple(_by_rings(found)))


def job(study: spec.Study, name: str, fabric: Fabric, ranks: int, times: float = 1.0) -> Job:
    """The job of a workload on so many GPUs of a fabric's servers, with `times` the sequences of a step.

    Raises:
        StudyError: its figures do not fit each other, or the GPUs; names the line.
    """
    asked = study.workloads[name]
    assert isinstance(asked, spec.Training)
    gpu = gpu_of(fabric)
    try:
        training = asked.job(ranks, times)
        measured = None
        if asked.measured_flops is not None:
            measured = Measured(asked.measured_flops)
        elif asked.efficiency is not None:
            measured = efficiency(asked.efficiency, training, gpu)
    except ValueError as error:
        raise refused(study, name, error) from None
    return Job(training, gpu, measured, asked.overlap_slowdown, asked.memory == "check")


def cautions(study: spec.Study, workload: str, cluster: str) -> list[str]:
    """What to warn of: matrices that are split beyond the GPUs that share NVLink."""
    asked, server = study.workloads[workload], study.server(cluster)
    domain = server.gpus * server.nvlink_domain_servers
    if not isinstance(asked, spec.Training) or asked.parallelism.tensor <= domain:
        return []
    return [
        f"{study.base('workloads', workload)}: {asked.parallelism.tensor} tensor-parallel ranks and {domain} GPUs that "
        f"share NVLink: every layer waits for the network; split layers (pipeline) or sequences (context) instead"
    ]


def refused(study: spec.Study, name: str, error: ValueError) -> StudyError:
    """What a job's figures cannot do, told where they stand."""
    asked = study.workloads[name]
    assert isinstance(asked, spec.Training)
    place = ("workloads", name, *spec.place_of(str(error), asked))
    return study.error_at(place, f"workload {study.base('workloads', name)!r}: {error}")


def gpu_of(fabric: Fabric) -> Gpu:
    """The GPU of a fabric's servers."""
    figures: Mapping[str, Any] = fabric.plan["server"]["gpu"]
    return Gpu(**figures)


def _by_rings(step: Step) -> Iterator[Operation]:
    for operation in step.operations:
        if isinstance(operation, Collective):
            channels = spec.default_channels(operation.algorithm)
            yield replace(operation, tuning=None, channels=channels)
        else:
            yield operation


def facts(job: Job, step: Step, run: Run) -> TrainingFacts:
    """What a run of a job's step comes to."""
    training, draw = job.training, run.median_draw
    step_s = float(run.step_s[draw])
    stages = _Stages(step, training, run)
    spent = stages.mean()
    compute_s, bubble_s = spent["compute"], spent["bubble"]
    exposed_s = {kind: spent.get(kind, 0.0) for kind in KINDS}
    model, hardware = step_flops(training), hardware_flops(training)
    peak = peak_flops(job.gpu, training.precision) * training.ranks * step_s
    fullest = max(memory(training), key=lambda stage: stage.total)
    limit, why = _limit(training, step_s, compute_s, bubble_s, exposed_s, pace(stages.compute_s.tolist()))
    return TrainingFacts(
        microbatches=training.microbatches,
        data_parallel=training.data,
        compute_s=compute_s,
        bubble_s=bubble_s,
        exposed_s=exposed_s,
        model_flops=model,
        hardware_flops=hardware,
        mfu=model / peak,
        hfu=hardware / peak,
        flops_per_gpu=model / training.ranks / step_s,
        tokens_per_s=training.tokens / step_s,
        tokens_per_s_per_gpu=training.tokens / step_s / training.ranks,
        memory=fullest,
        memory_bytes=fullest.total,
        memory_of_gpu=job.gpu.memory_bytes,
        limit=limit,
        why=why,
    )


def kind_of(queue: str) -> str:
    """The kind of group whose communicator a queue is."""
    name = queue.partition("/")[0]
    return _KIND.get(name, name)


_NAMES = {
    "tensor": "tensor-parallel communication",
    "context": "context-parallel communication",
    "expert": "expert-parallel communication",
    "pipeline": "pipeline communication",
    "data": "data-parallel communication",
    "bubble": "the pipeline's bubble",
}


def _limit(
    training: Training,
    step_s: float,
    compute_s: float,
    bubble_s: float,
    exposed_s: Mapping[str, float],
    paced: str,
) -> tuple[str, str]:
    """What takes most of the step beside compute, and a sentence on it."""
    beside = {**exposed_s, "bubble": bubble_s}
    worst = max(beside, key=lambda kind: beside[kind])
    share = beside[worst] / step_s
    if share < LITTLE:
        return "compute", f"Compute takes {compute_s / step_s:.0%} of the step: only faster GPUs would shorten it."
    p = training.parallelism
    remedy = {
        "tensor": f"fewer than {p.tensor} tensor-parallel ranks, or faster links inside a server",
        "context": f"fewer than {p.context} context-parallel ranks, or a faster network",
        "expert": f"experts over fewer than {p.expert} ranks, or a faster network",
        "pipeline": "interleaved or overlapped messages, or a faster network",
        "data": f"more work for each of {training.data} data-parallel ranks, or a faster network",
        "bubble": (
            f"more than {training.microbatches} microbatches for {p.pipeline} stages, with more chunks a stage, or, "
            "where the first stage or the last is slower than the others, with fewer layers there"
        ),
    }[worst]
    name = _NAMES[worst]
    told = f"{name[0].upper()}{name[1:]} takes {format_time(beside[worst])}, {share:.0%} of the step"
    if worst == "bubble" and paced:
        return name, f"{told}. {paced}"
    return name, f"{told}: it shrinks with {remedy}."


def pace(compute_s: Sequence[float]) -> str:
    """A sentence where a stage of more compute than the mean keeps the others waiting in every microbatch; else none.

    Takes the seconds of compute of each stage.
    """
    mean = sum(compute_s) / len(compute_s)
    slowest = max(range(len(compute_s)), key=lambda stage: compute_s[stage])
    more = compute_s[slowest] - mean
    if more < LITTLE * mean:
        return ""
    is_last = slowest == len(compute_s) - 1
    which = "The last stage, which also has the logits," if is_last else f"Stage {slowest}"
    return (
        f"{which} sets the pace, with {format_time(more)} more compute than the mean of all stages: fewer layers there "
        f"would help, and more microbatches shrink only the rest."
    )


class _Stages:
    """Where the time of each stage went: at any moment it computes, or else communicates, or else waits for others.

    What a stage communicates is what its next pass waits for, directly or behind that. Where ranks of a stage differ,
    those that end a pass last count.
    """

    def __init__(self, step: Step, training: Training, run: Run) -> None:
        draw = run.median_draw
        self._end_s, self._step_s = run.op_end_s[draw].tolist(), float(run.step_s[draw])
        self._stages = training.parallelism.pipeline
        self._ranks = training.ranks // self._stages
        self.compute_s = run.compute_s[draw].reshape(self._stages, self._ranks).mean(axis=1)
        self._operations = step.operations
        number = {operation.name: index for index, operation in enumerate(step.operations)}
        self._waits = [[number[name] for name in operation.after] for operation in step.operations]
        self._passes: list[list[int]] = [[] for _ in range(self._stages)]
        self._places: list[tuple[int, ...]] = []
        latest: dict[tuple[str, int], int] = {}
        for index, operation in enumerate(step.operations):
            stages = self._stages_of(operation)
            self._places.append(stages)
            if isinstance(operation, Compute):
                self._passes[stages[0]].append(index)
                continue
            for stage in stages:
                key = (getattr(operation, "queue", ""), stage)
                if key in latest:
                    self._waits[index].append(latest[key])
                latest[key] = index
        self._ended = latest

    def mean(self) -> dict[str, float]:
        """Seconds of each kind, mean over stages."""
        spent: dict[str, float] = defaultdict(float, compute=0.0, bubble=0.0)
        for stage, passes in enumerate(self._passes):
            free, seconds = 0.0, [getattr(self._operations[index], "seconds", 0.0) for index in passes]
            stretch = float(self.compute_s[stage]) / sum(seconds)  # by communication beside it
            for index, own in zip(passes, seconds, strict=True):
                end = max(self._end_s[index], free)
                start = max(end - own * stretch, free)
                self._gap(stage, self._waits[index], free, start, spent)
                spent["compute"] += end - start
                free = end
            last = [index for (_, other), index in self._ended.items() if other == stage]
            self._gap(stage, last, free, self._step_s, spent)
        return {kind: seconds / self._stages for kind, seconds in spent.items()}

    def _gap(self, stage: int, waits: list[int], begin: float, end: float, spent: dict[str, float]) -> None:
        """Adds up what a stage did from `begin` to `end`, before something that waits for `waits`."""
        now = begin
        for began, ended, kind in sorted(self._awaited(stage, waits, begin)) if end > begin else ():
            since, until = max(began, now), min(ended, end)
            if until > since:
                spent["bubble"] += since - now
                spent[kind] += until - since
                now = until
        spent["bubble"] += end - now

    def _awaited(self, stage: int, waits: list[int], begin: float) -> Iterator[tuple[float, float, str]]:
        """When what a stage communicates began and ended after `begin`, and its kind; of `waits` and what is before."""
        ahead, seen = list(waits), set(waits)
        while ahead:
            index = ahead.pop()
            operation = self._operations[index]
            if isinstance(operation, Compute) or stage not in self._places[index] or self._end_s[index] <= begin:
                continue
            before = self._waits[index]
            began = max((self._end_s[each] for each in before), default=0.0)
            yield began, self._end_s[index], kind_of(getattr(operation, "queue", ""))
            ahead += [each for each in before if each not in seen]
            seen.update(before)

    def _stages_of(self, operation: Any) -> tuple[int, ...]:
        if isinstance(operation, Compute) and operation.ranks is not None:
            return (int(operation.ranks[0]) // self._ranks,)
        if isinstance(operation, SendRecv):
            return tuple(int(rank) // self._ranks for rank in operation.pairs[0])
        first = operation.groups[0] if isinstance(operation, Collective) else np.zeros(1)
        return tuple({int(first[0]) // self._ranks: None, int(first[-1]) // self._ranks: None})
