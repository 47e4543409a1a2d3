"""Entropy values: how many a NIC has, and that planes, spines and cables get equal shares of them."""

from collections import Counter

import pytest

from eastwest.artifacts.coordinates import PlanError
from eastwest.artifacts.mrc.paths import climbs, entropies
from eastwest.artifacts.mrc.tree import tree
from eastwest.fabric import Sites


def of_all(plan):
    """The tree, and the climbs of every NIC."""
    grown = tree(plan)
    return grown, {nic: climbs(grown, nic) for nic in grown.leaf_of}


@pytest.mark.parametrize("planes", range(1, 17))
def test_a_queue_pair_has_128_to_256_values_evenly_over_planes(planes):
    count = entropies(planes)
    assert 128 <= count <= 256
    assert count % planes == 0


def test_every_plane_gets_as_many_values(plan):
    _, lists = of_all(plan)
    planes = plan.fabric.plan["planes"]
    for found in lists.values():
        assert Counter(climb.plane for climb in found) == dict.fromkeys(range(planes), 256 // planes)


def test_the_nics_of_a_leaf_load_every_cable_up_alike(plan):
    grown, lists = of_all(plan)
    taken = Counter()
    for found in lists.values():
        for climb in found:
            for lower, upper, lane in zip(climb.switches, climb.switches[1:], climb.up, strict=False):
                taken[lower, upper, lane] += 1
    cables = {
        (lower, upper, lane)
        for lower, uppers in grown.above.items()
        for upper, bundle in uppers.items()
        for lane in range(len(bundle))
    }
    assert set(taken) == cables
    counts = {(grown.switches[lower].tier, count) for (lower, _, _), count in taken.items()}
    assert len(counts) == len({tier for tier, _ in counts})  # one count a tier


def test_a_nic_takes_every_spine_before_any_twice(build_mrc):
    grown, lists = of_all(build_mrc(servers=16))
    for nic, found in lists.items():
        for plane in range(2):
            leaf, _ = grown.leaf_of[nic][plane]
            above = len(grown.above[leaf])
            first = [climb.switches[1] for climb in found if climb.plane == plane][:above]
            assert above > 1
            assert len(set(first)) == above


def test_every_combination_of_cables_up_and_down_has_its_turn(build_mrc):
    grown, lists = of_all(build_mrc(servers=4, servers_per_unit=1))  # several cables join a leaf and a spine
    (width,) = {len(bundle) for uppers in grown.above.values() for bundle in uppers.values()}
    spines = len(next(iter(grown.above.values())))
    assert width > 1
    for found in lists.values():
        combinations = {(climb.plane, climb.switches, climb.up, climb.down) for climb in found}
        assert len(combinations) == 2 * spines * width * width


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": "mesh", "links_per_pair": 1},
        {"shape": "torus", "dims": (2, 2), "links_per_pair": 1, "servers_per_unit": None},
    ],
)
def test_networks_that_are_no_tree_are_refused_with_a_way_out(build_mrc, changes):
    with pytest.raises(PlanError, match="try leaf-spine"):
        tree(build_mrc(**changes))


def test_sites_are_refused_with_a_way_out(build_mrc):
    with pytest.raises(PlanError, match=r"six uSIDs.*build each site alone"):
        tree(build_mrc(sites=Sites(2, 1e3, 2, 400e9)))
