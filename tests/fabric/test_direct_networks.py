"""Shapes whose switches are joined within a tier: mesh, torus and dragonfly+."""

from collections import Counter

import polars as pl
import pytest

from eastwest.fabric import FabricError, build, faults, summary

G = 1e9


def joined(fabric, tier):
    """Parallel links from each switch to each other over one directed tier, by name."""
    names = fabric.nodes["name"]
    links = fabric.links.filter(pl.col("tier") == tier)
    return Counter((names[src], names[dst]) for src, dst in links.select("src", "dst").rows())


def test_a_mesh_joins_every_two_leaves_by_as_many_cables(plan, a_switch):
    fabric = build(
        plan(shape="mesh", servers=20, servers_per_unit=5, links_per_pair=3, switches={"leaf": a_switch(cages=64)})
    )
    pairs = joined(fabric, "leaf-leaf")
    assert len(pairs) == 4 * 3
    assert set(pairs.values()) == {3}
    assert faults(fabric) == []


def test_a_mesh_of_one_leaf_has_no_pair_to_join(plan, a_switch):
    with pytest.raises(FabricError, match="one leaf has room for all 4 servers, and no pair to join") as caught:
        build(plan(shape="mesh", servers=4, links_per_pair=100, switches={"leaf": a_switch(cages=64)}))
    assert caught.value.field == "links_per_pair"


def test_a_mesh_has_as_few_leaves_as_have_ports_for_all_others(plan, a_switch, a_server):
    """16 ports: 9 hosts and 7 others a leaf, 8 leaves of 9; with 10 hosts a leaf, 8 leaves would need 17."""
    fabric = build(plan(shape="mesh", servers=72, server=a_server(1, 1), switches={"leaf": a_switch(cages=16)}))
    assert summary(fabric)["switches"]["leaf"] == 8
    assert summary(fabric)["ports"]["leaf"]["spare"] == 0


def test_a_mesh_is_cut_between_halves_of_its_leaves(plan, a_switch, a_server):
    """4 leaves: 2 x 2 pairs of one cable of 400 Gb/s each; NICs alone would leave 16 x 400 / 2."""
    fabric = build(
        plan(shape="mesh", servers=16, server=a_server(1, 1), servers_per_unit=4, switches={"leaf": a_switch(cages=16)})
    )
    assert summary(fabric)["bisection_bps"] == 4 * 400 * G


def test_a_torus_joins_each_switch_with_two_neighbours_a_dimension(plan, a_server):
    fabric = build(plan(shape="torus", servers=24, server=a_server(2, 2), dims=(4, 3, 2), links_per_pair=2))
    pairs = joined(fabric, "leaf-leaf")
    assert set(pairs.values()) == {2}
    assert {end for start, end in pairs if start == "leaf-0-0-0"} == {
        "leaf-1-0-0",
        "leaf-3-0-0",
        "leaf-0-1-0",
        "leaf-0-2-0",
        "leaf-0-0-1",  # two switches are neighbours once
    }
    assert faults(fabric) == []


@pytest.mark.parametrize(
    ("dims", "cables"),
    [((8, 4), 2 * 4), ((4, 8), 2 * 4), ((4, 4, 4), 2 * 16), ((2, 2), 2), ((6, 2, 2), 2 * 4)],
)
def test_a_torus_is_cut_across_its_longest_dimension(plan, a_server, dims, cables):
    """Every ring of that dimension is cut in two places, a pair of switches in one."""
    fabric = build(plan(shape="torus", servers=64, server=a_server(1, 1), dims=dims))
    assert summary(fabric)["bisection_bps"] == pytest.approx(cables * 400 * G)


@pytest.mark.parametrize("ports", [8, 16])
def test_the_largest_dragonfly_plus_of_a_switch(plan, a_switch, a_server, ports):
    """k ports: k/2 leaves and k/2 spines a group, (k/2)^2 hosts, (k/2)^2 + 1 groups (Shpiner et al. 2017)."""
    half = ports // 2
    groups = half**2 + 1
    fabric = build(
        plan(
            shape="dragonfly-plus",
            servers=groups * half**2,
            server=a_server(1, 1),
            groups=groups,
            switches={"leaf": a_switch(cages=ports)},
        )
    )
    counts = summary(fabric)
    assert counts["switches"] == {"leaf": groups * half, "spine": groups * half, "core": 0}
    assert counts["cables"]["spine-spine"] == groups * (groups - 1) // 2
    assert sum(tier["spare"] for tier in counts["ports"].values()) == 0
    assert faults(fabric) == []


def test_spines_of_a_group_differ_by_one_global_link_at_most(plan, a_switch, a_server):
    fabric = build(
        plan(
            shape="dragonfly-plus",
            servers=80,
            server=a_server(1, 1),
            groups=5,
            servers_per_unit=4,
            links_per_pair=3,
            switches={"leaf": a_switch(cages=16)},
        )
    )
    of_spine = Counter(start for start, _ in joined(fabric, "spine-spine").elements())
    assert sum(of_spine.values()) == 5 * 4 * 3
    assert max(of_spine.values()) - min(of_spine.values()) <= 1


def test_a_dragonfly_plus_is_cut_between_halves_of_its_groups(plan, a_switch, a_server):
    """4 groups of 16 hosts, 2 links between every two: 2 x 2 x 2 links of 400 Gb/s."""
    fabric = build(
        plan(
            shape="dragonfly-plus",
            servers=64,
            server=a_server(1, 1),
            groups=4,
            servers_per_unit=4,
            links_per_pair=2,
            switches={"leaf": a_switch(cages=16)},
        )
    )
    assert summary(fabric)["bisection_bps"] == 8 * 400 * G
    assert summary(fabric)["pods"] == 4


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"shape": "torus"}, "dims", "two or three dimensions"),
        ({"shape": "torus", "dims": (4,)}, "dims", "two or three dimensions"),
        ({"shape": "torus", "dims": (16, 16)}, "dims", "16 x 16 are 256 switches, for 128 servers"),
        ({"shape": "torus", "dims": (4, 4)}, "dims", "needs 64 ports down and 4 to its neighbours; switch-64 has 64"),
        (
            {"shape": "mesh", "servers_per_unit": 4},
            "servers_per_unit",
            "32 leaves of 4 servers need 32 ports down and 31",
        ),
        ({"shape": "dragonfly-plus"}, "groups", "at least 2 groups"),
        ({"shape": "dragonfly-plus", "groups": 200}, "groups", "128 servers do not fill 200 groups"),
        ({"shape": "dragonfly-plus", "groups": 4, "links_per_pair": 900}, "groups", "2700 global links"),
    ],
)
def test_what_cannot_be_built_is_told(plan, changes, field, said):
    if changes.get("servers_per_unit"):
        changes = {**changes, "links_per_pair": 2}
        said = said.replace("and 31", "and 62")
    with pytest.raises(FabricError, match=said) as caught:
        build(plan(**changes))
    assert caught.value.field == field
