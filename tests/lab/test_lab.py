"""What of a lab needs no root: its plan read, names, tables, faults, and what is told where something is missing."""

import json
from pathlib import Path

import pytest

from eastwest import artifacts, spec
from eastwest.errors import InputError
from eastwest.lab import faults, hosts, labs, machine, registry, tables
from eastwest.lab.drivers import DRIVERS, driver_of
from eastwest.lab.endpoint import gaps
from eastwest.lab.failure import LabError, MissingError
from eastwest.lab.nodes import End, Nodes, read_nodes
from eastwest.lab.registry import Lab
from eastwest.lab.traffic import Attachment, Outage, Pair, Watched
from eastwest.study import routes

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "examples" / "ethernet-lab.yaml"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "built"
    subject = artifacts.subject(spec.load(str(STUDY)), "rails")
    artifacts.write(artifacts.build(subject, ["frr", "hosts"]), {}, folder)
    return folder


@pytest.fixture(scope="module")
def nodes(built: Path) -> Nodes:
    return read_nodes(built)


def test_planned_routes_are_those_of_the_engine(nodes: Nodes) -> None:
    fabric, wanted = routes(spec.load(str(STUDY)), "rails")
    name, number = fabric.nodes["name"], fabric.ports["number"]
    link = fabric.links.select("dst", "src_port")[wanted.link]
    columns = [name.gather(each) for each in (wanted.switch, wanted.destination, link["dst"])]
    full = {
        switch: {subnet: tuple((hop, 1.0) for hop in sorted(hops)) for subnet, hops in of.items()}
        for switch, of in tables.planned(nodes).items()
    }
    found = {(row.switch, row.destination, row.next, row.port) for row in tables.rows(nodes, full)}
    assert found == set(zip(*columns, number.gather(link["src_port"]), strict=True))


def test_a_leaf_whose_nics_are_sent_to_differently_has_a_row_for_each(nodes: Nodes) -> None:
    hops = {"10.0.0.16/31": (("Ethernet64", 1.0),), "10.0.0.18/31": (("Ethernet72", 3.0),)}
    empty: dict[str, dict[str, tuple[tables.Hop, ...]]] = {switch.name: {} for switch in nodes.switches}
    rows = tables.rows(nodes, {**empty, "leaf-u0-r0": hops})
    assert [(row.destination, row.next, row.port, row.weight) for row in rows] == [
        ("server-08/nic-0", "spine-0", 8, 1.0),
        ("server-09/nic-0", "spine-0", 9, 3.0),
    ]


def test_missing_and_narrow_routes_are_told() -> None:
    planned = {"10.0.0.0/31": frozenset({"a", "b"}), "10.0.0.2/31": frozenset({"a", "b"})}
    assert tables.complaints(planned, dict.fromkeys(planned, (("a", 1), ("b", 1)))) == []
    assert tables.complaints(planned, {"10.0.0.0/31": (("a", 1),)}) == [
        "no route to 1 of 2 host subnets, the first 10.0.0.2/31",
        "1 of 2 host subnets over other paths than all the shortest, as 10.0.0.0/31 over 1 of 2",
    ]


def test_a_node_two_nodes_and_an_end_name_what_fails(nodes: Nodes) -> None:
    assert faults.named(nodes, ["spine-01"]).nodes == ("spine-01",)
    both = faults.named(nodes, ["spine-00", "leaf-u0-r0"]).wires
    assert {str(wire) for wire in both} == {
        "leaf-u0-r0:Ethernet64 to spine-00:Ethernet0",
        "leaf-u0-r0:Ethernet72 to spine-00:Ethernet8",
    }
    assert faults.named(nodes, ["leaf-u0-r0", "spine-00"], 1).wires == both[:1]
    (wire,) = faults.named(nodes, ["server-003:rail2"]).wires
    assert wire.b == End("leaf-u0-r2", "Ethernet24")


@pytest.mark.parametrize(
    ("names", "count", "told"),
    [
        (["spine-1"], None, "no node 'spine-1'; did you mean 'spine-01'"),
        (["leaf-u0-r0", "leaf-u0-r1"], None, "no cable joins leaf-u0-r0 and leaf-u0-r1; .*spine-00"),
        (["leaf-u0-r0", "spine-00"], 3, "2 cables join"),
        (["leaf-u0-r0:Ethernet1"], None, "no cable at 'Ethernet1'; it has some at Ethernet0"),
        (["spine-00"], 1, "name both"),
        (["a", "b", "c"], None, "name a node"),
        (["spine-01", "spine-01"], None, "spine-01 twice"),
    ],
)
def test_what_is_not_there_cannot_fail(names: list[str], count: int | None, told: str, nodes: Nodes) -> None:
    with pytest.raises(LabError, match=told):
        faults.named(nodes, names, count)


def test_probes_without_an_answer_in_a_row_are_one_gap() -> None:
    sent = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert gaps(sent, {0, 3}) == [[0.1, 0.2, 2], [0.4, 0.5, 2]]
    assert gaps(sent, set(range(6))) == []


def test_pairs_that_stay_cut_off_do_not_delay_the_others() -> None:
    cut, other = (Pair(Attachment("a", "rail0", "10.0.0.1"), Attachment(to, "rail0", "10.0.0.3")) for to in "bc")
    outages = (Outage(cut, 1, 90, 1.0, 9.9, is_at_the_end=True), Outage(other, 1, 2, 1.0, 1.1, is_at_the_end=False))
    watched = Watched(2, 2, 200, 0.1, outages)
    assert watched.reconverged_s(1.0, (cut,)) == pytest.approx(0.2)
    assert watched.reconverged_s(1.0) == pytest.approx(9.0)


def test_routes_are_not_written_over_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder: name a file"):
        tables.write([], tmp_path)


def test_a_server_has_the_addresses_rules_and_settings_of_its_own_files(built: Path, nodes: Nodes) -> None:
    lab = Lab("x", built.parent, "ethernet", "", "", 1)
    place = hosts.host_place(lab, nodes.named("server-003"))
    assert place.addresses["rail2"] == ("10.64.0.7/31",)  # the fourth server's, of rail 2 of four in 10.0.0.0/9
    assert "rule add from 10.64.0.7/32 table 102 priority 102" in place.commands
    assert place.sysctls["net.ipv4.conf.all.arp_ignore"] == "1"
    assert not [name for name in place.sysctls if name.startswith("net.core")]  # the whole machine's


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10.64.0.6, table: 102", '"10.64.0.6; reboot", table: 102'),
        ("addresses: [10.64.0.7/31]", 'addresses: ["$(reboot)"]'),
        ("type: unreachable", "type: nat"),
        ("ethernets:", "bonds:"),
    ],
)
def test_a_hosts_file_that_no_build_writes_is_refused(
    old: str, new: str, built: Path, nodes: Nodes, tmp_path: Path
) -> None:
    folder = tmp_path / "built" / "hosts" / "server-003"
    folder.mkdir(parents=True)
    text = (built / "hosts/server-003/netplan.yaml").read_text()
    assert old in text
    (folder / "netplan.yaml").write_text(text.replace(old, new))
    (folder / "sysctl.conf").write_text("")
    with pytest.raises(LabError, match="no netplan file of `eastwest build`"):
        hosts.host_place(Lab("x", tmp_path, "ethernet", "", "", 1), nodes.named("server-003"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"name": "server-003"', '"name": "../../etc"'),
        ('"name": "rail2"', '"name": "rail2; reboot"'),
        ('"mac": "02:01', '"mac": "$(reboot)'),
        ('"address": "10.64.0.7"', '"address": "10.64.0.7 dev lo"'),
        ('"cables": [', '"wires": ['),
    ],
)
def test_a_plan_that_no_build_writes_is_refused(old: str, new: str, built: Path, tmp_path: Path) -> None:
    text = (built / "plan.json").read_text()
    assert old in text
    (tmp_path / "plan.json").write_text(text.replace(old, new))
    with pytest.raises(LabError, match="no plan of `eastwest build`"):
        read_nodes(tmp_path)


def test_without_root_the_rights_are_named_that_a_lab_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "may_make_namespaces", lambda: False)
    with pytest.raises(MissingError, match=r"CAP_SYS_ADMIN and CAP_NET_ADMIN.*sudo") as told:
        machine.check((), ())
    assert told.value.exit_code == 3


def test_what_is_missing_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "may_make_namespaces", lambda: True)
    monkeypatch.setattr(machine, "BASIC", ())
    lacking = (machine.Tool("no-such-daemon", "frr"), machine.Tool("nor-this", "lldpd"), machine.Tool("sh", "dash"))
    with pytest.raises(MissingError, match=r"no no-such-daemon, nor-this: .*apt-get install .* frr lldpd$"):
        machine.check(lacking, ())


def test_a_kernel_without_a_feature_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "may_make_namespaces", lambda: True)
    monkeypatch.setattr(machine, "BASIC", ())
    with pytest.raises(MissingError, match="kernel has no flux: load the module: modprobe flux"):
        machine.check((), (machine.Feature("flux", "false", "load the module: modprobe flux"),))


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(registry, "ROOT", tmp_path / "labs")
    return tmp_path / "labs"


def test_a_lab_that_is_not_finished_is_dead_and_can_be_taken_down(root: Path) -> None:
    (root / "half").mkdir(parents=True)
    with pytest.raises(LabError, match=r"lab half has died; .*eastwest lab down --lab half"):
        labs.found("half")
    assert labs.down(None) == "half"
    assert not root.exists()


def test_a_lab_is_found_by_name_or_alone(root: Path) -> None:
    with pytest.raises(LabError, match="no lab on this machine: eastwest lab up"):
        registry.find(None)
    for name in ("one", "two"):
        (root / name).mkdir(parents=True)
    with pytest.raises(LabError, match=r"there are labs one, two: name one with --lab"):
        registry.find(None)
    with pytest.raises(LabError, match="no lab 'ome'; did you mean 'one'"):
        registry.find("ome")
    assert registry.find("two").name == "two"


def test_a_lab_has_one_name_and_one_command_that_changes_it(root: Path) -> None:
    with registry.made("one", "ethernet", "s", "f", 1) as made:
        assert json.loads(json.dumps(str(made.folder))) == str(root / "one")
        with pytest.raises(LabError, match="there is a lab one already"), registry.made("one", "", "", "", 1):
            pass
        with pytest.raises(LabError, match="another command is changing lab one"), registry.taken("one"):
            pass


@pytest.mark.parametrize("name", ["", "Upper", "../x", "a" * 32, "-x", "a b"])
def test_a_lab_s_name_is_a_plain_word(name: str, root: Path) -> None:
    with pytest.raises(LabError, match="is no name for a lab"), registry.made(name, "", "", "", 1):
        pass


def test_where_bringing_it_up_fails_no_folder_is_left(root: Path) -> None:
    with pytest.raises(RuntimeError), registry.made("one", "ethernet", "s", "f", 1):
        raise RuntimeError
    assert not root.exists()


def test_a_technology_without_a_lab_is_told() -> None:
    with pytest.raises(LabError, match="no lab of carrier-pigeon, only of rocev2"):
        driver_of("carrier-pigeon")
    assert set(DRIVERS) >= {"rocev2", "ultra-ethernet"}


def test_a_lab_s_fastest_link_has_100_megabits() -> None:
    plan = artifacts.subject(spec.load(str(STUDY)), "rails").plan
    assert labs.scale_for(plan) == 4_000  # 400 Gb/s
