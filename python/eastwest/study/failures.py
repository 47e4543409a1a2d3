"""What failures do to a job: how much slower its step is than before, and who is left without a path.

Not here: which cables a failure takes down (`fabric.failures`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from eastwest.fabric import cut_off
from eastwest.study import fabrics
from eastwest.study.result import Row, Stopped
from eastwest.study.runs import CutOffError, Runs
from eastwest.study.selection import Combination

MOST_NAMED = 3
"""Of more that are cut off only so many are named for people; the result's JSON has all."""


def slowdown(each: Combination, runs: Runs, step_s: float) -> float | None:
    """The step over that of the same case before anything failed; None where nothing has."""
    runs.steps_s[_key(each, runs)] = step_s
    if not fabrics.failures(each.study, each.fabric):
        return None
    before = _key(each, runs, is_whole=True)
    if before not in runs.steps_s:
        runs.steps_s[before] = _step_before_s(each, runs)
    return step_s / runs.steps_s[before] if runs.steps_s[before] else 1.0


def _key(each: Combination, runs: Runs, *, is_whole: bool = False) -> tuple[object, ...]:
    """What a step's time depends on; fabrics that are alike but for their names share it."""
    study = each.study
    network = runs.network(study, each.fabric, each.cluster, is_whole=is_whole)
    settings = (study.fidelity, study.seeds, study.tolerance)
    return (id(network), fabrics.carriage(study, each.fabric), each.cluster, each.workload, each.placement, settings)


def _step_before_s(each: Combination, runs: Runs) -> float:
    study = each.study
    network = runs.network(study, each.fabric, each.cluster, is_whole=True)
    step, gpus = runs.step(study, each.workload, study.gpus(each.cluster)), runs.gpus(network, each.placement)
    carriage = fabrics.carriage(study, each.fabric)
    run = runs.simulate(study, each.workload, network, step, gpus, carriage, study.fidelity)
    return float(np.median(run.step_s))


def stopped(each: Combination, runs: Runs, error: CutOffError) -> Stopped:
    """A case that cannot run for want of a path."""
    study = each.study
    left, whole = (runs.network(study, each.fabric, each.cluster, is_whole=is_whole) for is_whole in (False, True))
    gpus = cut_off(whole.fabric, left.fabric)
    failed = tuple(map(str, fabrics.failures(study, each.fabric)))
    names = {
        section: study.base(f"{section}s", getattr(each, section)) for section in ("fabric", "cluster", "workload")
    }
    return Stopped(
        **names,
        placement=str(each.placement),
        failures=failed,
        gpus=gpus,
        why=_why(names, str(each.placement), failed, gpus, len(runs.gpus(left, each.placement)), error),
        parameters=each.parameters,
    )


def _why(
    names: dict[str, str], placement: str, failed: Sequence[str], gpus: Sequence[str], all_gpus: int, error: CutOffError
) -> str:
    case = f"{names['workload']}, {placement}, cannot run on {names['fabric']} with {' and '.join(failed)}"
    if not gpus:
        return f"{case}: {error.mistakes[0].message}"
    others = ", ..." if len(gpus) > MOST_NAMED else ""
    return f"{case}: {len(gpus):,} of {all_gpus:,} GPUs are cut off ({', '.join(gpus[:MOST_NAMED])}{others})"


def sentences(rows: Sequence[Row]) -> Iterator[str]:
    """For each fabric in which something has failed, how much longer its steps take once routes are recomputed."""
    told: dict[str, list[Row]] = {}
    for row in rows:
        if row.slowdown is not None:
            told.setdefault(row.fabric, []).append(row)
    for fabric, failed in told.items():
        kinds = dict.fromkeys(row.failures for row in failed)
        what = f"any of {len(kinds)} failures" if len(kinds) > 1 else " and ".join(failed[0].failures)
        times = [f"{bound(row.slowdown or 1.0 for row in failed):.3g}" for bound in (min, max)]
        span = times[0] if times[0] == times[1] else f"{times[0]} to {times[1]}"
        yield f"{fabric}, {what}: a step takes {span} times as long as before, once routes have been recomputed."
