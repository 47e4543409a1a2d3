"""What idle GPUs cost."""

from __future__ import annotations

from eastwest.study.result import Cost

HOURS_A_DAY = 24.0


def of_idleness(gpus: int, idle_share: float, gpu_hour: float | None, currency: str) -> Cost:
    """GPU-hours that `gpus` GPUs idle in a day at `idle_share` of their time, and their price at `gpu_hour` an hour."""
    hours = gpus * HOURS_A_DAY * idle_share
    return Cost(currency, hours, None if gpu_hour is None else hours * gpu_hour)
