"""Whether the jobs of a mix can share its cluster: servers enough, names apart, workloads that fit their servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from eastwest.document import Mistake, Place
from eastwest.spec.fabrics import Cluster
from eastwest.spec.mixes import Mix
from eastwest.spec.study import Source
from eastwest.spec.sweep import Sweep

Fits = Callable[[str, str, int], list[Mistake]]
"""Gives what is wrong with a workload (by name) on a job's GPUs: called with the workload, who asks, and how many."""


def mistakes_of(
    mixes: Mapping[str, Mix],
    clusters: Mapping[str, Cluster],
    gpus: Mapping[str, int],
    source: Source,
    fits: Fits,
) -> Iterator[Mistake]:
    """What only a mix, its workloads and its clusters together can get wrong; `gpus` counts those of each cluster."""
    for name, mix in mixes.items():
        place: Place = ("mixes", name)
        called = source.base("mixes", name)
        for index, job in enumerate(mix.jobs):
            if len(kinds := source.sweep.of("workloads", job.workload)) > 1:
                message = f"workload {job.workload!r} is swept, and a job runs one of its {len(kinds)} variants"
                at = (*place, "jobs", index, "workload")
                yield source.mistake(at, f"{message}: describe that one as a workload of its own")
            if job.name is not None and job.name in [other.name for other in mix.jobs[:index]]:
                message = f"two jobs of mix {called!r} are named {job.name!r}"
                yield source.mistake((*place, "jobs", index, "name"), message)
        for cluster in _clusters(mix, clusters, source.sweep):
            yield from _on(cluster, clusters[cluster].servers, gpus[cluster], mix, place, source, fits)


def _on(cluster: str, servers: int, gpus: int, mix: Mix, place: Place, source: Source, fits: Fits) -> Iterator[Mistake]:
    """What is wrong on one cluster of so many servers and GPUs."""
    wanted = sum(job.servers for job in mix.jobs)
    if wanted > servers:
        message = f"the jobs take {wanted} servers, and cluster {source.base('clusters', cluster)!r} has {servers}"
        yield source.mistake((*place, "jobs"), message)
    if mix.background is not None and servers < 2:
        message = f"background traffic goes between servers, and cluster {source.base('clusters', cluster)!r} has one"
        yield source.mistake((*place, "background"), message)
    for index, (job, name) in enumerate(zip(mix.jobs, mix.names, strict=True)):
        if len(source.sweep.of("workloads", job.workload)) > 1:
            continue
        for mistake in fits(job.workload, f"job {name}", job.servers * gpus // servers):
            at = (*place, "jobs", index, "servers")
            yield source.mistake(at, f"workload {job.workload!r} does not fit: {mistake.message}")


def _clusters(mix: Mix, clusters: Mapping[str, Cluster], sweep: Sweep) -> tuple[str, ...]:
    return tuple(clusters) if mix.cluster is None else sweep.of("clusters", mix.cluster)
