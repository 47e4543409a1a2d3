"""Cases that cannot run: what is told of them beside those that can.

Not here: what to change (`remedies`), or which cables a failure takes down (`fabric.failures`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eastwest.fabric import cut_off
from eastwest.study import fabrics
from eastwest.study.result import Stopped
from eastwest.study.runs import Runs, UnrunnableError
from eastwest.study.selection import Combination, Mixture

MOST_NAMED = 3
"""Of more GPUs that are cut off, or values of what is swept, only so many are named; the result's JSON has all."""


def stopped(each: Combination | Mixture, runs: Runs, error: UnrunnableError) -> Stopped:
    """A workload or a mix that cannot run on a fabric, and why."""
    study = each.study
    fabric, cluster = study.base("fabrics", each.fabric), study.base("clusters", each.cluster)
    failed = tuple(map(str, fabrics.failures(study, each.fabric)))
    gpus, of = _cut_off(each, runs, error) if failed else ((), 0)
    workload = study.base("workloads", each.workload) if isinstance(each, Combination) else ""
    placement = str(each.placement) if isinstance(each, Combination) else ""
    mix = study.base("mixes", each.mix) if isinstance(each, Mixture) else ""
    case = f"{workload}, {placement}," if workload else mix
    on = f"{fabric} with {' and '.join(failed)}" if failed else fabric
    return Stopped(
        fabric,
        cluster,
        workload,
        placement,
        failed,
        gpus,
        f"{case} cannot run on {on}: {_told(gpus, of) if gpus else error.reason}",
        each.parameters,
        mix,
    )


def _cut_off(each: Combination | Mixture, runs: Runs, error: UnrunnableError) -> tuple[tuple[str, ...], int]:
    """The GPUs that what has failed cuts off, where a case stopped for want of a path, and of how many."""
    if not error.is_unreachable:
        return (), 0
    whole, left = (runs.network(each.study, each.fabric, each.cluster, is_whole=is_whole) for is_whole in (True, False))
    return cut_off(whole.fabric, left.fabric), int((left.fabric.nodes["kind"] == "gpu").sum())


def _told(gpus: Sequence[str], of: int) -> str:
    return f"{len(gpus):,} of {of:,} GPUs are cut off ({_first(gpus)})"


def _first(names: Sequence[str], between: str = ", ") -> str:
    return between.join([*names[:MOST_NAMED], *(["..."] if len(names) > MOST_NAMED else [])])


def sentences(found: Sequence[Stopped]) -> Iterator[str]:
    """Why cases do not run, each reason once, with the values of what is swept for which it holds."""
    told: dict[str, list[str]] = {}
    for each in found:
        swept = [f"{value.name} {value.text}" for value in each.parameters if not value.name.startswith("failures")]
        told.setdefault(each.why, []).append(", ".join(swept))
    for why, values in told.items():
        swept = [value for value in dict.fromkeys(values) if value]
        yield f"{why} ({_first(swept, '; ')})" if swept else why
