"""The inputs of htsim give its completion times (tests/data/htsim/README.md, docs/against-htsim.md)."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest
from benchmarks.against_htsim import measured, ours
from benchmarks.htsim_inputs import CASES, Case, Kind

from eastwest.engine.packets import PacketNetwork, Transport
from eastwest.simulation import SimulationResult, read_flows, read_topology, settings_for, simulate

DATA = Path(__file__).parent.parent / "data" / "htsim"
PAGE = Path(__file__).parents[2] / "docs" / "against-htsim.md"
US = 1e-6
ELSEWHERE = ("RCCC: all-to-all 16, 200 KB",)
"""Cases whose last flow htsim ends later, for a reason that the page gives."""


def run(flows: str, transport: Transport = "uet", seed: int = 0) -> SimulationResult:
    fabric = read_topology(DATA / "ft3_128_400g.topo")
    given = read_flows(DATA / flows, fabric, "ps")
    network = PacketNetwork(fabric)
    return simulate(network, given, settings_for(transport, network, given, seed=seed))


def chosen(*kinds: Kind) -> list[Case]:
    """The cases of some kinds that do not take long."""
    return [case for case in CASES if case.kind in kinds and case.tree.hosts <= 128 and case.bytes < 3e8]


def theirs(case: Case, figure: str) -> float:
    """htsim's middle draw of a case, microseconds."""
    return statistics.median(float(row[figure]) for row in measured() if row["case"] == case.name)


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


@pytest.mark.parametrize("case", chosen("sprayed", "incast", "credited"), ids=lambda case: case.name)
def test_other_inputs_agree_too(case: Case) -> None:
    result = ours(case)
    assert result.unfinished == 0
    # one draw of ours against the middle of theirs; the last flow of all is what draws differ in most
    assert result.median_us == pytest.approx(theirs(case, "median_us"), rel=0.06)
    if case.name not in ELSEWHERE:
        assert result.last_us == pytest.approx(theirs(case, "last_us"), rel=0.12)


@pytest.mark.parametrize("case", chosen("adaptive"), ids=lambda case: case.name)
def test_where_switches_spread_flows_the_medians_agree(case: Case) -> None:
    result = ours(case)
    assert result.median_us == pytest.approx(theirs(case, "median_us"), rel=0.04)
    assert result.last_us < theirs(case, "last_us")  # whose receiver drops what comes far ahead


def test_the_documented_figures_of_htsim_are_those_that_were_measured() -> None:
    rows = [line.split("|")[1:3] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    told = {name.strip(): re.match(r" ([0-9.]+)", cell) for name, cell in rows}
    for case in CASES:
        middle, found = theirs(case, "median_us"), told[case.name]
        assert found is not None, case.name
        assert float(found[1]) == pytest.approx(middle, abs=0.06 if middle < 1000 else 0.6), case.name
