"""Weighted max-min rates by literal water-filling, and completions one after another."""

import numpy as np
from tests.reference.paths import Floats, Integers
from tests.reference.traffic import Traffic

TIE = 1e-9
"""Relative difference of levels, and of times, below which two are taken for one: rounding, not physics."""


def max_min(traffic: Traffic, capacity: Floats) -> Floats:
    """Rates at which no demand can go faster without slowing one that goes no faster for its weight.

    All rates rise together, each in proportion to its weight. Where a link fills up, whatever crosses it stays as it
    is; the others rise on.
    """
    demand, link, coefficient = traffic.demand, traffic.link, traffic.coefficient
    count, links = len(traffic.weight), len(capacity)
    first = np.searchsorted(demand, np.arange(count + 1))
    by_link = np.argsort(link, kind="stable")
    first_of_link = np.searchsorted(link[by_link], np.arange(links + 1))

    rate = np.zeros(count)
    is_free = np.ones(count, dtype=bool)
    room = capacity.astype(float)
    rise = np.bincount(link, weights=coefficient * traffic.weight[demand], minlength=links)
    crossing = np.bincount(link, minlength=links)  # free demands on each link
    while is_free.any():
        level = np.divide(room, rise, out=np.full(links, np.inf), where=crossing > 0)
        lowest = level.min()
        full = np.flatnonzero(level <= lowest * (1 + TIE))
        entries = np.concatenate([by_link[first_of_link[each] : first_of_link[each + 1]] for each in full])
        stopped = np.unique(demand[entries])
        stopped = stopped[is_free[stopped]]
        is_free[stopped] = False
        rate[stopped] = lowest * traffic.weight[stopped]
        gone = np.concatenate([np.arange(first[each], first[each + 1]) for each in stopped])
        np.subtract.at(room, link[gone], coefficient[gone] * rate[demand[gone]])
        np.subtract.at(rise, link[gone], coefficient[gone] * traffic.weight[demand[gone]])
        np.subtract.at(crossing, link[gone], 1)
    return rate


def completions(traffic: Traffic, capacity: Floats) -> Floats:
    """Seconds until each demand is done, all starting at once: rates anew whenever one has carried its work."""
    left, carried_at = traffic.work.astype(float), np.zeros(len(traffic.work))
    under_way, now = np.arange(len(left)), 0.0
    while len(under_way):
        rest = _of(traffic, under_way)
        needs = left[under_way] / max_min(rest, capacity)
        step = needs.min()
        left[under_way] *= 1 - step / needs
        now += step
        is_done = needs <= step * (1 + TIE)
        carried_at[under_way[is_done]] = now
        under_way = under_way[~is_done]
    return carried_at + traffic.latency_s


def _of(traffic: Traffic, kept: Integers) -> Traffic:
    """The demands `kept` (in order), numbered anew."""
    number = np.full(len(traffic.weight), -1)
    number[kept] = np.arange(len(kept))
    entries = number[traffic.demand] >= 0
    return Traffic(
        number[traffic.demand[entries]],
        traffic.link[entries],
        traffic.coefficient[entries],
        traffic.weight[kept],
        traffic.work[kept],
        traffic.latency_s[kept],
    )
