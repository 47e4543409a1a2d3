"""Front-end networks and storage: counts by hand, what joins what, and what is refused."""

import polars as pl
import pytest

from eastwest.fabric import FabricError, Frontend, Storage, addresses, build, faults, summary, write_network

G = 1e9


@pytest.fixture
def frontend(plan, a_nic, a_switch):
    """Makes a separate front-end network of 2 NICs of 200 Gb/s a server on 64-port switches, but for changes."""

    def make(**changes):
        values = {
            "network": "separate",
            "nics": 2,
            "nic": a_nic(),
            "link_layer": plan().link_layer,
            "link_bps": 200 * G,
            "switches": {"access": a_switch()},
            "storage": Storage(4, 2),
        }
        return Frontend(**(values | changes))

    return make


@pytest.fixture
def shared(frontend):
    """The same on the leaves of the GPUs."""
    return lambda **changes: frontend(network="shared", link_bps=400 * G, switches={}, **changes)


def test_one_access_switch_does_while_it_has_the_ports(plan, frontend):
    """28 servers and 4 of storage with 2 NICs each fill 64 ports."""
    counts = summary(build(plan(servers=28, frontend=frontend())))
    assert counts["ports"]["access"] == {"total": 64, "used": 64, "spare": 0}
    assert "aggregation" not in counts["switches"]
    assert (counts["cables"]["frontend-access"], counts["cables"]["storage-access"]) == (56, 8)


def test_a_separate_network_is_a_leaf_spine_of_servers_and_storage(plan, frontend):
    """128 servers and 4 of storage: 16 a switch of 32 ports down, 9 switches with 32 uplinks; 288 on 64-port switches
    want 5, of which the next number that divides 32 is 8."""
    fabric = build(plan(frontend=frontend()))
    counts = summary(fabric)
    assert faults(fabric) == []
    assert {tier: counts["switches"][tier] for tier in ("access", "aggregation")} == {"access": 9, "aggregation": 8}
    assert counts["cables"]["access-aggregation"] == 288
    assert (counts["servers"], counts["nics"], counts["frontend_nics"], counts["storage_servers"]) == (
        128,
        1024,
        256,
        4,
    )


def test_the_gpus_network_is_counted_by_itself(plan, frontend):
    alone, both = summary(build(plan())), summary(build(plan(frontend=frontend())))
    for key in ("bisection_bps", "oversubscription", "networks", "units", "pods"):
        assert both[key] == alone[key]


def test_an_oversubscribed_front_end_has_fewer_uplinks(plan, frontend):
    """At 3:1, 48 ports down and 16 up: 264 NICs on 6 access switches with 96 uplinks in all, on two."""
    counts = summary(build(plan(frontend=frontend(oversubscription=3.0))))
    assert (counts["switches"]["access"], counts["switches"]["aggregation"]) == (6, 2)
    assert counts["cables"]["access-aggregation"] == 96


def test_all_nics_of_a_server_join_one_access_switch(plan, frontend):
    links = build(plan(frontend=frontend())).links.filter(pl.col("tier") == "frontend-access")
    fabric = build(plan(frontend=frontend()))
    joined = links.join(fabric.nodes.select("node", "server"), left_on="src", right_on="node")
    assert joined.group_by("server").agg(pl.col("dst").n_unique())["dst"].max() == 1


def test_shared_nics_are_dealt_out_over_a_unit_s_rails(plan, shared):
    """16 servers of 8 rails and 2 front-end NICs: each leaf has 16 ports for GPUs and 4 for hosts."""
    fabric = build(plan(servers=64, servers_per_unit=16, frontend=shared(storage=None)))
    assert faults(fabric) == []
    leaves = fabric.links.filter(pl.col("tier") == "frontend-leaf").group_by("dst").len()
    assert len(leaves) == 32
    assert set(leaves["len"]) == {4}
    assert summary(fabric)["cables"]["leaf-spine"] == 32 * 20


def test_shared_storage_takes_the_places_of_servers(plan, shared):
    """A leaf has 3 servers of 8 + 2 NICs, 30 ports down; 4 of storage with 2 NICs take the place of one server."""
    asked = {"shape": "leaf-spine", "servers": 8, "servers_per_unit": 3}
    fabric = build(plan(frontend=shared(), **asked))
    counts = summary(fabric)
    assert faults(fabric) == []
    assert counts["switches"]["leaf"] == 3
    assert counts["cables"]["leaf-spine"] == 90
    assert counts["cables"]["storage-leaf"] == 8
    last = fabric.nodes.filter(name="leaf-2")["node"].item()
    assert set(fabric.links.filter(pl.col("tier") == "storage-leaf")["dst"]) == {last}


def test_hosts_have_names_and_addresses_of_their_own(plan, frontend):
    fabric = build(plan(frontend=frontend()))
    hosts = fabric.nodes.filter(pl.col("tier").is_in(["frontend", "storage"]), pl.col("kind") == "nic")
    assert hosts["name"][:3].to_list() == [
        "server-000/frontend-nic-0",
        "server-000/frontend-nic-1",
        "server-001/frontend-nic-0",
    ]
    assert hosts["name"][-1] == "storage-3/nic-1"
    given = addresses(fabric)[hosts["node"].to_numpy()]
    assert len(set(given.tolist())) == len(hosts)
    assert {int(address) >> 20 for address in given} == {(172 << 4) + 1}


def test_a_host_is_reached_over_the_front_end_alone(plan, frontend):
    """No link joins a GPU's part of a server with a host's."""
    fabric = build(plan(servers=4, frontend=frontend()))
    tier = dict(fabric.nodes.select("node", "tier").rows())
    kinds = {(tier[src], tier[dst]) for src, dst in fabric.links.select("src", "dst").rows()}
    ours = {"server", "leaf", "spine"}
    assert not any((src in ours) != (dst in ours) for src, dst in kinds)


@pytest.mark.parametrize(
    ("asked", "changes", "said"),
    [
        ({}, {"link_bps": 300 * G}, "the NIC nic does not run at the 300 Gb/s; it runs 100 Gb/s"),
        ({}, {"nics": 0}, "has at least one front-end NIC"),
        ({}, {"storage": Storage(0, 2)}, "has at least one front-end NIC"),
        ({}, {"switches": {}}, "needs a switch"),
        ({}, {"breakout": 9}, "the front-end network: a cage of the access switch"),
        ({"servers": 1200}, {}, "NICs stand on it, and its two tiers reach 2,048 (switch-64 has 64 at 200 Gb/s)"),
        ({"shape": "rail-only"}, {"network": "shared", "link_bps": 400 * G}, "try network: separate"),
        ({"planes": 2}, {"network": "shared", "link_bps": 200 * G}, "try network: separate"),
    ],
)
def test_what_cannot_be_built_is_refused(plan, a_nic, frontend, asked, changes, said):
    with pytest.raises(FabricError) as refused:
        build(plan(nic=a_nic(max_planes=2), frontend=frontend(**changes), **asked))
    assert refused.value.field == "frontend"
    assert said in refused.value.message


def test_a_technology_that_the_nic_or_the_switch_does_not_speak_is_refused(plan, a_nic, a_switch, frontend):
    other_switch = {"access": a_switch(technologies=("mrc",))}
    for changes in ({"nic": a_nic(technologies=("infiniband",))}, {"switches": other_switch}):
        with pytest.raises(FabricError, match=r"speaks .*; the network is rocev2"):
            build(plan(frontend=frontend(**changes)))


def test_a_network_file_has_the_gpus_network_and_refuses_a_shared_one(plan, frontend, shared, tmp_path):
    plain, both = build(plan(servers=8)), build(plan(servers=8, frontend=frontend()))
    one, other = (write_network(fabric, tmp_path / name) for fabric, name in ((plain, "a.yaml"), (both, "b.yaml")))
    assert one.read_text() == other.read_text()
    with pytest.raises(FabricError, match="write the fabric with network: separate"):
        write_network(build(plan(servers=8, frontend=shared())), tmp_path / "c.yaml")
