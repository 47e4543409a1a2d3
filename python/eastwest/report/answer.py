"""The study's question answered in a few sentences, and what each fidelity leaves out, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean, mean

from eastwest.report import jobs, path
from eastwest.report.cases import TIE, cases_of, fabrics_of, rows_of, scales_of
from eastwest.report.figures import count, listing, percent
from eastwest.study.result import Row, StudyResult

FIDELITIES = {
    "ideal": (
        "Servers and their ports have their real rates; the fabric between them is infinite.",
        "the links between switches, hashing, queues, loss and congestion control",
    ),
    "fluid": (
        "At every moment all transfers share the links max-min fairly, as long-lived flows under good congestion "
        "control do; hashing of flows onto links is drawn from seeds.",
        "queues, packet loss and retransmission, PFC pauses, and the time that congestion control needs to settle",
    ),
    "packet": (
        "Every packet between servers goes through NICs, queues and cables, with the transport's windows, marks and "
        "repeats; inside servers transfers share NVLink and PCIe as in fluid.",
        "packets inside servers, other traffic, and what firmware does beyond the published transports",
    ),
}
"""Of each fidelity: what it computes, and what it leaves out."""


_NOTHING = 1e-6
"""Shares of a step below this are nothing."""


def answer(result: StudyResult) -> tuple[str, str]:
    """Say which fabric is fastest and by how much; then how long GPUs wait there, and what for."""
    verdict, waiting = _of_those_that_run(result)
    ran, left_out = len(result.rows), sum(not each.mix for each in result.stopped)
    if ran and left_out:
        are = "is" if left_out == 1 else "are"
        verdict += f" {left_out:,} of {count(ran + left_out, 'case')} cannot run and {are} left out."
    return verdict, " ".join(filter(None, (waiting, path.fed(result))))


def _of_those_that_run(result: StudyResult) -> tuple[str, str]:
    slowdown = slowdowns(result)
    if not slowdown and not result.jobs and result.stopped:
        return "Nothing could run: what has failed leaves GPUs cut off.", "Their names stand above."
    if not slowdown and result.jobs:
        return jobs.verdict(result)
    if not slowdown:
        return "The study ran nothing.", "Add a fabric and a workload to compare."
    first, *others = slowdown
    least, worst = min(slowdown.values()), max(slowdown, key=lambda name: slowdown[name])
    best = [name for name, value in slowdown.items() if value <= least * (1 + TIE)]
    if not others:
        return _alone(result, first), _waiting(result, first, "GPUs")
    if len(best) == len(slowdown):
        return _tied(result, best), _waiting(result, first, "GPUs")
    are = "is" if len(best) == 1 else "are"
    than = [f"{percent(1 - least / slowdown[worst])} less time than on {worst}, the slowest"]
    if first not in (*best, worst):
        than.append(f"{percent(1 - least / slowdown[first])} less than on {first}, the first listed")
    verdict = (
        f"{_listed(best)}{_cluster(result, best[0])} {are} the fastest of {len(slowdown)} fabrics: "
        f"a training step takes {', and '.join(than)}{_on_average(result)}.{_same_servers(result, slowdown)}"
    )
    waiting = [_waiting(result, name, f"GPUs on {name}") for name in (best[0], worst)]
    return verdict, " ".join(waiting)


def slowdowns(result: StudyResult) -> dict[str, float]:
    """Give each fabric's step over the fastest fabric's, as the geometric mean over its cases (1: best everywhere)."""
    best_s = {(case.workload, case.placement): case.best_s for case in cases_of(result)}
    return {
        name: geometric_mean(_ratio(row.pace_s, best_s[row.workload, row.placement]) for row in rows_of(result, name))
        for name in fabrics_of(result)
    }


def _ratio(value: float, best: float) -> float:
    return value / best if best > 0 else 1.0


def _alone(result: StudyResult, fabric: str) -> str:
    """Say of the only fabric what share of a step the network takes."""
    hardest = max(result.rows, key=lambda row: row.exposed_share)
    scale = scales_of(result)[hardest.workload].step
    if not any(row.step_s for row in result.rows):
        return f"On {fabric} a training step takes no time: it has nothing to do."
    if hardest.exposed_share < _NOTHING:
        takes = f"takes {scale.with_unit(hardest.step_s)}, all of it" if len(result.rows) == 1 else "is all"
        return f"On {fabric} a training step {takes} compute."
    if len(result.rows) == 1:
        share = percent(hardest.exposed_share)
        return f"On {fabric} a training step takes {scale.with_unit(hardest.step_s)}, of which the network is {share}."
    least, most = (percent(bound(row.exposed_share for row in result.rows)) for bound in (min, max))
    shares = most if least == most else f"{least} to {most}"
    return (
        f"On {fabric} the network takes {shares} of a training step; most in {_case(hardest)}, "
        f"where it is {scale.with_unit(hardest.exposed_s)} of {scale.with_unit(hardest.step_s)}."
    )


def _tied(result: StudyResult, fabrics: Sequence[str]) -> str:
    all_of_them = "Both fabrics" if len(fabrics) == 2 else f"All {len(fabrics)} fabrics"
    cases = cases_of(result)
    if len(cases) > 1 and result.stopped:
        return f"{all_of_them} give the same training step wherever they run."
    if len(cases) > 1:
        return f"{all_of_them} give the same training step in each of {len(cases)} cases."
    step = scales_of(result)[cases[0].workload].step
    return f"{all_of_them} give the same training step, {step.with_unit(cases[0].best_s)}."


def _waiting(result: StudyResult, fabric: str, gpus: str) -> str:
    """Say how long the GPUs of a fabric wait, and what for in its hardest case."""
    rows = list(rows_of(result, fabric))
    hardest = max(rows, key=lambda row: row.gpu_idle_share)
    if hardest.gpu_idle_share < _NOTHING:
        return f"{gpus} never wait for the network: a faster one would not shorten the step."
    idle, most = percent(mean(row.gpu_idle_share for row in rows)), percent(hardest.gpu_idle_share)
    where = f"; most in {_case(hardest)} ({most})" if most != idle else ""
    return f"{gpus} are idle {idle} of the time{where}, held back by {hardest.held_by}."


def _same_servers(result: StudyResult, slowdown: dict[str, float]) -> str:
    """Name the fastest fabric on the first fabric's servers, where the fastest of all has others."""
    cluster = {row.fabric: row.cluster for row in result.rows}
    first, best = next(iter(slowdown)), min(slowdown, key=lambda name: slowdown[name])
    alike = [name for name in slowdown if cluster[name] == cluster[first]]
    if cluster[best] == cluster[first] or len(alike) < 2:
        return ""
    fastest = min(alike, key=lambda name: slowdown[name])
    return f" On cluster {cluster[first]} the fastest is {fastest}."


def _on_average(result: StudyResult) -> str:
    cases = len(cases_of(result))
    return f", on average over {count(cases, 'case')}" if cases > 1 else ""


def _cluster(result: StudyResult, fabric: str) -> str:
    """Name a fabric's cluster where not all run on the same one: then its servers differ too."""
    clusters = {row.fabric: row.cluster for row in result.rows}
    return f" (cluster {clusters[fabric]})" if len(set(clusters.values())) > 1 else ""


def _case(row: Row) -> str:
    return f"{row.workload} {row.placement}"


def _listed(names: Sequence[str], most: int = 3) -> str:
    return listing(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"
