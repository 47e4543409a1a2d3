"""The main job: every fabric of a study with every workload and placement, run and compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from eastwest.errors import InputError
from eastwest.spec import Study, StudyError, Training
from eastwest.study import (
    case,
    datapath,
    fabrics,
    failures,
    mixes,
    notes,
    pace,
    packets,
    selection,
    timeline,
    training,
    tuning,
    workloads,
)
from eastwest.study import stopped as unrun
from eastwest.study.case import Case, Price
from eastwest.study.result import FabricFacts, JobRow, Row, Stopped, StudyResult
from eastwest.study.runs import Runs, UnrunnableError
from eastwest.study.selection import Combination, Mixture
from eastwest.study.timeline import Timeline
from eastwest.workload import Step

Advance = Callable[[int, int, str], None]
"""Called with (cases done, cases in all, what comes next)."""

MOST_DRAWN = 24
"""Of more fabrics than these no drawing is kept: nobody would look at them."""


def unwatched(_done: int, _total: int, _what: str) -> None:
    """Progress that nobody watches."""


def run(
    study: Study,
    advance: Advance = unwatched,
    where: str = "",
    *,
    is_timed: bool = False,
    work: Callable[[Step], Step] | None = None,
    batch_for: int | None = None,
) -> StudyResult:
    """Runs a study, or those of its combinations that meet the conditions of `where`, and gives its result.

    Where it `is_timed`, each case's median draw is run once more for its timeline. `work` makes of each workload's step
    the one that is run; a training job's batch is that of `batch_for` GPUs, and grows with them, where that is given.

    Raises:
        StudyError: a fabric cannot be built, a measured time cannot be met, or nothing can run; names the line.
        InputError: `where` cannot be read or leaves nothing, or there are too many combinations.
        KeyboardInterrupt: Ctrl-C was pressed; nothing is kept.
    """
    began = time.perf_counter()
    (chosen, mixtures), runs = selection.chosen(study, where), Runs(work, batch_for)
    workloads.check_storage(chosen, mixtures)
    _check_packets(study, chosen, mixtures, runs, is_timed=is_timed)
    rows: list[Row] = []
    remarks: list[notes.Remark] = []
    timelines: list[Timeline] = []
    stopped: list[Stopped] = []
    refused: list[UnrunnableError] = []
    total = len(chosen) + len(mixtures)
    for done, each in enumerate(chosen):
        advance(done, total, f"{each.workload} on {each.fabric}")
        try:
            found, remark, record = _case(each, runs)
        except UnrunnableError as error:
            stopped.append(unrun.stopped(each, runs, error))
            refused.append(error)
            continue
        rows.append(found)
        remarks.append(remark)
        timelines += [record()] if is_timed else []
    jobs: list[JobRow] = []
    for done, mixture in enumerate(mixtures, start=len(chosen)):
        advance(done, total, f"{mixture.mix} on {mixture.fabric}")
        try:
            found_jobs, record = mixes.run(mixture, runs)
            jobs += found_jobs
            timelines += [record()] if is_timed else []
        except UnrunnableError as error:
            stopped.append(unrun.stopped(mixture, runs, error))
            refused.append(error)
    if stopped and not (rows or jobs or any(each.failures for each in stopped)):
        raise StudyError(mistake for error in refused for mistake in error.mistakes)
    advance(total, total, "done")
    cases: list[Combination | Mixture] = [*chosen, *mixtures]
    pairs = dict.fromkeys((each.fabric, each.cluster) for each in cases)
    cautions = [text for fabric, cluster in pairs for text in fabrics.cautions(study, fabric, cluster)]
    cautions += [text for each in mixtures for text in mixes.cautions(study, each.fabric, each.cluster, each.mix)]
    cautions += [text for each in chosen for text in training.cautions(each.study, each.workload, each.cluster)]
    cautions += unrun.sentences(stopped)
    return StudyResult(
        study=study.name,
        rows=tuple(rows),
        fabrics=tuple(_facts(study, *pair, runs, is_drawn=len(pairs) <= MOST_DRAWN) for pair in pairs),
        warnings=tuple(dict.fromkeys(cautions)),
        seeds=tuple(range(max(_draws(each.study) for each in cases))),
        wall_s=time.perf_counter() - began,
        engine_s=runs.engine_s,
        notes=(
            *notes.sentences(study, rows, remarks, runs.sizes),
            *notes.choices([*rows, *jobs], study),
            *failures.sentences(rows),
            *packets.sentences(rows),
            *pace.sentences(rows),
        ),
        sources=notes.sources(study),
        tolerance=max(each.study.tolerance for each in cases),
        description=study.description or "",
        stopped=tuple(stopped),
        jobs=tuple(jobs),
        timelines=tuple(timelines),
    )


def _draws(study: Study) -> int:
    return packets.draws(study) if study.fidelity == "packet" else study.seeds


def _check_packets(
    study: Study, chosen: Sequence[Combination], mixtures: Sequence[Mixture], runs: Runs, *, is_timed: bool
) -> None:
    """Whether what is chosen can be run packet by packet, where that is asked.

    Raises:
        StudyError: a fabric, or a mix, cannot; names the line.
        InputError: timelines are asked for.
    """
    if study.fidelity != "packet":
        return
    if is_timed:
        raise InputError(f"{study.file}: runs by packets keep no timeline: leave it out, or take --fidelity fluid")
    for each in mixtures:
        at = ("mixes", each.mix)
        raise study.error_at(
            at, f"mix {each.mix!r} cannot be run by packets: choose workloads alone with --where, or fluid"
        )
    for fabric, cluster in dict.fromkeys((each.fabric, each.cluster) for each in chosen):
        packets.check(study, fabric)
        packets.check_events(study, fabric, runs.network(study, fabric, cluster))


def _case(each: Combination, runs: Runs) -> tuple[Row, notes.Remark, Callable[[], Timeline]]:
    """One combination, run in the study's fidelity and as the bound; and what records its timeline."""
    study, here = each.study, Case(each.fabric, each.cluster, each.workload, str(each.placement), each.study.fidelity)
    network = runs.network(study, each.fabric, each.cluster)
    gpus, carriage = runs.gpus(network, each.placement), fabrics.carriage(study, each.fabric)
    step = runs.step(study, each.workload, network, gpus)
    trains = isinstance(study.workloads[each.workload], Training)
    gpus = gpus[: step.ranks]  # an imported step may leave GPUs idle
    ideal = runs.simulate(study, each.workload, network, step, gpus, carriage, "ideal")
    found = ideal
    if study.fidelity != "ideal":
        found = runs.simulate(study, each.workload, network, step, gpus, carriage, study.fidelity)
    money = study.money
    price = Price() if money is None else Price(money.gpu_hour.amount, money.gpu_hour.currency)
    row = case.row(here, network, step, carriage, found, ideal, price)
    row = replace(
        row,
        fabric=study.base("fabrics", each.fabric),
        cluster=study.base("clusters", each.cluster),
        workload=study.base("workloads", each.workload),
        parameters=each.parameters,
        failures=tuple(map(str, fabrics.failures(study, each.fabric))),
        events=carriage.events if study.fidelity == "packet" else (),
        slowdown=failures.slowdown(each, runs, row.step_s),
        outage=failures.outage(each, runs),
        choices=tuning.choices(step, by_group=trains),
        training=training.facts(runs.job(study, each.workload, network, step.ranks), step, found) if trains else None,
    )
    place = datapath.Place(study, each.workload, each.fabric, each.cluster, network, gpus, carriage)
    row = case.fed(row, datapath.path(place, runs, step, row), step.ranks, price)
    name = timeline.name(each.parameters, row.workload, row.placement, row.fabric, row.cluster)

    def record() -> Timeline:
        return runs.timeline(study, name, network, step, gpus, carriage, study.fidelity, found)

    return row, notes.remark(here, network, found), record


def _facts(study: Study, fabric: str, cluster: str, runs: Runs, *, is_drawn: bool) -> FabricFacts:
    network = runs.network(study, fabric, cluster)
    return FabricFacts(
        study.base("fabrics", fabric),
        runs.summary(network),
        runs.sketch(network) if is_drawn else {},
        study.base("clusters", cluster),
        tuple(each for each in study.parameters(fabric=fabric, cluster=cluster) if each.of in ("fabric", "cluster")),
    )
