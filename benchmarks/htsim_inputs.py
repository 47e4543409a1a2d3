"""Inputs that htsim and eastwest both simulate: trees and flows of our own writing, in htsim's formats.

Not here: what became of them. htsim's answers are in `tests/data/htsim/measured.csv`; `against_htsim.py` sets ours
beside them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

MB = 1_000_000
DATA = Path(__file__).parents[1] / "tests" / "data" / "htsim"
Kind = Literal["sprayed", "incast", "credited", "hashed", "adaptive"]
SECTIONS: dict[str, tuple[Kind, ...]] = {
    "Sprayed (Ultra Ethernet, NSCC)": ("sprayed",),
    "Incasts (Ultra Ethernet, NSCC)": ("incast",),
    "Ultra Ethernet, credit of the receiver (RCCC)": ("credited",),
    "RoCEv2, one path a flow": ("hashed",),
    "RoCEv2, switches spread each flow": ("adaptive",),
}


@dataclass(frozen=True)
class Tree:
    """A fat tree of two or three tiers by its radices, (down, up) a tier; links all have one rate and latency."""

    hosts: int
    pod: int
    radices: tuple[tuple[int, int], ...]
    gbps: int = 400
    latency_ns: int = 1000
    switch_ns: int = 0
    bundles: tuple[int, ...] = (1, 1, 1)

    def text(self) -> str:
        """The tree as htsim's `.topo`; a tier is oversubscribed by as much as it has more ports down than up."""
        lines = [f"Nodes {self.hosts}", f"Tiers {len(self.radices)}", f"Podsize {self.pod}"]
        for tier, (down, up) in enumerate(self.radices):
            lines += [f"Tier {tier}", f"Downlink_speed_Gbps {self.gbps}", f"Radix_Down {down}"]
            lines += [f"Radix_Up {up}", f"Oversubscribed {down // up}"] if up else []
            lines += [f"Downlink_Latency_ns {self.latency_ns}", f"Switch_Latency_ns {self.switch_ns}"]
            lines += [f"Bundle {self.bundles[tier]}"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Row:
    """A flow of a connection matrix; starts in microseconds, or by a trigger."""

    source: int
    destination: int
    size: int
    start_us: float | None = 0.0
    trigger: int = 0
    done: int = 0

    def text(self, number: int) -> str:
        begins = f"start {self.start_us:g}" if self.start_us is not None else f"trigger {self.trigger}"
        pulls = f" send_done_trigger {self.done}" if self.done else ""
        return f"{self.source}->{self.destination} id {number} {begins} size {self.size}{pulls}"


@dataclass(frozen=True)
class Matrix:
    """A connection matrix: flows, and triggers by number."""

    rows: list[Row]
    triggers: dict[int, str] = field(default_factory=dict)

    def text(self, hosts: int) -> str:
        lines = [f"Nodes {hosts}", f"Connections {len(self.rows)}"]
        lines += [f"Triggers {len(self.triggers)}"] if self.triggers else []
        lines += [row.text(number) for number, row in enumerate(self.rows, start=1)]
        lines += [f"trigger id {number} {kind}" for number, kind in self.triggers.items()]
        return "\n".join(lines) + "\n"


def three(hosts: int, radix: int, gbps: int = 400, **more: int) -> Tree:
    """Three tiers without oversubscription, of switches with `radix` ports down and up."""
    return Tree(hosts, radix * radix, ((radix, radix), (radix, radix), (hosts // radix**2, 0)), gbps, **more)


def two(hosts: int, down: int, up: int, gbps: int = 400, **more: int) -> Tree:
    """Leaves of `down` hosts under `up` spines."""
    return Tree(hosts, hosts, ((down, up), (hosts // down, 0)), gbps, **more)


def ring(hosts: int, seed: int) -> Iterable[tuple[int, int]]:
    """A permutation: every host sends to one and hears from one."""
    order = list(range(hosts))
    random.Random(seed).shuffle(order)
    return zip(order, order[1:] + order[:1], strict=True)


def permutation(hosts: int, size: int = 2 * MB, each: int = 1, seed: int = 1) -> Matrix:
    """`each` permutations over one another."""
    return Matrix([Row(a, b, size) for layer in range(each) for a, b in ring(hosts, seed + layer)])


def mixed(hosts: int, sizes: tuple[int, ...], seed: int = 1) -> Matrix:
    """A permutation whose flows have the given sizes in turn."""
    return Matrix([Row(a, b, sizes[place % len(sizes)]) for place, (a, b) in enumerate(ring(hosts, seed))])


def incast(hosts: int, senders: int, size: int = 2 * MB, into: int = 1, seed: int = 3) -> Matrix:
    """`senders` hosts drawn by lot to each of `into` receivers, all together."""
    order = list(range(hosts))
    random.Random(seed).shuffle(order)
    receivers, rest = order[:into], order[into:]
    rows = [
        Row(rest[(place * senders + one) % len(rest)], receiver, size)
        for place, receiver in enumerate(receivers)
        for one in range(senders)
    ]
    return Matrix(rows)


def beside(hosts: int, senders: int, size: int = 2 * MB) -> Matrix:
    """A permutation, and an incast beside it."""
    return Matrix(permutation(hosts, size).rows + incast(hosts, senders, size).rows)


def within(hosts: int, group: int) -> Matrix:
    """A permutation within each `group` of neighbouring hosts."""
    return Matrix(
        [Row(first + a, first + b, 2 * MB) for first in range(0, hosts, group) for a, b in ring(group, first)]
    )


def outcast() -> Matrix:
    """Host 0 sends to sixteen others."""
    return Matrix([Row(0, one, 2 * MB) for one in range(1, 128, 8)])


def outcast_incast() -> Matrix:
    """Ten hosts send to host 0, and one of them to eight others as well."""
    into = [Row(sender, 0, 2 * MB) for sender in range(1, 11)]
    return Matrix(into + [Row(1, 20 + 10 * one, 2 * MB) for one in range(8)])


def all_to_all(hosts: int, size: int) -> Matrix:
    """Every host to every other, all at once."""
    return Matrix([Row(a, (a + step) % hosts, size) for step in range(1, hosts) for a in range(hosts)])


def staggered(hosts: int, size: int = 2 * MB, every_us: float = 1.0) -> Matrix:
    """A permutation whose flows start one after another."""
    return Matrix([Row(a, b, size, place * every_us) for place, (a, b) in enumerate(ring(hosts, 1))])


def in_turn(hosts: int, size: int, chosen: int) -> Matrix:
    """All-to-all of `chosen` hosts evenly apart, each sending one flow after another."""
    apart = hosts // chosen
    rows: list[Row] = []
    triggers: dict[int, str] = {}
    for a in range(chosen):
        for step in range(1, chosen):
            start, before = (0.0 if step == 1 else None), len(triggers)
            done = before + 1 if step < chosen - 1 else 0
            rows.append(Row(a * apart, (a + step) % chosen * apart, size, start, before, done))
            if done:
                triggers[done] = "oneshot"
    return Matrix(rows, triggers)


def in_phases(hosts: int, size: int = MB, phases: int = 3) -> Matrix:
    """Permutations one after another, each beginning when all flows of the one before have ended."""
    rows = [
        Row(a, b, size, 0.0 if phase == 0 else None, phase, phase + 1 if phase + 1 < phases else 0)
        for phase in range(phases)
        for a, b in ring(hosts, 1 + phase)
    ]
    return Matrix(rows, dict.fromkeys(range(1, phases), f"barrier count {hosts}"))


WIDE = tuple(f"RoCE: permutation 128, {more}hashed" for more in ("", "2 tiers, ", "8 MB, "))
"""Cases whose draws lie far apart."""


@dataclass(frozen=True)
class Case:
    """A tree with flows, and how they are sent; htsim stops at `end_us`."""

    name: str
    tree: Tree
    matrix: Callable[[], Matrix]
    kind: Kind = "sprayed"
    end_us: int = 20_000

    @property
    def transport(self) -> str:
        return "rocev2" if self.kind in ("hashed", "adaptive") else "uet"

    @property
    def bytes(self) -> int:
        """What all flows send together."""
        return sum(row.size for row in self.matrix().rows)

    @property
    def draws(self) -> int:
        """Seeds to run it with: as many as its spread asks for, and its size allows."""
        if self.tree.hosts > 128:
            return 1
        return 12 if self.name in WIDE else 3

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The case's topology and flows as files."""
        topology, flows = folder / "case.topo", folder / "case.cm"
        topology.write_text(self.tree.text())
        flows.write_text(self.matrix().text(self.tree.hosts))
        return topology, flows


T16, T128, T1024 = three(16, 2), three(128, 4), three(1024, 8)
T64 = Tree(64, 16, ((4, 4), (4, 4), (4, 0)))
T256 = Tree(256, 64, ((8, 8), (8, 8), (4, 0)))
T512 = Tree(512, 64, ((8, 8), (8, 8), (8, 0)))
T432 = Tree(432, 36, ((6, 6), (6, 6), (12, 0)))
L128, K128, K512 = two(128, 16, 16), two(128, 8, 8), two(512, 16, 16)
OVER_2 = Tree(128, 16, ((4, 2), (4, 4), (8, 0)))
OVER_4 = two(128, 16, 4)
OVER_8 = Tree(128, 16, ((4, 1), (4, 2), (8, 0)))
OVER_CORE = Tree(128, 16, ((4, 4), (4, 2), (8, 0)))
BUNDLED_2 = Tree(64, 64, ((8, 8), (32, 0)), bundles=(1, 4))
BUNDLED_3 = Tree(128, 16, ((4, 4), (8, 8), (16, 0)), bundles=(1, 2, 2))
"""Trees of two and three tiers, some with more ports down than up (`OVER`), some with several cables a pair."""

CASES: tuple[Case, ...] = (
    Case("permutation 16, 3 tiers", T16, lambda: permutation(16)),
    Case("permutation 64, 3 tiers", T64, lambda: permutation(64)),
    Case("permutation 128, 3 tiers", T128, lambda: permutation(128)),
    Case("permutation 256, 3 tiers", T256, lambda: permutation(256)),
    Case("permutation 512, 3 tiers", T512, lambda: permutation(512)),
    Case("permutation 1,024, 3 tiers", T1024, lambda: permutation(1024)),
    Case("permutation 1,024, 2 tiers", two(1024, 32, 32), lambda: permutation(1024)),
    Case("permutation 1,024, 20 KB", T1024, lambda: permutation(1024, 20_000)),
    Case("permutation 128, 2 tiers", L128, lambda: permutation(128)),
    Case("permutation 512, 2 tiers", two(512, 32, 32), lambda: permutation(512)),
    Case("permutation 128, 2 flows a host", T128, lambda: permutation(128, MB, 2)),
    Case("permutation 128, 4 flows a host", T128, lambda: permutation(128, MB, 4)),
    Case("permutation 128, 64 KB", T128, lambda: permutation(128, 64_000)),
    Case("permutation 128, 200 KB", T128, lambda: permutation(128, 200_000)),
    Case("permutation 128, 1 MB", T128, lambda: permutation(128, MB)),
    Case("permutation 128, 8 MB", T128, lambda: permutation(128, 8 * MB)),
    Case("permutation 128, 32 MB", T128, lambda: permutation(128, 32 * MB)),
    Case("permutation 128, sizes mixed", T128, lambda: mixed(128, (64_000, 200_000, MB, 8 * MB))),
    Case("permutation 128, 100 Gb/s", three(128, 4, 100), lambda: permutation(128)),
    Case("permutation 128, 200 Gb/s", three(128, 4, 200), lambda: permutation(128)),
    Case("permutation 128, 800 Gb/s", three(128, 4, 800), lambda: permutation(128)),
    Case("permutation 128, 800 Gb/s, 16 MB", three(128, 4, 800), lambda: permutation(128, 16 * MB)),
    Case("permutation 128, 100 ns a link", three(128, 4, latency_ns=100), lambda: permutation(128)),
    Case("permutation 128, 250 ns a link", three(128, 4, latency_ns=250), lambda: permutation(128)),
    Case("permutation 128, 3 us a link", three(128, 4, latency_ns=3000), lambda: permutation(128)),
    Case("permutation 128, 500 ns a switch", three(128, 4, latency_ns=500, switch_ns=500), lambda: permutation(128)),
    Case("permutation 128, 2:1 at the leaves", OVER_2, lambda: permutation(128)),
    Case("permutation 128, 4:1, 2 tiers", OVER_4, lambda: permutation(128)),
    Case("permutation 128, 2:1 at the core", OVER_CORE, lambda: permutation(128)),
    Case("permutation 1,024, 4:1, 2 tiers, 100 Gb/s", two(1024, 32, 8, 100), lambda: permutation(1024)),
    Case("permutation 1,024, 8:1, 2 tiers, 100 Gb/s", two(1024, 32, 4, 100), lambda: permutation(1024)),
    Case("permutation 128, 8:1", OVER_8, lambda: permutation(128)),
    Case("permutation 64, bundles of 4", BUNDLED_2, lambda: permutation(64)),
    Case("permutation 128, bundles of 2, 3 tiers", BUNDLED_3, lambda: permutation(128)),
    Case("permutation 128, starts 1 us apart", T128, lambda: staggered(128)),
    Case("all-to-all 16, 200 KB", T16, lambda: all_to_all(16, 200_000)),
    Case("all-to-all 32, 100 KB", two(32, 8, 8), lambda: all_to_all(32, 100_000)),
    Case("all-to-all 16 of 128 in turn, 500 KB", T128, lambda: in_turn(128, 500_000, 16)),
    Case("three permutations 128 in phases", T128, lambda: in_phases(128)),
    Case("one flow across 128", T128, lambda: Matrix([Row(0, 100, 2 * MB)])),
    Case("one flow within a leaf", T128, lambda: Matrix([Row(0, 1, 2 * MB)])),
    Case("one flow of 1,000 B", T128, lambda: Matrix([Row(0, 100, 1000)])),
    Case("one flow there and one back", T128, lambda: Matrix([Row(0, 100, 2 * MB), Row(100, 0, 2 * MB)])),
    Case("permutation 128 within leaves", T128, lambda: within(128, 4)),
    Case("permutation 128 within pods", T128, lambda: within(128, 16)),
    Case("outcast of 16", T128, outcast),
    Case("incast 3 within a leaf", T128, lambda: Matrix([Row(one, 0, 2 * MB) for one in range(1, 4)]), "incast"),
    Case("incast 15 within a pod", T128, lambda: Matrix([Row(one, 0, 2 * MB) for one in range(1, 16)]), "incast"),
    Case("outcast beside incast", T128, outcast_incast, "incast"),
    Case("incast 2", T128, lambda: incast(128, 2), "incast"),
    Case("incast 4", T128, lambda: incast(128, 4), "incast"),
    Case("incast 8", T128, lambda: incast(128, 8), "incast"),
    Case("incast 16", T128, lambda: incast(128, 16), "incast"),
    Case("incast 32", T128, lambda: incast(128, 32), "incast"),
    Case("incast 64", T128, lambda: incast(128, 64), "incast"),
    Case("incast 127", T128, lambda: incast(128, 127), "incast", 60_000),
    Case("incast 512 of 1,024, 100 KB, 100 Gb/s", three(1024, 8, 100), lambda: incast(1024, 512, 100_000), "incast"),
    Case("incast 16, 100 KB", T128, lambda: incast(128, 16, 100_000), "incast"),
    Case("incast 64, 20 KB", T128, lambda: incast(128, 64, 20_000), "incast"),
    Case("incast 16, 100 Gb/s", three(128, 4, 100), lambda: incast(128, 16), "incast"),
    Case("incast 16, 800 Gb/s", three(128, 4, 800), lambda: incast(128, 16), "incast"),
    Case("incast 8 of 16", T16, lambda: incast(16, 8), "incast"),
    Case("four incasts of 16", T128, lambda: incast(128, 16, into=4), "incast"),
    Case("eight incasts of 8", T128, lambda: incast(128, 8, into=8), "incast"),
    Case("permutation 128 beside an incast of 16", T128, lambda: beside(128, 16), "incast"),
    Case("RCCC: permutation 128", T128, lambda: permutation(128), "credited"),
    Case("RCCC: permutation 128, 2 tiers", L128, lambda: permutation(128), "credited"),
    Case("RCCC: permutation 128, 2 flows a host", T128, lambda: permutation(128, MB, 2), "credited"),
    Case("RCCC: incast 4", T128, lambda: incast(128, 4), "credited"),
    Case("RCCC: incast 8", T128, lambda: incast(128, 8), "credited"),
    Case("RCCC: incast 32", T128, lambda: incast(128, 32), "credited"),
    Case("RCCC: incast 64", T128, lambda: incast(128, 64), "credited"),
    Case("RCCC: incast 16, 100 KB", T128, lambda: incast(128, 16, 100_000), "credited"),
    Case("RCCC: incast 16, 100 Gb/s", three(128, 4, 100), lambda: incast(128, 16), "credited"),
    Case("RCCC: four incasts of 16", T128, lambda: incast(128, 16, into=4), "credited"),
    Case("RCCC: permutation 128 beside an incast of 16", T128, lambda: beside(128, 16), "credited"),
    Case("RCCC: outcast of 16", T128, outcast, "credited"),
    Case("RCCC: all-to-all 16, 200 KB", T16, lambda: all_to_all(16, 200_000), "credited"),
    Case("RoCE: permutation 128, hashed", T128, lambda: permutation(128), "hashed"),
    Case("RoCE: permutation 432, hashed", T432, lambda: permutation(432), "hashed"),
    Case("RoCE: permutation 512, 2 tiers, hashed", K512, lambda: permutation(512), "hashed"),
    Case("RoCE: permutation 128, 2 tiers, hashed", K128, lambda: permutation(128), "hashed"),
    Case("RoCE: permutation 128, 8 MB, hashed", T128, lambda: permutation(128, 8 * MB), "hashed"),
    Case("RoCE: permutation 128, 4 flows a host, hashed", T128, lambda: permutation(128, MB, 4), "hashed"),
    Case("RoCE: permutation 128, 100 Gb/s, hashed", three(128, 4, 100), lambda: permutation(128), "hashed"),
    Case("RoCE: incast 4", T128, lambda: incast(128, 4), "hashed"),
    Case("RoCE: incast 16", T128, lambda: incast(128, 16), "hashed"),
    Case("RoCE: incast 64", T128, lambda: incast(128, 64), "hashed"),
    Case("RoCE: permutation 128 beside an incast of 16", T128, lambda: beside(128, 16), "hashed"),
    Case("RoCE: permutation 128, shortest queue", T128, lambda: permutation(128), "adaptive"),
    Case("RoCE: permutation 432, shortest queue", T432, lambda: permutation(432), "adaptive"),
    Case("RoCE: permutation 128, 2 tiers, shortest queue", K128, lambda: permutation(128), "adaptive"),
)
