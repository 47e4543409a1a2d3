"""The MRC lab, live: two planes of four leaves and two spines, static SRv6 in the kernel. Run by `make test-lab`."""

import json
import re
import shutil
import subprocess
import time

import pytest
from tests.lab.conftest import ROOT, command, lab, mounts_and_names, need, traces

from eastwest import artifacts, spec
from eastwest.artifacts.mrc import network
from eastwest.lab import registry
from eastwest.lab.mrc import MRC

STUDY = ROOT / "examples" / "mrc-lab.yaml"
NAME = "live-mrc"
SPINE = "plane-0-spine-01"


@pytest.fixture(scope="module")
def planes():
    """The lab, up and settled; what the machine had before."""
    need(MRC)
    before = mounts_and_names()
    lab("up", STUDY, "--fabric", "planes", "--lab", NAME)
    yield before
    lab("down", "--lab", NAME, code=None)


@pytest.fixture(scope="module")
def of():
    """The network of the plan, which the lab knows only by its files."""
    return network(artifacts.subject(spec.load(str(STUDY)), "planes").plan)


@pytest.fixture
def whole(planes):
    """The lab with nothing failed, and healed afterwards."""
    yield
    lab("heal", "--lab", NAME)


def paths(source, destination, code=0):
    """What each path of a pair carries."""
    return json.loads(lab("paths", source, destination, "--json", "--lab", NAME, code=code).out)


def kernels(switches):
    """Switches' routes to uSIDs as their kernels print them, but for whether a link has its carrier, and for counts."""
    running = registry.find(NAME)
    found = {}
    for switch in switches:
        words = running.inside(["ip", "-n", switch, "-6", "route", "show"])
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        plain = re.sub(r" (linkdown|dead)\b|packets \d+ bytes \d+ errors \d+ ", "", said)
        found[switch] = [line for line in plain.splitlines() if line.startswith("5f00:")]
    return found


def test_each_switch_has_what_was_built_and_no_daemon(planes, of):
    running = registry.find(NAME)
    for switch, routes in kernels(of.tree.switches).items():
        text = (running.built / "switches" / switch / "srv6.batch").read_text()
        wanted = {line.split()[2] for line in text.splitlines() if line.startswith("route replace")}
        assert {line.split()[0] for line in routes} == wanted
        words = running.inside(["ip", "netns", "pids", switch])
        assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == ""
    nodes = json.loads(lab("status", "--json", "--lab", NAME).out)["nodes"]
    assert [node for node in nodes if node["wrong"]] == []


@pytest.mark.parametrize(
    ("source", "destination"),
    [("server-000", "server-003:rail2"), ("server-002:rail3", "server-001:rail3")],
)
def test_every_listed_path_of_a_pair_carries_and_is_the_one_that_is_listed(whole, of, source, destination):
    tried = paths(source, destination)
    assert len(tried) == 16  # 2 planes, 2 spines, 2 cables up and 2 down
    assert all(each["carries"] and each["is_proven"] for each in tried)
    spines = {each["switches"][1] for each in tried}
    assert spines == {name for name, switch in of.tree.switches.items() if switch.tier == "spine"}


@pytest.mark.parametrize("silently", [False, True])
def test_a_spine_lost_takes_its_paths_alone_and_changes_no_route(whole, of, silently):
    others = [switch for switch in of.tree.switches if switch != SPINE]
    before = kernels(others)
    lab("fail", SPINE, "--lab", NAME, *(["--silently"] if silently else []))
    tried = paths("server-000", "server-003:rail2", code=1)
    over = [each for each in tried if SPINE in each["switches"]]
    assert (len(tried), len(over)) == (16, 4)
    assert all(each["arrived"] == 0 for each in over)
    assert all(each["carries"] and each["is_proven"] for each in tried if each not in over)
    assert kernels(others) == before
    lab("heal", "--lab", NAME)
    assert all(each["carries"] and each["is_proven"] for each in paths("server-000", "server-003:rail2"))


def test_a_cable_lost_takes_the_lane_of_its_path(whole):
    lab("fail", "plane-1-leaf-00", "plane-1-spine-00", "--count", "1", "--lab", NAME)
    lost = [each["address"] for each in paths("server-000", "server-002", code=1) if not each["carries"]]
    assert lost == ["5f00:1:4000:8000:4002:e000::", "5f00:1:4000:8000:6002:e000::"]


def test_the_usids_of_a_path_move_up_from_switch_to_switch(whole, of, tmp_path):
    tshark = shutil.which("tshark")
    assert tshark is not None  # the driver's capture needs it too
    first, spine, last = "plane-0-leaf-00", "plane-0-spine-01", "plane-0-leaf-03"
    _, into_spine = of.tree.above[first][spine][1]
    into_last, _ = of.tree.above[last][spine][1]
    at = {first: "Ethernet0", spine: into_spine.name, last: into_last.name}
    running = []
    for switch, port in at.items():
        out = tmp_path / f"{switch}.pcap"
        words = command("capture", f"{switch}:{port}", "--out", out, "--seconds", "12", "--lab", NAME)
        running.append((switch, out, subprocess.Popen(words, stdout=subprocess.DEVNULL)))
    time.sleep(6)  # until all record, on a busy machine too
    (path,) = [each for each in paths("server-000", "server-003") if each["address"] == "5f00:0:4000:a001:6003:e000::"]
    assert path["is_proven"]
    seen = {}
    for switch, out, one in running:
        assert one.wait(60) == 0
        fields = ["-T", "fields", "-E", "occurrence=f", "-e", "ipv6.dst"]
        words = [tshark, "-r", out, "-Y", "ipv6.nxt == 41", *fields]
        seen[switch] = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert "5f00:0:4000:a001:6003:e000::" in seen[first]
    assert "5f00:0:a001:6003:e000::" in seen[spine]
    assert "5f00:0:6003:e000::" in seen[last]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["routes", "--out", "/dev/null"], "choose no routes"),
        (["reach"], "eastwest lab paths"),
        (["paths", "server-000", "server-9"], "there is no server 'server-9'"),
    ],
)
def test_what_has_no_meaning_in_it_is_refused_kindly(planes, words, told):
    said = lab(*words, "--lab", NAME, code=2)
    assert told in said.err
    assert "Traceback" not in said.err


def test_two_labs_at_once_do_not_collide(whole):
    try:
        lab("up", STUDY, "--fabric", "planes", "--lab", "live-mrc-2")
        lab("fail", SPINE, "--lab", "live-mrc-2")
        assert all(each["carries"] for each in paths("server-000", "server-001"))
    finally:
        lab("down", "--lab", "live-mrc-2", code=None)


def test_down_leaves_nothing(planes):
    left = traces(NAME)
    assert left.left()
    lab("down", "--lab", NAME)
    assert left.left() == []
    assert mounts_and_names() == planes
