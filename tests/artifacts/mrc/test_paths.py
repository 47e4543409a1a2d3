"""Entropy values: how many a NIC has, and that planes, spines and cables get equal shares of them."""

from collections import Counter

import polars as pl
import pytest

from eastwest.artifacts.mrc.paths import climbs, entropies
from eastwest.artifacts.mrc.tree import tree
from eastwest.fabric import FabricError


def nics(fabric):
    return fabric.nodes.filter(pl.col("kind") == "nic")["node"].to_list()


def of_all(fabric):
    """The tree, and the climbs of every NIC by its node."""
    planes = fabric.plan["planes"]
    grown = tree(fabric)
    return grown, {nic: climbs(grown, nic, planes) for nic in nics(fabric)}


@pytest.mark.parametrize("planes", range(1, 17))
def test_a_queue_pair_has_128_to_256_values_evenly_over_planes(planes):
    count = entropies(planes)
    assert 128 <= count <= 256
    assert count % planes == 0


def test_every_plane_gets_as_many_values(fabric):
    _, lists = of_all(fabric)
    for found in lists.values():
        assert set(Counter(climb.plane for climb in found).values()) == {256 // fabric.plan["planes"]}


def test_the_nics_of_a_leaf_load_every_cable_up_alike(fabric):
    grown, lists = of_all(fabric)
    taken = Counter()
    for found in lists.values():
        for climb in found:
            for lower, upper, lane in zip(climb.switches, climb.switches[1:], climb.up, strict=False):
                taken[lower, upper, lane] += 1
    cables = {
        (grown.switches[lower].name, grown.switches[upper].name, lane)
        for lower, uppers in grown.above.items()
        for upper, bundle in uppers.items()
        for lane in range(len(bundle))
    }
    assert set(taken) == cables
    by_tier = Counter()
    for (lower, _, _), count in taken.items():
        by_tier[lower.rsplit("/")[-1].split("-")[0], count] += 1
    assert len(by_tier) == len({tier for tier, _ in by_tier})  # one count a tier


def test_a_nic_takes_every_spine_before_any_twice(build_mrc):
    fabric = build_mrc(servers=16)
    grown, lists = of_all(fabric)
    for nic, found in lists.items():
        for plane in range(2):
            leaf, _ = grown.leaf_of[nic, plane]
            above = len(grown.above[leaf])
            first = [climb.switches[1] for climb in found if climb.plane == plane][:above]
            assert above > 1
            assert len(set(first)) == above


def test_every_combination_of_cables_up_and_down_has_its_turn(build_mrc):
    fabric = build_mrc(servers=4, servers_per_unit=1)  # leaf and spine joined by several cables
    grown, lists = of_all(fabric)
    (width,) = {len(bundle) for uppers in grown.above.values() for bundle in uppers.values()}
    spines = len(next(iter(grown.above.values())))
    assert width > 1
    found = lists[nics(fabric)[0]]
    combinations = {(climb.plane, climb.switches, climb.up, climb.down) for climb in found}
    assert len(combinations) == 2 * spines * width * width


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"shape": "mesh", "links_per_pair": 1}, "shape"),
        ({"shape": "torus", "dims": (2, 2), "links_per_pair": 1, "servers_per_unit": None}, "shape"),
    ],
)
def test_networks_that_are_no_tree_are_refused_with_a_way_out(build_mrc, changes, field):
    with pytest.raises(FabricError, match="try leaf-spine") as refused:
        tree(build_mrc(**changes))
    assert refused.value.field == field
