"""A run of packets over time, and what became of its ports: tables that join on link and interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from eastwest.engine.network import Floats

FIRST_S = 100e-9
"""Length of the first intervals unless told otherwise: about a full packet at 400 Gb/s. Longer runs join them."""
MOST_SAMPLES = 1024
"""Intervals at which neighbours are joined: a finished run has 512 to 1,024 of them, a short one fewer."""
MOST_FLOWS = 64
"""Of more flows than these none is followed by itself."""
PICOSECOND = 1e-12
"""The engine's clock: no interval is shorter."""
_MOST_ENTRIES = 2**20
"""Ports times intervals at which neighbours are joined: 48 MB in the engine."""
_LEAST_SAMPLES = 128
"""Intervals that even the largest network has, at the cost of memory."""


@dataclass(frozen=True)
class Sampling:
    """How a run is sampled; the native engine reads these attributes by name.

    Intervals are `every_s` long at first. Once there are `most_samples` of them, or `most_entries` of ports in all,
    each two neighbours are joined and those to come are twice as long: memory is bounded however long a run lasts.
    """

    every_s: float = FIRST_S
    most_samples: int = MOST_SAMPLES
    most_entries: int = _MOST_ENTRIES
    most_flows: int = MOST_FLOWS

    @classmethod
    def of(cls, links: int, every_s: float | None = None) -> Sampling:
        """Sampling of a network with so many links, with intervals as long as told.

        Those of large networks are longer from the start: so short ones would soon be joined for want of room.
        """
        most_entries = max(_MOST_ENTRIES, _LEAST_SAMPLES * links)
        first_s = FIRST_S * max(1, links * MOST_SAMPLES // _MOST_ENTRIES)
        return cls(first_s if every_s is None else every_s, most_entries=most_entries)


@dataclass(frozen=True)
class Ports:
    """What became of ports over a run, one entry a link: the port is that at its beginning.

    `deepest_bytes` is the most data that waited before it, `pauses` how often its other end asked it to pause (PFC),
    and `paused_s` for how long it did.
    """

    deepest_bytes: npt.NDArray[np.uint32]
    pauses: npt.NDArray[np.uint64]
    paused_s: Floats


@dataclass(frozen=True)
class Series:
    """A run over time, in intervals of `every_s` seconds, of which the last is shorter.

    ports: `sample` (number of the interval), `link`, and what the port at its beginning did in it: `bytes` sent
        (headers and answers included; a packet that two intervals share counts in each by its part), `deepest_bytes`
        of data that waited and `waiting_bytes` at the end, `paused_s`, and `marks`, `drops`, `trims` of packets. An
        interval of which there is nothing to tell has no row.
    network: a row an interval: packets of data `delivered` whole, `retransmits`, `cnps`; and at its end the `flows`
        under way, their entropy values (`paths`), and how many of these are `avoided` for some turns or `retired`.
    flows: a row an interval and flow, `delivered_bytes` and the same of its paths; no rows where flows are many.
    totals: a row a link, over the whole run: `bytes`, `packets`, `marks`, `drops`, `trims`.
    ways: `flow` and `link` of each hop that the first packet of each flow took.
    """

    every_s: float
    ports: pl.DataFrame
    network: pl.DataFrame
    flows: pl.DataFrame
    totals: pl.DataFrame
    ways: pl.DataFrame

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Series:
        """From the engine's arrays."""
        network = pl.DataFrame(found["network"]).with_row_index("sample")
        flows = pl.DataFrame(found["flows"])
        followed = len(flows) // max(len(network), 1)
        turn = np.arange(len(flows), dtype=np.uint32)
        flows = flows.with_columns(sample=turn // max(followed, 1), flow=turn % max(followed, 1))
        return cls(
            found["every_s"],
            pl.DataFrame(found["ports"]),
            network,
            flows.select("sample", "flow", "delivered_bytes", "paths", "avoided", "retired"),
            pl.DataFrame(found["totals"]).with_row_index("link"),
            pl.DataFrame(found["ways"]).unique(maintain_order=True),
        )

    def starts_s(self) -> Floats:
        """When each interval begins. Shape (intervals,)."""
        starts: Floats = np.arange(len(self.network), dtype=np.float64) * self.every_s
        return starts

    def lengths_s(self, end_s: float) -> Floats:
        """How long each interval is, in a run that ended at `end_s`. Shape (intervals,)."""
        lengths: Floats = np.clip(end_s - self.starts_s(), PICOSECOND, self.every_s)
        return lengths
