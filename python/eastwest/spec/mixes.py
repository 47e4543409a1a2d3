"""Several jobs on one cluster as a study file describes them, and the traffic beside them."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field

from eastwest.spec.values import ClusterName, Count, Entry, Name, Rate, Seed, WorkloadName
from eastwest.spec.workloads import Placement, PlacementWord
from eastwest.workload import Traffic


class MixJob(Entry):
    """One of the jobs: a workload on servers of its own."""

    name: Name | None = None
    """What results call it: its workload's name where left out, numbered where that is taken."""
    workload: WorkloadName
    """Workload of this study."""
    servers: Count
    """How many servers it has to itself."""
    placement: PlacementWord = Placement(kind="packed")
    """Which of the servers that are left, and where its ranks run."""
    steps: Count = 1
    """Steps that it does at least; until every job has done its own, it does more."""


class MixBackground(Entry):
    """What others send all the time: every GPU of the cluster offers the same."""

    traffic: Traffic
    """permutation: each GPU to one other; all-to-all: each to all of other servers; incast: all to one."""
    rate: Rate
    """Payload that each GPU offers."""
    seed: Seed = 0
    """Draws who sends to whom."""


class Mix(Entry):
    """Several jobs at once on one cluster."""

    cluster: ClusterName | None = None
    """Cluster that they run on; each in turn where left out."""
    jobs: Annotated[tuple[MixJob, ...], Field(min_length=1)]
    """Who runs; servers are given out in this order."""
    background: MixBackground | None = None
    """Traffic of others beside them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each job: its own, or its workload's, which the second to bear it has with a 2, and so on."""
        taken = {job.name for job in self.jobs}
        seen: Counter[str] = Counter()
        names: list[str] = []
        for job in self.jobs:
            if job.name is not None:
                names.append(job.name)
                continue
            name = job.workload
            while name in taken or name in names:
                seen[job.workload] += 1
                name = f"{job.workload}-{seen[job.workload] + 1}"
            names.append(name)
        return tuple(names)
