"""Traffic classes and shared buffers from files to results."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eastwest.cli.app import app
from eastwest.engine._native import headroom_bytes
from eastwest.engine.classes import TrafficClass, places_of
from eastwest.engine.packets import PacketNetwork
from eastwest.simulation import read_flows, read_topology, settings_for
from eastwest.workload.flows import flows

DATA = Path(__file__).parent.parent / "data" / "htsim"
TOPOLOGY = DATA / "ft3_128_400g.topo"
MIXED = """Nodes 128
Connections 6
1->0 start 0 size 2000000
2->0 start 0 size 2000000
20->0 start 0 size 2000000 prio 1
21->0 start 0 size 2000000 prio 1
40->0 start 20000000 size 4096 prio 6
41->0 start 40000000 size 4096 prio 6
"""
APART = """switch:
  buffer: { size: 64 MB, alpha: 0.125 }
classes:
  - { name: training, weight: 3 }
  - { name: storage, lossless: false }
  - { name: control, number: 6, priority: 7 }
"""


@pytest.fixture
def simulate(tmp_path):
    """Runs `eastwest simulate` on flows and settings; gives the exit code and what was printed."""

    def run(settings: str, *options: str, cm: str = MIXED):
        (tmp_path / "given.cm").write_text(cm)
        (tmp_path / "settings.yaml").write_text(settings)
        files = ["--flows", str(tmp_path / "given.cm"), "--settings", str(tmp_path / "settings.yaml")]
        return CliRunner().invoke(app, ["simulate", "--topology", str(TOPOLOGY), *files, *options])

    return run


def test_flows_are_of_the_class_that_their_prio_numbers(simulate):
    found = json.loads(simulate(APART, "--transport", "rocev2", "--json").stdout)["classes"]
    assert [(each["name"], each["flows"]) for each in found] == [("training", 2), ("storage", 2), ("control", 2)]
    training, storage, control = (each["fct_s"]["max"] for each in found)
    # 4 MB of training at three quarters of 400 Gb/s, all 8 MB at the whole of it; control passes both by
    assert training == pytest.approx(4e6 / 37.5e9, rel=0.2)
    assert storage == pytest.approx(8e6 / 50e9, rel=0.2)
    assert control < 20e-6


def test_the_table_has_a_line_a_class(simulate):
    printed = simulate(APART, "--transport", "rocev2").stdout
    assert "class storage" in printed
    assert "2 flows, median" in printed


def test_a_lossy_class_drops_beside_a_lossless_one(simulate):
    settings = "classes: [{name: training}, {name: storage, lossless: false, room: 100 kB}, {name: control, number: 6}]"
    training, storage, _ = json.loads(simulate(settings, "--transport", "rocev2", "--json").stdout)["classes"]
    assert training["pauses"] > 0
    assert training["drops"] == 0
    assert storage["drops"] > 0
    assert storage["pauses"] == 0


def test_headroom_that_is_too_small_is_told(simulate):
    settings = "switch: {buffer: {size: 4 MB, alpha: 0.0625, headroom: 20 kB}}"
    incast = "Nodes 128\nConnections 7\n" + "".join(f"{host}->0 start 0 size 2000000\n" for host in range(1, 8))
    found = json.loads(simulate(settings, "--transport", "rocev2", "--json", cm=incast).stdout)
    (only,) = found["classes"]
    assert only["headroom_drops"] == only["drops"] == found["drops"] > 0


def test_a_priority_without_a_class_is_refused(simulate):
    refused = simulate("classes: [{name: training}, {name: storage}]", "--transport", "rocev2")
    assert refused.exit_code != 0
    assert "flow 5 has priority 6, and no class has that number (there are training 0, storage 1)" in str(
        refused.exception or refused.output
    )


def test_a_buffer_smaller_than_its_headroom_is_refused(simulate):
    refused = simulate("switch: {buffer: {size: 500 kB}}", "--transport", "rocev2")
    assert refused.exit_code != 0
    # 8 ports of a switch, each 2 us of 50 GB/s, a pause and two packets of 4,178 B
    needed = 8 * (100_000 + 84 + 2 * 4178)
    told = f"a switch's buffer of 500 kB is too small: reserves and headroom of its ports take {-(-needed // 1000)} kB"
    assert told in str(refused.exception or refused.output)


def test_ns3_flows_are_of_the_class_that_their_priority_group_numbers(tmp_path):
    (tmp_path / "given.topo").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    (tmp_path / "given.txt").write_text("2\n0 1 3 100 1000 0\n1 0 4 100 1000 0\n")
    fabric = read_topology(tmp_path / "given.topo")
    assert read_flows(tmp_path / "given.txt", fabric, "ps").priority.tolist() == [3, 4]


def test_places_follow_numbers_in_any_order():
    classes = (TrafficClass("a", number=5), TrafficClass("b", number=2))
    assert places_of(flows([0, 0, 0], 1, 1, priority=[2, 5, 2]).priority, 3, classes).tolist() == [1, 0, 1]


def test_headroom_is_a_round_trip_a_pause_and_two_packets():
    assert headroom_bytes(50e9, 1e-6, 4178) == 100_000 + 84 + 2 * 4178


def test_cut_through_spares_a_packet_s_time_at_each_switch():
    network = PacketNetwork(read_topology(TOPOLOGY))
    pair = flows([0], [127], 4096)  # five switches between them
    stored, cut = (
        network.run(pair, settings_for("rocev2", network, pair, stated=stated)).received_s[0]
        for stated in ((), (("cut_through", 64),))
    )
    assert stored - cut == pytest.approx(5 * (4178 - 64) / 50e9, rel=1e-6)
    times = [settings_for("uet", network, pair, stated=given).base_rtt_s for given in ((), (("cut_through", 64),))]
    # answers of 64 B are all header
    assert times[0] - times[1] == pytest.approx(5 * (4096 - 64) / 50e9, rel=1e-6)


def test_a_lossy_class_has_room_for_the_product_of_one_plane_s_port() -> None:
    # four planes of a quarter of the NIC's rate each: room for a quarter of what one port of all would have
    network = PacketNetwork(read_topology(TOPOLOGY))
    whole = settings_for("rocev2", network, flows([0], [1], 1), stated=(("pause_above", 0),))
    lossy = replace(whole, room=0, classes=(TrafficClass("storage", is_lossless=False),))
    packets = [replace(lossy, planes=planes).native_classes[0].threshold / lossy.full for planes in (1, 4)]
    assert packets[0] == math.ceil(lossy.base_rtt_s * lossy.rate / lossy.full)
    assert packets[1] == math.ceil(lossy.base_rtt_s * lossy.rate / 4 / lossy.full)
