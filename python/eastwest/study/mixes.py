"""Several jobs on one cluster at once: each job's step beside the others, and alone on the same GPUs.

Jobs do step after step until each has done those that count. How many that makes of the faster ones is found by
running: first each job alone, then all together, with more steps for those that ran out before the end. Not here:
workloads one at a time on a whole cluster (`join`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eastwest.engine import Carriage, Fidelity, Network, Run
from eastwest.engine.network import Floats
from eastwest.engine.program import BITS
from eastwest.fabric import Part, parted, servers
from eastwest.spec import MixJob, Study, Training
from eastwest.study import bottleneck, fabrics, timeline, tuning
from eastwest.study.result import Bottleneck, JobRow
from eastwest.study.runs import Gpus, Runs
from eastwest.study.selection import Mixture
from eastwest.study.timeline import Timeline
from eastwest.units import format_rate
from eastwest.workload import Background, Compute, Job, Step, background, ended, merged

MOST_STEPS = 1000
"""A job that would do more steps than these beside the others is taken for a mistake."""

SPARE = 1.5
"""Steps that jobs get at first, over those for which there would be time if none slowed another."""

UNTOUCHED = 1.005
"""Below this slowdown a job's bottleneck is the one that it has alone."""

BACKGROUND = "background traffic"


@dataclass(frozen=True)
class _Alone:
    """A job with its GPUs, run alone, and the bound."""

    asked: MixJob
    job: Job
    gpus: Gpus
    run: Run
    ideal: Run


def run(each: Mixture, runs: Runs) -> tuple[list[JobRow], Callable[[], Timeline]]:
    """Runs a mix on a fabric, and gives a row a job, and what records the timeline of all.

    Raises:
        StudyError: a job takes no time, or one does more than `MOST_STEPS` in the time that another takes.
    """
    study = each.study
    asked = study.mixes[each.mix]
    network, carriage = runs.network(study, each.fabric, each.cluster), fabrics.carriage(study, each.fabric)
    parts = [Part(job.servers, job.placement.kind, job.placement.seed) for job in asked.jobs]
    placed = parted(network.fabric, parts)
    alone = [
        _alone(each, runs, network, carriage, job, name, gpus)
        for job, name, gpus in zip(asked.jobs, asked.names, placed, strict=True)
    ]
    beside = None
    if asked.background is not None:
        others = asked.background
        beside = background(others.traffic, servers(network.fabric), others.rate, others.seed)
    step, together, ends = _together(each, runs, network, carriage, alone, beside)
    watch = _watched(each, runs, network, carriage, placed[0], beside)
    rows = [
        _row(each, network, carriage, one, alone, watch, together, ends_of)
        for one, ends_of in zip(alone, ends, strict=True)
    ]
    gpus = np.concatenate(placed)

    def record() -> Timeline:
        name = timeline.name(each.parameters, rows[0].mix, rows[0].fabric, rows[0].cluster)
        names = [f"{one.job.name} rank {rank}" for one in alone for rank in range(len(one.gpus))]
        return runs.timeline(
            study, name, network, step, gpus, carriage, study.fidelity, together, beside, names.__getitem__
        )

    return rows, record


def cautions(study: Study, fabric: str, cluster: str, mix: str) -> list[str]:
    """What to warn of: what is left out of a mix, and background traffic of more than a GPU's NICs can send."""
    return [*_left_out(study, mix), *_too_much(study, fabric, cluster, mix)]


def _left_out(study: Study, mix: str) -> list[str]:
    jobs = dict.fromkeys(job.workload for job in study.mixes[mix].jobs)
    fed = [name for name in jobs if study.workloads[name].data or study.workloads[name].checkpoint]
    if not fed:
        return []
    return [f"mix {study.base('mixes', mix)}: data and checkpoints of {', '.join(fed)} are left out beside other jobs"]


def _too_much(study: Study, fabric: str, cluster: str, mix: str) -> list[str]:
    others, server = study.mixes[mix].background, study.server(cluster)
    most_bps = study.fabrics[fabric].link * server.nics / server.gpus
    if others is None or others.rate <= most_bps:
        return []
    offered, called = format_rate(others.rate), study.base("fabrics", fabric)
    return [
        f"mix {study.base('mixes', mix)} on {called}: every GPU offers {offered} of background traffic and can send "
        f"{format_rate(most_bps)}: the network is as full as it gets"
    ]


def _alone(
    each: Mixture, runs: Runs, network: Network, carriage: Carriage, asked: MixJob, name: str, gpus: Gpus
) -> _Alone:
    study = each.study
    step = runs.step(study, asked.workload, network, gpus)
    gpus = gpus[: step.ranks]
    ideal = runs.simulate(study, asked.workload, network, step, gpus, carriage, "ideal")
    found = ideal
    if study.fidelity != "ideal":
        found = runs.simulate(study, asked.workload, network, step, gpus, carriage, study.fidelity)
    if float(found.step_s.min()) <= 0.0:
        message = f"job {name!r} of mix {study.base('mixes', each.mix)!r} takes no time: there is nothing to compare"
        raise study.error_at(("mixes", each.mix, "jobs"), message)
    return _Alone(asked, Job(name, step, asked.steps), gpus, found, ideal)


def _together(
    each: Mixture,
    runs: Runs,
    network: Network,
    carriage: Carriage,
    alone: Sequence[_Alone],
    beside: Background | None,
) -> tuple[Step, Run, list[Floats]]:
    """All jobs as one program, its run, and when each job's steps ended, shape (draws, steps): 0 if after the end."""
    study, jobs = each.study, [one.job for one in alone]
    gpus = np.concatenate([one.gpus for one in alone])
    longest = max(one.job.steps * float(one.run.step_s.max()) for one in alone)
    repeats = [max(one.job.steps, math.ceil(SPARE * longest / float(one.run.step_s.min())) + 1) for one in alone]
    while True:
        for job, repeat in zip(jobs, repeats, strict=True):
            if repeat > max(MOST_STEPS, job.steps):
                message = (
                    f"job {job.name!r} would do over {MOST_STEPS:,} steps in the time of the longest job: give it more "
                    "to do in a step, or the longest job fewer steps"
                )
                raise study.error_at(("mixes", each.mix, "jobs"), message)
        step = merged(jobs, repeats)
        found = runs.simulate_at(
            study, ("mixes", each.mix), network, step, gpus, carriage, study.fidelity, background=beside
        )
        number = {operation.name: index for index, operation in enumerate(step.operations)}
        ends = [
            found.op_end_s[:, [number[ended(job, each)] for each in range(1, repeat + 1)]]
            for job, repeat in zip(jobs, repeats, strict=True)
        ]
        short = [bool(((last[:, -1] > 0.0) & (last[:, -1] < found.step_s)).any()) for last in ends]
        if not any(short):
            return step, found, ends
        repeats = [repeat * 2 if is_short else repeat for repeat, is_short in zip(repeats, short, strict=True)]


def _watched(
    each: Mixture, runs: Runs, network: Network, carriage: Carriage, gpus: Gpus, beside: Background | None
) -> Run | None:
    """Background traffic alone, for as long as one GPU computes; None where there is none."""
    if beside is None:
        return None
    idle = Step(1, (Compute("watch", 1e-3),))
    study, place = each.study, ("mixes", each.mix)
    return runs.simulate_at(study, place, network, idle, gpus[:1], carriage, study.fidelity, background=beside)


def _row(
    each: Mixture,
    network: Network,
    carriage: Carriage,
    one: _Alone,
    alone: Sequence[_Alone],
    watch: Run | None,
    together: Run,
    ends: Floats,
) -> JobRow:
    """A job's row; a step's time is the mean over those that were done from beginning to end."""
    study, asked = each.study, one.asked
    done = (ends > 0.0).sum(axis=1)
    step_s, alone_s = ends.max(axis=1) / done, float(np.median(one.run.step_s))
    slowdown = float(np.median(step_s)) / alone_s
    others: tuple[str, ...] = ()
    limit = bottleneck.name(network, one.run, one.ideal, one.job.step, carriage)
    if slowdown > UNTOUCHED:
        limit, others = _shared(network, one, alone, watch, together, study.fidelity) or (limit, others)
    return JobRow(
        fabric=study.base("fabrics", each.fabric),
        cluster=study.base("clusters", each.cluster),
        mix=study.base("mixes", each.mix),
        job=one.job.name,
        workload=study.base("workloads", asked.workload),
        placement=str(asked.placement),
        servers=asked.servers,
        gpus=len(one.gpus),
        fidelity=study.fidelity,
        step_s=float(np.median(step_s)),
        step_p95_s=float(np.percentile(step_s, 95)),
        alone_s=alone_s,
        slowdown=slowdown,
        steps=int(done[together.median_draw]),
        bottleneck=limit,
        shared_with=others,
        draws=len(step_s),
        parameters=each.parameters,
        choices=tuning.choices(one.job.step, by_group=isinstance(study.workloads[one.asked.workload], Training)),
    )


def _shared(
    network: Network, one: _Alone, alone: Sequence[_Alone], watch: Run | None, together: Run, fidelity: Fidelity
) -> tuple[Bottleneck, tuple[str, ...]] | None:
    """The busiest link of those that a job shares, and who else loads it; None where it shares none.

    Which links a job loads is known from its run alone, for it takes the same paths there; likewise of background
    traffic from a run in which nothing else is under way.
    """
    draw = together.median_draw
    loads = {other.job.name: other.run.link_bytes[draw] > 0.0 for other in alone if other is not one}
    if watch is not None:
        loads[BACKGROUND] = watch.link_bytes[draw] > 0.0
    if not loads:
        return None
    tiers = network.fabric.links["tier"]
    is_shared = (one.run.link_bytes[draw] > 0.0) & np.any(list(loads.values()), axis=0)
    if fidelity == "ideal":  # links between switches have no limit then
        is_shared &= ~tiers.is_in(list(bottleneck.BETWEEN_SWITCHES)).to_numpy()
    if not is_shared.any():
        return None
    busy = together.link_bytes[draw] * BITS / (network.rate_bps * float(together.step_s[draw]))
    link = int(np.argmax(np.where(is_shared, busy, -1.0)))
    others = tuple(name for name, load in loads.items() if load[link])
    places = bottleneck.PLACES | bottleneck.BETWEEN_SWITCHES
    tier = str(tiers[link])
    share = float(min(busy[link], 1.0))
    why = f"shared with {' and '.join(others)}, {share:.0%} busy all through".replace("%", "\N{NO-BREAK SPACE}%")
    return Bottleneck(places[tier], share, why), others
