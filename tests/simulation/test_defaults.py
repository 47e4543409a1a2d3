"""What a transport and its switches do unless told otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eastwest.engine.packets import PacketNetwork
from eastwest.simulation import read_topology, settings_for, simulate
from eastwest.workload.flows import flows

DATA = Path(__file__).parent.parent / "data" / "htsim"
FULL, ACK = 4096, 64
RATE = 50e9


@pytest.fixture(scope="module")
def network() -> PacketNetwork:
    return PacketNetwork(read_topology(DATA / "ft3_128_400g.topo"))


def test_ultra_ethernet_scales_with_the_longest_round_trip(network: PacketNetwork) -> None:
    settings = settings_for("uet", network, flows([0], [127], 1))
    # six cables of 1 us each way, the packet and its answer stored and forwarded over each
    assert settings.base_rtt_s == pytest.approx(12e-6 + 6 * (FULL + ACK) / RATE, rel=1e-9)
    packets = int(np.ceil(settings.base_rtt_s * RATE / FULL))
    assert settings.room == packets * FULL
    assert settings.mark_from == int(np.ceil(packets * 0.2)) * FULL
    assert settings.mark_to == int(np.ceil(packets * 0.8)) * FULL
    assert settings.timeout_s == pytest.approx(15e-6 + 6 * settings.room / RATE)
    assert (settings.rate, settings.trim, settings.pause_above) == (RATE, ACK, 0)


def test_it_scales_so_whichever_hosts_the_flows_join(network: PacketNetwork) -> None:
    within_a_leaf, across = (settings_for("uet", network, flows([0], [other], 1)) for other in (1, 127))
    assert within_a_leaf == across


def test_the_longest_round_trip_is_found_from_a_host_in_the_middle_too(tmp_path: Path) -> None:
    line = tmp_path / "line.txt"  # 1 - 3 - 4 - 5 - 2, with host 0 at switch 4
    cables = "".join(f"{a} {b} 100Gbps 1us 0\n" for a, b in ((0, 4), (1, 3), (2, 5), (3, 4), (4, 5)))
    line.write_text(f"6 3 5\n3 4 5\n{cables}")
    network = PacketNetwork(read_topology(line))
    assert network.longest_round_trip_s(1000, 250) == pytest.approx(2 * 4 * 1e-6 + 4 * 1250 * 8 / 100e9)


def test_where_switches_spread_a_rocev2_flow_its_packets_may_come_in_any_order(network: PacketNetwork) -> None:
    given = flows([0], [127], 1)
    assert settings_for("rocev2", network, given).repeat == "go-back-n"
    assert settings_for("rocev2", network, given, "shortest-queue").repeat == "any-order"
    assert settings_for("rocev2", network, given, "random", stated=(("repeat", "selective"),)).repeat == "selective"


def test_rocev2_pauses_at_fifteen_packets_and_lets_go_at_twelve(network: PacketNetwork) -> None:
    settings = settings_for("rocev2", network, flows([0], [1], 1))
    assert (settings.pause_above, settings.pause_at) == (15 * (4096 + 82), 12 * (4096 + 82))
    assert (settings.room, settings.mark_to) == (0, 0)


def test_what_is_stated_stands_and_framing_scales_the_rest(network: PacketNetwork) -> None:
    given = flows([0], [127], 1)
    small = settings_for("rocev2", network, given, stated=(("payload", 1024), ("ack_every", 4096)))
    assert (small.payload, small.header, small.ack_packets) == (1024, 82, 4)
    assert small.pause_above == 15 * (1024 + 82)
    stated = settings_for("uet", network, given, stated=(("room", 10_000), ("loss", 0.5)))
    assert (stated.room, stated.loss, stated.trim) == (10_000, 0.5, ACK)


def test_without_pauses_switches_have_room_of_a_bandwidth_delay_product(network: PacketNetwork) -> None:
    lossy = settings_for("rocev2", network, flows([0], [127], 1), stated=(("pause_above", 0), ("pause_at", 0)))
    product = lossy.base_rtt_s * RATE
    assert product <= lossy.room < product + 4096 + 82


def test_completion_times_are_summed_up_by_their_percentiles(network: PacketNetwork) -> None:
    hosts = np.arange(100)
    given = flows(hosts, (hosts + 20) % 128, (hosts + 1) * 40_000)
    result = simulate(network, given, settings_for("uet", network, given))
    times = np.sort(result.run.end_s - result.run.start_s)
    found = result.to_json()["fct_s"]
    assert (found["min"], found["max"]) == (times[0], times[-1])
    assert found["median"] == pytest.approx((times[49] + times[50]) / 2)
    assert times[97] <= found["p99"] <= times[99]
    assert found["p99"] > times[95]
