"""A run over time: what Python is given, and that it adds up."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.simulation.conftest import star

from eastwest.engine.links import port_names
from eastwest.engine.packets import PacketNetwork, PacketRun
from eastwest.engine.series import Sampling
from eastwest.simulation import settings_for
from eastwest.simulation.result import WORST, simulate
from eastwest.workload.flows import flows

SENDERS = 7
SIZE = 400_000


@pytest.fixture(scope="module")
def network() -> PacketNetwork:
    return PacketNetwork(star(SENDERS + 1))


def incast(network: PacketNetwork, transport: str, sampling: Sampling | None) -> PacketRun:
    given = flows(range(1, SENDERS + 1), [0] * SENDERS, SIZE)
    return network.run(given, settings_for(transport, network, given), sampling=sampling)


@pytest.mark.parametrize("transport", ["uet", "mrc", "rocev2", "infiniband", "dctcp"])
def test_bytes_and_packets_over_time_are_those_of_the_run(network: PacketNetwork, transport: str) -> None:
    run = incast(network, transport, Sampling.of(len(network.fabric.links)))
    series = run.series
    assert series is not None
    by_link = series.ports.group_by("link").agg(pl.col("bytes", "marks", "drops", "trims").sum()).sort("link")
    totals = series.totals.filter(pl.col("packets") > 0)
    assert by_link.equals(totals.select("link", "bytes", "marks", "drops", "trims"))
    assert series.totals["packets"].sum() == run.link_hops
    assert series.totals["marks"].sum() == run.marks
    assert series.totals["trims"].sum() == run.trims
    assert series.totals["drops"].sum() == run.drops
    assert series.ports["paused_s"].sum() == pytest.approx(run.paused_s)
    assert series.network["delivered"].sum() == run.delivered
    assert series.network["retransmits"].sum() == run.retransmits == run.flow_retransmits.sum()
    delivered = series.flows.group_by("flow").agg(pl.col("delivered_bytes").sum())
    assert delivered["delivered_bytes"].to_list() == [SIZE] * SENDERS


def test_a_run_is_as_long_as_its_intervals(network: PacketNetwork) -> None:
    run = incast(network, "uet", Sampling(1e-6))
    assert run.series is not None
    lengths = run.series.lengths_s(run.simulated_s)
    assert lengths.sum() == pytest.approx(run.simulated_s)
    assert (lengths[:-1] == 1e-6).all()
    assert 0 < lengths[-1] <= 1e-6


def test_nothing_is_sampled_unless_asked_for_and_sampling_changes_nothing(network: PacketNetwork) -> None:
    without, with_series = incast(network, "uet", None), incast(network, "uet", Sampling())
    assert without.series is None
    assert np.array_equal(without.end_s, with_series.end_s)
    assert (without.events, without.marks, without.trims) == (
        with_series.events,
        with_series.marks,
        with_series.trims,
    )
    assert np.array_equal(without.ports.deepest_bytes, with_series.ports.deepest_bytes)


def test_of_many_flows_none_is_followed(network: PacketNetwork) -> None:
    run = incast(network, "uet", Sampling(most_flows=SENDERS - 1))
    assert run.series is not None
    assert run.series.flows.is_empty()


def test_the_worst_ports_are_named_with_what_they_suffered(network: PacketNetwork) -> None:
    given = flows(range(1, SENDERS + 1), [0] * SENDERS, SIZE)
    result = simulate(network, given, settings_for("rocev2", network, given))
    worst = result.worst_ports()
    # all data waits before the one port, and each sender's own port is paused
    assert worst["by_queue"][0]["port"] == "switch-0 > host-0"
    assert worst["by_queue"][0]["deepest_queue_bytes"] == result.run.deepest_queue_bytes
    assert len(worst["by_pause"]) == WORST
    assert {each["port"] for each in worst["by_pause"]} <= {f"host-{host} > switch-0" for host in range(1, 8)}
    assert sum(result.run.ports.paused_s) == pytest.approx(result.run.paused_s)
    assert result.run.ports.pauses.sum() == result.run.pauses


def test_parallel_cables_have_ports_of_their_own_names() -> None:
    names = port_names(star(2, cables=2))
    assert names[:4] == [
        "host-0 > switch-0 (1)",
        "switch-0 > host-0 (1)",
        "host-0 > switch-0 (2)",
        "switch-0 > host-0 (2)",
    ]


def test_intervals_of_large_networks_are_longer_from_the_start() -> None:
    assert Sampling.of(1024).every_s == pytest.approx(100e-9)
    assert Sampling.of(6144).every_s == pytest.approx(600e-9)
    assert Sampling.of(6144, 1e-9).every_s == 1e-9
