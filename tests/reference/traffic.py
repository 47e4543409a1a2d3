"""From connections to demands: what shares one rate, and how much of it crosses each link."""

from dataclasses import dataclass

import numpy as np
from tests.reference.collectives import Edges
from tests.reference.paths import Crossing, Floats, Integers


@dataclass(frozen=True)
class Traffic:
    """Demands that start together. One progresses at a rate, and puts `coefficient` times that on each `link`.

    `demand`, `link` and `coefficient` list what crosses what, each pair once and ordered by demand; the others have
    one entry a demand. `work` is in bytes; what a congested link shares itself among is the demands' `weight`.
    """

    demand: Integers
    link: Integers
    coefficient: Floats
    weight: Floats
    work: Floats
    latency_s: Floats


def ring_traffic(edges: Edges, crossing: Crossing) -> Traffic:
    """A ring's channel is one demand, since its connections wait for each other; latency adds up step by step."""
    ranks = np.bincount(edges.channel)
    steps = 2 * (ranks - 1)
    latency_s = steps * np.bincount(edges.channel, weights=crossing.latency_s) / ranks
    return _traffic(edges.channel[crossing.edge], edges, crossing, latency_s)


def tree_traffic(edges: Edges, tree_of: Integers, crossing: Crossing) -> Traffic:
    """A tree of a channel is one demand; its latency is that of its longest way up and that of its longest way down."""
    latency_s = np.zeros(tree_of.max() + 1)
    for tree in range(len(latency_s)):
        for way in np.split(np.flatnonzero(tree_of == tree), 2):
            arrival: dict[int, float] = {}
            for edge in way:
                start, end = edges.sender[edge], edges.receiver[edge]
                arrival[end] = max(arrival.get(end, 0.0), arrival.get(start, 0.0) + crossing.latency_s[edge])
            latency_s[tree] += max(arrival.values())
    return _traffic(tree_of[crossing.edge], edges, crossing, latency_s)


def pair_traffic(edges: Edges, crossing: Crossing) -> Traffic:
    """Every connection is a demand of its own."""
    return _traffic(crossing.edge, edges, crossing, crossing.latency_s)


def _traffic(demand: Integers, edges: Edges, crossing: Crossing, latency_s: Floats) -> Traffic:
    links, count = int(crossing.link.max()) + 1, len(latency_s)
    pairs, at = np.unique(demand * links + crossing.link, return_inverse=True)
    coefficient = np.bincount(at, weights=crossing.share)
    work = np.full(count, edges.bytes)
    weight = np.full(count, float(crossing.flows))
    return Traffic(pairs // links, pairs % links, coefficient, weight, work, latency_s)


def link_bytes(traffic: Traffic, links: int) -> Floats:
    """Bytes that each of `links` links carries in all."""
    return np.bincount(traffic.link, weights=traffic.coefficient * traffic.work[traffic.demand], minlength=links)
