"""A collective's time over the size of its message, in the columns of nccl-tests.

Each size is one run of the fluid engine, latency included: latency rules small messages, bandwidth large ones. Not
here: steps in which a collective is one operation of several (`join`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from eastwest.engine import Carriage, Network
from eastwest.errors import InputError
from eastwest.spec import Operations, Study
from eastwest.spec.tuning import AlgorithmWord
from eastwest.study import fabrics, tuning, workloads
from eastwest.study.runs import Runs
from eastwest.study.selection import Combination, one
from eastwest.workload import (
    Algorithm,
    Collective,
    CollectiveKind,
    Protocol,
    SendRecv,
    Step,
    Tuning,
    all_ranks,
    shift,
)


@dataclass(frozen=True)
class Point:
    """One size: the buffer of a rank in bytes, the time in seconds (median over hash seeds), and rates in byte/s.

    With what ran; `protocol` is None where none was asked for.
    """

    size_bytes: float
    time_s: float
    algbw: float
    busbw: float
    algorithm: Algorithm
    protocol: Protocol | None = None
    channels: int = 1


@dataclass(frozen=True)
class Curve:
    """A collective among `gpus` GPUs of a fabric, over sizes; `algorithm` is auto where NCCL chose for each size.

    `chooses` says whether NCCL chose anything.
    """

    fabric: str
    cluster: str
    placement: str
    collective: CollectiveKind
    algorithm: AlgorithmWord
    gpus: int
    points: tuple[Point, ...]
    chooses: bool = False


def bus_factor(kind: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth of a collective: nccl-tests, doc/PERFORMANCE.md."""
    share = (ranks - 1) / ranks
    return {"all-reduce": 2 * share, "broadcast": 1.0, "reduce": 1.0}.get(kind, share)


def curve(
    study: Study,
    fabric: str,
    collective: str,
    sizes: Iterable[float],
    algorithm: str | None = None,
    gpus: int | None = None,
    where: str = "",
    protocol: str | None = None,
) -> Curve:
    """The curve of a collective among the first `gpus` ranks (all, where None), on otherwise idle links.

    Raises:
        InputError: there is no such fabric, collective, algorithm or protocol, or not so many GPUs.
        StudyError: the fabric cannot be built, or the collective not be run on it.
    """
    bench = set_up(study, fabric, collective, algorithm, protocol, where)
    if gpus is not None:
        if not 2 <= gpus <= len(bench.gpus):
            told = f"a collective needs 2 or more, and fabric {fabric!r} joins {len(bench.gpus):,}"
            raise InputError(f"--gpus {gpus}: {told}")
        bench = bench.among(bench.gpus[:gpus])
    chosen, operation = bench.chosen, bench.operation
    assert isinstance(operation, Collective)
    return Curve(
        study.base("fabrics", chosen.fabric),
        study.base("clusters", chosen.cluster),
        str(chosen.placement),
        operation.kind,
        "auto" if operation.tuning is not None and operation.tuning.algorithm is None else operation.algorithm,
        len(bench.gpus),
        tuple(bench.point(size) for size in sizes),
        operation.tuning is not None,
    )


@dataclass(frozen=True)
class Bench:
    """An operation among GPUs of a fabric, ready to be run at any size: rank i on GPU node `gpus[i]`."""

    chosen: Combination
    runs: Runs
    network: Network
    carriage: Carriage
    gpus: npt.NDArray[np.uint32]
    operation: Collective | SendRecv

    def among(self, gpus: npt.NDArray[np.uint32]) -> Bench:
        """The same among other GPUs."""
        ranks, operation = len(gpus), self.operation
        if isinstance(operation, SendRecv):
            return replace(self, gpus=gpus, operation=replace(operation, pairs=shift(ranks, 1)))
        return replace(self, gpus=gpus, operation=replace(operation, groups=all_ranks(ranks)))

    def times_s(self, size: float) -> tuple[npt.NDArray[np.float64], Step]:
        """Seconds that `size` bytes take, for each hash seed, and what ran.

        Raises:
            StudyError: the operation cannot be run there.
        """
        chosen, ranks = self.chosen, len(self.gpus)
        step = Step(ranks, (replace(self.operation, bytes=size),))
        step = tuning.tuned(chosen.study, chosen.workload, step, self.network.fabric, self.gpus)
        run = self.runs.simulate(chosen.study, chosen.workload, self.network, step, self.gpus, self.carriage, "fluid")
        return np.asarray(run.step_s, dtype=np.float64), step

    def point(self, size: float) -> Point:
        """The median over hash seeds at a size of a collective; raises as `times_s`."""
        assert isinstance(self.operation, Collective)
        times_s, step = self.times_s(size)
        time_s = float(np.median(times_s))
        algbw = size / time_s
        factor = bus_factor(self.operation.kind, len(self.gpus))
        ran = Point(size, time_s, algbw, algbw * factor, self.operation.algorithm)
        for each in tuning.choices(step):
            return replace(ran, algorithm=each.algorithm, protocol=each.protocol, channels=each.channels)
        return replace(ran, channels=self.operation.channels)


def set_up(
    study: Study,
    fabric: str,
    collective: str | None,
    algorithm: str | None = None,
    protocol: str | None = None,
    where: str = "",
) -> Bench:
    """A collective among all GPUs of a fabric; where it is None, each rank's message to the next.

    Raises:
        InputError: there is no such fabric, collective, algorithm or protocol.
        StudyError: the fabric cannot be built.
    """
    chosen, runs = one(study, fabric, where=where), Runs()
    network = runs.network(chosen.study, chosen.fabric, chosen.cluster)
    gpus, carriage = runs.gpus(network, chosen.placement), fabrics.carriage(chosen.study, chosen.fabric)
    if collective is None:
        is_nccl = network.fabric.plan["server"]["gpu"].get("architecture") is not None
        message = SendRecv("send-recv", 1.0, shift(len(gpus), 1), tuning=Tuning() if is_nccl else None)
        return Bench(chosen, runs, network, carriage, gpus, message)
    (operation,) = workloads.listed(_asked(chosen.study, collective, algorithm, protocol), len(gpus)).operations
    assert isinstance(operation, Collective)
    return Bench(chosen, runs, network, carriage, gpus, operation)


def _asked(study: Study, collective: str, algorithm: str | None, protocol: str | None) -> Operations:
    """The collective as an operation of a study file, so that it is read and checked as one."""
    operation = {"name": "curve", "collective": collective, "bytes": "1 B"}
    ways = {"algorithm": algorithm, "protocol": protocol}
    said = {key: word for key, word in ways.items() if word is not None}
    by = " ".join(f"--{key} {word}" for key, word in {"collective": collective, **said}.items())
    operation |= said
    workload = {"kind": "operations", "operations": [operation]}
    asked = study.changed({"workloads": {"curve": workload}, "mixes": {}}, by=by).workloads["curve"]
    assert isinstance(asked, Operations)
    return asked
