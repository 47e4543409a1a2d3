"""Files of other simulators: read where they are sound, refused with the line where they are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.errors import InputError
from eastwest.fabric import faults
from eastwest.simulation import read_flows, read_topology

TWO_TIERS = """Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 500
Switch_Latency_ns 200
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Downlink_Latency_ns 1000
"""
FLOWS = """Nodes 8
Connections 2
0->4 id 1 start 0 size 1000
5->1 id 2 start 1500000 size 2000
"""
NS3 = """5 2 4
3 4
0 3 100Gbps 0.001ms 0
1 3 100Gbps 1us 0
2 4 25Gbps 500ns 0
3 4 0.4Tbps 1us 0
"""


def written(folder: Path, text: str, name: str = "given.topo") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_topology_has_the_tiers_rates_and_latencies_that_it_states(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    assert faults(fabric) == []
    assert fabric.nodes["tier"].value_counts().sort("tier").rows() == [("leaf", 2), ("server", 8), ("spine", 2)]
    rates = dict(fabric.cables.group_by("tiers").agg("rate_bps").rows())
    assert {tiers: set(rate) for tiers, rate in rates.items()} == {"host-leaf": {100e9}, "leaf-spine": {200e9}}


def test_a_switch_delays_what_enters_it_from_either_side(tmp_path: Path) -> None:
    text = TWO_TIERS + "Switch_Latency_ns 300\n"
    fabric = read_topology(written(tmp_path, text))
    latency = dict(fabric.links.group_by("tier").agg("latency_s").rows())
    # 500 ns to a leaf and 1,000 ns to a spine; a leaf takes 200 ns, a spine 300 ns, a host none
    for tier, nanoseconds in (("nic-leaf", 700), ("leaf-spine", 1300), ("spine-leaf", 1200), ("leaf-nic", 500)):
        assert latency[tier] == pytest.approx([nanoseconds * 1e-9] * len(latency[tier]))


def test_three_tiers_have_as_many_cores_as_the_spines_links_fill(tmp_path: Path) -> None:
    # 128 hosts: 32 leaves of 4, 32 spines, each with 4 links up to cores of 8 links: 16
    fabric = read_topology(Path(__file__).parent.parent / "data" / "htsim" / "ft3_128_400g.topo")
    assert faults(fabric) == []
    assert fabric.nodes["tier"].value_counts().sort("tier").rows() == [
        ("core", 16),
        ("leaf", 32),
        ("server", 128),
        ("spine", 32),
    ]
    assert len(fabric.cables) == 128 + 128 + 128


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("Nodes 8", "Nodes 9"), 4, "9 nodes do not fill leaves of 4"),
        (("Nodes 8", "Nodes many"), 1, "a whole number"),
        (("Tiers 2", "Tiers 3"), 2, "3 tiers are declared and blocks for [0, 1] are given"),
        (("Tiers 2", "Tiers 4"), 2, "2 or 3 tiers"),
        (("Radix_Down 2", "Radix_Down 3"), 10, "2 leaves with bundles of 1 take 2"),
        (("Radix_Up 2", "Radix_Sideways 2"), 7, "'Radix_Sideways' is no entry of a topology"),
        (("Downlink_speed_Gbps 100\n", ""), 4, "lacks its Downlink_speed_Gbps"),
        (("Downlink_speed_Gbps 100", "Downlink_speed_Gbps 0"), 5, "Downlink_speed_Gbps is above 0, not '0'"),
        (("Downlink_Latency_ns 500", "Downlink_Latency_ns 1e30"), 8, "is a number from 0 to 1e+09, not '1e30'"),
        (("Tier 1", "Tier 0"), 10, "described twice"),
        (("Radix_Up 2", "Radix_Down 4"), 7, "Radix_Down is given twice in this tier"),
        (("Tiers 2", "Nodes 8"), 2, "Nodes is given twice"),
        (("Tier 0\n", ""), 4, "belongs below a line 'Tier N'"),
    ],
)
def test_a_broken_topology_is_refused_with_its_line(
    tmp_path: Path, change: tuple[str, str], line: int, says: str
) -> None:
    with pytest.raises(InputError) as refusal:
        read_topology(written(tmp_path, TWO_TIERS.replace(*change, 1)))
    assert f"given.topo:{line}: " in str(refusal.value)
    assert says in str(refusal.value)


def test_flows_are_read_with_their_starts_in_the_unit_asked_for(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    path = written(tmp_path, FLOWS, "given.cm")
    flows = read_flows(path, fabric, "ps")
    assert flows.source.tolist() == [0, 5]
    assert flows.destination.tolist() == [4, 1]
    assert flows.size_bytes.tolist() == [1000, 2000]
    assert flows.start_s.tolist() == pytest.approx([0, 1.5e-6])
    assert read_flows(path, fabric, "us").start_s.tolist() == pytest.approx([0, 1.5])


def test_triggers_keep_what_pulls_and_what_starts(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    text = """Nodes 8
Connections 3
Triggers 1
0->1 start 0 size 10 send_done_trigger 7
2->3 start 0 size 10 recv_done_trigger 7
4->5 trigger 7 size 10
trigger id 7 barrier count 2
"""
    flows = read_flows(written(tmp_path, text, "given.cm"), fabric, "ps")
    assert flows.sent_trigger.tolist() == [0, -1, -1]
    assert flows.received_trigger.tolist() == [-1, 0, -1]
    assert flows.start_trigger.tolist() == [-1, -1, 0]
    assert [(trigger.kind, trigger.pulls) for trigger in flows.triggers] == [("barrier", 2)]


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("Connections 2", "Connections 3"), 2, "3 connections are declared and 2 are given"),
        (("0->4", "0->9"), 3, "there is no host 9: the hosts are 0 to 7"),
        (("0->4", "4->4"), 3, "host 4 sends to itself"),
        (("size 1000", "size -5"), 3, "a whole number"),
        (("size 1000", "size"), 3, "size is missing"),
        ((" size 1000", ""), 3, "lacks its size"),
        (("start 0", "trigger 4"), 3, "trigger 4 is not described"),
        (("id 1 start 0", "id 1"), 3, "either a start or a trigger"),
        (("0->4", "0-4"), 3, "is neither a flow such as 3->7"),
        (("id 1", "name 1"), 3, "'name' is no entry of a flow"),
        (("start 0", "start 2e18"), 3, "the start is a number from 0 to 1e+18, not '2e18'"),
        (("Connections 2", "Nodes 8"), 2, "Nodes is given twice"),
        (("id 2", "id 1"), 4, "flow id 1 is taken by line 3"),
        (("size 1000", "size 2000000000000000"), 3, "size is a whole number from 0 to 1000000000000, not"),
    ],
)
def test_broken_flows_are_refused_with_their_line(
    tmp_path: Path, change: tuple[str, str], line: int, says: str
) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    with pytest.raises(InputError) as refusal:
        read_flows(written(tmp_path, FLOWS.replace(*change, 1), "given.cm"), fabric, "ps")
    assert f"given.cm:{line}: " in str(refusal.value)
    assert says in str(refusal.value)


ROUND = """Nodes 8
Connections 3
Triggers 2
2->3 start 0 size 10 send_done_trigger 1
0->1 trigger 1 size 10 send_done_trigger 2
1->2 trigger 2 size 10 send_done_trigger 1
trigger id 1 oneshot
trigger id 2 oneshot
"""


def test_flows_that_start_each_other_in_turn_need_one_that_starts_by_itself(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    assert len(read_flows(written(tmp_path, ROUND, "given.cm"), fabric, "ps")) == 3
    aside = written(tmp_path, ROUND.replace("0 size 10 send_done_trigger 1", "0 size 10", 1), "given.cm")
    with pytest.raises(InputError, match=r"given\.cm:5: the flow never starts: trigger 1 waits for flows that wait"):
        read_flows(aside, fabric, "ps")


def test_a_flow_that_waits_for_itself_is_refused(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    text = "Nodes 8\nConnections 1\n0->1 trigger 1 size 5 send_done_trigger 1\ntrigger id 1 multishot\n"
    with pytest.raises(InputError, match=r"given\.cm:3: the flow never starts"):
        read_flows(written(tmp_path, text, "given.cm"), fabric, "ps")


def test_a_barrier_that_waits_for_a_flow_behind_it_is_refused(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    text = ROUND.replace("trigger id 1 oneshot", "trigger id 1 barrier count 2")
    with pytest.raises(InputError, match=r"given\.cm:5: the flow never starts"):
        read_flows(written(tmp_path, text, "given.cm"), fabric, "ps")


def test_a_mark_of_the_byte_order_is_passed_over(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, "\ufeff" + TWO_TIERS))
    assert len(read_flows(written(tmp_path, "\ufeff" + FLOWS, "given.cm"), fabric, "ps")) == 2


def test_flows_for_more_hosts_than_there_are_are_refused(tmp_path: Path) -> None:
    fabric = read_topology(written(tmp_path, TWO_TIERS))
    with pytest.raises(InputError, match="for 16 hosts and the network has 8"):
        read_flows(written(tmp_path, FLOWS.replace("Nodes 8", "Nodes 16"), "given.cm"), fabric, "ps")


def test_an_ns3_topology_keeps_the_numbers_of_its_nodes(tmp_path: Path) -> None:
    text = NS3.replace("0.4Tbps", "400Gbps")
    fabric = read_topology(written(tmp_path, text, "topology.txt"))
    assert faults(fabric) == []
    assert fabric.nodes["name"].to_list() == ["host-0", "host-1", "host-2", "switch-3", "switch-4"]
    assert fabric.cables["rate_bps"].to_list() == [100e9, 100e9, 25e9, 400e9]
    assert fabric.links["latency_s"].to_list()[::2] == pytest.approx([1e-6, 1e-6, 0.5e-6, 1e-6])
    flows = read_flows(written(tmp_path, "1\n2 0 3 100 5000 0.25\n", "flow.txt"), fabric, "ps")
    assert (flows.source.tolist(), flows.destination.tolist()) == ([2], [0])
    assert (flows.size_bytes.tolist(), flows.start_s.tolist()) == ([5000], [0.25])


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (NS3, 6, "'0.4Tbps' is no rate"),
        (NS3.replace("5 2 4", "5 2 24"), 1, "24 links are declared and 4 are given"),
        (NS3.replace("5 2 4\n3 4", "5 0 4\n"), 1, "a network has at least one switch"),
        (NS3.replace("0 3 100", "0 9 100"), 3, "a whole number from 0 to 4"),
        (NS3.replace("0 3 100", "0 1 100"), 3, "joins two hosts"),
        (NS3.replace("0 3 100", "3 3 100"), 3, "joins a node with itself"),
        (NS3.replace("0.001ms", "1 fortnight"), 3, "is no delay"),
        (NS3.replace("0.001ms", "20s"), 3, "a delay is at most 1s, not '20s'"),
        (NS3.replace("100Gbps", "10000000Gbps"), 3, "a rate is at most 1e+06Gbps"),
        (NS3.replace("0.001ms 0", "0.001ms 1.5"), 3, "the error rate is a number from 0 to 1, not '1.5'"),
        (NS3.replace("0.001ms 0", "0.001ms 0 1"), 3, "'1' is one word too many: such a line has 5"),
        (NS3.replace("0.001ms 0", "0.001ms 1e-12"), 3, "an error rate is 0, or 1e-09 and more, not '1e-12'"),
    ],
)
def test_a_broken_ns3_topology_is_refused_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_topology(written(tmp_path, text, "topology.txt"))
    assert f"topology.txt:{line}: " in str(refusal.value)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("flow", "says"),
    [
        ("2 0 99 100 5000 0.25", "the priority group is a whole number from 0 to 7, not '99'"),
        ("4294967296 0 3 100 5000 0.25", "the source is a whole number from 0 to 4294967295"),
        ("2 0 3 70000 5000 0.25", "the port is a whole number from 0 to 65535, not '70000'"),
        ("2 0 3 100 5000 0.25 0", "'0' is one word too many: such a line has 6"),
        ("2 9 3 100 5000 0.25", "node 9 is no host of the network"),
        ("2 0 3 100 5000 1e7", "the start is a number from 0 to 1e+06, not '1e7'"),
    ],
)
def test_a_broken_ns3_flow_is_refused_with_its_line(tmp_path: Path, flow: str, says: str) -> None:
    fabric = read_topology(written(tmp_path, NS3.replace("0.4Tbps", "400Gbps"), "topology.txt"))
    with pytest.raises(InputError) as refusal:
        read_flows(written(tmp_path, f"1\n{flow}\n", "flow.txt"), fabric, "ps")
    assert "flow.txt:2: " in str(refusal.value)
    assert says in str(refusal.value)


def test_flows_of_a_host_without_cables_are_refused_by_its_name(tmp_path: Path) -> None:
    lone = NS3.replace("0.4Tbps", "400Gbps").replace("0 3 100Gbps", "1 3 100Gbps")
    fabric = read_topology(written(tmp_path, lone, "topology.txt"))
    assert len(read_flows(written(tmp_path, "1\n2 1 3 100 5000 0\n", "flow.txt"), fabric, "ps")) == 1
    with pytest.raises(InputError, match="host-0 sends or receives, and no cable joins it to a switch"):
        read_flows(written(tmp_path, "1\n2 0 3 100 5000 0\n", "flow.txt"), fabric, "ps")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is no file of text"):
        read_topology(tmp_path)


def refused(path: Path, read: Callable[[], object]) -> bool:
    """Whether a reader refuses a file; where it does, the message names the file."""
    try:
        read()
    except InputError as refusal:
        return str(path) in str(refusal)
    return False


@given(st.text(max_size=400) | st.binary(max_size=400))
def test_noise_is_refused_with_a_message(tmp_path_factory: pytest.TempPathFactory, noise: str | bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / "noise.topo"
    path.write_bytes(noise if isinstance(noise, bytes) else noise.encode("utf-8", "surrogatepass"))
    assert refused(path, lambda: read_topology(path))


WORDS = ("Nodes", "8", "Tier", "0", "1", "->", "0->1", "start", "size", "trigger", "-1", "1e9", "\n")


@given(st.lists(st.sampled_from(WORDS)))
def test_a_jumble_of_words_gives_flows_or_a_message(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    folder = tmp_path_factory.mktemp("jumble")
    fabric = read_topology(written(folder, TWO_TIERS))
    path = written(folder, "Nodes 8\n" + " ".join(words), "given.cm")
    assert refused(path, lambda: read_flows(path, fabric, "ps")) or len(read_flows(path, fabric, "ps")) >= 0


TOPOLOGY_WORDS = ("Nodes", "Tiers", "Podsize", "Tier", "Radix_Down", "Radix_Up", "Bundle", "Oversubscribed", "\n", "\n")
NUMBERS = ("0", "1", "2", "3", "4", "8", "65536", "-1", "1e9", "nan", "x")


@given(st.lists(st.tuples(st.sampled_from(TOPOLOGY_WORDS), st.sampled_from(NUMBERS)), max_size=24))
def test_a_jumble_of_entries_gives_a_sound_topology_or_a_message(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str]]
) -> None:
    path = written(tmp_path_factory.mktemp("jumble"), "".join(f"{word} {number}\n" for word, number in entries))
    assert refused(path, lambda: read_topology(path)) or faults(read_topology(path)) == []


@given(st.data())
def test_a_topology_with_another_number_somewhere_is_sound_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = TWO_TIERS.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = f"{lines[at].split()[0]} {data.draw(st.sampled_from(NUMBERS))}"
    path = written(tmp_path_factory.mktemp("altered"), "\n".join(lines))
    assert refused(path, lambda: read_topology(path)) or faults(read_topology(path)) == []


@given(st.lists(st.sampled_from(("1", "2", "0", "9", "-3", "100Gbps", "1us", "0.5", "\n", "x")), max_size=40))
def test_a_jumble_of_numbers_gives_a_sound_graph_or_a_message(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    path = written(tmp_path_factory.mktemp("graph"), "3 1 2\n2\n" + " ".join(words))
    assert refused(path, lambda: read_topology(path)) or faults(read_topology(path)) == []


def test_more_cables_than_anyone_lays_are_refused(tmp_path: Path) -> None:
    text = TWO_TIERS.replace("Nodes 8", "Nodes 65536").replace("Podsize 8", "Podsize 65536")
    text = text.replace("Radix_Down 4", "Radix_Down 1").replace("Radix_Up 2", "Radix_Up 65536")
    with pytest.raises(InputError, match="more than 16777216 cables"):
        read_topology(written(tmp_path, text.replace("Radix_Down 2", "Radix_Down 65536")))
