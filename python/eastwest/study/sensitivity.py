"""What more of each resource would buy: the step run again with one resource scaled, and nothing else changed.

Exact in the model: links' rates or latencies are scaled in the fabric's own table, or compute in the step, and the
engine runs it again on the same paths. Not here: what a resource costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import polars as pl

from eastwest import spec
from eastwest.engine import Network
from eastwest.fabric import Fabric
from eastwest.spec import Study
from eastwest.study import datapath, fabrics
from eastwest.study.bottleneck import CHANNELS
from eastwest.study.runs import Runs
from eastwest.study.selection import one
from eastwest.workload import Collective, Compute, Operation, Step

MORE = 0.10
"""Of a rate; of a latency, so much less."""

_NVLINK, _PCIE, _NIC = (pl.col("tier").str.contains(word) for word in ("nvlink", "pcie", "nic"))
_DISK = pl.col("tier").str.contains("disk")
_HOST = pl.col("tier").str.contains("frontend|storage") & ~_DISK
RESOURCES: Mapping[str, pl.Expr] = MappingProxyType(
    {
        "links between NIC and leaf": _NIC & ~_PCIE,
        "links of front-end and storage NICs": _HOST & ~_PCIE,
        "links between switches": ~(_NVLINK | _PCIE | _NIC | _HOST | _DISK),
        "disks of storage servers": _DISK,
        "NVLink": _NVLINK,
        "PCIe": _PCIE,
    }
)
"""Links by resource: each is one of them."""


@dataclass(frozen=True)
class Gain:
    """What more of a resource buys: the step then, in seconds, and the part of it that is saved (0.02: 2 % faster)."""

    resource: str
    change: str
    step_s: float
    gain: float


@dataclass(frozen=True)
class Sensitivity:
    """A step, its time in seconds (median over hash seeds), and what more of each resource buys, most first.

    Where it `is_fed`, times are those from one step to the next, with what feeds them.
    """

    fabric: str
    cluster: str
    workload: str
    placement: str
    step_s: float
    gains: tuple[Gain, ...]
    is_fed: bool = False


def sensitivity(study: Study, fabric: str, workload: str, where: str = "", more: float = MORE) -> Sensitivity:
    """Runs a step once as it is, and once with `more` of each resource that the fabric has.

    Raises:
        InputError: there is no such fabric or workload, or several combinations.
        StudyError: the fabric cannot be built, or the workload not be run on it.
    """
    chosen, runs = one(study, fabric, workload, where), Runs()
    here = chosen.study
    network = runs.network(here, chosen.fabric, chosen.cluster)
    gpus, carriage = runs.gpus(network, chosen.placement), fabrics.carriage(here, chosen.fabric)
    step = runs.step(here, chosen.workload, network, gpus)
    around = here.workloads[chosen.workload]
    gpus = gpus[: step.ranks]

    def seconds(on: Network, program: Step, asked: spec.AroundSteps = around) -> float:
        run = runs.simulate(here, chosen.workload, on, program, gpus, carriage, here.fidelity)
        step_s = float(np.median(run.step_s))
        if asked.data is None:
            return step_s
        place = datapath.Place(here, chosen.workload, chosen.fabric, chosen.cluster, on, gpus, carriage)
        return datapath.paced(place, runs, program, step_s, asked)

    as_it_is, built = seconds(network, step), network.fabric
    found = {
        (resource, f"+{more:.0%}"): seconds(Network(_scaled(built, "rate_bps", links, 1 + more)), step)
        for resource, links in RESOURCES.items()
        if not built.links.filter(links).is_empty()
    }
    found["latency", f"-{more:.0%}"] = seconds(Network(_scaled(built, "latency_s", pl.lit(value=True), 1 - more)), step)
    if any(math.isfinite(each.overheads.channel_rate) for each in step.operations if isinstance(each, Collective)):
        found[CHANNELS, f"+{more:.0%}"] = seconds(network, _channelled(step, 1 + more))
    found["GPU compute", f"+{more:.0%}"] = seconds(network, _computing(step, 1 + more))
    found |= {
        (resource, f"+{more:.0%}"): seconds(network, step, asked) for resource, asked in _better_fed(around, 1 + more)
    }
    gains = [Gain(*what, step_s, 1 - step_s / as_it_is if as_it_is else 0.0) for what, step_s in found.items()]
    return Sensitivity(
        here.base("fabrics", chosen.fabric),
        here.base("clusters", chosen.cluster),
        here.base("workloads", chosen.workload),
        str(chosen.placement),
        as_it_is,
        tuple(sorted(gains, key=lambda each: -each.gain)),
        around.data is not None,
    )


def _better_fed(around: spec.AroundSteps, factor: float) -> Iterator[tuple[str, spec.AroundSteps]]:
    """A job whose samples are prepared, read from a server's own disks, or copied so many times as fast."""
    data = around.data
    if data is None:
        return

    def changed(**entries: float) -> spec.AroundSteps:
        return around.model_copy(update={"data": data.model_copy(update=entries)})

    if data.cpu > 0.0:
        yield "CPU cores that prepare samples", changed(cpu=data.cpu / factor)
    if data.read_rate is not None:
        yield "what a server reads elsewhere", changed(read_rate=data.read_rate * factor)
    yield "copying to the GPU", changed(loaded=(data.loaded or around.sizes().sample_bytes) / factor)


def _scaled(fabric: Fabric, column: str, links: pl.Expr, factor: float) -> Fabric:
    """The fabric with one column of some of its links times a factor."""
    value = pl.when(links).then(pl.col(column) * factor).otherwise(pl.col(column))
    return replace(fabric, links=fabric.links.with_columns(value.alias(column)))


def _channelled(step: Step, factor: float) -> Step:
    """The step with channels that may carry so many times as much."""

    def wider(operation: Operation) -> Operation:
        if not isinstance(operation, Collective):
            return operation
        overheads = operation.overheads
        return replace(operation, overheads=replace(overheads, channel_rate=overheads.channel_rate * factor))

    return replace(step, operations=tuple(map(wider, step.operations)))


def _computing(step: Step, factor: float) -> Step:
    """The step on GPUs so many times as fast."""
    operations = (replace(op, seconds=op.seconds / factor) if isinstance(op, Compute) else op for op in step.operations)
    return replace(step, operations=tuple(operations))
