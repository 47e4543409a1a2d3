"""Rail-only: every rail a network of its own."""

import polars as pl
import pytest

from eastwest.fabric import FabricError, build, faults, summary


def rail_only(plan, **changes):
    return build(plan(shape="rail-only", **changes))


def test_one_leaf_a_rail_and_nothing_above_while_its_ports_last(plan):
    """All 64 ports of a leaf face down, where rail-optimized would keep half of them for spines."""
    fabric = rail_only(plan, servers=64)
    counts = summary(fabric)
    assert counts["switches"] == {"leaf": 8, "spine": 0, "core": 0}
    assert counts["ports"]["leaf"] == {"total": 512, "used": 512, "spare": 0}
    assert counts["networks"] == 8
    assert faults(fabric) == []


def test_eight_planes_of_deepseeks_multi_plane_fat_tree(plan):
    """arXiv 2505.09343, table 3, MPFT: 16,384 endpoints, 768 switches, 16,384 links between switches."""
    fabric = rail_only(plan, servers=2048)
    counts = summary(fabric)
    assert (counts["nics"], counts["switches_total"], counts["cables"]["leaf-spine"]) == (16384, 768, 16384)
    assert counts["switches"] == {"leaf": 512, "spine": 256, "core": 0}
    assert counts["networks"] == 8


@pytest.mark.parametrize(("servers", "tiers"), [(64, 1), (65, 2), (2048, 2), (2049, 3)])
def test_as_few_tiers_as_join_all_servers(plan, servers, tiers):
    switches = summary(rail_only(plan, servers=servers))["switches"]
    assert sum(number > 0 for number in switches.values()) == tiers


def test_no_cable_joins_two_rails(plan):
    for changes in ({"servers": 64, "tiers": 2}, {"servers": 64, "tiers": 3}):
        fabric = rail_only(plan, **changes)
        rails = fabric.nodes.select("node", "rail")
        cables = fabric.links.filter(pl.col("cable") >= 0).select("src", "dst")
        ends = cables.join(rails, left_on="src", right_on="node").join(
            rails, left_on="dst", right_on="node", suffix="_far"
        )
        assert (ends["rail"] == ends["rail_far"]).all()
        assert ends["rail"].min() == 0
        assert faults(fabric) == []


def test_three_tiers_are_as_many_full_fat_trees_as_there_are_rails(plan):
    """Eight times arXiv 2505.09343's three-layer fat tree: 64^3 / 4 endpoints, 5 x 64^2 / 4 switches each."""
    counts = summary(rail_only(plan, servers=65536))
    assert counts["switches_total"] == 8 * 5120
    assert counts["networks"] == 8


def test_units_on_one_tier_are_islands(plan):
    """100 servers on 64 ports: two units of 50, each with a leaf a rail."""
    fabric = rail_only(plan, servers=100, tiers=1)
    counts = summary(fabric)
    assert (counts["units"], counts["networks"]) == (2, 16)
    assert faults(fabric) == []


def test_networks_that_are_apart_are_cut_each_for_itself(plan):
    """Half of the NICs of every rail, though no cable leads from one rail to another."""
    assert summary(rail_only(plan, servers=64))["bisection_bps"] == 512 * 400e9 / 2
    thin = rail_only(plan, servers=2048, servers_per_unit=32, oversubscription={"leaf": 4.0})
    assert summary(thin)["bisection_bps"] == 2048 * 8 * 400e9 / 4 / 2


def test_switches_are_named_by_their_rail(plan):
    names = set(rail_only(plan, servers=64, tiers=2).nodes["name"])
    assert {"leaf-u1-r7", "spine-r7-0"} <= names
    names = set(rail_only(plan, servers=64, tiers=3).nodes["name"])
    assert {"leaf-u1-r7", "spine-p0-r7-1", "core-r7-g1-0"} <= names


def test_a_unit_larger_than_a_leaf_says_what_would_fit(plan):
    with pytest.raises(FabricError) as caught:
        rail_only(plan, servers=100, servers_per_unit=65, tiers=1)
    assert caught.value.field == "servers_per_unit"
    assert "65 ports on each rail's leaf" in caught.value.message
    assert "servers_per_unit of 64 or less" in caught.value.message


def test_a_shape_says_how_many_tiers_it_can_have_and_which_others_have_more(plan):
    with pytest.raises(FabricError) as caught:
        build(plan(tiers=1))
    assert "rail-optimized has 2 or 3, not 1: try single-switch or rail-only" in caught.value.message
