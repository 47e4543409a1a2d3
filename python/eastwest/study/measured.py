"""Solves for what a measured step's exchange carries: the message size at which the engine gives the measured time.

The time of an exchange in `fluid` is a latency plus the size over a rate, so two runs nearly settle it; the rest is a
secant. Over several draws of the hash seeds it is the median that is matched.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eastwest.engine import Run
from eastwest.units import format_time
from eastwest.workload import Measured
from eastwest.workload.measured import EXCHANGE

FIRST_GUESS_BYTES = 1e9
CLOSE_ENOUGH = 1e-6
MOST_RUNS = 12


class UnsolvableError(ValueError):
    """No message size gives the measured time on the fabric that it was measured on."""


def exchange_s(workload: Measured, run: Run) -> float:
    """Median over draws of the time from the exchange's start to its end."""
    names = [operation.name for operation in workload.step(0.0).operations]
    index = names.index(EXCHANGE)
    return float(np.median(run.op_end_s[:, index] - run.op_start_s[:, index]))


def message_bytes(workload: Measured, simulate: Callable[[float], Run]) -> float:
    """Buffer bytes of each rank for which `simulate` gives the measured exchange.

    Raises:
        UnsolvableError: the exchange was measured shorter than its latency alone.
    """
    target = workload.communication_s
    if target == 0.0:
        return 0.0
    low, low_s = 0.0, exchange_s(workload, simulate(1.0))
    if low_s >= target:
        raise UnsolvableError(
            f"an exchange of one byte takes {format_time(low_s)} there already, more than the {format_time(target)} "
            "measured"
        )
    size = FIRST_GUESS_BYTES
    for _ in range(MOST_RUNS):
        took = exchange_s(workload, simulate(size))
        if abs(took / target - 1) < CLOSE_ENOUGH:
            return size
        slope = (took - low_s) / (size - low)
        low, low_s = size, took
        size = max(size + (target - took) / slope, 1.0)
    raise UnsolvableError(
        f"no message size was found that takes {format_time(target)}; the nearest took {format_time(took)}"
    )
