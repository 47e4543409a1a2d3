"""Ranks that send to each other in pairs, once: the time until the last message has arrived."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eastwest.spec import Study
from eastwest.study import fabrics
from eastwest.study.runs import Runs
from eastwest.validation.conditions import MEASURED
from eastwest.workload import SendRecv, Step

Pairs = Sequence[tuple[int, int]]


def ring(ranks: int) -> Pairs:
    """Every rank sends to the next and receives from the one before, as in sendrecv_perf."""
    return [(rank, (rank + 1) % ranks) for rank in range(ranks)]


def exchange_s(study: Study, sizes: Sequence[float], pairs: Pairs, ranks: int) -> list[float]:
    """Seconds that one message of each size takes between all pairs, on the first `ranks` GPUs of the study's fabric.

    Median over hash seeds.

    Raises:
        StudyError: the fabric cannot be built, or the pairs not be joined on it.
    """
    runs = Runs()
    network, carriage = runs.network(study, MEASURED, MEASURED), fabrics.carriage(study, MEASURED)
    gpus = runs.gpus(network, study.placements[0])[:ranks]

    def taken_s(size: float) -> float:
        step = Step(ranks, (SendRecv("exchange", size, np.array(pairs, dtype=np.uint32)),))
        return float(np.median(runs.simulate(study, MEASURED, network, step, gpus, carriage, "fluid").step_s))

    return [taken_s(size) for size in sizes]
