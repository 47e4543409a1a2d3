"""What a program of nccl-tests should show on a study's fabric: its table, by the same runs as `eastwest curve`.

A collective is left to NCCL's choice where nothing else is asked for. In place and out of place are alike here. Not
here: what was measured (`comparison`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eastwest.errors import InputError
from eastwest.expect.faults import NONE, Fault, afflicted
from eastwest.expect.programs import Program
from eastwest.spec import Study
from eastwest.study import Bench, set_up, tuning
from eastwest.validation.programs import PROGRAMS
from eastwest.workload import Collective, Step

_FEW_SEEDS = 3
"""Hash seeds of which the median is taken where a fault is tried: many are, and each at many sizes."""
_NCCL_TESTS = PROGRAMS["nccl-tests"]


@dataclass(frozen=True)
class Expected:
    """One row: sizes in bytes, the time in seconds (median over hash seeds), rates in byte/s.

    `how` names algorithm and protocol, and is empty where neither is known. `has_software` says whether the time has
    what a collective library itself takes in it; without, small messages are the network's alone.
    """

    size_bytes: int
    count: int
    time_s: float
    algbw: float
    busbw: float
    how: str
    has_software: bool


@dataclass(frozen=True)
class Scene:
    """A program among `nodes` servers with `per_node` GPUs of each, on a study's fabric, ready to be run.

    One thread of it drives `thread_gpus` GPUs, which it launches kernels on one after another.
    """

    study: Study
    fabric: str
    program: Program
    nodes: int
    per_node: int
    bench: Bench
    algorithm: str | None
    protocol: str | None
    where: str = ""
    notes: tuple[str, ...] = ()
    thread_gpus: int = 1
    _times: dict[tuple[int, Fault], tuple[float, Step]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ranks(self) -> int:
        """Ranks that take part."""
        return self.nodes * self.per_node

    @property
    def server(self) -> Mapping[str, Any]:
        """The server as the fabric's plan has it."""
        found: Mapping[str, Any] = self.bench.network.fabric.plan["server"]
        return found

    @property
    def nics(self) -> int:
        """NICs of a server."""
        return int(self.server["nics"])

    def among(self, places: Sequence[tuple[int, int]]) -> Scene:
        """The same among other ranks: server and GPU of each, numbered in the order in which ranks fill them."""
        servers = _server_of(self.bench)
        table: dict[int, list[np.uint32]] = {}
        for gpu in self.bench.gpus:
            table.setdefault(int(servers[gpu]), []).append(gpu)
        filled = list(table.values())
        chosen = np.array([filled[server][gpu] for server, gpu in places], dtype=np.uint32)
        nodes = len({server for server, _ in places})
        return replace(self, nodes=nodes, per_node=len(places) // nodes, bench=self.bench.among(chosen), _times={})

    def ran(self, size: int, fault: Fault = NONE) -> tuple[float, Step]:
        """Seconds that a size takes, median over hash seeds, and what ran; raises `StudyError`."""
        key = (size, fault)
        if key not in self._times:
            self._times[key] = self._run(size, fault)
        return self._times[key]

    def _run(self, size: int, fault: Fault) -> tuple[float, Step]:
        bench = self.bench
        if fault.algorithm is not None and fault.algorithm != self.algorithm:
            ways = (fault.algorithm, self.protocol)
            bench = set_up(self.study, self.fabric, self.program.collective, *ways, self.where).among(bench.gpus)
        if fault != NONE and not fault.is_unlucky:
            few = bench.chosen.study.model_copy(update={"seeds": min(bench.chosen.study.seeds, _FEW_SEEDS)})
            bench = replace(bench, chosen=replace(bench.chosen, study=few))
        if fault.changes_links:
            bench = replace(bench, network=afflicted(bench.network, fault))
        times_s, step = bench.times_s(float(size))
        time_s = float(np.max(times_s) if fault.is_unlucky else np.median(times_s))
        return _NCCL_TESTS.seen_s(time_s + fault.wait_s, self.thread_gpus, step.operations[0]), step

    def row(self, size: int, element: int) -> Expected:
        """What the table should have for a buffer that is asked for; sizes that leave a rank nothing have size 0."""
        rounded, count = self.program.sized(size, self.ranks, element)
        time_s, step = self.ran(rounded)
        algbw = rounded / time_s
        busbw = algbw * self.program.bus_factor(self.ranks)
        return Expected(rounded, count, time_s, algbw, busbw, _how(step), _has_software(step))

    def rows(self, sizes: Iterable[int], element: int = 4) -> tuple[Expected, ...]:
        """The table; sizes that come to the same, or to nothing, are left out."""
        found: dict[int, Expected] = {}
        for size in sizes:
            rounded, _ = self.program.sized(size, self.ranks, element)
            if rounded and rounded not in found:
                found[rounded] = self.row(size, element)
        return tuple(found.values())


def scene(
    study: Study,
    fabric: str,
    program: Program,
    nodes: int | None = None,
    per_node: int | None = None,
    algorithm: str | None = None,
    protocol: str | None = None,
    where: str = "",
) -> Scene:
    """A program on a fabric: on the first `nodes` servers and `per_node` GPUs of each, all where None.

    Raises:
        InputError: there is no such fabric, algorithm or protocol, or there are fewer servers or GPUs.
        StudyError: the fabric cannot be built.
    """
    notes: list[str] = []
    if program.collective is None:
        if algorithm or protocol:
            raise InputError("--algorithm and --protocol: sendrecv_perf has neither; leave them out")
    elif algorithm is None:
        algorithm = "auto" if _is_known_to_nccl(study, fabric, where) else None
        if algorithm is None:
            notes.append("NCCL's choices are not known for this GPU: by the collective's usual algorithm instead")
    bench = set_up(study, fabric, program.collective, algorithm, protocol, where)
    chosen = _chosen(bench, nodes, per_node)
    ranks = len(chosen)
    used = len(np.unique(_server_of(bench)[chosen]))
    if ranks < 2:
        raise InputError("--nodes 1 --gpus-per-node 1: a collective needs 2 GPUs or more")
    return Scene(
        study, fabric, program, used, ranks // used, bench.among(chosen), algorithm, protocol, where, tuple(notes)
    )


def _is_known_to_nccl(study: Study, fabric: str, where: str) -> bool:
    plan = set_up(study, fabric, None, where=where).network.fabric.plan
    return plan["server"]["gpu"].get("architecture") is not None


def _server_of(bench: Bench) -> npt.NDArray[np.int64]:
    return bench.network.fabric.nodes["server"].to_numpy().astype(np.int64)


def _chosen(bench: Bench, nodes: int | None, per_node: int | None) -> npt.NDArray[np.uint32]:
    """The GPU nodes of the ranks: of servers in the order in which ranks come to them, GPUs likewise."""
    servers = _server_of(bench)[bench.gpus]
    _, first, counts = np.unique(servers, return_index=True, return_counts=True)
    order = servers[np.sort(first)]
    gpus = int(counts.min())
    for option, asked, there, of in (
        ("--nodes", nodes, len(order), "servers"),
        ("--gpus-per-node", per_node, gpus, "GPUs in a server"),
    ):
        if asked is not None and not 1 <= asked <= there:
            raise InputError(f"{option} {asked}: the fabric joins {there:,} {of}")
    return np.concatenate([bench.gpus[servers == each][: per_node or gpus] for each in order[: nodes or len(order)]])


def _how(step: Step) -> str:
    (operation,) = step.operations
    if not isinstance(operation, Collective):
        return ""
    for each in tuning.choices(step):
        return " ".join(filter(None, (each.algorithm, each.protocol)))
    return operation.algorithm


def _has_software(step: Step) -> bool:
    (operation,) = step.operations
    overheads = getattr(operation, "overheads", None)
    return overheads is not None and (overheads.base_s > 0 or overheads.intra_s != 0)
