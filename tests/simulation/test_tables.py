"""A simulation as tables: completion times over ideal ones, what ports did, and both over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.simulation.conftest import RATE_BPS, star

from eastwest.engine.links import port_names
from eastwest.engine.packets import PacketNetwork, Transport
from eastwest.engine.series import Sampling
from eastwest.fabric import Fabric
from eastwest.fabric.bare import Cabling, bare
from eastwest.fabric.formats import read_htsim_topology
from eastwest.simulation import SimulationResult, settings_for, simulate
from eastwest.simulation.bottleneck import bottlenecks
from eastwest.simulation.tables import (
    flow_series_table,
    flows_table,
    ideal_s,
    network_series_table,
    ports_table,
    series_table,
)
from eastwest.workload.flows import Flows, flows

US = 1e-6
HTSIM = Path(__file__).parents[1] / "data" / "htsim"


def run(
    fabric: Fabric, given: Flows, transport: Transport = "uet", sampling: Sampling | None = None
) -> SimulationResult:
    network = PacketNetwork(fabric)
    return simulate(network, given, settings_for(transport, network, given), sampling=sampling)


@pytest.fixture(scope="module")
def incast() -> SimulationResult:
    """Seven hosts send 400 kB each to host 0, sampled."""
    return run(star(8), flows(range(1, 8), [0] * 7, 400_000), sampling=Sampling.of(16))


@pytest.mark.parametrize("transport", ["uet", "mrc", "rocev2"])
@pytest.mark.parametrize("size", [1, 4096, 1_000_000])
def test_a_flow_alone_takes_its_ideal_time(transport: Transport, size: int) -> None:
    result = run(star(2), flows([0], [1], size), transport)
    assert flows_table(result)["slowdown"][0] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("transport", ["uet", "rocev2"])
@pytest.mark.parametrize("size", [1, 4096, 40_000])
def test_a_flow_alone_takes_its_ideal_time_where_switches_cut_through(transport: Transport, size: int) -> None:
    network, given = PacketNetwork(star(2)), flows([0], [1], size)
    settings = settings_for(transport, network, given, stated=(("cut_through", 64),))
    assert flows_table(simulate(network, given, settings))["slowdown"][0] == pytest.approx(1.0, abs=0.002)


def test_a_flow_that_static_tables_keep_to_one_way_did_not_wait_on_another() -> None:
    # what two neighbours send to host 65 fills a port of their leaf that is on another shortest way to host 64
    fabric = read_htsim_topology(HTSIM / "ft3_128_400g.topo")
    network, given = PacketNetwork(fabric), flows([0, 1, 2], [64, 65, 65], 400_000)
    settings = settings_for("rocev2", network, given, "pinned")
    result = simulate(network, given, settings, sampling=Sampling.of(len(fabric.links)))
    assert result.run.series is not None
    taken = result.run.series.ways.filter(pl.col("flow") == 0)["link"]
    (found,) = bottlenecks(result, [0])
    assert found is not None
    assert found.port in {port_names(fabric)[link] for link in taken}


def test_the_ideal_time_is_that_of_its_bytes_and_the_way() -> None:
    network = PacketNetwork(star(2))
    given = flows([0], [1], 10 * 4032)
    settings = settings_for("uet", network, given)
    # ten packets of 4,096 B at 400 Gb/s, the last over a second link too; 2 us of cable there, as much back with 64 B
    expected = 11 * 4096 * 8 / RATE_BPS + 2 * US + 2 * 64 * 8 / RATE_BPS + 2 * US
    assert ideal_s(network, given, settings) == pytest.approx([expected], rel=1e-6)


def test_flows_have_the_times_and_repeats_of_the_run(incast: SimulationResult) -> None:
    table = flows_table(incast)
    assert table["src"].to_list() == [f"host-{host}" for host in range(1, 8)]
    assert set(table["dst"]) == {"host-0"}
    fct = incast.to_json()["fct_s"]
    assert (table["fct_s"].min(), table["fct_s"].median(), table["fct_s"].max()) == pytest.approx(
        (fct["min"], fct["median"], fct["max"])
    )
    assert table["retransmits"].sum() == incast.run.retransmits
    assert (table["received_s"] < table["end_s"]).all()
    # seven share one port, which is full for at least the time of all their data
    shared = 7 * (400_000 + 100 * 64) * 8 / RATE_BPS
    assert shared < table["fct_s"].max() < 1.5 * shared
    assert (table["slowdown"] == table["fct_s"] / table["ideal_s"]).all()


def test_what_never_ended_is_null() -> None:
    network = PacketNetwork(star(2))
    given = flows([0], [1], 4_000_000)
    result = simulate(network, given, settings_for("uet", network, given), 20 * US)
    row = flows_table(result).row(0, named=True)
    assert (row["end_s"], row["fct_s"], row["slowdown"]) == (None, None, None)
    assert row["start_s"] == 0


def test_ports_carry_what_hops_carry(incast: SimulationResult) -> None:
    ports, series = ports_table(incast), series_table(incast)
    assert ports["packets"].sum() == incast.run.link_hops
    assert ports["bytes"].sum() == series["bytes"].sum()
    into_0 = ports.row(by_predicate=pl.col("port") == "switch-0 > host-0", named=True)
    # seven flows of 100 packets, the last of 832 B of payload, and what was sent again, but for the 64 B of the trimmed
    data = 7 * (400_000 + 100 * 64)
    assert data <= into_0["bytes"] <= data + 7 * 100 * 64 * 3
    assert into_0["utilisation"] == pytest.approx(into_0["bytes"] * 8 / RATE_BPS / incast.run.simulated_s)
    assert into_0["deepest_queue_bytes"] == incast.run.deepest_queue_bytes


def test_no_port_is_faster_than_its_rate_and_the_shared_one_is_full(incast: SimulationResult) -> None:
    series = series_table(incast)
    assert series["throughput_bps"].max() <= RATE_BPS * 1.001
    shared = series.filter(pl.col("port") == "switch-0 > host-0", pl.col("start_s").is_between(10 * US, 50 * US))
    assert shared["throughput_bps"].mean() == pytest.approx(RATE_BPS, rel=0.01)


def test_the_network_and_the_flows_over_time_add_up(incast: SimulationResult) -> None:
    network, each = network_series_table(incast), flow_series_table(incast)
    assert network["length_s"].sum() == pytest.approx(incast.run.simulated_s)
    assert (network["drops"].sum(), network["trims"].sum()) == (incast.run.drops, incast.run.trims)
    assert network["flows"].max() == 7
    assert each["delivered_bytes"].sum() == 7 * 400_000


def test_without_sampling_tables_over_time_are_empty() -> None:
    result = run(star(2), flows([0], [1], 4096))
    assert all(table(result).is_empty() for table in (series_table, network_series_table, flow_series_table))
    assert "bytes" not in ports_table(result)


@pytest.mark.parametrize("transport", ["uet", "rocev2"])
def test_flows_into_one_port_wait_before_it(transport: Transport) -> None:
    result = run(star(8), flows(range(1, 8), [0] * 7, 400_000), transport, Sampling.of(16))
    found = bottlenecks(result, range(7))
    assert all(place is not None and place.port == "switch-0 > host-0" for place in found)
    assert all(place is not None and place.queue_s > 1 * US and place.utilisation > 0.8 for place in found)


def test_a_flow_that_no_queue_holds_up_has_its_busiest_port() -> None:
    result = run(star(2), flows([0], [1], 4_000_000), "rocev2", Sampling.of(4))
    (place,) = bottlenecks(result, [0])
    assert place is not None
    assert place.port in ("host-0 > switch-0", "switch-0 > host-1")
    assert place.utilisation > 0.9


def test_a_hashed_flow_is_held_up_on_its_own_way_alone() -> None:
    # hosts 0 and 1 on one switch, 2 and 3 on another, joined by one cable to each of two spines
    leaf = Cabling("host-leaf", np.arange(4), np.array([4, 4, 5, 5]), RATE_BPS, 1e-6)
    spine = Cabling("leaf-spine", np.array([4, 4, 5, 5]), np.array([6, 7, 6, 7]), RATE_BPS / 4, 1e-6)
    fabric = bare("two spines", 4, (("leaf", 2), ("spine", 2)), [leaf, spine])
    result = run(fabric, flows([0], [2], 400_000), "rocev2", Sampling.of(16))
    ways = result.run.series
    assert ways is not None
    used = set(ways.ways["link"])
    (place,) = bottlenecks(result, [0])
    table = ports_table(result)
    assert place is not None
    assert table.filter(pl.col("port") == place.port)["link"][0] in used
    assert place.port.startswith("leaf-0 > spine-")
