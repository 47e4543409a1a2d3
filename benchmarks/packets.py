"""The packet engine on the cases that public simulators were measured on, beside what they took.

`make bench-packet` runs it with the shipped build, all accounting on. Each case runs in a process of its own; the
engine's memory is what the process grew by. Link-hops a second, and times by which htsim took longer, are of processor
time, which other work on the machine stretches less than the wall's. Figures of htsim (the Ultra Ethernet Consortium's,
C++, -O3) are of 2026-11-30 on one core of an Intel Xeon: another machine than yours, so the ratio is rough.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[1] / "tests" / "data" / "htsim"
TIER = "Tier {tier}\nDownlink_speed_Gbps 400\nRadix_Down {down}\n{up}Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"


@dataclass(frozen=True)
class Case:
    """A run: a tree by its radices (down and up of each tier), flows, transport, and htsim's seconds where known."""

    name: str
    hosts: int
    pod: int
    radices: tuple[tuple[int, int], ...]
    transport: str
    flow_bytes: int = 2_000_000
    flows: str = ""
    htsim_s: float | None = None

    def topology(self) -> str:
        """The tree as htsim's `.topo`."""
        tiers = "".join(
            TIER.format(tier=tier, down=down, up=f"Radix_Up {up}\n" if up else "")
            for tier, (down, up) in enumerate(self.radices)
        )
        return f"Nodes {self.hosts}\nTiers {len(self.radices)}\nPodsize {self.pod}\n{tiers}"

    def matrix(self) -> str:
        """The flows as htsim's `.cm`: the file given, or a permutation in which every host sends and receives once."""
        if self.flows:
            return (DATA / self.flows).read_text()
        order = list(range(self.hosts))
        random.Random(1).shuffle(order)
        pairs = zip(order, order[1:] + order[:1], strict=True)
        rows = "".join(f"{a}->{b} start 0 size {self.flow_bytes}\n" for a, b in pairs)
        return f"Nodes {self.hosts}\nConnections {self.hosts}\n{rows}"


THREE_128 = (128, 16, ((4, 4), (4, 4), (8, 0)))
THREE_1024 = (1024, 64, ((8, 8), (8, 8), (16, 0)))
CASES = (
    Case("permutation 128, 3 tiers, sprayed", *THREE_128, "uet", flows="perm_128n_128c_2MB.cm", htsim_s=0.74),
    Case("permutation 1,024, 3 tiers, sprayed", *THREE_1024, "uet", htsim_s=20.6),
    Case("permutation 1,024, 2 tiers, sprayed", 1024, 1024, ((32, 32), (32, 0)), "uet", htsim_s=10.2),
    Case("incast 8, sprayed", *THREE_128, "uet", flows="incast8_128.cm", htsim_s=0.04),
    Case("incast 32, sprayed", *THREE_128, "uet", flows="incast32_128.cm", htsim_s=0.17),
    Case("permutation 1,024, RoCE, ECMP", *THREE_1024, "rocev2", htsim_s=13.2),
    Case("permutation 8,192, 3 tiers, sprayed", 8192, 256, ((16, 16), (16, 16), (32, 0)), "uet", htsim_s=226.0),
)
LONG = (
    Case("permutation 8,192, 16 MB a flow", 8192, 256, ((16, 16), (16, 16), (32, 0)), "uet", flow_bytes=16_000_000),
)


def main() -> None:
    """Runs the cases and prints a table; with `--long` the longest too."""
    columns = f"{'M/s':>6} {'cpu s':>7} {'wall s':>7} {'htsim':>6} {'times':>6} {'MB':>6}  FCT us"
    print(f"{'case':38} {'link-hops':>11} {columns}")
    for case in CASES + (LONG if "--long" in sys.argv[1:] else ()):
        with tempfile.TemporaryDirectory() as folder:
            topology, flows = Path(folder) / "tree.topo", Path(folder) / "flows.cm"
            topology.write_text(case.topology())
            flows.write_text(case.matrix())
            command = ["simulate", "--topology", str(topology), "--flows", str(flows)]
            command += ["--transport", case.transport, "--json"]
            program = "from eastwest.cli import main; main()"
            done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        cpu_s, wall_s, fct = found["cpu_s"], found["wall_s"], found["fct_s"]
        theirs = f"{case.htsim_s:6.2f} {case.htsim_s / cpu_s:6.0f}" if case.htsim_s else f"{'':6} {'':6}"
        print(
            f"{case.name:38} {found['link_hops']:11,} {found['link_hops'] / cpu_s / 1e6:6.1f} "
            f"{cpu_s:7.2f} {wall_s:7.2f} {theirs} "
            f"{found['engine_rss_bytes'] / 1e6:6.0f}  "
            + " / ".join(f"{fct[mark] * 1e6:.1f}" for mark in ("min", "median", "max")),
            flush=True,
        )


if __name__ == "__main__":
    main()
