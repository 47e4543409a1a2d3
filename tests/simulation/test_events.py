"""What goes wrong during a simulation: read as people write it, and felt by the flows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eastwest.engine.packets import PacketNetwork, Transport
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.simulation import SimulationResult, changes, read_topology, settings_for, simulate
from eastwest.workload.flows import flows

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


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("down spine-0", "is no event; write one of"),
        ("explode spine-0 at 1 us", "is no event"),
        ("down spine-77 at 1 us", "there is no node 'spine-77'; did you mean"),
        ("down leaf-0 leaf-1 at 1 us", "no cable joins leaf-0 with leaf-1"),
        ("down leaf-0 spine-0 at 5", "a time"),
        ("slow leaf-0 spine-0 at 1 us", "slow NODE NODE to RATE"),
        ("slow leaf-0 spine-0 to 5 parsecs at 1 us", "parsecs"),
        ("slow leaf-0 spine-0 to 900 Gb/s at 0 s", "the link runs at 400 Gb/s: name a lower rate"),
        ("errors leaf-0 spine-0 of 7 at 1 us", "is no share of packets"),
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
