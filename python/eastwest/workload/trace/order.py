"""Puts one rank's nodes in an order in which they can run: dependencies first, then by time, then as in the file."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from eastwest.workload.trace.nodes import Node, RankTrace

SHOWN = 6
"""Nodes of a circle that a message names."""


def ordered(trace: RankTrace) -> list[Node]:
    """The nodes, each behind those that it waits for.

    Raises:
        InputError: two nodes share a number, one waits for a node that there is not, or nodes wait for each other;
            names the nodes.
    """
    place: dict[int, int] = {}
    for index, node in enumerate(trace.nodes):
        if (other := place.setdefault(node.id, index)) != index:
            first = trace.told(trace.nodes[other])
            raise trace.refuse(node, f"has the number of {first}: numbers are there once")
    waiting: list[list[int]] = [[] for _ in trace.nodes]
    open_waits = [0] * len(trace.nodes)
    for index, node in enumerate(trace.nodes):
        for number in node.after:
            before = place.get(number)
            if before is None:
                raise trace.refuse(node, f"waits for {trace.word} {number}, which the file does not have: was it cut?")
            waiting[before].append(index)
        open_waits[index] = len(node.after)
    ready = [(node.start, index) for index, node in enumerate(trace.nodes) if not open_waits[index]]
    heapify(ready)
    found: list[Node] = []
    while ready:
        _, index = heappop(ready)
        found.append(trace.nodes[index])
        for later in waiting[index]:
            open_waits[later] -= 1
            if not open_waits[later]:
                heappush(ready, (trace.nodes[later].start, later))
    if len(found) < len(trace.nodes):
        left = [index for index, waits in enumerate(open_waits) if waits]
        circle = circle_in({index: [place[each] for each in trace.nodes[index].after] for index in left})
        told = [trace.told(trace.nodes[index]) for index in circle]
        raise trace.refuse(trace.nodes[circle[0]], f"waits for itself: {chain(told)}; leave out one of these waits")
    return found


def circle_in(waits: dict[int, list[int]]) -> list[int]:
    """A circle of a graph in which every node waits for at least one that is in the graph too."""
    at = next(iter(waits))
    seen: dict[int, int] = {}
    way: list[int] = []
    while at not in seen:
        seen[at] = len(way)
        way.append(at)
        at = next(each for each in waits[at] if each in waits)
    return way[seen[at] :]


def chain(told: Sequence[str]) -> str:
    """What waits for what, of a circle; its middle left out where it is long."""
    shown = [*told, told[0]]
    if len(shown) > SHOWN + 1:
        shown = [*shown[: SHOWN - 2], f"{len(shown) - SHOWN} more", *shown[-2:]]
    return " after ".join(shown)
