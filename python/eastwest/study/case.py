"""One case of a study: a workload, placed one way, on one fabric. From its runs to its row of the result."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from eastwest.engine import Carriage, Fidelity, Network, Run
from eastwest.study import bottleneck, cost, load
from eastwest.study.result import Row
from eastwest.study.stages import DataPath
from eastwest.workload import Step


@dataclass(frozen=True)
class Case:
    """Which combination it is."""

    fabric: str
    cluster: str
    workload: str
    placement: str
    fidelity: Fidelity


_ROUNDING = 1e-12


@dataclass(frozen=True)
class Price:
    """What an idle GPU costs an hour; `amount` is None where the study names no price."""

    amount: float | None = None
    currency: str = ""


def row(case: Case, network: Network, step: Step, carriage: Carriage, run: Run, ideal: Run, gpu_hour: Price) -> Row:
    """The case's row: medians and 95th percentiles over the draws of `run`, beside the bound in `ideal`.

    Communication and its exposed part are those of the slowest rank; idleness is the mean over ranks, since that is
    what is paid for.
    """
    slowest = run.communication_s.max(axis=1, initial=0.0)
    exposed = run.exposed_s.max(axis=1, initial=0.0)
    step_s, communication_s, exposed_s = (float(np.median(values)) for values in (run.step_s, slowest, exposed))
    busy = run.compute_s.mean(axis=1)
    # in a step that takes no time nobody waits
    shares = np.divide(busy, run.step_s, out=np.ones_like(busy), where=run.step_s > 0.0)
    idle_share = _idle(float(np.median(shares)))
    ideal_s = float(ideal.communication_s.max(initial=0.0))
    return Row(
        fabric=case.fabric,
        cluster=case.cluster,
        workload=case.workload,
        placement=case.placement,
        fidelity=case.fidelity,
        step_s=step_s,
        step_p95_s=float(np.percentile(run.step_s, 95)),
        compute_s=float(np.median(busy)),
        communication_s=communication_s,
        communication_p95_s=float(np.percentile(slowest, 95)),
        overlapped_s=max(communication_s - exposed_s, 0.0),
        exposed_s=exposed_s,
        exposed_p95_s=float(np.percentile(exposed, 95)),
        exposed_share=exposed_s / step_s if step_s else 0.0,
        gpu_idle_share=idle_share,
        ideal_communication_s=ideal_s,
        ideal_step_s=float(np.median(ideal.step_s)),
        closeness=_closeness(case, ideal_s, communication_s),
        bottleneck=bottleneck.name(network, run, ideal, step, carriage),
        tiers=load.by_tier(network, run),
        cost=cost.of_idleness(step.ranks, idle_share, gpu_hour.amount, gpu_hour.currency),
        draws=len(run.step_s),
        batching_error=_bounded(float(run.batching_error.max())),
        packets=run.messages[run.median_draw] if run.messages else None,
    )


def _idle(busy_share: float) -> float:
    """What is left of a share of time; sums that are one but for rounding leave nothing."""
    idle_share = 1.0 - busy_share
    return idle_share if idle_share > _ROUNDING else 0.0


def fed(row: Row, path: DataPath | None, gpus: int, gpu_hour: Price) -> Row:
    """The row with what feeds its steps: its GPUs idle also while they wait for data."""
    if path is None:
        return row
    idle_share = _idle(row.compute_s / path.pace_s) if path.pace_s else 0.0
    idle = cost.of_idleness(gpus, idle_share, gpu_hour.amount, gpu_hour.currency)
    return replace(row, data_path=path, gpu_idle_share=idle_share, cost=idle)


def _closeness(case: Case, ideal_s: float, communication_s: float) -> float:
    """Ideal over actual communication.

    Above 1 only by packets, which overlap latencies that `ideal` adds up (docs/engine.md). Where both are fluid, a slow
    fabric that orders transfers more luckily is no better than the ideal one.
    """
    closeness = ideal_s / communication_s if communication_s else 1.0
    return closeness if case.fidelity == "packet" else min(closeness, 1.0)


def _bounded(error: float) -> float | None:
    return error if math.isfinite(error) else None
