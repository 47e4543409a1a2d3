"""A log of nccl-tests beside what its fabric should show: size by size, and in three bands of sizes.

A ratio is the measured rate over the expected one: 1 as expected, 0.5 half of it. Not here: what a difference
suggests (`diagnosis`).
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from eastwest.errors import InputError
from eastwest.expect.faults import Fault
from eastwest.expect.prediction import Expected, Scene, scene
from eastwest.expect.programs import BYTES_OF, PROGRAMS, Program, program
from eastwest.observe import Benchmark, Row
from eastwest.spec import Study

BandName = Literal["small", "middle", "plateau"]
TOLERANCE = 0.2
"""Part of the rate that large messages may fall short by before it is a finding; of others, twice that.

About what predictions of large messages miss measurements by where hardware is known (docs/validation.md).
"""
SMALL_BYTES = 1 << 20
_PLATEAU = 0.8
"""Part of the best bus bandwidth expected from which on a size belongs to the plateau."""
_BLUR = 0.02
"""What two decimals of slow rows may make of the ratio of both bandwidths."""
_MODEL = re.compile(r"(?<![a-z0-9])((?:gb|gh|rtx|mi|[abhlv])\d{1,4}x?)(?![a-z0-9])", re.IGNORECASE)
_ALGORITHM: Mapping[str, str] = {"ring": "rail-ring", "tree": "tree", "nvls": "nvls", "nvlstree": "nvls-tree"}


@dataclass(frozen=True)
class Pair:
    """One size: measured time (median of its rows, the faster half of each) and what is expected."""

    size_bytes: int
    measured_s: float
    expected: Expected
    band: BandName

    @property
    def ratio(self) -> float:
        """The measured rate over the expected one."""
        return self.expected.time_s / self.measured_s

    @property
    def busbw(self) -> float:
        """Measured bus bandwidth, byte/s, by nccl-tests' formula."""
        return self.expected.busbw * self.ratio

    @property
    def is_judged(self) -> bool:
        """Whether the expectation is one of a whole time, with software in it where that matters."""
        return self.band != "small" or self.expected.has_software


@dataclass(frozen=True)
class Band:
    """Some sizes together: the median of their ratios, and the least that still agrees."""

    name: BandName
    sizes: int
    ratio: float
    least: float

    @property
    def agrees(self) -> bool:
        """Whether the measured rate is not short of what is expected."""
        return self.ratio >= self.least


@dataclass(frozen=True)
class Comparison:
    """One table of a log beside its expectation."""

    benchmark: Benchmark
    scene: Scene
    pairs: tuple[Pair, ...]
    tolerance: float = TOLERANCE

    @cached_property
    def bands(self) -> tuple[Band, ...]:
        """The bands that have sizes which can be judged."""
        found = []
        for name in ("small", "middle", "plateau"):
            ratios = [each.ratio for each in self.judged if each.band == name]
            if ratios:
                short = self.tolerance if name == "plateau" else 2 * self.tolerance
                found.append(Band(name, len(ratios), statistics.median(ratios), 1 - short))
        return tuple(found)

    @property
    def judged(self) -> tuple[Pair, ...]:
        """The sizes whose expectation is of a whole time."""
        return tuple(each for each in self.pairs if each.is_judged)

    @property
    def agrees(self) -> bool:
        """Whether no band falls short, nothing came out wrong, the run ended well, and the GPUs are the study's."""
        is_whole = not self.wrong and self.benchmark.failure is None
        return all(band.agrees for band in self.bands) and is_whole and not self.other_gpu

    @property
    def other_gpu(self) -> str:
        """The GPU of the log, where it is of another kind than the study's; empty where it is not, or nothing tells."""
        planned = _MODEL.search(str(self.scene.server["gpu"]["name"]))
        for device in self.benchmark.devices:
            seen = _MODEL.search(device.name)
            if planned and seen and planned[1].lower() != seen[1].lower():
                return device.name
        return ""

    @property
    def wrong(self) -> float:
        """Elements that came out wrong, of all rows."""
        return sum(half.wrong or 0.0 for row in self.benchmark.rows for half in row.halves)

    def band(self, name: BandName) -> Band | None:
        """A band by its name; None where it has no sizes."""
        return next((each for each in self.bands if each.name == name), None)

    def falls_short(self, name: BandName) -> bool:
        """Whether a band is there and is short of what is expected."""
        found = self.band(name)
        return found is not None and not found.agrees

    def of(self, name: BandName) -> tuple[Pair, ...]:
        """The sizes of a band that are judged."""
        return tuple(each for each in self.judged if each.band == name)

    def ratios(self, fault: Fault, pairs: Iterable[Pair]) -> list[float]:
        """Measured rates over those that are expected with a fault."""
        return [self.scene.ran(each.size_bytes, fault)[0] / each.measured_s for each in pairs]


def compare(
    study: Study,
    fabric: str,
    benchmark: Benchmark,
    asked: Program | None = None,
    nodes: int | None = None,
    per_node: int | None = None,
    algorithm: str | None = None,
    protocol: str | None = None,
    where: str = "",
    tolerance: float = TOLERANCE,
) -> Comparison:
    """A table beside what is expected of the servers and GPUs that it was measured on.

    What the log does not say, the caller does; where both do, they must agree. An algorithm or protocol that was forced
    in its environment is expected too.

    Raises:
        InputError: log and study disagree on the program or the ranks, or the study has too few of them.
        StudyError: the fabric cannot be built, or the collective not be run on it.
    """
    which = _program(benchmark, asked)
    if which.collective is not None:
        algorithm = algorithm or _forced(benchmark, "NCCL_ALGO", _ALGORITHM)
        protocol = protocol or _forced(benchmark, "NCCL_PROTO", {"ll": "ll", "ll128": "ll128", "simple": "simple"})
        algorithm = algorithm or ("auto" if protocol else None)
    whole = scene(study, fabric, which, None, None, algorithm, protocol, where)
    hosts, gpus = _shape(benchmark, whole, nodes, per_node)
    here = whole.among(_places(benchmark, hosts, gpus))
    here = replace(here, thread_gpus=min(benchmark.thread_gpus or 1, gpus))
    measured: dict[int, list[float]] = {}
    kinds = {}
    for row in benchmark.rows:
        if row.size_bytes and (time_s := _time_s(row)):
            measured.setdefault(row.size_bytes, []).append(time_s)
            kinds[row.size_bytes] = row.type
    if not measured:
        raise InputError(f"{benchmark.file}:{benchmark.line}: no row of this table has a size and a time")
    expected = {size: here.row(size, BYTES_OF.get(kinds[size], 4)) for size in sorted(measured)}
    best = max(each.busbw for each in expected.values())

    def band(size: int, row: Expected) -> BandName:
        if size < SMALL_BYTES:
            return "small"
        return "plateau" if row.busbw >= _PLATEAU * best else "middle"

    pairs = (
        Pair(row.size_bytes, statistics.median(measured[size]), row, band(size, row))
        for size, row in expected.items()
        if row.size_bytes
    )
    return Comparison(benchmark, here, tuple(pairs), tolerance)


def _time_s(row: Row) -> float | None:
    """The faster of both halves: the model does not know them apart, and the first of two runs has outliers."""
    return min((half.time_s for half in row.halves if half.time_s > 0), default=None)


def _program(benchmark: Benchmark, asked: Program | None) -> Program:
    """The program of a table: as its log names it, as it is asked for, or as its columns imply."""
    place = f"{benchmark.file}:{benchmark.line}"
    if benchmark.test is not None:
        try:
            named = program(benchmark.test)
        except InputError:
            raise InputError(f"{place}: {benchmark.test} is not predicted, only {', '.join(PROGRAMS)}") from None
        if asked is not None and asked != named:
            raise InputError(f"{place}: the log is of {named.name}, and --collective asks for {asked.name}")
        return named
    if asked is not None:
        return asked
    factor, adds_up = benchmark.bus_factor, any(row.redop for row in benchmark.rows)
    if factor is not None and factor > 1.001 and adds_up:
        return program("all_reduce")
    if factor is not None and factor < 0.999 and adds_up:
        return program("reduce_scatter")
    raise InputError(f"{place}: the log does not name its program: add --collective all_gather, alltoall, ...")


def _forced(benchmark: Benchmark, variable: str, words: Mapping[str, str]) -> str | None:
    """What a log's environment forces; None where nothing, or several things are left to NCCL."""
    return words.get(benchmark.told.environment.get(variable, "").lower())


def _shape(benchmark: Benchmark, whole: Scene, nodes: int | None, per_node: int | None) -> tuple[int, int]:
    """Servers and GPUs of each that a log has, or is said to have."""
    place = f"{benchmark.file}:{benchmark.line}"
    ranks, hosts = benchmark.ranks, benchmark.hosts
    if ranks is None:
        if nodes is None or per_node is None:
            lacking = [name for name, value in (("--nodes", nodes), ("--gpus-per-node", per_node)) if value is None]
            raise InputError(f"{place}: the log does not say how many ranks took part: add {' and '.join(lacking)}")
        return nodes, per_node
    if hosts is None:
        per_node = per_node or min(ranks, whole.per_node)
        hosts = nodes or -(-ranks // per_node)
    if nodes is not None and nodes != hosts:
        raise InputError(f"{place}: the log has {hosts} servers, and --nodes asks for {nodes}")
    if len({each.rank for each in benchmark.devices}) < len(benchmark.devices) or ranks == 1:
        told = "each process ran alone, as one rank: nccl-tests was built without MPI (make MPI=1)"
        raise InputError(f"{place}: {told}, or started without -g")
    counts = set(Counter(each.host for each in benchmark.devices).values())
    if len(counts) > 1 or ranks % hosts:
        raise InputError(f"{place}: its servers have different numbers of ranks; only even ones are predicted")
    if per_node is not None and per_node != ranks // hosts:
        told = f"the log has {ranks // hosts} GPUs of each server, and {per_node} are asked for"
        raise InputError(f"{place}: {told}")
    factor, due = benchmark.bus_factor, whole.program.bus_factor(ranks)
    if factor is not None and ranks > 1 and abs(factor / due - 1) > _BLUR:
        told = f"busbw is {factor:.3f} of algbw, and {whole.program.name} among {ranks} ranks has {due:.3f}"
        raise InputError(f"{place}: {told}: this table is of other ranks or of another program")
    if hosts > whole.nodes or ranks // hosts > whole.per_node:
        told = f"the log has {hosts} servers of {ranks // hosts} GPUs"
        there = f"fabric {whole.fabric!r} joins {whole.nodes} of {whole.per_node}"
        raise InputError(f"{place}: {told}, and {there}: compare with a study of a cluster like the one measured")
    return hosts, ranks // hosts


def _places(benchmark: Benchmark, hosts: int, per_node: int) -> tuple[tuple[int, int], ...]:
    """Server and GPU of each rank, as the log lists them; packed where it does not.

    Servers are numbered as ranks come to them; where devices of a server have one number, because each process sees its
    own alone, GPUs are too.
    """
    if not benchmark.devices:
        return tuple((node, gpu) for node in range(hosts) for gpu in range(per_node))
    listed = sorted(benchmark.devices, key=lambda each: each.rank)
    server = {host: number for number, host in enumerate(dict.fromkeys(each.host for each in listed))}
    seen: dict[str, list[int]] = {host: [] for host in server}
    for each in listed:
        seen[each.host].append(each.device)
    ordered = all(sorted(devices) == list(range(per_node)) for devices in seen.values())
    turn: Counter[str] = Counter()
    found = []
    for each in listed:
        found.append((server[each.host], each.device if ordered else turn[each.host]))
        turn[each.host] += 1
    return tuple(found)
