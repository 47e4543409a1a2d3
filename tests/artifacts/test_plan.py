"""The address plan: unique, stable when a fabric grows, and refused where there is no room."""

from ipaddress import IPv4Network

import pytest

from eastwest import spec
from eastwest.artifacts import subject


def test_a_nic_and_its_leaf_share_a_pair_of_addresses(pune):
    nic = pune.plan.by_name["server-005"].ports[3]
    leaf = pune.plan.switch(nic.peer)
    port = next(port for port in leaf.ports if port.name == nic.peer_interface)
    assert (port.peer, port.peer_interface) == ("server-005", "rail3")
    assert port.address == nic.gateway
    assert nic.address in IPv4Network((int(port.address), 31))


def test_a_full_unit_of_a_rail_is_one_network(pune):
    """32 servers of a unit, a pair of addresses each: 64, a /26."""
    assert [str(subnet) for subnet in pune.plan.switch("leaf-u1-r7").host_subnets] == ["10.112.0.64/26"]


def test_leaves_have_an_asn_each_and_spines_share_one(pune):
    leaves = [switch.asn for switch in pune.plan.switches if switch.tier == "leaf"]
    spines = [switch.asn for switch in pune.plan.switches if switch.tier == "spine"]
    assert len(set(leaves)) == 32
    assert len(set(spines)) == 1
    assert not set(leaves) & set(spines)
    assert all(4_200_000_000 <= asn <= 4_294_967_294 for asn in (*leaves, *spines))


def custom(tmp_path, nodes, cables):
    (tmp_path / "network").mkdir()
    (tmp_path / "network" / "nodes.csv").write_text("name,device\n" + nodes)
    (tmp_path / "network" / "cables.csv").write_text("a,b\n" + cables)
    (tmp_path / "study.yaml").write_text(
        "name: own\nclusters: {pod: {server: hgx-h100, servers: 1}}\n"
        "fabrics: {own: {shape: custom, technology: rocev2, link: 400 Gb/s, network: network}}\n"
        "workloads: {job: {kind: operations, operations: [{name: a, compute: 1 ms}]}}\n"
    )
    return spec.load(str(tmp_path / "study.yaml"))


CABLES = "".join(f"gpu-1/nic-{nic},{{}}\n" for nic in range(8))


def test_a_network_of_one_s_own_keeps_its_names(tmp_path):
    study = custom(tmp_path, "gpu-1,hgx-h100\nhall/Rack-7,sn5400\n", CABLES.format(*["hall/Rack-7"] * 8))
    plan = subject(study, "own").plan
    assert [switch.name for switch in plan.switches] == ["hall-Rack-7"]
    assert [host.name for host in plan.hosts] == ["gpu-1"]


@pytest.mark.parametrize(
    ("switches", "says"),
    [
        (("rack_7",), "'rack_7' cannot be a host name"),
        (("a/b", "a-b"), "'a-b' and 'a/b' would be one host name: rename one"),
    ],
)
def test_names_that_no_host_can_have_are_refused(tmp_path, switches, says):
    nodes = "gpu-1,hgx-h100\n" + "".join(f"{name},sn5400\n" for name in switches)
    joined = f"{switches[0]},{switches[1]}\n" if len(switches) > 1 else ""
    study = custom(tmp_path, nodes, CABLES.format(*[switches[0]] * 8) + joined)
    with pytest.raises(spec.StudyError, match=says):
        subject(study, "own")


def pauses(fabric):
    study = spec.load("pune-1024")
    own = study.changed({"fabrics": {**study.written["fabrics"], "own": {"like": "roce-400g", **fabric}}})
    return {cable.tiers: cable.pfc for cable in subject(own, "own").plan.cables}


def test_cables_say_whether_roce_is_paused_on_them():
    assert pauses({}) == {"server-leaf": True, "leaf-spine": True}
    assert pauses({"packets": {"switch": {"pauses": "off"}}}) == {"server-leaf": False, "leaf-spine": False}


def test_nothing_is_paused_over_the_long_way_between_sites():
    found = pauses({"sites": {"count": 2, "distance": "80 km", "links": 4, "rate": "400 Gb/s"}})
    assert [tiers for tiers, pfc in found.items() if not pfc] == ["border-border"]


def test_a_front_end_is_paused_by_itself():
    frontend = {"link": "200 Gb/s", "switch": "sn5400"}
    found = pauses({"packets": {"switch": {"pauses": "off"}}, "frontend": frontend})
    assert found["server-leaf"] is False
    assert found["frontend-access"] is True
