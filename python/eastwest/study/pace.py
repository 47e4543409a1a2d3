"""What the path of the data shows, in sentences for people: what sets the pace, what would mend it, and goodput.

Not here: the figures (`datapath`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eastwest.study.datapath import COMPUTE, COPYING, NETWORK, PREFETCH, PREPARING, STORAGE
from eastwest.study.result import Row
from eastwest.study.stages import DataPath, GpuHours
from eastwest.units import format_time

MOST_NAMED = 4
"""Of more fabrics than these only the number is told."""
HOPELESS = 5e-4
"""Less goodput is shown as none."""
CAUSES = {"checkpoints": "checkpoints", "lost_work": "work done again", "restarts": "restarts"}
"""What takes a job's time beside its steps, in words."""
_GOES_ON = {
    STORAGE: "{why}",
    PREPARING: "more cores for it, less work a sample, or samples prepared beforehand would help",
    COPYING: "smaller samples on the way to the GPU would help",
    PREFETCH: "more batches ahead would help",
}


def sentences(rows: Iterable[Row]) -> tuple[str, ...]:
    """For each workload: what sets its pace where that is not the step, and what failures leave."""
    told: list[str] = []
    by_workload: dict[str, list[tuple[Row, DataPath]]] = {}
    for row in rows:
        if row.data_path is not None:
            by_workload.setdefault(row.workload, []).append((row, row.data_path))
    for workload, found in by_workload.items():
        limits = dict.fromkeys(path.limited_by for _, path in found if path.limited_by not in (COMPUTE, NETWORK))
        told += [
            f"{workload}: {_set_by(limit, [each for each in found if each[1].limited_by == limit])}" for limit in limits
        ]
        if any(path.checkpoints for _, path in found):
            told.append(f"{workload}: {_goodput(found)}")
    return tuple(told)


def _set_by(limit: str, found: Sequence[tuple[Row, DataPath]]) -> str:
    """What a stage costs, at worst, and what would mend it."""
    _, path = max(found, key=lambda each: each[1].pace_s)
    fabrics = list(dict.fromkeys(each.fabric for each, _ in found))
    where = ", ".join(fabrics) if len(fabrics) <= MOST_NAMED else f"{len(fabrics)} fabrics"
    what = "too few batches under way" if limit == PREFETCH else limit
    told = f"{what}, not the step, sets the pace on {where}: {format_time(path.pace_s)} from one step to the next"
    if len(found) > 1:
        told += " at most"
    mended = _GOES_ON[limit].format(why=path.why)
    if not path.behind:
        return f"{told}; {mended}."
    times = 1 / path.behind_share if path.behind_share else 1.0
    held = f" ({path.where})" if limit == STORAGE and path.where else ""
    rest = format_time(path.pace_s * path.behind_share)
    return f"{told}{held}, {times:.3g} times what {path.behind} would allow ({rest}); {mended}."


def _goodput(found: Sequence[tuple[Row, DataPath]]) -> str:
    """Goodput, and what the job that has the least of it loses most time to."""
    all_saved = [(path, path.checkpoints) for _, path in found if path.checkpoints]
    path, worst = min(all_saved, key=lambda each: each[1].goodput)
    best = max(saved.goodput for _, saved in all_saved)
    least, most = (f"{share * 100:.1f} %" for share in (worst.goodput, best))
    span = least if least == most else f"{least} to {most}"
    every = f"with a failure every {format_time(worst.mtbf_s)} and a checkpoint every {format_time(worst.every_s)}"
    if worst.goodput < HOPELESS:
        return f"goodput is {span}, {every}: it fails again before it gets from one checkpoint to the next."
    cause, hours = max(lost(path.gpu_hours_a_month).items(), key=lambda each: each[1])
    return f"goodput is {span}, {every}; {cause} cost most, {hours:,.0f} GPU-hours a month."


def lost(hours: GpuHours) -> dict[str, float]:
    """GPU-hours a month in which the job does no step that counts, by cause in words."""
    return {words: getattr(hours, key) for key, words in CAUSES.items()}
