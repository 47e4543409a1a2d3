"""Scaling: a workload on more and more servers, as a sweep over the cluster's size and a view of it.

Weak: every rank computes and exchanges what the workload says, whatever their number; linear is a step that takes no
longer. Strong: all ranks together have the work that they have at the smallest size; linear is a step that takes half
as long on twice as many. Of a training job the batch grows with the GPUs, from what it is on the cluster of the file,
or stays as it is. Not here: how a sweep is run (`join`), what shrinks (`workload.divided`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from eastwest.errors import InputError
from eastwest.spec import Imported, Study, StudyError
from eastwest.study.join import Advance, run, unwatched
from eastwest.study.result import Row, Stopped
from eastwest.study.selection import check_names
from eastwest.study.stopped import sentences
from eastwest.units import format_time
from eastwest.workload import Step, divided

SERVERS = "servers"
"""The swept column."""

NOTHING = 5e-3
"""A smaller part of the throughput is not worth a word."""


@dataclass(frozen=True)
class Size:
    """One size of the cluster. `speedup` is throughput over that of the smallest, `efficiency` that over linear.

    Throughput is work done in a second: of strong scaling, steps. `step_s` is from one step to the next, with what
    feeds them where the workload says so.
    """

    servers: int
    gpus: int
    step_s: float
    exposed_share: float
    bottleneck: str
    speedup: float
    efficiency: float


@dataclass(frozen=True)
class Curve:
    """Sizes from small to large of one combination (placement, and what else is swept), and sentences on them."""

    name: str
    sizes: tuple[Size, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Scaling:
    """How one workload scales on one fabric; `is_strong`: all GPUs' work is the same at every size, not each one's."""

    fabric: str
    workload: str
    curves: tuple[Curve, ...]
    is_strong: bool = False


def scaling(
    study: Study,
    fabric: str,
    workload: str,
    gpus: tuple[int, int] | None = None,
    cluster: str | None = None,
    advance: Advance = unwatched,
    *,
    is_strong: bool = False,
) -> Scaling:
    """Runs a workload on a fabric of every size: `gpus` from one number to another by doubling.

    Where it `is_strong`, GPUs share the work that those of the smallest size have.

    Where `gpus` is None: the sizes that the study sweeps the cluster over, or its size halved as often as the workload
    still fits.

    Raises:
        InputError: there is no such fabric, workload or cluster, or the numbers are no whole servers.
        StudyError: a fabric of some size cannot be built, or the workload not be run on it.
    """
    base = _cluster(study, fabric, workload, cluster)
    if any(isinstance(study.workloads[each], Imported) for each in study.variants("workloads", workload)):
        told = "has as many ranks as its file, whatever the size of the cluster: import it with other --ranks"
        raise InputError(f"{study.file}: workload {workload!r} {told}, and compare those in a study")
    study = _alone(study, workload)
    servers = _servers(study, fabric, base, gpus)
    sized = study if servers is None else _sized(study, fabric, base, servers)
    at = f"fabric={fabric if servers is None else _scaled(fabric)},workload={workload},"
    variants = study.variants("clusters", base)
    per_server = study.server(variants[0]).gpus
    stated = min(study.clusters[each].servers for each in variants)
    smallest = per_server * min(servers or [stated])

    def work(step: Step) -> Step:
        return divided(step, smallest / step.ranks) if is_strong else step

    batch_for = None if is_strong else per_server * stated
    where = at + f"cluster={base if servers is None else _scaled(base)}"
    result = run(sized, advance, where, work=work, batch_for=batch_for)
    curves: dict[str, list[Row]] = {}
    for row in result.rows:
        curves.setdefault(_of_curve(row), []).append(row)
    found = []
    for name, rows in curves.items():
        drawn = _curve(name, rows, per_server, is_strong=is_strong)
        lacking = sentences([each for each in result.stopped if _of_curve(each) == name])
        found.append(replace(drawn, findings=(*drawn.findings, *(f"{each}." for each in lacking))))
    return Scaling(fabric, workload, tuple(found), is_strong)


def _of_curve(each: Row | Stopped) -> str:
    """The name of the curve that a size is on."""
    others = [f"{value.name} {value.text}" for value in each.parameters if value.name != SERVERS]
    return ", ".join([each.placement, *others])


def _cluster(study: Study, fabric: str, workload: str, cluster: str | None) -> str:
    """The cluster to size, as the file names it; `InputError` where a name is unknown or several would do."""
    check_names(study, fabric, workload)
    joined = study.clusters_of(study.variants("fabrics", fabric)[0])
    clusters = tuple(dict.fromkeys(study.base("clusters", name) for name in joined))
    if cluster is None and len(clusters) > 1:
        raise InputError(f"{study.file}: fabric {fabric!r} joins {', '.join(clusters)}: name one with --cluster")
    if cluster is not None and cluster not in clusters:
        raise InputError(f"{study.file}: fabric {fabric!r} joins {', '.join(clusters)}, not {cluster!r}")
    return cluster or clusters[0]


def _servers(study: Study, fabric: str, cluster: str, gpus: tuple[int, int] | None) -> list[int] | None:
    """The sizes to run, in servers; None where the study itself sweeps them."""
    variants = study.variants("clusters", cluster)
    per_server = study.server(variants[0]).gpus
    if gpus is not None:
        first, last = gpus
        if first % per_server or not per_server <= first <= last:
            raise InputError(
                f"--gpus {first}..{last}: whole servers of {per_server} GPUs, from few to many, as in "
                f"{per_server}..{64 * per_server}"
            )
        sizes = [first // per_server]
        while sizes[-1] * 2 * per_server <= last:
            sizes.append(sizes[-1] * 2)
        return sizes
    if len(variants) > 1:
        return None
    sizes = [study.clusters[variants[0]].servers]
    while sizes[-1] % 2 == 0 and _fits(study, fabric, cluster, sizes[-1] // 2):
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def _fits(study: Study, fabric: str, cluster: str, servers: int) -> bool:
    try:
        _sized(study, fabric, cluster, [servers])
    except StudyError:
        return False
    return True


def _sized(study: Study, fabric: str, cluster: str, servers: list[int]) -> Study:
    """The study with one more cluster, of each of these sizes, and the fabric for it.

    What was measured stays measured on the cluster of the file.
    """
    written = study.written
    clusters = {**written["clusters"], _scaled(cluster): {**written["clusters"][cluster], SERVERS: servers}}
    fabrics = {**written["fabrics"], _scaled(fabric): {"like": fabric, "cluster": _scaled(cluster)}}
    only = cluster if len(written["clusters"]) == 1 else None
    workloads = {name: _measured_on(entry, only) for name, entry in written["workloads"].items()}
    return study.changed({"clusters": clusters, "fabrics": fabrics, "workloads": workloads})


def _alone(study: Study, workload: str) -> Study:
    """The study with this workload, and no mixes: what is not run need not fit into every size."""
    workloads = study.written["workloads"]
    return study.changed({"workloads": {workload: workloads[workload]}, "mixes": {}})


def _scaled(name: str) -> str:
    return f"{name[:50]}-scaled"


def _measured_on(workload: dict[str, Any], cluster: str | None) -> dict[str, Any]:
    """The workload, saying on which cluster it was measured, where there was only one."""
    if cluster is None or "measured_on" not in workload:
        return workload
    return {**workload, "measured_on": {"cluster": cluster, **workload["measured_on"]}}


def _curve(name: str, rows: list[Row], per_server: int, *, is_strong: bool) -> Curve:
    servers = {id(row): next(int(each.value or 0) for each in row.parameters if each.name == SERVERS) for row in rows}
    ordered = sorted(rows, key=lambda row: servers[id(row)])
    first = ordered[0]

    def size(row: Row) -> Size:
        faster = first.pace_s / row.pace_s if row.pace_s else 1.0
        count = servers[id(row)]
        times = count / servers[id(first)]
        speedup, efficiency = (faster, faster / times) if is_strong else (faster * times, faster)
        return Size(count, count * per_server, row.pace_s, row.exposed_share, row.held_by, speedup, efficiency)

    sizes = tuple(size(row) for row in ordered)
    return Curve(name, sizes, tuple(_turns(sizes) if is_strong else _findings(sizes)))


def _findings(sizes: tuple[Size, ...]) -> Iterator[str]:
    """Where more GPUs got less done, and where the most is lost from one size to the next."""
    pairs = list(itertools.pairwise(sizes))
    for smaller, larger in pairs:
        if larger.speedup < smaller.speedup * (1 - NOTHING):
            less = 1 - larger.speedup / smaller.speedup
            yield (
                f"More GPUs made it slower: {larger.gpus:,} get {_percent(less)} less done than {smaller.gpus:,}, held "
                f"back by {larger.bottleneck}."
            )
    if not pairs:
        yield "One size tells nothing of scaling: name more with --gpus."
        return
    last = sizes[-1]
    if last.efficiency > 1 - NOTHING:
        yield f"It scales linearly up to {last.gpus:,} GPUs: the step takes no longer there than on {sizes[0].gpus:,}."
        return
    smaller, larger = max(pairs, key=lambda pair: pair[0].efficiency - pair[1].efficiency)
    yield (
        f"{last.gpus:,} GPUs reach {_percent(last.efficiency)} of linear. Most is lost from {smaller.gpus:,} to "
        f"{larger.gpus:,}: a step of {format_time(smaller.step_s)} becomes one of {format_time(larger.step_s)}, held "
        f"back by {larger.bottleneck}."
    )


def _turns(sizes: tuple[Size, ...]) -> Iterator[str]:
    """Of strong scaling: where more GPUs made it slower, up to which it pays, and how far that is from linear."""
    pairs = list(itertools.pairwise(sizes))
    if not pairs:
        yield "One size tells nothing of scaling: name more with --gpus."
        return
    for smaller, larger in pairs:
        if larger.step_s > smaller.step_s * (1 + NOTHING):
            yield (
                f"More GPUs made it slower: a step takes {format_time(larger.step_s)} on {larger.gpus:,} and "
                f"{format_time(smaller.step_s)} on {smaller.gpus:,}, held back by {larger.bottleneck}."
            )
    best = max(sizes, key=lambda size: size.speedup)
    reached = (
        f"{best.gpus:,} GPUs are {best.speedup:.3g} times as fast as {sizes[0].gpus:,}, {_percent(best.efficiency)} of "
        "linear"
    )
    if best.efficiency > 1 - NOTHING and best is sizes[-1]:
        yield f"It scales linearly up to {best.gpus:,} GPUs."
    elif best is sizes[-1]:
        smaller, larger = min(pairs, key=lambda pair: pair[1].efficiency / pair[0].efficiency)
        yield f"{reached}. Most is lost from {smaller.gpus:,} to {larger.gpus:,}, held back by {larger.bottleneck}."
    else:
        yield f"The curve turns at {best.gpus:,} GPUs: {reached}, and none of the larger sizes is faster."


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
