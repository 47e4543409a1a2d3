"""Connection matrices of htsim beyond plain flows: triggers, messages, failures, and what makes one doubt them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from eastwest.engine.packets import PacketNetwork
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.simulation import doubts, read_failures, read_flows, read_topology, settings_for, simulate
from eastwest.workload.flows import Flows

DATA = Path(__file__).parent.parent / "data" / "htsim"
HEAD = "Nodes 128\n"


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return read_topology(DATA / "ft3_128_400g.topo")


def written(folder: Path, text: str) -> Path:
    path = folder / "given.cm"
    path.write_text(text)
    return path


def read(folder: Path, fabric: Fabric, text: str, unit: str = "ps") -> Flows:
    return read_flows(written(folder, text), fabric, unit)


@pytest.mark.parametrize(
    "line", ["trigger id 4 barrier count 2", "trigger barrier count 2 id 4", "TRIGGER count 2 id 4 Barrier"]
)
def test_a_trigger_may_be_written_in_any_order(tmp_path: Path, fabric: Fabric, line: str) -> None:
    pulls = "".join(f"{host}->9 start 0 size 10 send_done_trigger 4\n" for host in (1, 2))
    flows = read(tmp_path, fabric, f"{HEAD}{pulls}5->6 trigger 4 size 10\n{line}\n")
    assert [(trigger.kind, trigger.pulls) for trigger in flows.triggers] == [("barrier", 2)]


def test_messages_of_one_connection_share_its_id_and_need_no_number(tmp_path: Path, fabric: Fabric) -> None:
    flows = read(tmp_path, fabric, f"{HEAD}0->1 id 1 msg start 0 size 40\n0->1 id 1 msg 7 start 0 size 50 prio 3\n")
    assert flows.size_bytes.tolist() == [40, 50]


def test_blank_lines_comments_and_carriage_returns_are_passed_over(tmp_path: Path, fabric: Fabric) -> None:
    text = "# made by hand\r\nNodes 128\r\n\r\nConnections 1\r\n0->1   start 0.5 size 40 # the only one\r\n"
    assert read(tmp_path, fabric, text, "us").start_s.tolist() == pytest.approx([0.5e-6])


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("0->1 trigger 1 size 9\ntrigger id 1 oneshot\n", 2, "no flow pulls trigger 1"),
        (
            "0->1 start 0 size 9 send_done_trigger 1\n1->2 trigger 1 size 9\ntrigger id 1 barrier count 2\n",
            4,
            "the barrier waits for 2 flows and 1 pull it",
        ),
        ("trigger id 1 barrier\n", 2, "says how many it waits for"),
        ("trigger id 1\n", 2, "a trigger is written as"),
        ("trigger id 1 oneshot barrier count 1\n", 2, "'barrier' is no kind of trigger, or a second"),
        ("0->1 start 0 size 2e6\n", 2, "size is a whole number"),
        ("0->1 start 0 size 2000000000000\n", 2, "from 0 to 1000000000000, not '2000000000000'"),
        ("Failures 2\nfailure switch_type AGG switch_id 0 link_id 0\n", 2, "2 failures are declared and 1 are given"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, fabric: Fabric, text: str, line: int, says: str
) -> None:
    with pytest.raises(InputError) as refusal:
        read(tmp_path, fabric, HEAD + text)
    assert f"given.cm:{line}: " in str(refusal.value)
    assert says in str(refusal.value)


def cables(fabric: Fabric, links: list[int]) -> Counter[tuple[str, str]]:
    names = fabric.nodes["name"]
    return Counter((names[fabric.links["src"][link]], names[fabric.links["dst"][link]]) for link in links)


@pytest.mark.parametrize(
    ("failure", "ends"),
    [
        ("switch_type TOR switch_id 4 link_id 3", ("leaf-4", "spine-7")),  # the second pod's spines are 4 to 7
        ("switch_type AGG switch_id 5 link_id 2", ("spine-5", "core-6")),  # spine 1 of a pod has cores 4 to 7
        ("link_id 1 switch_id 6 switch_type core", ("core-6", "spine-5")),
    ],
)
def test_a_failed_link_is_counted_among_those_up_of_its_switch(
    tmp_path: Path, fabric: Fabric, failure: str, ends: tuple[str, str]
) -> None:
    failed = read_failures(written(tmp_path, f"{HEAD}failure {failure}\n"), fabric)
    assert {(change.at_s, change.becomes, change.routes_after_s) for change in failed} == {(0.0, "down", 0.0)}
    assert cables(fabric, [change.link for change in failed]) == {ends: 1, ends[::-1]: 1}


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        ("switch_type AGG switch_id 0", "a failure is written as"),
        ("switch_type HUB switch_id 0 link_id 0", "'hub' is no type of switch"),
        ("switch_type AGG switch_id 32 link_id 0", "the network has no spine-32"),
        ("switch_type AGG switch_id 0 link_id 4", "spine-0 has no link 4: those that count are 0 to 3"),
    ],
)
def test_a_failure_of_what_there_is_not_is_refused(tmp_path: Path, fabric: Fabric, failure: str, says: str) -> None:
    with pytest.raises(InputError, match=r"given\.cm:2: ") as refusal:
        read_failures(written(tmp_path, f"{HEAD}failure {failure}\n"), fabric)
    assert says in str(refusal.value)


def test_flows_go_around_links_that_have_failed(tmp_path: Path, fabric: Fabric) -> None:
    failed = "".join(f"failure switch_type TOR switch_id 0 link_id {link}\n" for link in range(3))
    path = written(tmp_path, f"{HEAD}0->100 start 0 size 2000000\n1->101 start 0 size 2000000\n{failed}")
    flows, network = read_flows(path, fabric, "ps"), PacketNetwork(fabric)
    result = simulate(network, flows, settings_for("uet", network, flows), changes=read_failures(path, fabric))
    assert result.unfinished == 0
    assert result.run.drops == 0
    assert result.fct_s[-1] > 4e6 * 8 / 400e9  # both share the uplink that is left


@pytest.mark.parametrize(
    ("text", "unit", "says"),
    [
        ("Nodes 128\n0->1 start 0 size 9\n", "ps", []),
        ("Nodes 128\n0->1 start 40 size 9\n", "us", []),
        ("Nodes 128\n0->1 start 40 size 9\n", "ps", ["read in ps, the last flow starts at 4e-11 s: --start-unit us?"]),
        ("Nodes 128\n0->1 start 40000000 size 9\n", "us", ["the last flow starts at 40 s: --start-unit ps?"]),
        ("Nodes 64\n0->1 start 0 size 9\n", "ps", ["for 64 hosts and the network has 128"]),
    ],
)
def test_what_may_be_meant_otherwise_is_told(
    tmp_path: Path, fabric: Fabric, text: str, unit: str, says: list[str]
) -> None:
    path = written(tmp_path, text)
    told = doubts(path, read_flows(path, fabric, unit), fabric, unit)
    assert len(told) == len(says)
    assert all(part in doubt for part, doubt in zip(says, told, strict=True))
