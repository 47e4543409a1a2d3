"""The InfiniBand lab, live: ibsim and the real OpenSM on 16 servers, and on Pune's 128. Run by `make test-lab`."""

import json
import time
from pathlib import Path

import pytest
from tests.lab.conftest import ROOT, lab, need, traces

from eastwest import spec
from eastwest.lab import registry
from eastwest.lab.infiniband import INFINIBAND
from eastwest.observe.subnet import parse_subnet
from eastwest.study import run, with_routes

STUDY = ROOT / "examples" / "infiniband-lab.yaml"
NAME = "live-infiniband"
MORE = """name: more
clusters:
  c: { server: hgx-h100, servers: 12 }
fabrics:
  torus:
    shape: torus
    dims: [3, 4]
    technology: infiniband
    link: 400 Gb/s
    switch: qm9700
    subnet: { routing: torus-2QoS }
  nue: { like: torus, subnet: { routing: nue } }
  tree:
    shape: leaf-spine
    technology: infiniband
    link: 400 Gb/s
    switch: qm9700
    servers_per_unit: 2
    subnet: { lmc: 2, partitions: { blue: { servers: 0-5 }, green: { servers: 6-11 } } }
  planes: { like: tree, planes: 2, subnet: {} }
  sites: { like: tree, sites: { count: 2, distance: 10 km, links: 4, rate: 400 Gb/s }, subnet: {} }
  dragonfly: { like: tree, shape: dragonfly-plus, groups: 2, subnet: {} }
workloads:
  job: { kind: operations, operations: [ { name: it, collective: all-reduce, bytes: 1 MB } ] }
"""


@pytest.fixture(scope="module")
def tree():
    """The example's fabric, up and settled, routed by ftree."""
    need(INFINIBAND)
    said = lab("up", STUDY, "--fabric", "ftree", "--lab", NAME)
    yield said
    lab("down", "--lab", NAME)


@pytest.fixture
def more(tmp_path):
    """A study of other shapes and settings."""
    need(INFINIBAND)
    (tmp_path / "more.yaml").write_text(MORE)
    return tmp_path / "more.yaml"


@pytest.fixture
def up():
    """Brings a lab up for one test and gives its name."""
    made = []

    def start(study, fabric, name):
        made.append(name)
        lab("up", study, "--fabric", fabric, "--lab", name)
        return name

    yield start
    for name in made:
        lab("down", "--lab", name)


def engines(name):
    """The routing engine that made the tables, of each subnet of a lab, as OpenSM's log has it."""
    logs = sorted(registry.find(name).folder.glob("subnets/*/opensm.log"))
    said = [line for path in logs for line in path.read_text().splitlines() if "tables configured" in line]
    return {line.split("osm_ucast_mgr_process: ")[1].split()[0] for line in said}


def plan(name):
    return json.loads((registry.find(name).built / "plan.json").read_text())


def test_opensm_routes_the_tree_as_it_was_told(tree, report):
    report(f"up: {tree.out.strip()}")
    assert engines(NAME) == {"ftree"}
    state = json.loads(lab("status", "--lab", NAME, "--json").out)["nodes"]
    assert not [each for each in state if each["wrong"]]
    assert {each["figures"]["routes"] for each in state if each["node"].startswith("leaf")} == {128}  # 16 x 8 adapters


def test_ibnetdiscover_sees_the_plan_and_nothing_else(tree):
    seen = parse_subnet(lab("exec", "--lab", NAME, "server-007", "ibnetdiscover").out, "it")
    name = {guid: node.name for guid, node in seen.nodes.items()}
    found = {frozenset(((name[c.a.guid], c.a.port), (name[c.b.guid], c.b.port))) for c in seen.cables}
    planned = plan(NAME)
    switches = {each["name"] for each in planned["switches"]}
    ends = [[(c["a"], c["a_interface"]), (c["b"], c["b_interface"])] for c in planned["cables"]]
    assert found == {
        frozenset((node, int(port)) if node in switches else (f"{node} {port}", 1) for node, port in pair)
        for pair in ends
    }


def test_adapters_have_the_guids_of_the_plan(tree):
    seen = parse_subnet(lab("exec", "--lab", NAME, "server-007", "ibnetdiscover").out, "it")
    planned = {int(port["guid"], 16) for host in plan(NAME)["hosts"] for port in host["ports"]}
    assert set(seen.port_guids.values()) == planned


def test_programs_of_infiniband_diags_run_on_any_node(tree):
    assert "PortXmitData" in lab("exec", "--lab", NAME, "leaf-03", "perfquery").out
    lid = next(iter(parse_subnet(lab("exec", "--lab", NAME, "leaf-03", "ibnetdiscover").out, "it").lids))
    assert lab("exec", "--lab", NAME, "server-015", "smpquery", "nodeinfo", lid).out


def test_tables_read_back_are_simulated_and_no_faster_than_ideal_routing(tree, tmp_path, report):
    """Static routes put two flows of a scattered shift on one cable, adaptive ones none: twice, but for latency."""
    lab("routes", "--lab", NAME, "--out", tmp_path / "lab.csv")
    study = spec.load(str(STUDY))
    own, static = (
        run(each, where="fabric=ftree") for each in (study, with_routes(study, tmp_path / "lab.csv", "ftree"))
    )
    ratio = {(a.workload, a.placement): b.step_s / a.step_s for a, b in zip(own.rows, static.rows, strict=True)}
    for (workload, placement), times in ratio.items():
        report(f"ftree, {workload}, {placement}: {times:.2f} times the step of adaptive routing")
    assert min(ratio.values()) > 1 - 1e-6
    assert ratio["shift", "scattered"] > 1.99


@pytest.mark.parametrize("engine", ["updn", "minhop"])
def test_other_engines_route_it_too(engine, up):
    need(INFINIBAND)
    assert engines(up(STUDY, engine, f"live-{engine}")) == {engine}


def test_a_spine_that_fails_is_routed_around_and_comes_back(tree, tmp_path, report):
    began = time.monotonic()
    lab("fail", "--lab", NAME, "spine-01")
    while "no path" in lab("status", "--lab", NAME, code=1).out:
        assert time.monotonic() < began + 30
    report(f"spine-01 failed: routed around within {time.monotonic() - began:.1f} s")
    lab("routes", "--lab", NAME, "--out", tmp_path / "lab.csv")
    assert "spine-1," not in (tmp_path / "lab.csv").read_text()
    lab("heal", "--lab", NAME)
    lab("status", "--lab", NAME)
    lab("routes", "--lab", NAME, "--out", tmp_path / "lab.csv")
    assert "spine-1," in (tmp_path / "lab.csv").read_text()


def test_what_such_a_lab_cannot_do_is_told(tree):
    assert "the subnet manager runs on server-000" in lab("fail", "--lab", NAME, "server-000", code=2).err
    assert "leave out --silently" in lab("fail", "--lab", NAME, "spine-00", "--silently", code=2).err
    assert "no traffic to capture" in lab("capture", "--lab", NAME, "leaf-00:1", "--out", "x", code=2).err


@pytest.mark.parametrize(
    ("fabric", "engine"),
    [("torus", "torus-2QoS"), ("nue", "nue"), ("planes", "ftree"), ("sites", "updn"), ("dragonfly", "updn")],
)
def test_other_shapes_are_routed_by_the_engine_chosen_for_them(fabric, engine, more, up):
    name = up(more, fabric, f"live-{fabric}")
    assert engines(name) == {engine}
    assert not [each for each in json.loads(lab("status", "--lab", name, "--json").out)["nodes"] if each["wrong"]]


def test_ports_have_their_addresses_and_their_tenant_s_key_first(more, up):
    name = up(more, "tree", "live-tree")
    seen = parse_subnet(lab("exec", "--lab", name, "server-001", "ibnetdiscover").out, "it")
    blue = next(node for node in seen.nodes.values() if node.name == "server-003 rail2")
    lids = [lid for lid, end in seen.lids.items() if end.guid == blue.guid]
    assert len(lids) == 4
    keys = lab("exec", "--lab", name, "server-001", "smpquery", "pkeys", min(lids)).out
    assert keys.split()[1:3] == ["0x8001", "0x7fff"]  # full member of the first partition, limited of the default


def test_pune_is_accepted(up, report):
    need(INFINIBAND)
    began = time.monotonic()
    name = up("pune-1024", "ib-400g", "live-pune")
    report(f"pune-1024 ib-400g: up after {time.monotonic() - began:.1f} s")
    assert engines(name) == {"ftree"}


def test_of_a_lab_that_is_down_nothing_is_left():
    need(INFINIBAND)
    lab("up", STUDY, "--fabric", "ftree", "--lab", "live-ib-gone")
    there, sockets = traces("live-ib-gone"), Path("/proc/net/unix")
    assert "@eastwest-live-ib-gone-" in sockets.read_text()
    lab("down", "--lab", "live-ib-gone")
    assert there.left() == []
    assert "@eastwest-live-ib-gone-" not in sockets.read_text()


def test_two_labs_at_once_do_not_meet(tree, up):
    other = up(STUDY, "updn", "live-ib-two")
    lab("fail", "--lab", other, "spine-00")
    assert not [each for each in json.loads(lab("status", "--lab", NAME, "--json").out)["nodes"] if each["wrong"]]
    assert lab("status", "--lab", other, code=1).out
