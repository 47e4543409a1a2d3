"""What every reader of a whole job is asked for, and what it answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eastwest.workload.operations import Step


@dataclass(frozen=True)
class Roofline:
    """A GPU's peak, by which computes without a duration are reckoned: operations and bytes a second."""

    flops: float
    bytes_per_s: float

    def seconds(self, operations: float, moved: float) -> float:
        """The longer of computing and moving, as ASTRA-sim has it: operations over min(rate, bandwidth x intensity)."""
        return max(operations / self.flops, moved / self.bytes_per_s)


@dataclass(frozen=True)
class Asked:
    """Files of one job, and how many ranks it is to have (None: as many as the files have).

    `bytes` is the buffer, where the files leave it open, and `step` the number of the step that is meant, where they
    have several (None: what the reader takes for typical).
    """

    paths: Sequence[Path]
    ranks: int | None = None
    gpu: Roofline | None = None
    bytes: float | None = None
    step: int | None = None


@dataclass(frozen=True)
class Imported:
    """A job's step; `facts` are sentences about it, `unused` counts what could not be used, by reason."""

    format: str
    step: Step
    facts: tuple[str, ...] = ()
    unused: Mapping[str, int] = field(default_factory=dict)
