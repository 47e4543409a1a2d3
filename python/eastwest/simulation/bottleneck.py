"""Where each of the slowest flows waited: the port on its way whose queue kept it longest, or that was busiest.

On one path the way is that of the flow's first packet. A flow whose packets part has many: all shortest ones count.
Not here: waiting inside the sender, for its window or behind other flows of its NIC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.engine.links import port_names
from eastwest.simulation.result import SimulationResult

SPRAYED = ("uet", "mrc")
KEPT_TOGETHER = ("hash", "wcmp", "pinned")
"""Choices of ports by which the packets of one entropy value stay on one way, but for new routes."""
BITS = 8.0


@dataclass(frozen=True)
class Bottleneck:
    """A port on a flow's way while the flow was under way: the mean time that its queue took, and its mean load."""

    port: str
    queue_s: float
    utilisation: float


def bottlenecks(result: SimulationResult, flows: Sequence[int]) -> list[Bottleneck | None]:
    """The bottleneck of each of some flows; None where the run was not sampled, or the flow never started."""
    series, run = result.run.series, result.run
    if series is None:
        return [None] * len(flows)
    names = port_names(result.network.fabric)
    starts, lengths = series.starts_s(), series.lengths_s(run.simulated_s)
    rate = result.network.rate_bps / BITS
    ways: dict[tuple[int, int], NDArray[np.int64]] = {}
    found: list[Bottleneck | None] = []
    for flow in flows:
        start_s, end_s = run.start_s[flow], np.nan_to_num(run.end_s[flow], nan=run.simulated_s)
        if np.isnan(start_s):
            found.append(None)
            continue
        during = np.flatnonzero((starts + lengths > start_s) & (starts < end_s))
        links = _way(result, flow, ways)
        seen = series.ports.filter(pl.col("sample").is_between(during[0], during[-1]) & pl.col("link").is_in(links))
        by_link = seen.group_by("link").agg(pl.col("bytes").sum(), pl.col("waiting_bytes").sum()).sort("link")
        link = by_link["link"].to_numpy()
        queue_s = by_link["waiting_bytes"].to_numpy() / len(during) / rate[link]
        load = by_link["bytes"].to_numpy() / rate[link] / lengths[during].sum()
        if not len(link):
            found.append(None)
            continue
        packet_s = result.settings.full / rate[link]
        waits = np.where(queue_s > packet_s, queue_s, 0.0)
        worst = int(np.lexsort((load, waits))[-1])
        found.append(Bottleneck(names[link[worst]], float(queue_s[worst]), float(load[worst])))
    return found


def _way(result: SimulationResult, flow: int, known: dict[tuple[int, int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """Links that a flow's packets take, or may take."""
    series, hosts = result.run.series, result.network.hosts
    is_sprayed = result.settings.transport in SPRAYED or result.settings.choice not in KEPT_TOGETHER
    if series is not None and not is_sprayed:
        return series.ways.filter(pl.col("flow") == flow)["link"].to_numpy().astype(np.int64)
    ends = int(hosts[result.flows.source[flow]]), int(hosts[result.flows.destination[flow]])
    if ends not in known:
        known[ends] = _shortest(result, *ends)
    return known[ends]


def _shortest(result: SimulationResult, source: int, destination: int) -> NDArray[np.int64]:
    """All links on shortest ways from a host to another."""
    links = result.network.fabric.links
    src, dst = (links[end].to_numpy().astype(np.int64) for end in ("src", "dst"))
    is_cabled = links["cable"].to_numpy() >= 0
    hosts = np.zeros(len(result.network.fabric.nodes), dtype=bool)
    hosts[result.network.hosts] = True
    # packets pass through switches alone
    is_open = is_cabled & (~hosts[src] | (src == source)) & (~hosts[dst] | (dst == destination))
    there = _distances(src[is_open], dst[is_open], source, len(hosts))
    back = _distances(dst[is_open], src[is_open], destination, len(hosts))
    on_way = is_open & (there[src] + 1 + back[dst] == there[destination])
    return np.flatnonzero(on_way)


def _distances(src: NDArray[np.int64], dst: NDArray[np.int64], start: int, nodes: int) -> NDArray[np.float64]:
    """Hops from a node to all others over some links, infinite where none lead there."""
    distance = np.full(nodes, np.inf)
    distance[start] = 0
    frontier, hops = np.array([start]), 0
    while len(frontier):
        hops += 1
        reached = np.unique(dst[np.isin(src, frontier)])
        frontier = reached[np.isinf(distance[reached])]
        distance[frontier] = hops
    return distance
