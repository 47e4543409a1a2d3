"""Results as a person compares them: by case (a workload placed one way), with the fastest in each marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from eastwest.report.figures import Scale
from eastwest.study.result import Row, StudyResult

TIE = 1e-3
"""Steps within this fraction of each other count as equally fast."""


@dataclass(frozen=True)
class Case:
    """One workload in one placement, on every fabric that ran it, in the study's order."""

    workload: str
    placement: str
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """Give its name in running text: `customer, packed`."""
        return f"{self.workload}, {self.placement}"

    @property
    def best_s(self) -> float:
        """Give the shortest time from one step to the next."""
        return min(row.pace_s for row in self.rows)

    def is_fastest(self, row: Row) -> bool:
        """Tell whether none is faster, where some are slower."""
        level = self.best_s * (1 + TIE)
        return row.pace_s <= level < max(row.pace_s for row in self.rows)


@dataclass(frozen=True)
class Scales:
    """The units of one workload's times: those of a training step and of an all-to-all can be far apart."""

    step: Scale
    communication: Scale
    exposed: Scale


def scales_of(result: StudyResult) -> dict[str, Scales]:
    """Give each workload's units, the same for all its placements and fabrics, which are compared with each other."""
    scales = {}
    for workload in dict.fromkeys(row.workload for row in result.rows):
        rows = [row for row in result.rows if row.workload == workload]
        scales[workload] = Scales(
            Scale.of(row.step_s for row in rows),
            Scale.of(row.communication_s for row in rows),
            Scale.of(row.exposed_p95_s for row in rows),
        )
    return scales


def cases_of(result: StudyResult) -> tuple[Case, ...]:
    """Group the rows by workload and placement, in the order in which they first appear."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in result.rows:
        groups.setdefault((row.workload, row.placement), []).append(row)
    return tuple(Case(workload, placement, tuple(rows)) for (workload, placement), rows in groups.items())


def told_apart(result: StudyResult) -> StudyResult:
    """Name a fabric together with its cluster where it was tried on several, so that a name means one candidate."""
    clusters: dict[str, set[str]] = {}
    for row in result.rows:
        clusters.setdefault(row.fabric, set()).add(row.cluster)

    def name(fabric: str, cluster: str) -> str:
        return f"{fabric} ({cluster})" if len(clusters.get(fabric, ())) > 1 else fabric

    return replace(
        result,
        rows=tuple(replace(row, fabric=name(row.fabric, row.cluster)) for row in result.rows),
        fabrics=tuple(replace(facts, name=name(facts.name, facts.cluster)) for facts in result.fabrics),
    )


def fabrics_of(result: StudyResult) -> tuple[str, ...]:
    """Give the names of the fabrics that have results, in the study's order."""
    return tuple(dict.fromkeys(row.fabric for row in result.rows))


def rows_of(result: StudyResult, fabric: str) -> Iterator[Row]:
    """Give one fabric's rows."""
    return (row for row in result.rows if row.fabric == fabric)
