"""How much of its line rate plain Ethernet reaches, and a tuned one, on the network of `pune-1024`, packet by packet.

Run as `python benchmarks/ethernet_claim.py [permutations] [all-to-all] [all-reduce]`: prints the tables of
docs/ethernet-claim.md, one run at a time, in some five minutes of one core each. With `--write` they go into the page.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eastwest import spec
from eastwest.engine import wire_rates
from eastwest.engine.packets import Choice, PacketNetwork, Transport
from eastwest.simulation import settings_for, simulate
from eastwest.study import build_fabric, run
from eastwest.workload.flows import flows

PAGE = Path(__file__).parents[1] / "docs" / "ethernet-claim.md"
SIZE = 8_000_000
"""Bytes that each NIC sends: 165 us at line rate, some fifteen round trips."""
SEEDS = range(3)
ACKS = (("ack_every", 16_384),)
ANY_ORDER = (*ACKS, ("repeat", "any-order"))
DEEP = (("pause_above", 1_000_000), ("pause_at", 900_000))
DCQCN = (("dcqcn", "paper"), ("mark_from", 100_000), ("mark_to", 400_000), ("mark_most", 0.2))


@dataclass(frozen=True)
class Way:
    """How NICs send and switches choose."""

    name: str
    transport: Transport
    choice: Choice = "hash"
    qps: int = 1
    stated: tuple[tuple[str, Any], ...] = ACKS


WAYS = (
    Way("RoCEv2, ECMP, 1 queue pair", "rocev2"),
    Way("the same, pauses from 1 MB", "rocev2", stated=(*ACKS, *DEEP)),
    Way("the same with DCQCN", "rocev2", stated=(*ACKS, *DEEP, *DCQCN)),
    Way("RoCEv2, ECMP, 4 queue pairs", "rocev2", qps=4),
    Way("RoCEv2, ECMP, 16 queue pairs", "rocev2", qps=16),
    Way("RoCEv2, sprayed, NIC takes any order", "rocev2", "random", stated=ANY_ORDER),
    Way("RoCEv2, adaptive, NIC takes any order", "rocev2", "shortest-queue", stated=ANY_ORDER),
    Way("the same, pauses from 1 MB", "rocev2", "shortest-queue", stated=(*ANY_ORDER, *DEEP)),
    Way("Ultra Ethernet, switches hash", "uet", stated=()),
    Way("Ultra Ethernet, switches adaptive", "uet", "shortest-queue", stated=()),
    Way("MRC, switches hash", "mrc", stated=()),
)


def permutation(hosts: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Whom each host sends to: another, and each to one that no other sends to."""
    draw = np.random.default_rng(seed)
    while True:
        to = draw.permutation(hosts)
        if (to != np.arange(hosts)).all():
            return to


def permutations() -> Iterator[str]:
    """A row for each way: what flows reach of the line rate, in the mean and the slowest, over the seeds."""
    fabric = build_fabric(spec.load("pune-1024"), "roce-400g", "h100")
    network = PacketNetwork(fabric, wire_rates(fabric))
    yield "| way | mean flow | slowest flow | pauses | marks |"
    yield "|---|---|---|---|---|"
    for way in WAYS:
        with ThreadPoolExecutor(len(SEEDS)) as draws:
            found = list(draws.map(partial(draw, network, way), SEEDS))
        counts = " | ".join(f"{np.median([each[key] for each in found]):,.0f}" for key in ("pauses", "marks"))
        shares = " | ".join(spread([each[key] for each in found]) for key in ("mean", "slowest"))
        yield f"| {way.name} | {shares} | {counts} |"


def draw(network: PacketNetwork, way: Way, seed: int) -> dict[str, float]:
    """What the flows of one permutation reach of the line rate, and how often switches paused and marked."""
    hosts = len(network.hosts)
    given = flows(np.repeat(np.arange(hosts), way.qps), np.repeat(permutation(hosts, seed), way.qps), SIZE // way.qps)
    settings = settings_for(way.transport, network, given, way.choice, seed, stated=way.stated)
    result = simulate(network, given, settings)
    took_s = result.run.end_s.reshape(hosts, way.qps).max(axis=1)
    line_rate = settings.rate * settings.payload / (settings.payload + settings.header)
    reached = SIZE / took_s / line_rate
    run = result.run
    return {"mean": reached.mean(), "slowest": reached.min(), "pauses": run.pauses, "marks": run.marks}


def spread(shares: list[float]) -> str:
    """Median and range in percent."""
    low, middle, high = (100 * float(each) for each in (min(shares), np.median(shares), max(shares)))
    return f"{middle:.0f} % ({low:.0f} to {high:.0f})"


FABRICS = {
    "ECMP, 1 queue pair": {"qps": 1},
    "ECMP, 4 queue pairs, messages split over them": {"qps": 4, "qp_use": "split"},
    "ECMP, 16 queue pairs, the same": {"qps": 16, "qp_use": "split"},
    "sprayed": {"balancing": "spray"},
    "adaptive": {"balancing": "adaptive"},
}


def collective(servers: int, units: int, operation: dict[str, Any], placements: list[str]) -> Iterator[str]:
    """A row for each fabric: ideal over actual time of an exchange, as studies have it (`closeness`)."""
    base = dict(spec.load("pune-1024").written["fabrics"]["roce-400g"])
    base |= {"cluster": "h100", "servers_per_unit": servers // units}
    names = [name.replace(" ", "-").replace(",", "") for name in FABRICS]
    study = spec.from_mapping(
        {
            "name": "ethernet-claim",
            "fidelity": "packet",
            "seeds": 1,
            "clusters": {"h100": {"server": "hgx-h100", "servers": servers}},
            "fabrics": {name: {**base, **each} for name, each in zip(names, FABRICS.values(), strict=True)},
            "workloads": {"job": {"kind": "operations", "operations": [{"name": "exchange", **operation}]}},
            "placements": placements,
        }
    )
    rows = run(study).rows
    yield f"| RoCEv2 | {' | '.join(placements)} |"
    yield f"|---|{'---|' * len(placements)}"
    for name, title in zip(names, FABRICS, strict=True):
        found = [row for row in rows if row.fabric == name]
        yield f"| {title} | {' | '.join(f'{100 * row.closeness:.0f} %' for row in found)} |"


TABLES = {
    "permutations": permutations,
    "all-to-all": lambda: collective(
        32, 4, {"collective": "all-to-all", "bytes": "16 MiB", "group": 64}, ["packed", "scattered"]
    ),
    "all-reduce": lambda: collective(
        32,
        4,
        {"collective": "all-reduce", "bytes": "64 MiB", "algorithm": "hierarchical-pipelined"},
        ["packed", "scattered"],
    ),
}


def main(words: list[str]) -> None:
    """Prints the tables named, or all; writes them into the page where that is asked."""
    chosen = [word for word in words if word in TABLES] or list(TABLES)
    for name in chosen:
        began = time.perf_counter()
        lines = []
        for line in TABLES[name]():
            print(line, flush=True)
            lines.append(line)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
        if "--write" in words:
            before, _, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
            _, _, after = rest.partition("<!-- end -->\n")
            table = "\n".join(lines)
            PAGE.write_text(f"{before}<!-- {name} -->\n{table}\n<!-- end -->\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
