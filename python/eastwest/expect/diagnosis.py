"""Why a log falls short: every rule is asked, and what explains most comes first.

A finding that the log itself states comes before one by simulation; one by simulation is left out where it explains
less than half of the difference, or clearly less than another. Not here: the rules (`rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eastwest.expect.comparison import Comparison
from eastwest.expect.finding import Finding
from eastwest.expect.rules import log, rates, shape

Rule = Callable[[Comparison], Finding | None]
_RULES: tuple[Rule, ...] = (
    log.sockets,
    log.other_transport,
    log.idle_nics,
    log.staged,
    log.no_peer_access,
    log.settings,
    shape.collapse,
    rates.slow_nics,
    rates.slow_switches,
    rates.other_algorithm,
    rates.without_pxn,
    rates.slow_nvlink,
    rates.unlucky_hash,
    shape.latency_gap,
    shape.late_ramp,
)
"""Asked where a log falls short: what is seen more often first."""
_ALWAYS: tuple[Rule, ...] = (shape.dips, shape.in_place, shape.unsteady)
"""What is worth telling even of a log that agrees."""
LEAST_EXPLAINED = 0.5
_FREE = 0.05
"""What a part that was fitted must explain more than a hypothesis with nothing to fit."""
_BEHIND = 0.1
_ALIKE = 0.04
"""Parts that differ by less are alike, and stay in the order of the rules: what is seen more often comes first."""


def diagnosed(comparison: Comparison) -> tuple[Finding, ...]:
    """Findings on one log, the likeliest first; no more than that where it is of other GPUs than the study's.

    Raises:
        StudyError: the collective cannot be run on the fabric.
    """
    if comparison.other_gpu:
        only = (log.corrupted(comparison), log.broken_off(comparison), log.other_gpu(comparison))
        return tuple(each for each in only if each is not None)
    is_short = not all(band.agrees for band in comparison.bands)
    rules = (log.corrupted, log.broken_off, *(_RULES if is_short else ()), *_ALWAYS)
    found = [finding for rule in rules if (finding := rule(comparison)) is not None]
    best = max((each.explains for each in found if each.explains is not None), default=0.0)
    least = max(LEAST_EXPLAINED, best - _BEHIND)
    worth = [each for each in found if each.is_certain or each.explains is None or each.explains >= least]

    def place(finding: Finding) -> tuple[bool, int]:
        behind = 0.0 if finding.explains is None else best - finding.explains
        behind += _FREE if finding.model is not None and finding.model.changes_links else 0.0
        return not finding.is_certain, int(behind / _ALIKE)

    return tuple(sorted(worth, key=place))


def across(comparisons: Sequence[Comparison]) -> tuple[Finding, ...]:
    """Findings on several logs together."""
    found = shape.falls_with_nodes(comparisons)
    return () if found is None else (found,)
