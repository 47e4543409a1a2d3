"""Tables of training jobs: what a step took, and what a fluid run of it says.

The header's `training` holds the keys of a study's `kind: training`; columns such as `training.global_batch` and
`training.parallelism.tensor` change them by row. Not here: what a job costs (`workload.training`).
"""

from __future__ import annotations

import copy
import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from eastwest import spec
from eastwest.catalog import Gpu
from eastwest.document import name_of, nearest
from eastwest.spec import Study
from eastwest.study import fabrics
from eastwest.study.runs import Runs
from eastwest.study.training import Job
from eastwest.validation import cells, conditions
from eastwest.validation.conditions import MEASURED, WORKLOAD
from eastwest.validation.points import Point
from eastwest.validation.tables import Row, Table
from eastwest.workload.training import Training
from eastwest.workload.training.arithmetic import hardware_flops, step_flops
from eastwest.workload.training.compute import chunk_times
from eastwest.workload.training.memory import DoesNotFitError, check_fits

FAMILY = "training step"
RATES = ("tokens_per_s", "tokens_per_s_per_gpu", "tflops_per_gpu")
COLUMNS = ("gpus", "software", *cells.TIMES, *RATES)
COUNTED = ("model", "causal", "hardware")
"""Which operations a column tflops_per_gpu counts: the model's with the whole square of scores, or with the half that
a causal mask leaves, or the first with what is computed again."""
_PREDICTED: dict[str, tuple[Job, float]] = {}
"""Jobs and what their steps take, kept from table to table: releases of software measure the same recipes again."""
FASTEST = "fastest"
"""A microbatch that nobody states: the one of 1, 2, 4 and so on that would be fastest of those that fit in memory."""


def points(table: Table) -> list[Point]:
    """Each row's step, and what a run on the table's fabric takes.

    Raises:
        TableError: a column is missing or says something that cannot be.
        StudyError: the fabric cannot be built, or the job not be run there.
    """
    conditions.check(table, (WORKLOAD, "counted"), COLUMNS)
    counted = table.stated("counted") or "model"
    if counted not in COUNTED:
        said = f"{counted!r} says not which operations were counted"
        raise table.refuse_at(("counted",), said, COUNTED, nearest(counted, COUNTED))
    stated = [str(table.folder), *(table.stated(key) for key in conditions.KEYS_OF_CONDITIONS)]
    found = []
    for row in table.rows:
        asked = [stated, _workload(table, row), conditions.change(row), row.cells.get("gpus")]
        key = json.dumps(asked, sort_keys=True, default=str)
        if key not in _PREDICTED:
            with _uncollected():
                _PREDICTED[key] = _predicted(table, row)
        job, step_s = _PREDICTED[key]
        measured_s = _measured_s(table, row, job, counted)
        found.append(Point(row.line, _label(job, row), table.family or FAMILY, measured_s, step_s))
    return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's cyclic garbage collector, which takes a third of the time to find that steps have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _predicted(table: Table, row: Row) -> tuple[Job, float]:
    """The job of a row, and seconds that a step of it takes; median over hash seeds."""
    gpus = cells.whole(table, row, "gpus", row.cells["gpus"], least=1) if "gpus" in row.cells else None
    workload = _workload(table, row)
    runs, changed = Runs(), conditions.change(row)
    is_free = workload.get("micro_batch") == FASTEST
    if is_free:
        workload["micro_batch"] = 1
    if gpus is not None:
        changed = (*changed, ("cluster.servers", str(_servers(table, row, changed, gpus))))
    study = conditions.study(table, changed, row.line, workload)
    if is_free:
        workload["micro_batch"] = _fastest(study, gpus or study.gpus(MEASURED))
        study = conditions.study(table, changed, row.line, workload)
    network, carriage = runs.network(study, MEASURED, MEASURED), fabrics.carriage(study, MEASURED)
    placed = runs.gpus(network, study.placements[0])[:gpus]
    job = runs.job(study, MEASURED, network, len(placed))
    step = runs.step(study, MEASURED, network, placed)
    run = runs.simulate(study, MEASURED, network, step, placed, carriage, "fluid")
    return job, float(np.median(run.step_s))


def _workload(table: Table, row: Row) -> dict[str, Any]:
    """The job of a row, in the words of a study."""
    said = table.stated(WORKLOAD)
    if not isinstance(said, dict):
        expected = ("training: { model: llama3-8b, sequence: 8192, global_batch: 128 }",)
        raise table.refuse_at((WORKLOAD,), f"training is a mapping, as in a study file, not {name_of(said)}", expected)
    workload: dict[str, Any] = {"kind": "training", **copy.deepcopy(said)}
    for column, cell in conditions.change(row):
        section, *place, last = column.split(".")
        if section != WORKLOAD:
            continue
        inner = workload
        for key in place:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else {}
        inner[last] = conditions.plain(cell)
    return workload


def _servers(table: Table, row: Row, changed: conditions.Change, gpus: int) -> int:
    """Servers that so many GPUs fill, or the one that they are part of."""
    one = conditions.study(table, (*changed, ("cluster.servers", "1")), row.line)
    each = one.gpus(MEASURED)
    if gpus > each and gpus % each:
        raise table.refuse(row.line, f"gpus: {gpus} GPUs do not fill servers of {each}")
    return max(gpus // each, 1)


def _fastest(study: Study, ranks: int) -> int:
    """The microbatch by the estimate of arXiv 2104.04473, section 3.4: (b' / b + p - 1) x (forward + backward)."""
    asked = study.workloads[MEASURED]
    assert isinstance(asked, spec.Training)
    gpu = study.server(MEASURED).gpu
    known = {1: asked.job(ranks)}
    size = 2
    while known[1].microbatches % size == 0:
        known[size] = replace(known[1], micro_batch=size)
        size *= 2
    fitting = {size: job for size, job in known.items() if _fits(job, gpu)} or {1: known[1]}
    return min(fitting, key=lambda size: _estimate_s(fitting[size], gpu))


def _fits(job: Training, gpu: Gpu) -> bool:
    try:
        check_fits(job, gpu)
    except DoesNotFitError:
        return False
    return True


def _estimate_s(job: Training, gpu: Gpu) -> float:
    parallelism = job.parallelism
    slowest = max(each.forward_s + each.backward_s for each in chunk_times(job, gpu)) * parallelism.virtual
    return (job.microbatches + (parallelism.pipeline - 1) / parallelism.virtual) * slowest


def _measured_s(table: Table, row: Row, job: Job, counted: str) -> float:
    column = cells.first_of(table, row, (*cells.TIMES, *RATES))
    value, training = cells.number(table, row, column), job.training
    if column in cells.TIMES:
        return value * cells.TIMES[column]
    if column == "tokens_per_s":
        return training.tokens / value
    if column == "tokens_per_s_per_gpu":
        return training.tokens / training.ranks / value
    flops = hardware_flops(training) if counted == "hardware" else step_flops(training, causal=counted == "causal")
    return flops / training.ranks / (value * 1e12)


def _label(job: Job, row: Row) -> str:
    training = job.training
    told = [training.model.name, f"{training.ranks:,} GPUs", training.precision, f"{training.sequence:,} tokens"]
    if training.recompute != "none":
        told.append(f"{training.recompute} recomputation")
    return ", ".join((*told, *filter(None, [row.cells.get("software")])))
