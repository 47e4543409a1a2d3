"""What a run of nccl-tests or rccl-tests found: rows of a table, the devices that took part, and what NCCL said.

Sizes are bytes, times seconds, rates bytes a second. Not here: how such a run is read from a file (`nccl_tests`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

LARGEST_SIZE = 1 << 42
"""Bytes of a buffer: more is no row, since no GPU holds so much."""
_LAST_DIGIT = 0.005e9
"""Half of the last digit of a bandwidth in the table, byte/s."""
_LEAST_RATE = 0.5e9


@dataclass(frozen=True)
class Timing:
    """One half of a row: out of place or in place.

    `wrong` counts elements that came out wrong; None where nothing was checked. Versions before 2.13 print the largest
    deviation in its place, which counts as one wrong element where it is more than rounding.
    """

    time_s: float
    algbw: float
    busbw: float
    wrong: float | None = None


@dataclass(frozen=True)
class Row:
    """One size: `size_bytes` and `count` as the table has them; a half is None where it was not run."""

    size_bytes: int
    count: int
    type: str
    redop: str | None
    root: int | None
    out_of_place: Timing | None
    in_place: Timing | None

    @property
    def halves(self) -> tuple[Timing, ...]:
        """Those that were run, out of place first."""
        return tuple(half for half in (self.out_of_place, self.in_place) if half is not None)


@dataclass(frozen=True)
class Device:
    """One rank's GPU, by the name that its driver has for it."""

    rank: int
    host: str
    device: int
    name: str


@dataclass(frozen=True)
class Told:
    """What NCCL itself said meanwhile (`NCCL_DEBUG=INFO`); empty where it said nothing.

    `networks` are plug-ins that carried channels (IB, Socket, ...), `nics` numbers of NICs that did; `with_gdr` and
    `without_gdr` count channels that did or did not go from GPU memory straight to a NIC. `transports` counts channels
    inside a server by kind (P2P, SHM). `speakers` counts GPUs of a server that said anything. `environment` has the
    variables that it took notice of.
    """

    lines: int = 0
    version: str | None = None
    networks: tuple[str, ...] = ()
    listed_nics: tuple[str, ...] = ()
    nics: tuple[int, ...] = ()
    with_gdr: int = 0
    without_gdr: int = 0
    transports: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    nvls: bool | None = None
    channels: int | None = None
    ranks: int | None = None
    nodes: int | None = None
    speakers: int = 0
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """One table of a file: `test` is its program's name (all_reduce_perf), None where the file does not say.

    `unread` counts lines that began as rows and could not be read: cut off, or mixed with other output. `thread_gpus`
    is how many GPUs one thread drives (-g). `failure` is the first error that ended the run, in its own words.
    """

    file: str
    line: int
    test: str | None
    rows: tuple[Row, ...]
    devices: tuple[Device, ...] = ()
    version: str | None = None
    told: Told = Told()
    unread: int = 0
    thread_gpus: int | None = None
    failure: str | None = None

    @property
    def ranks(self) -> int | None:
        """Ranks that took part: as listed, else as NCCL said, else as bandwidths imply; None where nothing tells."""
        return len(self.devices) or self.told.ranks or self.implied_ranks

    @property
    def hosts(self) -> int | None:
        """Servers that took part; None where the file does not say."""
        return len({each.host for each in self.devices}) or self.told.nodes

    @property
    def bus_factor(self) -> float | None:
        """Bus bandwidth over algorithm bandwidth, by the rows with most digits; None where all are too slow."""
        best = self._fastest
        return statistics.median(half.busbw / half.algbw for half in best) if best else None

    @property
    def implied_ranks(self) -> int | None:
        """Ranks that the ratio of both bandwidths implies, by nccl-tests' formulas; None where digits do not tell."""
        factor = self.bus_factor
        if factor is None or not self._fastest:
            return None
        test = self.test or ("all_reduce_perf" if factor > 1 else "")
        if test == "all_reduce_perf":  # 2 (n - 1) / n
            missing = 1 - factor / 2
        elif test in ("all_gather_perf", "reduce_scatter_perf", "alltoall_perf"):  # (n - 1) / n
            missing = 1 - factor
        else:
            return None
        blur = 2 * _LAST_DIGIT / min(half.algbw for half in self._fastest)
        return round(1 / missing) if missing > 0 and blur / missing**2 < 0.4 else None

    @property
    def _fastest(self) -> list[Timing]:
        halves = [half for row in self.rows for half in row.halves if half.algbw >= _LEAST_RATE]
        return sorted(halves, key=lambda half: -half.algbw)[:5]
