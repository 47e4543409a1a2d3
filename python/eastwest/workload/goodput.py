"""What failures and checkpoints leave of a job's time: goodput, and how often to write a checkpoint.

Failures come at random and independently of what went before (exponential times between them), in whatever the job
does just then: working, writing or restarting. Not here: how long writing, reading and restarting take.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_HOPELESS = 60.0
"""From so many mean times between failures on, a job is said never to get from one checkpoint to the next."""


@dataclass(frozen=True)
class Saving:
    """How checkpoints are made: the job stops for `exposed_s`, and is safe `settling_s` after it goes on.

    A synchronous checkpoint is safe when the job goes on. An asynchronous one is written meanwhile; a failure before it
    is safe throws the job back to the one before. While one is written, steps take `slowdown` times as long (1 or
    more).
    """

    exposed_s: float
    settling_s: float = 0.0
    slowdown: float = 1.0

    def cost_s(self, every_s: float) -> float:
        """Seconds that one checkpoint costs where `every_s` lie between two: the stop, and steps that run slower."""
        return self.exposed_s + min(self.settling_s, every_s) * (1.0 - 1.0 / self.slowdown)


@dataclass(frozen=True)
class Share:
    """Where a job's time goes, as shares of one: work that counts, checkpoints, work done again, restarts."""

    useful: float
    checkpoints: float
    lost: float
    restarts: float


def shares(every_s: float, saving: Saving, mtbf_s: float, restart_s: float) -> Share:
    """Where time goes with a checkpoint after every `every_s` of running, failures every `mtbf_s` on average.

    From one checkpoint that is safe to the next, the first attempt takes A = every_s + exposed_s; after a failure comes
    a restart R (again from its beginning where it fails, too), and then the way from the last safe checkpoint, which is
    longer by `settling_s`: B. Each failure is a renewal, so that with M = mtbf_s the whole takes

        E = (1 - e^(-A/M)) e^(B/M) M e^(R/M)

    on average. Where a checkpoint is safe at once, A is B, and this is the complete model of Daly (A higher order
    estimate of the optimum checkpoint interval for restart dumps, 2006): M e^(R/M) (e^(A/M) - 1). With an infinite
    `mtbf_s` only checkpoints cost anything.
    """
    first_s = every_s + saving.exposed_s
    again_s = first_s + saving.settling_s
    cost_s = saving.cost_s(every_s)
    useful_s = first_s - cost_s
    if math.isinf(mtbf_s):
        return Share(useful_s / first_s, cost_s / first_s, 0.0, 0.0)
    if (again_s + restart_s) / mtbf_s > _HOPELESS:
        return Share(0.0, 0.0, 0.0, 1.0)
    failures = -math.expm1(-first_s / mtbf_s) * math.exp(again_s / mtbf_s)
    running_s, restarting_s = failures * mtbf_s, failures * mtbf_s * math.expm1(restart_s / mtbf_s)
    whole_s = running_s + restarting_s
    lost_s = max(running_s - first_s, 0.0)
    return Share(useful_s / whole_s, cost_s / whole_s, lost_s / whole_s, restarting_s / whole_s)


def best_interval_s(saving: Saving, mtbf_s: float, restart_s: float, least_s: float = 0.0) -> float:
    """The time between checkpoints, `least_s` or more, that leaves most of the time to useful work.

    For a cheap checkpoint it tends to Young's sqrt(2 x cost x MTBF) (Young, A first order approximation to the optimum
    checkpoint interval, 1974). It is never shorter than a checkpoint takes to be safe, since only one is written at a
    time.
    """
    least = max(least_s, saving.settling_s, saving.exposed_s * 1e-3, 1e-3)

    def wasted(log_s: float) -> float:
        return -shares(math.exp(log_s), saving, mtbf_s, restart_s).useful

    return math.exp(_least(wasted, math.log(least), math.log(max(10.0 * mtbf_s, 2.0 * least))))


def _least(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley between `low` and `high` is least, by golden section."""
    for _ in range(100):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if of(left) <= of(right) else (left, high)
    return (low + high) / 2.0
