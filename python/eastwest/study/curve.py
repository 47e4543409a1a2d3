"""A collective's time over the size of its message, in the columns of nccl-tests.

Each size is one run of the fluid engine, latency included: latency rules small messages, bandwidth large ones. Not
here: steps in which a collective is one operation of several (`join`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from eastwest.errors import InputError
from eastwest.spec import Operations, Study
from eastwest.spec.tuning import AlgorithmWord
from eastwest.study import fabrics, tuning, workloads
from eastwest.study.runs import Runs
from eastwest.study.selection import one
from eastwest.workload import Algorithm, Collective, CollectiveKind, Protocol, Step


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
    chosen, runs = one(study, fabric, where=where), Runs()
    network = runs.network(chosen.study, chosen.fabric, chosen.cluster)
    placed, carriage = runs.gpus(network, chosen.placement), fabrics.carriage(chosen.study, chosen.fabric)
    ranks = len(placed) if gpus is None else gpus
    if not 2 <= ranks <= len(placed):
        raise InputError(f"--gpus {ranks}: a collective needs 2 or more, and fabric {fabric!r} joins {len(placed):,}")
    asked = _asked(chosen.study, collective, algorithm, protocol)
    (operation,) = workloads.listed(asked, ranks).operations
    assert isinstance(operation, Collective)

    def point(size: float) -> Point:
        step = Step(ranks, (replace(operation, bytes=size),))
        step = tuning.tuned(chosen.study, chosen.workload, step, network.fabric, placed[:ranks])
        run = runs.simulate(chosen.study, chosen.workload, network, step, placed[:ranks], carriage, "fluid")
        time_s = float(np.median(run.step_s))
        algbw = size / time_s
        ran = Point(size, time_s, algbw, algbw * bus_factor(operation.kind, ranks), operation.algorithm)
        for each in tuning.choices(step):
            return replace(ran, algorithm=each.algorithm, protocol=each.protocol, channels=each.channels)
        return replace(ran, channels=operation.channels)

    return Curve(
        study.base("fabrics", chosen.fabric),
        study.base("clusters", chosen.cluster),
        str(chosen.placement),
        operation.kind,
        "auto" if operation.tuning is not None and operation.tuning.algorithm is None else operation.algorithm,
        ranks,
        tuple(point(size) for size in sizes),
        operation.tuning is not None,
    )


def _asked(study: Study, collective: str, algorithm: str | None, protocol: str | None) -> Operations:
    """The collective as an operation of a study file, so that it is read and checked as one."""
    operation = {"name": "curve", "collective": collective, "bytes": "1 B"}
    ways = {"algorithm": algorithm, "protocol": protocol}
    operation |= {key: word for key, word in ways.items() if word is not None}
    workload = {"kind": "operations", "operations": [operation]}
    asked = study.changed({"workloads": {"curve": workload}, "mixes": {}}, by="--collective").workloads["curve"]
    assert isinstance(asked, Operations)
    return asked
