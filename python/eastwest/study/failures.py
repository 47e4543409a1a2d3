"""What failures do to a job: how much slower its step is than before, and what comes until then.

Not here: which cables a failure takes down (`fabric.failures`), or cases that cannot run (`stopped`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from eastwest.catalog import Nic
from eastwest.engine import Carriage, Losses
from eastwest.fabric import damage
from eastwest.study import fabrics
from eastwest.study.result import Outage, Row
from eastwest.study.runs import Runs
from eastwest.study.selection import Combination
from eastwest.workload import Collective, Step

MOST_FOLLOWED = 20_000_000
"""Of more connections than these it is not told what becomes of them meanwhile: each would be followed."""


def slowdown(each: Combination, runs: Runs, step_s: float) -> float | None:
    """The step over that of the same case before anything failed or goes wrong; None where nothing has or does."""
    runs.steps_s[_key(each, runs)] = step_s
    study = each.study
    is_disturbed = study.fidelity == "packet" and bool(study.fabrics[each.fabric].packets.events)
    if not fabrics.failures(study, each.fabric) and not is_disturbed:
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
    carriage = _undisturbed(each) if is_whole else fabrics.carriage(study, each.fabric)
    return (id(network), carriage, each.cluster, each.workload, each.placement, settings)


def _undisturbed(each: Combination) -> Carriage:
    """How connections cross the fabric where nothing goes wrong meanwhile."""
    return replace(fabrics.carriage(each.study, each.fabric), events=(), routes_after_s=None)


def _step_before_s(each: Combination, runs: Runs) -> float:
    study = each.study
    network = runs.network(study, each.fabric, each.cluster, is_whole=True)
    gpus = runs.gpus(network, each.placement)
    step = runs.step(study, each.workload, network, gpus)
    gpus = gpus[: step.ranks]
    carriage = _undisturbed(each)
    run = runs.simulate(study, each.workload, network, step, gpus, carriage, study.fidelity)
    return float(np.median(run.step_s))


def outage(each: Combination, runs: Runs) -> Outage | None:
    """What becomes of a case between a failure and new routes; None where nothing is down."""
    study = each.study
    if not (failed := fabrics.failures(study, each.fabric)):
        return None
    network = runs.network(study, each.fabric, each.cluster, is_whole=True)
    gpus = runs.gpus(network, each.placement)
    step = runs.step(study, each.workload, network, gpus)
    gpus = gpus[: step.ranks]
    is_cable_down = damage(network.fabric, failed).is_down
    if not is_cable_down.any() or _connections(step) > MOST_FOLLOWED:
        return None
    cable = network.fabric.links["cable"].to_numpy()
    carriage = fabrics.carriage(study, each.fabric)
    draws = range(study.seeds) if carriage.is_drawn else (0,)
    found = network.losses(step, gpus, carriage, (cable >= 0) & is_cable_down[cable], draws)
    nic = study.nic(each.fabric, each.cluster)
    return Outage(found.connections, found.lost, found.ranks, *_meanwhile(found, carriage, nic))


def _connections(step: Step) -> int:
    """About how many connections a step has, counted for each operation anew."""
    collectives = [each for each in step.operations if isinstance(each, Collective)]
    return sum(
        len(group) * (len(group) if each.algorithm in ("direct", "pxn") else each.channels)
        for each in collectives
        for group in each.groups
    )


def _meanwhile(found: Losses, carriage: Carriage, nic: Nic) -> tuple[bool, str]:
    """Whether a step ends before routes have been recomputed, and what becomes of what is lost."""
    if found.connections == 0.0:
        return True, "nothing crosses what is down"
    hit = f"{_percent(found.connections)} of the connections between servers"
    if carriage.balancing == "source":
        return True, f"{hit} have paths over what is down; their senders retire these and go on over the others"
    if carriage.balancing not in ("spray", "adaptive"):
        return False, f"{hit} hang, {_percent(found.ranks)} of the ranks wait for them, and no step ends"
    lost = f"{hit} lose packets, {_percent(found.lost)} of all"
    if nic.retransmission == "go-back-n":
        return False, f"{lost}; {nic.name} goes back to the first that is lost each time, and no step ends"
    return True, f"{lost}; they are sent again, after timeouts that are not counted here"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def sentences(rows: Sequence[Row]) -> Iterator[str]:
    """For each fabric in which something has failed, how much longer its steps take once routes are recomputed.

    Not of those in which something goes wrong meanwhile.
    """
    told: dict[str, list[Row]] = {}
    for row in rows:
        if row.slowdown is not None and not row.events:
            told.setdefault(row.fabric, []).append(row)
    for fabric, failed in told.items():
        kinds = dict.fromkeys(row.failures for row in failed)
        what = f"any of {len(kinds)} failures" if len(kinds) > 1 else " and ".join(failed[0].failures)
        times = [f"{bound(row.slowdown or 1.0 for row in failed):.3g}" for bound in (min, max)]
        span = times[0] if times[0] == times[1] else f"{times[0]} to {times[1]}"
        yield f"{fabric}, {what}: a step takes {span} times as long as before, once routes have been recomputed."
        told_before = dict.fromkeys(row.outage.why for row in failed if row.outage is not None)
        if len(told_before) == 1:
            yield f"{fabric}, until routes have been recomputed: {next(iter(told_before))}."
        elif told_before:
            stuck = sum(row.outage is not None and not row.outage.ends for row in failed)
            yield f"{fabric}, until routes have been recomputed: in {stuck} of {len(failed)} cases a step does not end."
