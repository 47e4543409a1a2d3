"""Findings by the shape of the difference: time lost at every size, sizes that stand out, worse with more servers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from eastwest.expect.comparison import Comparison, Pair
from eastwest.expect.faults import Fault
from eastwest.expect.finding import Cause, Finding
from eastwest.expect.rules.fitting import explained, percent

_FLAT = 2.0
"""Ratio of the gaps at the small sizes' ends up to which a gap counts as flat."""
_DIP = 0.6
_COLLAPSE = 0.6
_REACHED = 0.85
_LATE = 3.0
"""How many times as large messages must be as is expected, for a ramp to be late."""
_SPREAD = 1.3
_IN_PLACE = 1.2
_FALLS = 0.85


def latency_gap(comparison: Comparison) -> Finding | None:
    """Every small message takes about so much longer."""
    small = comparison.of("small")
    if not comparison.falls_short("small") or len(small) < 2:
        return None
    gaps = [each.measured_s - each.expected.time_s for each in small]
    gap = statistics.median(gaps)
    low, high = (statistics.median(each) for each in (gaps[: len(gaps) // 2], gaps[len(gaps) // 2 :]))
    if gap <= 0 or low <= 0 or max(low, high) > _FLAT * min(low, high):
        return None
    fault, several = Fault(wait_s=gap), comparison.scene.nodes > 1
    told = comparison.benchmark.told
    causes = []
    if several and not told.with_gdr:
        what = "no GPUDirect RDMA: messages go through host memory"
        causes.append(Cause(what, "lsmod | grep nvidia_peermem; NCCL_DEBUG=INFO, and grep GDRDMA in the output"))
    causes += [
        Cause(
            "CPUs at low clocks, or processes on the wrong NUMA node", "cpupower frequency-info; mpirun --bind-to numa"
        ),
        Cause("protocols for small messages are off", "env | grep -E 'NCCL_(PROTO|LL)'"),
    ]
    if several:
        causes.append(Cause("the path between servers is longer than planned", "ib_write_lat between two of them"))
    return Finding(
        "latency-gap",
        f"Each small message takes {1e6 * gap:.0f} us longer, whatever its size",
        (
            f"up to {small[-1].size_bytes:,} bytes, {1e6 * min(gaps):.0f} to {1e6 * max(gaps):.0f} us more than due",
            f"with so much lost at every size, {percent(explained(comparison, fault))} of the difference goes away",
        ),
        tuple(causes),
        explained(comparison, fault),
        model=fault,
    )


def late_ramp(comparison: Comparison) -> Finding | None:
    """The rate is reached in the end, but by far larger messages than is expected."""
    large = [each for each in comparison.judged if each.band != "small"]
    if len(large) < 3 or large[-1].ratio < _REACHED or comparison.falls_short("small"):
        return None
    measured, expected = (_half_of_best(large, how) for how in ("measured", "expected"))
    if measured < _LATE * expected:
        return None
    return Finding(
        "late-ramp",
        "The full rate is there, but only large messages reach it: each part of a message takes too long to get going",
        (
            f"half of the best bandwidth at {measured:,} bytes, where {expected:,} are expected",
            f"{percent(large[-1].ratio)} of the expected rate at {large[-1].size_bytes:,} bytes",
        ),
        (
            Cause(
                "an older NCCL, or network plug-in, than the study's", "NCCL_DEBUG=INFO, and grep version in the output"
            ),
            Cause("proxy threads share cores, or are far from the NICs", "taskset -cp PID; mpirun --bind-to numa"),
            Cause("small buffers or chunks", "env | grep -E 'NCCL_(BUFFSIZE|P2P_NET_CHUNKSIZE)'"),
        ),
    )


def _half_of_best(pairs: Sequence[Pair], how: str) -> int:
    """The first size at which half of the best bandwidth is reached, as measured or as expected."""
    rates = [each.busbw if how == "measured" else each.expected.busbw for each in pairs]
    return next(each.size_bytes for each, rate in zip(pairs, rates, strict=True) if rate >= max(rates) / 2)


def collapse(comparison: Comparison) -> Finding | None:
    """Bandwidth falls where messages grow, and is not expected to."""
    large = [each for each in comparison.judged if each.band != "small"]
    if len(large) < 3:
        return None
    best = max(large, key=lambda each: each.busbw)
    after = [each for each in large if each.size_bytes > best.size_bytes]
    if not after or statistics.median(each.busbw for each in after[-3:]) > _COLLAPSE * best.busbw:
        return None
    if after[-1].expected.busbw < _COLLAPSE * best.expected.busbw:
        return None
    return Finding(
        "collapse",
        "Bandwidth collapses as messages grow: congestion or loss, not a slower link",
        (
            f"{best.busbw / 1e9:.1f} GB/s at {best.size_bytes:,} bytes, {after[-1].busbw / 1e9:.1f} at "
            f"{after[-1].size_bytes:,}, where {after[-1].expected.busbw / 1e9:.1f} are expected",
        ),
        (
            Cause("packets are lost and sent again", "rdma statistic show link; look at out_of_sequence and timeouts"),
            Cause("pauses (PFC) spread from a port that drains slowly", "ethtool -S DEVICE | grep -E 'pause|discard'"),
            Cause("ECN or PFC is not set alike on all switches", "compare QoS settings of leaves and spines"),
        ),
    )


def dips(comparison: Comparison) -> Finding | None:
    """Single sizes are far slower than their neighbours."""
    pairs = comparison.pairs

    def stands_out(before: Pair, here: Pair, after: Pair) -> bool:
        return here.ratio < _DIP * min(before.ratio, after.ratio) and here.busbw < min(before.busbw, after.busbw)

    found = [
        here
        for before, here, after in zip(pairs, pairs[1:], pairs[2:], strict=False)
        if stands_out(before, here, after)
    ]
    if not found:
        return None
    sizes = ", ".join(f"{each.size_bytes:,}" for each in found)
    return Finding(
        "dips",
        f"Single sizes are slow, and not their neighbours: {sizes} bytes",
        tuple(f"{each.size_bytes:,} bytes: {percent(each.ratio)} of the expected rate" for each in found),
        (
            Cause(
                "a change of algorithm or protocol at this size", "rerun this size with NCCL_PROTO and NCCL_ALGO set"
            ),
            Cause("noise of other jobs", "rerun with -n 100, or -N 5"),
        ),
    )


def in_place(comparison: Comparison) -> Finding | None:
    """In place and out of place differ at large sizes, which a network does not know apart."""
    ratios = [
        row.in_place.time_s / row.out_of_place.time_s
        for row in comparison.benchmark.rows
        if row.in_place and row.out_of_place and row.size_bytes >= 1 << 24 and row.out_of_place.time_s > 0
    ]
    if len(ratios) < 3 or 1 / _IN_PLACE < (middle := statistics.median(ratios)) < _IN_PLACE:
        return None
    slower = "in place" if middle > 1 else "out of place"
    return Finding(
        "in-place-differs",
        f"Large messages are slower {slower}, by {percent(max(middle, 1 / middle) - 1)}",
        ("networks do not know these apart: it is memory or the order of runs",),
        (Cause("memory is not registered, or the first of two runs warms up", "rerun with -w 20 -n 100"),),
    )


def unsteady(comparison: Comparison) -> Finding | None:
    """The same size was run several times and took very different times."""
    times: dict[int, list[float]] = {}
    for row in comparison.benchmark.rows:
        if row.size_bytes >= 1 << 20 and row.halves:
            times.setdefault(row.size_bytes, []).append(row.halves[0].time_s)
    spreads = {size: max(each) / min(each) for size, each in times.items() if len(each) > 1 and min(each) > 0}
    worst = max(spreads, key=lambda size: spreads[size], default=0)
    if not spreads or spreads[worst] < _SPREAD or statistics.median(spreads.values()) < (1 + _SPREAD) / 2:
        return None
    return Finding(
        "unsteady",
        "The same size takes different times from one cycle to the next",
        (f"{worst:,} bytes: {spreads[worst]:.2f} times as long in one cycle as in another",),
        (
            Cause("other jobs on the same network", "rerun while it is idle"),
            Cause("pauses or losses that come and go", "rdma statistic show link, before and after"),
        ),
    )


def falls_with_nodes(comparisons: Sequence[Comparison]) -> Finding | None:
    """Of several logs, those of more servers fall short by more: the network between them, not the servers."""
    by_nodes: dict[int, float] = {}
    for each in comparisons:
        if band := each.band("plateau"):
            by_nodes[each.scene.nodes] = band.ratio
    nodes = sorted(by_nodes)
    programs = {each.scene.program.name for each in comparisons}
    if len(nodes) < 2 or len(programs) > 1 or by_nodes[nodes[-1]] > _FALLS * by_nodes[nodes[0]]:
        return None
    if all(each.agrees for each in comparisons):
        return None
    is_hashed = comparisons[0].scene.bench.carriage.is_drawn
    causes = [
        Cause("links between switches are down, or fewer than planned", "count the links that are up on each leaf"),
        Cause("one slow server, which more runs include", "run pairs of servers one after another"),
    ]
    if is_hashed:
        told = "compare transmitted bytes of a leaf's uplinks; try NCCL_IB_QPS_PER_CONNECTION=4, or adaptive routing"
        causes.insert(0, Cause("ECMP puts several flows on one link", told))
    return Finding(
        "falls-with-servers",
        "More servers fall short by more: the network between them, not the servers",
        tuple(f"{each:,} servers: {percent(by_nodes[each])} of the expected rate" for each in nodes),
        tuple(causes),
    )
