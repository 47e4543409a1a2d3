"""The jobs of mixes, grouped by mix, cluster and fabric: for a terminal as a table, and as rows for the page.

Not here: workloads one at a time (`terminal`, `page`).
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eastwest.report.figures import Scale
from eastwest.report.limits import sentence
from eastwest.study.result import JobRow, StudyResult

EXPLANATION = (
    "A job's step beside the others, and alone on the same GPUs. All repeat their steps until each has done its own."
)
SLOWED = 1.005
"""From this slowdown on a job is said to be slowed."""


@dataclass(frozen=True)
class Mixed:
    """The jobs of one mix on one fabric."""

    name: str
    jobs: tuple[JobRow, ...]


def mixes_of(result: StudyResult) -> tuple[Mixed, ...]:
    """Give the mixes that were run, in the order of the result."""
    fabrics = {job.fabric for job in result.jobs}
    clusters = {job.cluster for job in result.jobs}
    groups: dict[str, list[JobRow]] = {}
    for job in result.jobs:
        swept = [f"{each.name} {each.text}" for each in job.parameters]
        on = f" on {job.fabric}" if len(fabrics) > 1 else ""
        of = f", {job.cluster}" if len(clusters) > 1 else ""
        groups.setdefault(", ".join([f"{job.mix}{on}{of}", *swept]), []).append(job)
    return tuple(Mixed(name, tuple(jobs)) for name, jobs in groups.items())


def times(job: JobRow) -> tuple[str, str]:
    """Give a job's step beside the others and alone, in one unit."""
    scale = Scale.of((job.step_s, job.alone_s))
    return scale.with_unit(job.step_s), scale.with_unit(job.alone_s)


def factor(job: JobRow) -> str:
    """Give how many times as long as alone a step takes."""
    return f"{job.slowdown:.2f}x"


def jobs_table(result: StudyResult) -> RenderableType:
    """Give the jobs of mixes for a terminal."""
    parts: list[RenderableType] = []
    for mixed in mixes_of(result):
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        for head in ("job", "servers", "placement", "step", "alone", "slower", "what limits it"):
            is_word = head in ("job", "placement", "what limits it")
            table.add_column(head, justify="left" if is_word else "right", vertical="top")
        for job in mixed.jobs:
            table.add_row(
                job.job,
                f"{job.servers:,}",
                job.placement,
                *times(job),
                factor(job),
                f"{job.bottleneck.where}: {job.bottleneck.why}" if job.slowdown >= SLOWED else job.bottleneck.where,
                style="bold" if job.slowdown >= SLOWED else "",
            )
        parts += [Text(mixed.name, "bold underline"), table, Text()]
    warnings = () if result.rows else tuple(Text(f"! {warning}", "yellow") for warning in result.warnings)
    return Group(*parts, Text(EXPLANATION, "dim"), *warnings, Text(" ".join(verdict(result)).strip(), "bold"))


def verdict(result: StudyResult) -> tuple[str, str]:
    """Say which job suffers most; then from what."""
    worst = max(result.jobs, key=lambda job: job.slowdown)
    if worst.slowdown < SLOWED:
        return "No job is slowed by another or by other traffic.", ""
    on = f" on {worst.fabric}" if len({job.fabric for job in result.jobs}) > 1 else ""
    return (
        f"{worst.job} in {worst.mix}{on} suffers most: its step takes {worst.slowdown:.2f} times as long as alone.",
        sentence(f"{worst.bottleneck.where}: {worst.bottleneck.why}"),
    )
