"""What a study found of a job around its steps, as plain frozen values: stages, what sets the pace, and goodput.

Times are seconds, shares fractions of one. Not here: how the values come about (`datapath`).
"""

from __future__ import annotations

from dataclasses import dataclass

HOURS_A_MONTH = 24.0 * 365.25 / 12.0
SECONDS_A_DAY = 86400.0


@dataclass(frozen=True)
class Stage:
    """One stage of the data's way: `seconds` for one batch, and the part of the time between steps that it is busy."""

    name: str
    seconds: float
    utilisation: float


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints of the job, and what failures leave of its time.

    `every_s` lies between two of them, `steps` steps; a server writes `bytes_per_server` in `write_s`, for `exposed_s`
    of which the job stops; steps take `slowdown` times as long while one is written. After a failure, every `mtbf_s`,
    the job is back after `restart_s`, `reload_s` of it to read the checkpoint. `goodput` is the part of its time in
    which the job does steps that count.
    """

    every_s: float
    steps: float
    bytes_per_server: float
    write_s: float
    exposed_s: float
    slowdown: float
    mtbf_s: float
    failures_a_month: float
    restart_s: float
    reload_s: float
    goodput: float


@dataclass(frozen=True)
class GpuHours:
    """Where a month of all GPUs goes, in GPU-hours: they add up to it. `bubbles` are those of a training's pipeline."""

    compute: float
    bubbles: float
    network: float
    data: float
    checkpoints: float
    lost_work: float
    restarts: float


@dataclass(frozen=True)
class DataPath:
    """The whole way of the data: the `stages` in order, and what follows from them.

    `pace_s` is the time from one step to the next. It is set by what `limited_by` names: a stage, of the step its
    larger part, "compute" or "network", or "prefetch" where too few batches are under way; the next slowest is `behind`
    it, and takes `behind_share` of its time. `steps_a_day` are those that count, failures included. `where` and `why`
    say what holds reading from storage back.
    """

    pace_s: float
    steps_a_day: float
    limited_by: str
    behind: str
    behind_share: float
    stages: tuple[Stage, ...]
    where: str
    why: str
    gpu_hours_a_month: GpuHours
    checkpoints: Checkpoints | None = None
