"""What packets tell of a run beyond its times: how long messages between servers took, and what became of packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Messages:
    """Messages between servers, in one draw.

    Times are seconds, from when a queue pair began to send a message until all of it had arrived at the other NIC; NaN
    where there was none. Counts are of packets: `packets` of data sent, repeats included, of which `delivered` arrived
    whole; `pauses` that switches asked for, and `paused_s` the time that ports were paused, summed over ports.
    """

    messages: int
    median_s: float
    p99_s: float
    max_s: float
    packets: int
    delivered: int
    link_hops: int
    drops: int
    trims: int
    marks: int
    retransmits: int
    pauses: int
    paused_s: float
    deepest_queue_bytes: int

    @classmethod
    def of(cls, took_s: npt.NDArray[np.float64], counts: Mapping[str, float]) -> Messages:
        """From the completion times of all messages and the engine's counts."""
        median_s, p99_s, max_s = np.percentile(took_s, [50, 99, 100]) if len(took_s) else (np.nan,) * 3
        return cls(
            messages=len(took_s),
            median_s=float(median_s),
            p99_s=float(p99_s),
            max_s=float(max_s),
            packets=int(counts["packets"]),
            delivered=int(counts["delivered"]),
            link_hops=int(counts["link_hops"]),
            drops=int(counts["drops"]),
            trims=int(counts["trims"]),
            marks=int(counts["marks"]),
            retransmits=int(counts["retransmits"]),
            pauses=int(counts["pauses"]),
            paused_s=float(counts["paused_s"]),
            deepest_queue_bytes=int(counts["deepest_queue_bytes"]),
        )

    @property
    def tail(self) -> float:
        """99th percentile over median of the completion times; NaN where there was no message."""
        return self.p99_s / self.median_s if self.median_s else np.nan
