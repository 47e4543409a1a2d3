"""FRR's configurations: FRR takes each, and each says what the plan means."""

import pytest
from tests.artifacts.frr_checks import complaints, need_frr

from eastwest import spec
from eastwest.artifacts import Plan, Subject, build, subject
from eastwest.artifacts.frr import frr_conf
from eastwest.artifacts.plan import make_plan

STUDY = """name: routed
clusters:
  pod: {{server: hgx-h100, servers: {servers}}}
fabrics:
  it: {{technology: {technology}, link: 400 Gb/s, switch: sn5400, {shape}}}
workloads:
  job: {{kind: operations, operations: [{{name: it, collective: all-reduce, bytes: 1 GB}}]}}
"""
SHAPES = {
    "rails": "shape: rail-optimized, servers_per_unit: 8",
    "leaf-spine": "shape: leaf-spine, servers_per_unit: 4",
    "three tiers": "shape: rail-optimized, tiers: 3, servers_per_unit: 4, servers_per_pod: 8",
    "planes": "shape: rail-optimized, servers_per_unit: 8, planes: 2, breakout: 2",
    "one switch": "shape: single-switch",
    "front end": "shape: rail-optimized, servers_per_unit: 8, "
    "frontend: {network: separate, nic: connectx-7, nics: 1, link: 200 Gb/s, switch: sn5400}",
}


def made(shape: str, technology: str = "rocev2", servers: int = 16) -> Subject:
    if shape == "one switch":
        servers = 8
    return subject(spec.loads(STUDY.format(shape=SHAPES[shape], technology=technology, servers=servers)), "it")


def conf(plan: Plan, name: str) -> list[str]:
    """The lines of one switch's configuration."""
    switches = {switch.name: switch for switch in plan.switches}
    return [line.strip() for line in frr_conf(plan.name, switches[name], switches).splitlines()]


@pytest.mark.parametrize(("shape", "numbering"), [*((each, "unnumbered") for each in SHAPES), ("rails", "numbered")])
def test_frr_takes_every_configuration_of_every_shape(shape: str, numbering: str) -> None:
    need_frr()
    given = made(shape)
    plan = make_plan(given.plan.fabric, given.study.catalog_entries(), numbering)
    files = build(Subject(given.study, given.fabric, given.cluster, plan), ["frr"])
    texts = {file.path: file.text for file in files if file.path.endswith("frr.conf")}
    assert len(texts) == len(plan.switches)
    for name, text in texts.items():
        assert complaints(text) == [], name


def test_frr_takes_every_configuration_of_the_pune_fabric() -> None:
    need_frr()
    study = spec.load("pune-1024")
    for file in build(subject(study, "roce-400g"), ["frr"]):
        if file.path.endswith("frr.conf"):
            assert complaints(file.text) == [], file.path


def test_the_check_finds_a_line_that_frr_does_not_know_and_one_that_it_refuses() -> None:
    need_frr()
    assert complaints("router bgp 65000\n neighbour x remote-as external\nexit\n")
    assert complaints("router bgp 65000\n neighbor Ethernet0 interface peer-group NONE\nexit\n")


def test_a_switch_has_a_session_on_each_cable_to_another_switch_and_on_none_to_a_host() -> None:
    plan = made("rails").plan
    for switch in plan.switches:
        lines = conf(plan, switch.name)
        sessions = {line.split()[1] for line in lines if line.endswith("interface peer-group FABRIC")}
        assert sessions == {port.name for port in switch.ports if port.cable is not None and not port.is_to_host}


def test_a_leaf_may_use_as_many_paths_as_it_has_uplinks() -> None:
    plan = made("rails").plan
    leaf = next(switch for switch in plan.switches if switch.tier == "leaf")
    uplinks = sum(port.cable is not None and not port.is_to_host for port in leaf.ports)
    assert conf(plan, leaf.name).count(f"maximum-paths {uplinks}") == 2  # IPv4, IPv6


def test_a_switch_brings_in_its_loopback_and_its_hosts_and_nothing_else() -> None:
    plan = made("rails").plan
    leaf = next(switch for switch in plan.switches if switch.name == "leaf-u1-r2")
    own = [line for line in conf(plan, leaf.name) if line.startswith("ip prefix-list OWN ")]
    # Rail 2 is 10.32.0.0/12 of 10.0.0.0/9 among 8 rails; servers 8 to 15 have the numbers from 16 on, two each.
    assert own == [
        f"ip prefix-list OWN seq 5 permit {leaf.loopback}/32",
        "ip prefix-list OWN seq 10 permit 10.32.0.16/28 ge 31",
    ]
    assert "redistribute connected route-map OWN" in conf(plan, leaf.name)


def test_numbered_links_have_a_session_with_the_address_at_the_other_end() -> None:
    given = made("rails")
    plan = make_plan(given.plan.fabric, given.study.catalog_entries(), "numbered")
    leaf = next(switch for switch in plan.switches if switch.tier == "leaf")
    sessions = {line.split()[1] for line in conf(plan, leaf.name) if line.endswith(" peer-group FABRIC")}
    spines = {
        str(port.address)
        for switch in plan.switches
        for port in switch.ports
        if switch.tier == "spine" and port.peer == leaf.name
    }
    assert sessions == spines


@pytest.mark.parametrize("technology", ["mrc", "infiniband"])
def test_fabrics_without_bgp_have_no_configuration_of_it(technology: str) -> None:
    switch, nic = ("qm9700", "connectx-7") if technology == "infiniband" else ("sn5400", "pollara-400")
    text = STUDY.format(shape=SHAPES["rails"], technology=technology, servers=16).replace(
        "switch: sn5400", f"switch: {switch}, nic: {nic}"
    )
    assert not [file for file in build(subject(spec.loads(text), "it")) if file.path.endswith("frr.conf")]


def test_an_ethernet_front_end_of_an_infiniband_fabric_runs_bgp() -> None:
    text = (
        STUDY.format(shape=SHAPES["front end"], technology="infiniband", servers=16)
        .replace("switch: sn5400, shape", "switch: qm9700, shape")
        .replace("frontend: {", "frontend: {technology: rocev2, ")
    )
    files = [file.path for file in build(subject(spec.loads(text), "it")) if file.path.endswith("frr.conf")]
    assert files
    assert all("access" in path or "aggregation" in path for path in files)
