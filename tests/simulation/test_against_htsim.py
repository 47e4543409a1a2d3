"""The inputs of htsim give its completion times (tests/data/htsim/README.md, docs/validation.md)."""

from __future__ import annotations

import csv
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from benchmarks.htsim_inputs import CASES, Case

from eastwest.engine.packets import PacketNetwork, Transport
from eastwest.simulation import SimulationResult, read_flows, read_topology, settings_for, simulate

DATA = Path(__file__).parent.parent / "data" / "htsim"
PAGE = Path(__file__).parents[2] / "docs" / "validation.md"
US = 1e-6
SMALL = [case for case in CASES if case.tree.hosts <= 128 and case.kind in ("sprayed", "incast") and case.bytes < 3e8]


def run(flows: str, transport: Transport = "uet", seed: int = 0) -> SimulationResult:
    fabric = read_topology(DATA / "ft3_128_400g.topo")
    given = read_flows(DATA / flows, fabric, "ps")
    network = PacketNetwork(fabric)
    return simulate(network, given, settings_for(transport, network, given, seed=seed))


def measured() -> dict[str, list[dict[str, str]]]:
    """htsim's runs of each case."""
    found = defaultdict(list)
    with (DATA / "measured.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["case"]].append(row)
    return found


def test_a_sprayed_permutation_agrees_within_five_percent() -> None:
    result = run("perm_128n_128c_2MB.cm")
    fct = result.to_json()["fct_s"]
    assert fct["median"] == pytest.approx(60.4 * US, rel=0.05)
    assert fct["max"] == pytest.approx(64.2 * US, rel=0.05)
    assert result.run.packets == 128 * 497  # 2 MB in packets of 4,032 B
    assert result.run.link_hops == pytest.approx(472_018, rel=0.01)  # theirs, acknowledgements included


@pytest.mark.parametrize(
    ("flows", "median", "last", "resent"),
    [("incast8_128.cm", 315, 351, 1454), ("incast32_128.cm", 1178, 1332, 6962)],
)
def test_an_incast_agrees_in_order_and_shape(flows: str, median: float, last: float, resent: int) -> None:
    result = run(flows)
    fct = result.to_json()["fct_s"]
    assert fct["median"] == pytest.approx(median * US, rel=0.1)
    assert fct["max"] == pytest.approx(last * US, rel=0.05)
    assert result.run.retransmits == pytest.approx(resent, rel=0.1)
    assert result.run.trims == result.run.retransmits


def test_hashed_paths_collide_as_much_as_theirs() -> None:
    fct = [run("perm_128n_128c_2MB.cm", "rocev2", seed).to_json()["fct_s"] for seed in range(8)]
    assert sorted(one["median"] for one in fct)[4] == pytest.approx(137.5 * US, rel=0.2)
    assert sorted(one["max"] for one in fct)[4] == pytest.approx(234.6 * US, rel=0.3)


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_other_inputs_agree_too(tmp_path: Path, case: Case) -> None:
    topology, flows = case.write(tmp_path)
    fabric = read_topology(topology)
    given = read_flows(flows, fabric, "us")
    network = PacketNetwork(fabric)
    result = simulate(network, given, settings_for("uet", network, given))
    theirs = measured()[case.name]
    median, last = ([float(row[name]) for row in theirs] for name in ("median_us", "last_us"))
    assert result.unfinished == 0
    # one draw of ours against the middle of theirs; the last of all is what draws differ in most
    assert statistics.median(result.fct_s.tolist()) / US == pytest.approx(statistics.median(median), rel=0.06)
    assert float(result.fct_s[-1]) / US == pytest.approx(statistics.median(last), rel=0.12)


def test_the_documented_figures_of_htsim_are_those_that_were_measured() -> None:
    rows = [line.split("|")[1:3] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    told = {name.strip(): re.match(r" ([0-9.]+)", cell) for name, cell in rows}
    for name, runs in measured().items():
        middle = statistics.median(float(row["median_us"]) for row in runs)
        found = told[name]
        assert found is not None, name
        assert float(found[1]) == pytest.approx(middle, abs=0.06 if middle < 1000 else 0.6), name
