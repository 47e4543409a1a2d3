"""The Ethernet lab, live: 4 spines, 8 leaves (2 units of 4 rails) and 16 servers with real FRR: `make test-lab`."""

import json
import signal
import subprocess
import time
from collections import Counter

import polars as pl
import pytest
from tests.lab.conftest import ROOT, command, lab, mounts_and_names, need, traces

from eastwest import spec
from eastwest.lab import registry
from eastwest.lab.ethernet import ETHERNET
from eastwest.study import routes, run, with_routes

STUDY = ROOT / "examples" / "ethernet-lab.yaml"
NAME = "live-ethernet"
SMALL = """name: small
catalog: {folder}/ethernet-lab-catalog.yaml
clusters:
  pair: {{server: four-rails, servers: 2}}
fabrics:
  pair:
    {{shape: leaf-spine, servers_per_unit: 1, technology: rocev2, link: 400 Gb/s, switch: sixteen-ports, breakout: 1}}
workloads:
  job: {{kind: operations, operations: [{{name: it, collective: all-reduce, bytes: 1 MB}}]}}
"""


@pytest.fixture(scope="module")
def rails():
    """The lab, up and settled."""
    need(ETHERNET)
    said = lab("up", STUDY, "--fabric", "rails", "--lab", NAME)
    yield said
    lab("down", "--lab", NAME)


@pytest.fixture
def healed(rails):
    """The lab, mended again after the test."""
    yield rails
    lab("heal", "--lab", NAME)


@pytest.fixture
def small(tmp_path):
    """A study of two servers, which are up in no time."""
    need(ETHERNET)
    (tmp_path / "ethernet-lab-catalog.yaml").write_text((STUDY.parent / "ethernet-lab-catalog.yaml").read_text())
    (tmp_path / "small.yaml").write_text(SMALL.format(folder="."))
    return tmp_path / "small.yaml"


def on(node, *words):
    """What a command in a node of the lab writes."""
    return lab("exec", "--lab", NAME, node, *words).out


def test_all_switches_have_all_sessions_and_the_time_is_told(rails, report):
    report(f"up: {rails.out.strip()}")
    state = json.loads(lab("status", "--lab", NAME, "--json").out)["nodes"]
    # A leaf has 8 uplinks; 64 uplinks of 8 leaves are 16 for each of 4 spines.
    assert Counter(each["figures"]["sessions"] for each in state) == {8: 8, 16: 4}
    assert not [each for each in state if each["wrong"]]


def test_every_server_reaches_every_other_on_every_rail(rails):
    assert lab("reach", "--lab", NAME).out == "960 of 960 pairs reach each other, there and back\n"  # 4 x 16 x 15


def test_equal_paths_are_all_used_as_many_as_planned(rails):
    widths = {}
    for node in ("leaf-u0-r0", "spine-00"):
        table = json.loads(on(node, "ip", "-j", "-4", "route", "show", "proto", "bgp"))
        widths[node] = {len(each.get("nexthops", [each])) for each in table if each["dst"].endswith("/31")}
    assert widths == {"leaf-u0-r0": {8}, "spine-00": {2}}  # all uplinks; both cables to the leaf


def test_the_routes_that_bgp_chose_are_those_of_the_engine(rails, tmp_path):
    lab("routes", "--lab", NAME, "--out", tmp_path / "lab.csv")
    built, tables = routes(spec.load(str(STUDY)), "rails")
    name, number = built.nodes["name"], built.ports["number"]
    link = built.links.select("dst", "src_port")[tables.link]
    columns = [name.gather(each) for each in (tables.switch, tables.destination, link["dst"])]
    wanted = zip(*columns, number.gather(link["src_port"]), strict=True)
    found = pl.read_csv(tmp_path / "lab.csv")
    assert set(found.select("switch", "destination", "next", "port").iter_rows()) == set(wanted)
    assert set(found["weight"]) == {1}
    assert tables.is_even


def test_a_study_with_the_lab_s_routes_takes_the_step_of_one_with_its_own(rails, tmp_path):
    lab("routes", "--lab", NAME, "--out", tmp_path / "lab.csv")
    study = spec.load(str(STUDY))
    own, routed = (run(each).rows[0].step_s for each in (study, with_routes(study, tmp_path / "lab.csv")))
    assert routed == pytest.approx(own, rel=1e-9)


def test_lldp_sees_the_cables_of_the_plan(rails):
    seen = json.loads(on("leaf-u1-r2", "lldpcli", "-f", "json0", "show", "neighbors"))
    found = {}
    for each in seen["lldp"][0]["interface"]:
        found[each["name"]] = (each["chassis"][0]["name"][0]["value"], each["port"][0]["id"][0]["value"])
    plan = json.loads((registry.find(NAME).built / "plan.json").read_text())
    (leaf,) = (each for each in plan["switches"] if each["name"] == "leaf-u1-r2")
    assert found == {port["name"]: (port["peer"], port["peer_interface"]) for port in leaf["ports"]}


def test_flows_are_dealt_over_uplinks_and_all_they_carry_is_counted(rails):
    said = lab("flow", "--lab", NAME, "server-000:rail1", "server-015:rail1", "--flows", 32, "--seconds", 2).out
    rows = [line.split() for line in said.splitlines()]
    sent = {row[0]: float(row[3]) for row in rows if len(row) > 4 and row[1] == "to"}
    up = [count for end, count in sent.items() if end.startswith("leaf-u0-r1:")]
    assert len(up) > 4  # 32 flows over 8 links: fewer than 5 are met by chance once in 10^6
    assert sum(up) == pytest.approx(sent["server-000:rail1"], rel=0.05)


def test_what_passes_an_interface_can_be_captured(rails, tmp_path):
    lab("capture", "--lab", NAME, "leaf-u0-r0:Ethernet64", "--out", tmp_path / "it.pcap", "--seconds", 2)
    seen = subprocess.run(["tshark", "-r", tmp_path / "it.pcap"], capture_output=True, text=True, check=True).stdout
    assert "BFD" in seen


@pytest.mark.parametrize(
    "what",
    [
        ("leaf-u0-r0", "spine-00", "--count", "1"),
        ("leaf-u0-r0", "spine-00", "--silently"),
        ("spine-01",),
        ("spine-02", "--silently"),
    ],
    ids=" ".join,
)
def test_when_something_fails_no_server_is_lost(what, healed, report):
    said = lab("fail", "--lab", NAME, *what, "--measure").out
    report(f"{' '.join(what)}: {said.strip()}")
    assert "all pairs reach each other" in said
    assert lab("status", "--lab", NAME, code=1).out  # it is told
    assert lab("reach", "--lab", NAME).code == 0


def test_a_drained_spine_is_sent_nothing_until_it_is_undrained(healed):
    drain = ("vtysh", "-c", "configure terminal", "-c", "router bgp 4210000000")
    assert "router bgp 4210000000" in on("spine-03", "vtysh", "-c", "show running-config")
    on("spine-03", *drain, "-c", "bgp graceful-shutdown")
    wait_until(lambda: '"spine-03"' not in leaf_hops())
    on("spine-03", *drain, "-c", "no bgp graceful-shutdown")
    wait_until(lambda: '"spine-03"' in leaf_hops())


def leaf_hops():
    """Spines that a leaf sends to, in JSON."""
    table = json.loads(on("leaf-u0-r0", "ip", "-j", "-4", "route", "show", "proto", "bgp"))
    plan = json.loads((registry.find(NAME).built / "plan.json").read_text())
    (leaf,) = (each for each in plan["switches"] if each["name"] == "leaf-u0-r0")
    peers = {port["name"]: port["peer"] for port in leaf["ports"]}
    routes = [each for each in table if each["dst"].endswith("/31")]
    return json.dumps(sorted({peers[hop["dev"]] for each in routes for hop in each.get("nexthops", [each])}))


def wait_until(is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.3)


def test_of_a_lab_that_is_down_nothing_is_left(small):
    before = mounts_and_names()
    lab("up", small, "--fabric", "pair", "--lab", "live-gone")
    there = traces("live-gone")
    assert len(there.networks) == 2 + len(json.loads((there.folder / "built/plan.json").read_text())["switches"])
    lab("down", "--lab", "live-gone")
    wait_until(lambda: not there.left())
    assert mounts_and_names() == before


def test_of_a_lab_whose_up_was_killed_nothing_is_left(small):
    starting = subprocess.Popen(command("up", small, "--fabric", "pair", "--lab", "live-killed"))
    wait_until(lambda: "live-killed" in registry.names() and registry.find("live-killed").is_alive)
    there = traces("live-killed")
    starting.send_signal(signal.SIGKILL)
    starting.wait()
    wait_until(lambda: there.left() == [])
    assert "live-killed" not in lab("list").out


def test_a_lab_that_cannot_come_up_takes_itself_down(small, tmp_path):
    before = mounts_and_names()
    eastwest = command()[:-1]
    subprocess.run(
        [*eastwest, "build", small, "--fabric", "pair", "--out", tmp_path / "b", "--only", "frr,hosts"],
        check=True,
        cwd=tmp_path,
    )
    conf = next((tmp_path / "b" / "switches").glob("*/frr.conf"))
    conf.write_text(conf.read_text() + "router bgpp 1\n")
    said = lab("up", small, "--fabric", "pair", "--lab", "live-wrong", "--built", tmp_path / "b", code=2)
    assert "FRR refuses its frr.conf" in said.err
    assert "live-wrong" not in registry.names()
    assert mounts_and_names() == before


def test_two_labs_at_once_do_not_meet(small):
    lab("up", small, "--fabric", "pair", "--lab", "live-one")
    try:
        lab("up", small, "--fabric", "pair", "--lab", "live-two")
        try:
            assert not traces("live-one").networks & traces("live-two").networks
            lab("fail", "--lab", "live-one", "server-000")
            lab("reach", "--lab", "live-two")
            lab("reach", "--lab", "live-one", code=1)
        finally:
            lab("down", "--lab", "live-two")
        lab("heal", "--lab", "live-one")
        lab("reach", "--lab", "live-one")
    finally:
        lab("down", "--lab", "live-one")


def test_a_second_lab_of_one_name_is_refused(small):
    lab("up", small, "--fabric", "pair", "--lab", "live-name")
    try:
        said = lab("up", small, "--fabric", "pair", "--lab", "live-name", code=2)
        assert "eastwest lab down --lab live-name" in said.err
    finally:
        lab("down", "--lab", "live-name")
