"""The inputs of htsim give its completion times (tests/data/htsim/README.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from eastwest.engine.packets import PacketNetwork, Transport
from eastwest.simulation import SimulationResult, read_flows, read_topology, settings_for, simulate

DATA = Path(__file__).parent.parent / "data" / "htsim"
US = 1e-6


def run(flows: str, transport: Transport = "uet", seed: int = 0) -> SimulationResult:
    fabric = read_topology(DATA / "ft3_128_400g.topo")
    given = read_flows(DATA / flows, fabric, "ps")
    network = PacketNetwork(fabric)
    return simulate(network, given, settings_for(transport, network, given, seed=seed))


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
