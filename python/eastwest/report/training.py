"""Training jobs: where the time of each one's step goes, how well it uses GPUs and their memory; as a table.

For a terminal and for the page alike. Not here: how fabrics compare (`terminal`, `page`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eastwest.report.figures import Scale, amount, percent
from eastwest.study.result import Row, StudyResult
from eastwest.study.training import KINDS, TrainingFacts

EXPLANATION = (
    "Where a GPU's time goes, mean over all: compute, bubble (waiting for other pipeline stages), and communication "
    "that nothing hides, by kind of group. MFU: the model's operations over what the GPUs' peak would do; memory: that "
    "of the fullest stage."
)
MOST_ROWS = 40
"""Of more jobs than these a terminal shows the first."""
GB = 1e9


@dataclass(frozen=True)
class Trained:
    """One training job on one fabric: its name, cells below `heads_of`, and what limits it."""

    name: str
    cells: tuple[str, ...]
    why: str


def heads_of(result: StudyResult) -> tuple[str, ...]:
    """Give the heads of the columns; kinds of groups that no job waits for are left out."""
    return ("step", "compute", "bubble", *_kinds(result), "MFU", "tok/s/GPU", "memory")


def trained(result: StudyResult) -> tuple[Trained, ...]:
    """Give the training jobs of a result, in its order."""
    kinds, rows = _kinds(result), [row for row in result.rows if row.training]
    called = _namer(rows)
    found = []
    for row in rows:
        facts = row.training
        if facts is None:
            continue
        scale = Scale.of([row.step_s])
        shares = [_share(facts.bubble_s, row), *(_share(facts.exposed_s[kind], row) for kind in kinds)]
        cells = (scale.with_unit(row.step_s), _share(facts.compute_s, row), *shares, *_uses(facts))
        found.append(Trained(called(row), cells, facts.why))
    return tuple(found)


def training_table(result: StudyResult) -> RenderableType:
    """Give the training jobs of a result for a terminal."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for head in ("job", *heads_of(result)):
        is_name = head == "job"
        table.add_column(head, justify="left" if is_name else "right", vertical="bottom", no_wrap=not is_name)
    jobs = trained(result)
    for job in jobs[:MOST_ROWS]:
        table.add_row(job.name, *job.cells)
    left = [Text(f"and {len(jobs) - MOST_ROWS:,} more: --json has all", "dim")] if len(jobs) > MOST_ROWS else []
    limits = [Text(f"{job.name}: {job.why}") for job in jobs[: 1 if len(jobs) > MOST_ROWS else 4]]
    return Group(Text("Training jobs", "bold underline"), table, *left, Text(), *limits, Text(EXPLANATION, "dim"))


def _kinds(result: StudyResult) -> tuple[str, ...]:
    facts = [row.training for row in result.rows if row.training]
    return tuple(kind for kind in KINDS if any(each.exposed_s[kind] > 0 for each in facts))


def _share(seconds: float, row: Row) -> str:
    return percent(seconds / row.step_s if row.step_s else 0.0)


def _uses(facts: TrainingFacts) -> tuple[str, ...]:
    return percent(facts.mfu), amount(facts.tokens_per_s_per_gpu), f"{facts.memory_bytes / GB:.0f} GB"


def _namer(rows: list[Row]) -> Callable[[Row], str]:
    """What tells rows apart: the workload, and the fabric, cluster, placement and swept values where these differ."""
    differing = [name for name in ("fabric", "cluster", "placement") if len({getattr(row, name) for row in rows}) > 1]

    def called(row: Row) -> str:
        swept = [f"{each.name.rpartition('.')[2]} {each.text}" for each in row.parameters]
        return ", ".join([row.workload, *swept, *(getattr(row, name) for name in differing)])

    return called
