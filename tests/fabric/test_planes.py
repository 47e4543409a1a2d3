"""Planes: each NIC split into ports, one to each of so many networks of the same shape."""

import polars as pl
import pytest

from eastwest.fabric import FabricError, build, faults, summary


@pytest.fixture
def in_planes(plan, a_nic):
    def built(planes, **changes):
        return build(plan(**({"planes": planes, "nic": a_nic(max_planes=8), "link_bps": 800e9} | changes)))

    return built


@pytest.fixture
def wide(a_switch):
    """64 cages of 800 Gb/s, as 512 ports of 100."""
    return {"switches": {"leaf": a_switch(cage_bps=800e9)}, "breakout": {"leaf": 8, "spine": 8}}


def transceivers(fabric):
    """Cages in use: each holds one."""
    return fabric.ports.filter(pl.col("cable") >= 0)["cage"].n_unique()


def test_every_plane_is_the_same_network(in_planes, plan):
    one = summary(build(plan(servers=127, servers_per_unit=32, link_bps=200e9)))
    four = in_planes(4, servers=127, servers_per_unit=32)
    counts = summary(four)
    assert counts["switches"] == {tier: 4 * number for tier, number in one["switches"].items()}
    assert counts["cables"] == {tiers: 4 * number for tiers, number in one["cables"].items()}
    assert (counts["nics"], counts["planes"], counts["networks"]) == (one["nics"], 4, 4)
    assert faults(four) == []


@pytest.mark.parametrize("shape", ["single-switch", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"])
def test_port_p_of_every_nic_is_on_plane_p(in_planes, shape):
    fabric = in_planes(2, shape=shape, servers=6, link_bps=400e9)
    plane = fabric.nodes.select("node", "plane")
    links = fabric.links.filter(pl.col("tier") == "nic-leaf")
    ports = links.join(fabric.ports.select("port", "number"), left_on="src_port", right_on="port")
    joined = ports.join(plane, left_on="dst", right_on="node")
    assert (joined["plane"] == joined["number"]).all()
    assert faults(fabric) == []


def test_no_cable_joins_two_planes(in_planes):
    fabric = in_planes(2, servers=512, link_bps=400e9)
    plane = fabric.nodes.filter(pl.col("kind") == "switch").select("node", "plane")
    ends = fabric.links.join(plane, left_on="src", right_on="node").join(
        plane, left_on="dst", right_on="node", suffix="_far"
    )
    assert set(fabric.nodes["tier"]) == {"server", "leaf", "spine", "core"}
    assert (ends["plane"] == ends["plane_far"]).all()


def test_a_nics_ports_share_its_cage_and_rate(in_planes, wide):
    fabric = in_planes(8, servers=8, **wide)
    nic = fabric.nodes.filter(pl.col("kind") == "nic")["node"][0]
    ports = fabric.ports.filter(pl.col("node") == nic)
    assert ports["rate_bps"].to_list() == [100e9] * 8
    assert ports["cage"].n_unique() == 1


def test_names_carry_the_plane_of_switches_where_there_are_several(in_planes, plan):
    assert {"plane-0/leaf-u0-r3", "plane-1/spine-1"} <= set(in_planes(2, servers=40, link_bps=400e9).nodes["name"])
    assert "leaf-u0-r3" in set(build(plan(servers=40)).nodes["name"])
    assert build(plan(servers=40)).nodes["plane"].unique().to_list() == [-1]


def test_uplinks_run_as_fast_as_a_nics_port_unless_told(in_planes):
    assert in_planes(2, servers=40).cables["rate_bps"].unique().to_list() == [400e9]


@pytest.mark.parametrize(
    ("planes", "link_bps", "field", "said"),
    [
        (16, 800e9, "planes", "splits its port into 8 at most, and 16 planes"),
        (0, 800e9, "planes", "at least one port"),
        (3, 800e9, "planes", "3 planes leave 266.667 Gb/s of 800 Gb/s for each port"),
        (2, 1600e9, "link", "does not run at 1600 Gb/s"),
    ],
)
def test_a_nic_that_cannot_be_split_so_is_told(in_planes, planes, link_bps, field, said):
    with pytest.raises(FabricError) as caught:
        in_planes(planes, link_bps=link_bps)
    assert caught.value.field == field
    assert said in caught.value.message


def test_a_nic_of_one_port_has_one_plane(plan):
    with pytest.raises(FabricError, match="nic splits no port, and 2 planes take a port each"):
        build(plan(planes=2))


def test_mrc_two_tiers_of_eight_planes_reach_131072_nics(in_planes, wide):
    """arXiv 2605.04333: 800G NICs as 8 x 100G, 64-port 800G switches as 512 x 100G, full bisection."""
    fabric = in_planes(8, shape="leaf-spine", servers=16384, **wide)
    counts = summary(fabric)
    assert (counts["nics"], counts["switches"]["core"]) == (131072, 0)
    assert counts["bisection_bps"] == 131072 * 800e9 / 2
    assert counts["ports"]["leaf"]["spare"] == counts["ports"]["spine"]["spare"] == 0
    with pytest.raises(FabricError):
        in_planes(8, shape="leaf-spine", servers=16385, **wide)


def test_mrc_saves_a_third_of_the_optics_and_two_fifths_of_the_switches_of_three_tiers(in_planes, wide, a_switch):
    """arXiv 2605.04333, at 65,536 NICs, where three tiers of 64 ports end."""
    planes = in_planes(8, shape="leaf-spine", servers=8192, **wide)
    tiers = in_planes(1, shape="fat-tree", servers=8192, switches={"leaf": a_switch(cage_bps=800e9)})
    assert summary(planes)["switches_total"] * 5 == summary(tiers)["switches_total"] * 3
    assert transceivers(planes) * 3 == transceivers(tiers) * 2
    assert summary(planes)["bisection_bps"] == summary(tiers)["bisection_bps"]


def test_alibaba_hpn_has_two_leaves_a_rail_in_segments_of_1024_gpus(in_planes, a_switch):
    """SIGCOMM 2024: 128 servers with 8 NICs of 2 x 200G behind 16 leaves of 51.2T, 60 x 400G up each; 15 segments."""
    fabric = in_planes(
        2,
        servers=15 * 128,
        servers_per_unit=128,
        link_bps=400e9,
        uplink_bps=400e9,
        oversubscription={"leaf": 128 * 200 / (60 * 400)},
        switches={"leaf": a_switch(cage_bps=800e9)},
        breakout={"leaf": 4, "spine": 2},
    )
    counts = summary(fabric)
    assert (counts["units"], counts["gpus"], counts["switches"]["core"]) == (15, 15360, 0)
    assert counts["switches"]["leaf"] == 15 * 16
    leaf = fabric.nodes.filter(pl.col("tier") == "leaf").select("node")
    ports = fabric.ports.join(leaf, on="node").group_by("node", "rate_bps", pl.col("cable") >= 0).len()
    found = ports.select("rate_bps", "cable", "len").unique().sort("rate_bps", "cable").rows()
    assert found == [(200e9, False, 8), (200e9, True, 128), (400e9, True, 60)]


def test_meta_pods_of_3072_gpus_have_full_bisection_and_7_to_1_above(plan, a_switch):
    """Llama 3 (arXiv 2407.21783): 24,576 GPUs at 400G, two servers a rack, 8 pods."""
    fabric = build(
        plan(
            shape="fat-tree",
            servers=3072,
            servers_per_unit=2,
            servers_per_pod=384,
            oversubscription={"spine": 7.0},
            switches={"leaf": a_switch(cages=32), "spine": a_switch(cages=576)},
        )
    )
    counts = summary(fabric)
    assert (counts["gpus"], counts["pods"]) == (24576, 8)
    assert counts["switches"]["leaf"] == 8 * 192
    assert counts["oversubscription"]["leaf"] == 1.0
    # A spine's 384 ports down need 54.9 up at 7:1, and get 55.
    assert counts["oversubscription"]["spine"] == 384 / 55


def test_rack_switches_undersubscribed_against_collisions(plan):
    """Meta at first gave its racks twice the capacity up that they had down: 16 ports down, 32 up."""
    counts = summary(build(plan(shape="leaf-spine", servers=64, servers_per_unit=2, oversubscription={"leaf": 0.5})))
    assert counts["oversubscription"]["leaf"] == 0.5
    assert counts["cables"]["leaf-spine"] == 2 * 512


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"servers_per_unit": 32, "servers_per_pod": 100}, "whole units, here of 32 servers, and 100 servers are none"),
        ({"servers_per_unit": 32, "servers_per_pod": 160}, "have 40 leaves, and a spine needs a port down for each"),
        ({"servers_per_pod": 64, "tiers": 2}, "pods stand on three tiers, and 2 tiers have none"),
        ({"servers_per_pod": 64, "shape": "leaf-spine"}, "pods stand on three tiers, and leaf-spine has none"),
        ({"servers_per_pod": 0}, "at least one server, not 0"),
    ],
)
def test_pods_that_cannot_be_are_told(plan, changes, said):
    with pytest.raises(FabricError) as caught:
        build(plan(servers=512, **changes))
    assert caught.value.field == "servers_per_pod"
    assert said in caught.value.message
