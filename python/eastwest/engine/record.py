"""What happened when in one run: operations of classes of ranks, transfers of groups, loads of tiers over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Picoseconds = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Record:
    """One run over one draw; times are integer picoseconds.

    `class_of` has each rank's class: ranks of one class do the same at the same times. `turns` has a row (operation,
    class, start, end) for each operation of each class, in program order; `transfers` a row (operation, part, phase,
    start, end) for each phase of each group's collective or pair's message, and `bytes` what it moves. `mean` and
    `most` are the utilisation of the mean and of the busiest link of each of `tiers`, shape (spans, tiers), over spans
    of `every_ps`, the last of which may be shorter.
    """

    step_ps: int
    class_of: npt.NDArray[np.uint32]
    turns: Picoseconds
    transfers: Picoseconds
    bytes: npt.NDArray[np.float64]
    every_ps: int
    mean: npt.NDArray[np.float64]
    most: npt.NDArray[np.float64]
    tiers: tuple[str, ...]
