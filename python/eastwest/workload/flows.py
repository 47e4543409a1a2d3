"""Plain flows: who sends how much to whom, from when on or after what.

Sizes are bytes, times seconds. Not here: the steps of training jobs (`operations`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

LATEST_START_S = 1e6
"""Later ones would come near the end of what a clock of picoseconds counts."""

TriggerKind = Literal["oneshot", "multishot", "barrier"]


@dataclass(frozen=True)
class Trigger:
    """What starts flows when others have ended: at the first pull, one flow a pull, or after `pulls` pulls."""

    kind: TriggerKind
    pulls: int = 1


@dataclass(frozen=True)
class Flows:
    """Flows between hosts; every array has one entry a flow.

    `source` and `destination` count hosts from 0. `start_s` is when a flow starts where `start_trigger` is -1, else
    that trigger starts it. `sent_trigger` is pulled when the sender knows that all has arrived, `received_trigger`
    when all has arrived; -1 for none. `priority` numbers the traffic class of a flow, for runs that have classes; none
    where all are 0.
    """

    source: npt.NDArray[np.uint32]
    destination: npt.NDArray[np.uint32]
    size_bytes: npt.NDArray[np.uint64]
    start_s: npt.NDArray[np.float64]
    start_trigger: npt.NDArray[np.int64]
    sent_trigger: npt.NDArray[np.int64]
    received_trigger: npt.NDArray[np.int64]
    triggers: tuple[Trigger, ...] = field(default=())
    priority: npt.NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return len(self.source)


def flows(
    source: npt.ArrayLike,
    destination: npt.ArrayLike,
    size_bytes: npt.ArrayLike,
    start_s: npt.ArrayLike = 0.0,
    priority: npt.ArrayLike = 0,
) -> Flows:
    """Flows without triggers; sizes, starts and priorities may be one for all."""
    from_host = np.asarray(source, dtype=np.uint32)
    count = len(from_host)
    none = np.full(count, -1, dtype=np.int64)
    return Flows(
        from_host,
        np.asarray(destination, dtype=np.uint32),
        np.broadcast_to(np.asarray(size_bytes, dtype=np.uint64), count).copy(),
        np.broadcast_to(np.asarray(start_s, dtype=np.float64), count).copy(),
        none,
        none,
        none,
        priority=np.broadcast_to(np.asarray(priority, dtype=np.uint64), count).copy(),
    )
