"""What goes wrong during a simulation: read as people write it, and felt by the flows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eastwest.engine import EngineError
from eastwest.engine.packets import PacketNetwork, Transport
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.simulation import SimulationResult, changes, read_topology, settings_for, simulate, with_bursts
from eastwest.workload.flows import Trigger, flows

DATA = Path(__file__).parent.parent / "data" / "htsim"
US = 1e-6


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return read_topology(DATA / "ft3_128_400g.topo")


def run(fabric: Fabric, transport: Transport, events: list[str], routes_after_s: float | None) -> SimulationResult:
    network = PacketNetwork(fabric)
    hosts = np.arange(128)
    given = flows(hosts, (hosts + 64) % 128, 4_000_000)
    wrong = changes(events, fabric, routes_after_s)
    return simulate(network, given, settings_for(transport, network, given), 0.01, wrong)


def test_an_event_touches_both_directions_and_is_undone(fabric: Fabric) -> None:
    made = changes(["down leaf-0 spine-1 at 50 us for 1 ms"], fabric, None)
    assert [(change.at_s, change.becomes) for change in made] == [
        (pytest.approx(50e-6), "down"),
        (pytest.approx(50e-6), "down"),
        (pytest.approx(1050e-6), "up"),
        (pytest.approx(1050e-6), "up"),
    ]
    ends = {frozenset(fabric.links.row(change.link, named=True)[end] for end in ("src", "dst")) for change in made}
    assert len(ends) == 1
    assert made[0].link != made[1].link


def test_a_slow_link_gets_its_rate_back(fabric: Fabric) -> None:
    made = changes(["slow host-3 leaf-0 to 100 Gb/s at 0 s for 20 us"], fabric, None)
    assert [change.rate for change in made] == [12.5e9, 12.5e9, 50e9, 50e9]


def test_a_link_slowed_to_the_least_takes_as_long_as_its_rate_says(fabric: Fabric) -> None:
    network = PacketNetwork(fabric)
    given = flows([3], [0], 4096)
    settings = settings_for("rocev2", network, given)
    wrong = changes(["slow host-3 leaf-0 to 1 Mb/s at 0 s"], fabric, None)
    took_s = float(simulate(network, given, settings, changes=wrong).run.received_s[0])
    assert took_s == pytest.approx((4096 + 82) * 8 / 1e6, rel=1e-3)  # elsewhere it takes microseconds


def test_a_cable_slower_than_packets_are_simulated_at_is_refused(fabric: Fabric) -> None:
    rates = fabric.links["rate_bps"].to_numpy().astype(np.float64)
    rates[6] = 500_000.0
    with pytest.raises(EngineError, match="host-3 > leaf-0 runs at 500 kb/s: packets are simulated on cables"):
        PacketNetwork(fabric, rates)


def test_what_overlaps_lasts_until_the_last_has_ended(fabric: Fabric) -> None:
    down = changes(["down host-3 leaf-0 at 1 us for 100 us", "down host-3 leaf-0 at 5 us for 5 us"], fabric, None)
    ups = [change.at_s for change in down if change.becomes == "up"]
    assert ups == pytest.approx([101e-6, 101e-6])
    slow = changes(
        ["slow host-3 leaf-0 to 100 Gb/s at 0 s for 1 ms", "slow host-3 leaf-0 to 200 Gb/s at 10 us for 10 us"],
        fabric,
        None,
    )
    assert [change.rate for change in slow if change.link == slow[0].link] == [12.5e9, 12.5e9, 12.5e9, 50e9]


def test_hosts_that_send_nothing_may_fail_and_come_back(fabric: Fabric) -> None:
    network = PacketNetwork(fabric)
    given = flows([1, 2], [0, 0], 2_000_000)
    for transport in ("uet", "mrc", "rocev2", "dctcp"):
        wrong = changes(["down leaf-3 at 5 us for 10 us", "down host-100 at 5 us for 5 us"], fabric, None)
        assert simulate(network, given, settings_for(transport, network, given), 0.01, wrong).unfinished == 0


def test_a_switch_takes_all_its_cables_with_it(fabric: Fabric) -> None:
    assert len(changes(["down spine-0 at 1 ms"], fabric, None)) == 2 * (4 + 4)


def downs(events: list[str], fabric: Fabric, seed: int = 0) -> dict[int, list[tuple[float, float]]]:
    """When each link is down: from and until."""
    found: dict[int, list[tuple[float, float]]] = {}
    begun: dict[int, float] = {}
    for change in changes(events, fabric, None, seed=seed):
        if change.becomes == "down":
            begun.setdefault(change.link, change.at_s)
        elif change.becomes == "up":
            found.setdefault(change.link, []).append((begun.pop(change.link), change.at_s))
    assert not begun
    return found


def test_a_flapping_link_goes_down_and_comes_back_in_turn(fabric: Fabric) -> None:
    spans = downs(["flap leaf-0 spine-1 at 10 us every 20 us for 5 us until 60 us"], fabric)
    assert len(spans) == 2
    for link in spans.values():
        assert np.array(link) == pytest.approx(np.array([(10e-6, 15e-6), (30e-6, 35e-6), (50e-6, 55e-6)]))


def test_flaps_at_random_last_and_recur_as_long_as_said_on_average(fabric: Fabric) -> None:
    event = "random-flaps mtbf 1 ms mttr 50 us until 100 ms"
    spans = downs([event], fabric)
    between_switches = 2 * (8 * 4 * 4 + 8 * 4 * 4)  # leaves with aggregation, and that with the core; both ways
    assert len(spans) == between_switches
    lasted = np.array([end - begin for link in spans.values() for begin, end in link])
    # exponential times: their mean is within 5 / sqrt(n) of what was said
    assert lasted.mean() == pytest.approx(50e-6, rel=5 / np.sqrt(len(lasted) / 2))
    assert len(lasted) == pytest.approx(between_switches * 100e-3 / 1.05e-3, rel=0.03)
    assert downs([event], fabric) == spans != downs([event], fabric, seed=1)


def test_both_directions_of_a_cable_flap_together(fabric: Fabric) -> None:
    spans = downs(["random-flaps leaf-0 spine-1 mtbf 1 ms mttr 50 us until 50 ms"], fabric)
    first, second = spans.values()
    assert first == second


def test_a_rebooted_switch_has_no_routes_until_all_have_new_ones(fabric: Fabric) -> None:
    made = changes(["reboot leaf-0 at 10 us for 100 us"], fabric, 1e-3)
    node = fabric.nodes["name"].to_list().index("leaf-0")
    blank = [change for change in made if change.becomes == "erring"]
    assert {fabric.links["dst"][change.link] for change in blank} == {node}
    assert {(round(change.at_s, 9), change.loss) for change in blank} == {(110e-6, 1.0), (1.11e-3, 0.0)}
    assert not [
        each for each in changes(["reboot leaf-0 at 10 us for 100 us"], fabric, None) if each.becomes == "erring"
    ]


def test_over_ecmp_a_rebooted_spine_costs_the_control_plane_s_time_and_over_mrc_it_does_not(fabric: Fabric) -> None:
    event = ["reboot core-0 at 20 us for 1 ms"]
    end_s = run(fabric, "rocev2", event, 2e-3).run.end_s
    assert 0 < ((end_s > 2e-3) | np.isnan(end_s)).sum() < 128
    assert run(fabric, "mrc", event, None).fct_s[-1] < 500 * US


def test_a_lost_host_s_flows_are_given_up_and_the_run_ends(fabric: Fabric) -> None:
    found = run(fabric, "rocev2", ["lose host-5 at 20 us"], None)
    assert (found.run.lost_flows, found.unfinished) == (2, 2)  # the one that it sends and the one that it is sent
    assert found.run.simulated_s < 0.005


def test_a_straggler_starts_late_and_a_barrier_waits_for_it(fabric: Fabric) -> None:
    network = PacketNetwork(fabric)
    given = flows([0, 4, 1], [8, 8, 9], 4096)
    barrier = replace(
        given,
        received_trigger=np.array([0, 0, -1]),
        start_trigger=np.array([-1, -1, 0]),
        triggers=(Trigger("barrier", 2),),
    )
    settings = settings_for("rocev2", network, barrier)

    def start(events: list[str]) -> float:
        return float(simulate(network, barrier, settings, changes=changes(events, fabric, None)).run.start_s[2])

    on_time = start([])
    assert start(["straggler host-4 by 300 us"]) == pytest.approx(on_time + 300e-6, rel=0.01)
    assert start(["straggler host-4 by 300 us at 1 ms"]) == on_time
    assert start(["straggler host-2 by 300 us"]) == on_time


def test_a_burst_adds_flows_that_are_told_apart(fabric: Fabric) -> None:
    given = flows([1], [2], 4096)
    event = "burst 200 64 KiB to host-9 at 50 us"
    both = with_bursts(given, [event], fabric, seed=3)
    assert len(both) == 201
    burst = slice(1, None)
    assert set(both.destination[burst].tolist()) == {9}
    assert set(both.size_bytes[burst].tolist()) == {65536}
    assert both.start_s[burst] == pytest.approx(50e-6)
    sources, counts = np.unique(both.source[burst], return_counts=True)
    assert len(sources) == 127  # each once before any a second time
    assert set(counts.tolist()) == {1, 2}
    outward = with_bursts(given, ["burst 3 1 MB from host-9 at 0 s"], fabric)
    assert outward.source.tolist() == [1, 9, 9, 9]
    network = PacketNetwork(fabric)
    found = simulate(network, both, settings_for("uet", network, both), given=len(given))
    assert len(found.fct_s) == 1
    assert len(found.burst_fct_s) == 200
    told = found.to_json()
    assert (told["flows"], told["burst_flows"]) == (1, 200)
    assert told["burst_fct_s"]["max"] >= 200 * 65536 * 8 / 400e9  # one port takes them all in


def test_an_error_rate_in_an_ns3_topology_loses_packets(tmp_path: Path) -> None:
    path = tmp_path / "lossy.txt"
    path.write_text("3 1 2\n2\n0 2 100Gbps 0.001ms 0.01\n1 2 100Gbps 0.001ms 0\n")
    fabric = read_topology(path)
    network = PacketNetwork(fabric)
    given = flows([0], [1], 40_960_000)
    settings = replace(settings_for("rocev2", network, given), repeat="selective")
    found = simulate(network, given, settings, changes=changes([], fabric, None)).run
    assert found.drops == 0
    # data and answers alike, on one link of two each
    expected = 0.01 * (found.packets + found.delivered)
    assert abs(found.bit_errors - expected) < 5 * np.sqrt(expected)


def test_an_event_that_ends_leaves_the_errors_that_were_there(tmp_path: Path) -> None:
    path = tmp_path / "lossy.txt"
    path.write_text("3 1 2\n2\n0 2 100Gbps 0.001ms 0.01\n1 2 100Gbps 0.001ms 0\n")
    made = changes(["errors host-0 switch-2 of 0.5 at 1 us for 1 us"], read_topology(path), None)
    assert [change.loss for change in made if change.link == 0] == [0.01, 0.5, 0.01]


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("flap leaf-0 spine-1 at 0 s every 5 us for 5 us until 1 ms", "never comes back"),
        ("flap leaf-0 spine-1 at 2 ms every 5 us for 1 us until 1 ms", "ends before it begins"),
        ("flap leaf-0 spine-1 at 0 s every 5 us for 1 us", "write flap NODE [NODE] at TIME every TIME"),
        ("flap leaf-0 spine-1 at 0 s every 1 ns for 0.5 ns until 1 s", "more than 200,000 times"),
        ("random-flaps mtbf 1 ms until 1 s", "write random-flaps [NODE [NODE]] mtbf TIME mttr TIME"),
        ("reboot host-3 at 1 us for 1 us", "'host-3' is no switch"),
        ("reboot leaf-77 at 1 us for 1 us", "'leaf-77' is not there as a switch; did you mean"),
        ("lose leaf-0 at 1 us", "'leaf-0' is no host"),
        ("lose xyz at 1 us", "'xyz' is not there as a host; such names are 'host-0', 'host-1'"),
        ("straggler host-3 by 1 us for 2 us", "write straggler HOST by TIME [at TIME [for TIME]]"),
        ("straggler spine-0 by 1 us", "'spine-0' is no host"),
        ("burst 0 1 MB to host-1 at 0 s", "no number of flows"),
        ("burst 4 host-2 to host-1 at 0 s", "size"),
        ("burst 4 1 MB at 0 s", "write burst COUNT SIZE to HOST at TIME"),
        ("burst 4 1 MB to leaf-0 at 0 s", "'leaf-0' is no host"),
        ("down leaf-0 at 2 h", "an hour at most"),
        ("down leaf-0 at 1 us at 2 us", "write down NODE [NODE] at TIME"),
        ("down spine-0", "write down NODE [NODE] at TIME"),
        ("explode spine-0 at 1 us", "is no event"),
        ("down spine-77 at 1 us", "there is no node 'spine-77'; did you mean"),
        ("down leaf-0 leaf-1 at 1 us", "no cable joins leaf-0 with leaf-1"),
        ("down leaf-0 spine-0 at 5", "a time"),
        ("slow leaf-0 spine-0 at 1 us", "slow NODE NODE to RATE"),
        ("slow leaf-0 spine-0 to 5 parsecs at 1 us", "parsecs"),
        ("slow leaf-0 spine-0 to 900 Gb/s at 0 s", "the link runs at 400 Gb/s: name a lower rate"),
        ("slow leaf-0 spine-0 to 999 kb/s at 0 s", "packets are simulated at 1 Mb/s and more: name a higher rate"),
        ("errors leaf-0 spine-0 of 7 at 1 us", "is no share of packets"),
        ("errors leaf-0 spine-0 of 1e-10 at 1 us", "is no share of packets, such as 0.001, in steps of 1e-09"),
        ("errors leaf-0 of 0.1 at 1 us", "name both ends"),
    ],
)
def test_what_cannot_be_read_is_told(fabric: Fabric, event: str, says: str) -> None:
    with pytest.raises(InputError) as refusal:
        changes([event], fabric, None)
    assert event in str(refusal.value)
    assert says in str(refusal.value)


def test_sprayed_flows_lose_little_and_hashed_ones_wait_for_new_routes(fabric: Fabric) -> None:
    event, routes_after_s = ["down spine-0 at 20 us"], 2e-3
    healthy = run(fabric, "mrc", [], None).fct_s[-1]
    around = run(fabric, "mrc", event, None)
    assert around.unfinished == 0
    assert around.fct_s[-1] < healthy + 100 * US
    hashed = run(fabric, "rocev2", event, routes_after_s)
    assert hashed.unfinished == 0 or hashed.run.drops > 0
    touched = (hashed.run.end_s > routes_after_s) | np.isnan(hashed.run.end_s)
    assert 0 < touched.sum() < 128
