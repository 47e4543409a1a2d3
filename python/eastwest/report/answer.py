"""The study's question answered in two sentences, and what each fidelity leaves out, in plain words."""

from __future__ import annotations

from statistics import geometric_mean, mean

from eastwest.report.cases import TIE, cases_of, fabrics_of, rows_of
from eastwest.report.figures import Scale, count, listing, percent
from eastwest.study.result import StudyResult

FIDELITIES = {
    "ideal": (
        "Servers and their ports have their real rates; the fabric between them is infinite.",
        "every switch and cable, hashing, queues, loss and congestion control",
    ),
    "fluid": (
        "At every moment all transfers share the links max-min fairly, as long-lived flows under good congestion "
        "control do; hashing of flows onto links is drawn from seeds.",
        "queues, packet loss and retransmission, PFC pauses, and the time that congestion control needs to settle",
    ),
    "packet": (
        "Every packet passes NIC and switch queues; inside a server rates are fluid.",
        "the insides of switches and hosts: scheduling jitter, PCIe ordering, firmware",
    ),
}
"""Of each fidelity: what it computes, and what it leaves out."""


def answer(result: StudyResult) -> tuple[str, str]:
    """Give which fabric is best and which worst, and what limits them, each as one sentence."""
    slowdown = slowdowns(result)
    if len(slowdown) < 2:
        return _only(result)
    least, most = min(slowdown.values()), max(slowdown.values())
    best = [name for name, value in slowdown.items() if value <= least * (1 + TIE)]
    worst = next(name for name, value in slowdown.items() if value == most)
    cases = cases_of(result)
    over = f" over {count(len(cases), 'case')}" if len(cases) > 1 else ""
    if len(best) == len(slowdown):
        step = Scale.of(row.step_s for row in result.rows)
        mean_s = step.with_unit(mean(row.step_s for row in rows_of(result, worst)))
        first = f"All {len(best)} fabrics give the same training step, {mean_s}{' on average' + over if over else ''}."
        return first, f"On each of them {_limit(result, best[0])}."
    named = best[0] if len(best) == 1 else f"{len(best)} fabrics ({_listed(best)})"
    first = (
        f"{named}{_cluster(result, best[0])} {'is' if len(best) == 1 else 'are'} the fastest of {len(slowdown)}: "
        f"a training step takes {percent(1 - least / most)} less time than on {worst}, the slowest"
        f"{', on average' + over if over else ''}."
    )
    return first, f"On {best[0]} {_limit(result, best[0])}; on {worst} {_limit(result, worst)}."


def slowdowns(result: StudyResult) -> dict[str, float]:
    """Give each fabric's step over the fastest fabric's, as the geometric mean over its cases (1: best everywhere)."""
    best_s = {(case.workload, case.placement): case.best_s for case in cases_of(result)}
    return {
        name: geometric_mean(_ratio(row.step_s, best_s[row.workload, row.placement]) for row in rows_of(result, name))
        for name in fabrics_of(result)
    }


def _ratio(value: float, best: float) -> float:
    return value / best if best > 0 else 1.0


def _only(result: StudyResult) -> tuple[str, str]:
    if not result.rows:
        return "The study ran nothing.", "Add a fabric and a workload to compare."
    hardest = max(result.rows, key=lambda row: row.exposed_share)
    step = Scale.of([hardest.step_s]).with_unit(hardest.step_s)
    first = (
        f"On {hardest.fabric} a step of {hardest.workload}, {hardest.placement}, takes {step}, "
        f"of which the network is {percent(hardest.exposed_share)}."
    )
    return first, f"Over all cases {_limit(result, hardest.fabric)}."


def _limit(result: StudyResult, fabric: str) -> str:
    """Say how long GPUs wait on a fabric, and what limits its hardest case."""
    rows = list(rows_of(result, fabric))
    hardest = max(rows, key=lambda row: row.exposed_share).bottleneck
    alike = sum(row.bottleneck.where == hardest.where for row in rows)
    cases = f" in {alike} of {len(rows)} cases" if alike < len(rows) else ""
    idle = percent(mean(row.gpu_idle_share for row in rows))
    busy = percent(hardest.utilisation)
    return f"GPUs are idle {idle} of the time, held back by {hardest.where}{cases} ({busy} busy)"


def _cluster(result: StudyResult, fabric: str) -> str:
    """Name a fabric's cluster where not all run on the same one: then its servers differ too."""
    clusters = {row.fabric: row.cluster for row in result.rows}
    return f" (cluster {clusters[fabric]})" if len(set(clusters.values())) > 1 else ""


def _listed(names: list[str], most: int = 3) -> str:
    return listing(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"
