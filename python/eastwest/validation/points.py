"""A measurement beside what was predicted of it, and the families by which errors are told.

A family is a kind of collective at large or at small messages, or a kind of training; a table may name its own. Not
here: how a prediction is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SMALL_BYTES = float(1 << 20)
"""Messages below are small: of a collective, latency rules there."""


@dataclass(frozen=True)
class Point:
    """A row: what it measured, in seconds, what was predicted, and which family it counts in. `label` names it."""

    line: int
    label: str
    family: str
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one: below 0 where the prediction is too fast."""
        return self.predicted_s / self.measured_s - 1


def family(collective: str, size_bytes: float) -> str:
    """The family of a collective among GPUs with a buffer of so many bytes."""
    kind = {"reduce-scatter": "all-gather and reduce-scatter", "all-gather": "all-gather and reduce-scatter"}
    size = "small (under 1 MiB)" if size_bytes < SMALL_BYTES else "1 MiB and up"
    return f"{kind.get(collective, collective)}, {size}"


def median_error(points: Sequence[Point]) -> float:
    """The median of the points' absolute errors."""
    return float(np.median([abs(each.error) for each in points]))


def worst(points: Sequence[Point]) -> Point:
    """The point with the largest absolute error; of several, the first."""
    return max(points, key=lambda each: abs(each.error))


def shown_size(size_bytes: float) -> str:
    """A size as nccl-tests steps through them, in powers of two: 16 MiB."""
    power = min(int(math.log2(size_bytes)) // 10, 4) if size_bytes >= 1 else 0
    return f"{size_bytes / 2 ** (10 * power):.4g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
