"""Completion times of eastwest beside those of htsim on the inputs of `htsim_inputs.py`, as docs/against-htsim.md has.

    python -m benchmarks.against_htsim [WORD ...]               runs eastwest on the cases whose names hold a word
    python -m benchmarks.against_htsim --measure FOLDER [...]   runs FOLDER's htsim_uec and htsim_roce first, and writes
                                                                what it finds to tests/data/htsim/measured.csv

Both are draws of lots, so each runs with several seeds: their median, and in brackets the least and the most.
"""

from __future__ import annotations

import argparse
import csv
import re
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.htsim_inputs import CASES, DATA, SECTIONS, Case

MEASURED = DATA / "measured.csv"
FIELDS = ("case", "seed", "flows", "unfinished", "min_us", "median_us", "last_us", "resent")
SEEDS = (13, *range(1, 12))
"""htsim's own default first."""
_BEGUN = re.compile(r"(?:Flow (\S+) flowId \d+ (uecSrc \d+) starting|startflow (\S+)) at ([0-9.e+]+)")
_ENDED = re.compile(r"Flow (\S+) (?:flowId \d+ (uecSrc \d+)|\d+) finished at ([0-9.e+]+)")


@dataclass(frozen=True)
class Times:
    """Completion times of one run, microseconds, ascending, each from its flow's start."""

    ascending_us: Sequence[float]
    unfinished: int
    resent: int

    @property
    def median_us(self) -> float:
        return statistics.median(self.ascending_us)

    @property
    def last_us(self) -> float:
        return self.ascending_us[-1]


def ours(case: Case, seed: int = 0) -> Times:
    """What eastwest makes of a case."""
    from eastwest.engine.packets import PacketNetwork
    from eastwest.simulation import read_flows, read_topology, settings_for, simulate

    with tempfile.TemporaryDirectory() as folder:
        topology, flows = case.write(Path(folder))
        fabric = read_topology(topology)
        given = read_flows(flows, fabric, "us")
    network = PacketNetwork(fabric)
    choice = "shortest-queue" if case.kind == "adaptive" else "hash"
    stated = (("congestion_control", "rccc"),) if case.kind == "credited" else ()
    result = simulate(network, given, settings_for(case.transport, network, given, choice, seed, stated=stated))
    taken = [float(one) * 1e6 for one in result.fct_s]
    return Times(taken, result.unfinished, result.run.retransmits)


def theirs(case: Case, programs: Path, seed: int) -> Times:
    """What htsim makes of a case."""
    with tempfile.TemporaryDirectory() as folder:
        topology, flows = case.write(Path(folder))
        command = _command(case, programs, topology)
        command += ["-tm", str(flows), "-linkspeed", str(case.tree.gbps * 1000), "-mtu", "4096", "-seed", str(seed)]
        command += ["-end", str(case.end_us), "-o", str(Path(folder) / "log")]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=900, check=False)
    begun: dict[str, list[float]] = defaultdict(list)  # by the sender's name; flows of one pair share it in RoCE
    taken: list[float] = []
    for line in done.stdout.splitlines():
        if start := _BEGUN.search(line):
            begun[start[2] or start[3]].append(float(start[4]))
        elif end := _ENDED.search(line):
            taken.append(float(end[3]) - begun[end[2] or end[1]].pop(0))
    if not taken:
        raise SystemExit(f"{case.name}: htsim ended with {done.returncode}: {(done.stderr or done.stdout)[-400:]}")
    resent = re.search(r"Rtx: (\d+)", done.stdout)
    unfinished = len(case.matrix().rows) - len(taken)
    return Times(sorted(taken), unfinished, int(resent[1]) if resent else 0)


def _command(case: Case, programs: Path, topology: Path) -> list[str]:
    if case.transport == "uet":
        control = ["-receiver_cc_only"] if case.kind == "credited" else []
        return [str(programs.resolve() / "htsim_uec"), "-topo", str(topology), *control]
    # htsim_roce gives topologies from files queues of 0 bytes, and stops: it has to build the tree itself
    tree = case.tree
    shape = ["-nodes", str(tree.hosts), "-tiers", str(len(tree.radices)), "-hop_latency", str(tree.latency_ns / 1e3)]
    hashed = ["-strat", "ecmp_host", "-paths", "64"]
    way = hashed if case.kind == "hashed" else ["-strat", "ecmp_ar", "-out_of_order"]
    return [str(programs.resolve() / "htsim_roce"), *shape, "-q", "1000", *way]


def measure(programs: Path, cases: Sequence[Case]) -> None:
    """Runs htsim on cases and writes its figures, keeping those of other cases."""
    order = {case.name: place for place, case in enumerate(CASES)}
    rows = [row for row in measured() if row["case"] in order.keys() - {case.name for case in cases}]
    for case in cases:
        for seed in SEEDS[: case.draws]:
            found = theirs(case, programs, seed)
            times = [f"{us:.2f}" for us in (found.ascending_us[0], found.median_us, found.last_us)]
            row = (case.name, seed, len(found.ascending_us), found.unfinished, *times, found.resent)
            rows.append(dict(zip(FIELDS, map(str, row), strict=True)))
            print(*rows[-1].values(), sep=", ", flush=True)
        with MEASURED.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: order[row["case"]]))


def measured() -> list[dict[str, str]]:
    """htsim's figures: one row a run."""
    if not MEASURED.exists():
        return []
    with MEASURED.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Comparison:
    """Draws of both simulators on one case, microseconds."""

    case: Case
    median: tuple[list[float], list[float]]
    last: tuple[list[float], list[float]]

    @property
    def off(self) -> tuple[float, float]:
        """How far eastwest's median and last are from htsim's, of the middle draws."""
        median, last = (statistics.median(us) / statistics.median(them) - 1 for them, us in (self.median, self.last))
        return median, last

    def row(self) -> str:
        cells = [self.case.name]
        cells += [f"{_draws(self.median[side])}, {_draws(self.last[side])}" for side in (0, 1)]
        cells += [", ".join(f"{round(100 * off, 1) + 0.0:+.1f} %" for off in self.off)]
        return f"| {' | '.join(cells)} |"


def _draws(values: list[float]) -> str:
    middle, least, most = (
        f"{us:.1f}" if us < 1000 else f"{us:.0f}" for us in (statistics.median(values), min(values), max(values))
    )
    return middle if len(values) == 1 else f"{middle} ({least} to {most})"


def compare(case: Case, rows: Sequence[dict[str, str]]) -> Comparison:
    """Runs eastwest as often as htsim ran."""
    runs = [ours(case, seed) for seed in range(len(rows))]
    medians = [float(row["median_us"]) for row in rows]
    lasts = [float(row["last_us"]) for row in rows]
    return Comparison(case, (medians, [run.median_us for run in runs]), (lasts, [run.last_us for run in runs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--measure", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    cases = [case for case in CASES if not given.words or any(word in case.name for word in given.words)]
    if given.measure:
        measure(given.measure, cases)
    known: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in measured():
        known[row["case"]].append(row)
    for title, kinds in SECTIONS.items():
        found = [compare(case, known[case.name]) for case in cases if case.kind in kinds and known[case.name]]
        if not found:
            continue
        print(f"\n## {title}\n\n| input | htsim: median, last, us | eastwest | difference |\n|---|---|---|---|")
        for comparison in sorted(found, key=lambda one: max(map(abs, one.off)), reverse=True):
            print(comparison.row(), flush=True)


if __name__ == "__main__":
    main()
