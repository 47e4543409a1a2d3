"""How well a fault explains a log, and which part of a resource's rate explains it best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from eastwest.expect.comparison import Comparison, Pair
from eastwest.expect.faults import NONE, Fault

_LEAST_PART = 0.01
_HALVINGS = 8
_MOST_FITTED = 3
_MOST_TRIED = 12
"""Sizes at which a fault is simulated: each is a run. A quarter of them among many ranks, where runs are slow."""
_MANY_RANKS = 512


def residual(comparison: Comparison, fault: Fault = NONE) -> float:
    """Mean factor, as a logarithm, by which measured times miss those that a fault gives, over what is judged."""
    most = _MOST_TRIED if comparison.scene.ranks <= _MANY_RANKS else _MOST_TRIED // 4
    ratios = comparison.ratios(fault, thinned(comparison.judged, most))
    return statistics.fmean(abs(math.log(each)) for each in ratios)


def explained(comparison: Comparison, fault: Fault) -> float:
    """The part of the difference that goes away with a fault: 1 all of it, below 0 where it makes it worse."""
    before = residual(comparison)
    return 1 - residual(comparison, fault) / before if before > 0 else 0.0


def fitted(comparison: Comparison, of: Callable[[float], Fault]) -> float | None:
    """The part of a rate with which large messages are as slow as measured; None where no part makes them so."""
    most = _MOST_FITTED if comparison.scene.ranks <= _MANY_RANKS else 1
    pairs = thinned(comparison.of("plateau"), most)

    def ratio(part: float) -> float:
        return statistics.median(comparison.ratios(of(part), pairs))

    if not pairs or ratio(1.0) >= 1 or ratio(_LEAST_PART) < 1:
        return None
    low, high = _LEAST_PART, 1.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if ratio(middle) < 1:
            high = middle
        else:
            low = middle
    return math.sqrt(low * high)


def thinned(pairs: Sequence[Pair], most: int) -> Sequence[Pair]:
    """At most so many of them, spread evenly, the largest among them."""
    return pairs[::-1][:: -(-len(pairs) // most)][::-1] if pairs else ()


def percent(part: float) -> str:
    """A part in words."""
    return f"{100 * part:.0f} %"
