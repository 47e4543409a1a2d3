"""What packets tell of a run beyond its times: how long messages between servers took, and what became of packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

WORST = 5
"""Ports that are named: those with the deepest queues, and those that were paused longest."""
PERCENTILES = (0.0, 1.0, *np.arange(5.0, 100.0, 5.0).tolist(), 99.0, 99.5, 99.9, 100.0)
"""At which the distribution of completion times is kept."""


@dataclass(frozen=True)
class WorstPort:
    """A port, as "leaf-0 > spine-1", the most data that waited before it, and how long it was paused."""

    port: str
    deepest_queue_bytes: int
    paused_s: float


@dataclass(frozen=True)
class Messages:
    """Messages between servers, in one draw.

    Times are seconds, from when a queue pair began to send a message until all of it had arrived at the other NIC; NaN
    where there was none. `percentiles_s` are those at `PERCENTILES`. Counts are of packets: `packets` of data sent,
    repeats included, of which `delivered` arrived whole; `pauses` that switches asked for, and `paused_s` the time that
    ports were paused, summed over ports. `deepest_queues` and `longest_paused` are the worst ports, worst first.
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
    percentiles_s: tuple[float, ...] = ()
    deepest_queues: tuple[WorstPort, ...] = ()
    longest_paused: tuple[WorstPort, ...] = ()

    @classmethod
    def of(cls, took_s: npt.NDArray[np.float64], counts: Mapping[str, Any], names: Sequence[str]) -> Messages:
        """From the completion times of all messages, the engine's counts, and what the port of each link is called."""
        deepest, paused = counts["ports"]["deepest_bytes"], counts["ports"]["paused_s"]

        def worst(by: npt.NDArray[Any]) -> tuple[WorstPort, ...]:
            order = np.argsort(-by.astype(np.float64), kind="stable")[:WORST]
            return tuple(
                WorstPort(names[link], int(deepest[link]), float(paused[link])) for link in order.tolist() if by[link]
            )

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
            percentiles_s=tuple(np.percentile(took_s, PERCENTILES).tolist()) if len(took_s) else (),
            deepest_queues=worst(deepest),
            longest_paused=worst(paused),
        )

    @property
    def tail(self) -> float:
        """99th percentile over median of the completion times; NaN where there was no message."""
        return self.p99_s / self.median_s if self.median_s else np.nan
