"""The way of a batch to the GPUs as a pipeline: read, prepared on CPUs, copied to the GPU, and then the step itself.

Each stage works on one batch at a time and all of them at once on different ones, so that the slowest sets the pace.
Not here: how long a stage takes (`study.datapath` asks the engine and the catalogue).
"""

from __future__ import annotations

from collections.abc import Sequence


def pace_s(loading_s: Sequence[float], step_s: float, prefetch: int | None = None) -> float:
    """Seconds from one step to the next, once it runs steadily.

    `loading_s` are the times of the stages before the step, for one batch, in order. `prefetch` is how many batches may
    be under way or wait ready while a step computes: with 0 a step and all of its loading follow each other; with n, a
    batch is asked for when the step n before it begins, so that its whole way through has n steps of time; None: as
    many as it takes for this never to hold.

    These are the mean weights of the circuits of the pipeline as a timed event graph, the greatest of which is its
    cycle time (Baccelli, Cohen, Olsder, Quadrat: Synchronization and Linearity, 1992): a stage after itself, and the
    way through all stages over as many batches as are under way.
    """
    way_s = sum(loading_s)
    if prefetch == 0:
        return way_s + step_s
    slowest_s = max((step_s, *loading_s))
    return slowest_s if prefetch is None else max(slowest_s, way_s / prefetch)


def preparing_s(samples: float, cpu_s: float, workers: int) -> float:
    """Seconds in which a server prepares its `samples` of a batch, `cpu_s` of one core each, on `workers` cores."""
    return samples * cpu_s / workers


def copying_s(batch_bytes: float, pcie_bps: float) -> float:
    """Seconds in which a GPU's part of a batch goes over its PCIe link, of `pcie_bps` of payload."""
    return batch_bytes * 8.0 / pcie_bps
