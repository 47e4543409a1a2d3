"""How shapes place servers and size their tiers."""

import polars as pl
import pytest

from eastwest.fabric import build, summary
from eastwest.fabric.shapes.clos import fewest_that_divide


def servers_by(fabric, column):
    """Number of servers in each unit or pod, in order."""
    servers = fabric.nodes.filter(pl.col("kind") == "nic").select("server", column).unique()
    return servers.group_by(column).len().sort(column)["len"].to_list()


def leaf_of_nics(fabric):
    """A row a NIC: its server, rail, and the leaf that it joins with the leaf's unit and rail."""
    nodes = fabric.nodes
    links = fabric.links.filter(pl.col("tier") == "nic-leaf").select("src", "dst")
    nics = links.join(nodes.select("node", "server", "rail", "unit"), left_on="src", right_on="node")
    return nics.join(nodes.select("node", leaf_rail="rail", leaf_unit="unit"), left_on="dst", right_on="node")


def links_between(fabric, tier):
    """Parallel links from each switch to each that it joins in a tier pair, as a set of numbers."""
    links = fabric.links.filter(pl.col("tier") == tier)
    return set(links.group_by("src", "dst").len()["len"].to_list())


@pytest.mark.parametrize(
    ("uplinks", "cables", "ports", "spines"),
    [(72, 32 * 72, 144, 18), (32, 24 * 32, 64, 16), (20, 3 * 8 * 20, 40, 20), (32, 32 * 32, 64, 16), (8, 256, 64, 4)],
)
def test_fewest_spines_that_divide_the_uplinks(uplinks, cables, ports, spines):
    assert fewest_that_divide(uplinks, cables, ports) == spines


def test_nic_r_joins_rail_leaf_r_of_its_own_unit(plan):
    nics = leaf_of_nics(build(plan()))
    assert (nics["rail"] == nics["leaf_rail"]).all()
    assert (nics["unit"] == nics["leaf_unit"]).all()


def test_127_servers_fill_units_evenly_and_leave_ports_spare(plan):
    fabric = build(plan(servers=127))
    assert servers_by(fabric, "unit") == [32, 32, 32, 31]
    assert summary(fabric)["ports"]["leaf"] == {"total": 2048, "used": 2040, "spare": 8}


def test_units_are_as_large_as_a_leaf_allows_unless_told(plan):
    assert servers_by(build(plan(servers=100)), "unit") == [25, 25, 25, 25]
    assert servers_by(build(plan(servers=100, servers_per_unit=20)), "unit") == [20] * 5


def test_four_to_one_has_8_uplinks_a_leaf_and_a_quarter_of_the_spines(plan):
    counts = summary(build(plan(servers_per_unit=32, oversubscription={"leaf": 4.0})))
    assert counts["switches"] == {"leaf": 32, "spine": 4, "core": 0}
    assert counts["cables"]["leaf-spine"] == 32 * 8
    assert counts["oversubscription"]["leaf"] == 4.0


def test_four_to_one_makes_room_for_larger_units(plan):
    """51 ports down need 13 up, 64 in all; 52 would need 65."""
    assert servers_by(build(plan(servers=102, oversubscription={"leaf": 4.0})), "unit") == [51, 51]


def test_undersubscribed_leaves_have_more_ports_up_than_down(plan):
    """Two up for one down on 63 ports: 21 down, 42 up."""
    counts = summary(build(plan(servers=42, oversubscription={"leaf": 0.5})))
    assert counts["oversubscription"]["leaf"] == 0.5
    assert counts["cables"]["leaf-spine"] == 2 * 8 * 42


def test_ratio_that_binary_cannot_hold_does_not_cost_a_port(plan, a_switch):
    """57 ports down at 1.14:1 need 50 up, although 57 / 1.14 is a little more than 50 in binary."""
    wide = a_switch(cages=128)
    fabric = build(plan(servers=57, servers_per_unit=57, oversubscription={"leaf": 1.14}, switches={"leaf": wide}))
    assert summary(fabric)["cables"]["leaf-spine"] == 8 * 50


def test_two_tiers_until_leaves_outnumber_spine_ports(plan):
    assert summary(build(plan(servers=256)))["switches"]["core"] == 0
    assert summary(build(plan(servers=257)))["switches"]["core"] > 0


def test_three_tiers_on_request(plan):
    """One pod of 16 leaves: 16 spines with 32 down and 32 up, each with a core group of its own."""
    counts = summary(build(plan(servers=64, tiers=3)))
    assert counts["switches"] == {"leaf": 16, "spine": 16, "core": 16}
    assert counts["pods"] == 1


def test_pods_hold_whole_units_evenly(plan):
    """18 units of 8 leaves, pods of up to 4: five pods of 4, 4, 4, 3, 3."""
    assert servers_by(build(plan(servers=576, servers_per_unit=32)), "pod") == [128, 128, 128, 96, 96]


def test_spine_j_of_every_pod_joins_core_group_j(plan):
    fabric = build(plan(servers=512))
    names = fabric.nodes.select("node", "name")
    links = fabric.links.filter(pl.col("tier") == "spine-core")
    pairs = links.join(names, left_on="src", right_on="node").join(
        names, left_on="dst", right_on="node", suffix="_core"
    )
    spine = pairs["name"].str.extract(r"spine-p\d-(\d+)", 1)
    core = pairs["name_core"].str.extract(r"core-g(\d+)-\d", 1)
    assert (spine == core).all()


def test_spine_oversubscription_thins_the_core(plan):
    """Spines of 64 ports at 3:1: 48 down, 16 up; pods of 6 units, and a third of the capacity above them."""
    counts = summary(build(plan(servers=1152, servers_per_unit=32, oversubscription={"spine": 3.0})))
    assert counts["pods"] == 6
    assert counts["oversubscription"] == {"leaf": 1.0, "spine": 3.0, "overall": 3.0}


def test_leaf_spine_keeps_all_nics_of_a_server_on_one_leaf(plan):
    nics = leaf_of_nics(build(plan(shape="leaf-spine", servers=127)))
    assert nics.group_by("server").agg(pl.col("dst").n_unique())["dst"].unique().to_list() == [1]


def test_leaf_spine_fills_odd_sizes_evenly(plan):
    nics = leaf_of_nics(build(plan(shape="leaf-spine", servers=127)))
    servers = nics.group_by("dst").agg(pl.col("server").n_unique())["server"]
    assert sorted(servers.to_list()) == [3] + [4] * 31


def test_server_with_more_nics_than_a_leaf_has_ports_down_spreads_over_few_leaves(plan, a_switch):
    """8 NICs on leaves of 6 ports, 3 of them down: three leaves a server, 3 + 3 + 2."""
    fabric = build(plan(shape="leaf-spine", servers=2, switches={"leaf": a_switch(cages=6)}))
    nics = leaf_of_nics(fabric).group_by("server", "dst").len()
    assert sorted(nics["len"].to_list()) == [2, 2, 3, 3, 3, 3]


def test_fat_tree_fills_pods_evenly(plan):
    """300 servers, 4 a leaf: 75 leaves in three pods."""
    assert servers_by(build(plan(shape="fat-tree", servers=300)), "pod") == [100, 100, 100]


def test_single_switch_joins_every_nic(plan):
    counts = summary(build(plan(shape="single-switch", servers=7)))
    assert counts["switches"] == {"leaf": 1, "spine": 0, "core": 0}
    assert counts["ports"]["leaf"] == {"total": 64, "used": 56, "spare": 8}


def test_leaf_and_spine_may_be_different_switches(plan, a_switch):
    big = a_switch(cages=128, name="big")
    fabric = build(plan(switches={"leaf": a_switch(), "spine": big}))
    assert summary(fabric)["switches"]["spine"] == 8
    assert fabric.nodes.filter(pl.col("tier") == "spine")["device"].unique().to_list() == ["big"]


def test_faster_uplinks_take_fewer_ports_in_cages_of_their_own(plan, a_switch):
    """32 servers at 400G fill 16 cages of 800G, and as many uplinks of 800G one cage each: 32 of 64 cages."""
    fast = a_switch(cage_bps=800e9, default_breakout=2)
    fabric = build(plan(servers=64, servers_per_unit=32, switches={"leaf": fast}, uplink_bps=800e9))
    counts = summary(fabric)
    assert counts["cables"]["leaf-spine"] == 16 * 16
    assert counts["oversubscription"]["leaf"] == 1.0
    leaf = fabric.nodes.filter(pl.col("tier") == "leaf")["node"][0]
    cages = fabric.cages.filter(pl.col("node") == leaf)["breakout"].to_list()
    assert cages == [2] * 16 + [1] * 16 + [2] * 32


def test_uplinks_of_a_leaf_are_bundles_of_one_size(plan):
    assert links_between(build(plan(servers=95, servers_per_unit=32)), "leaf-spine") == {2}


@pytest.mark.parametrize(
    ("servers", "leaves", "spines"),
    [
        (8, 8, 1),  # 8 leaves x 8 uplinks fill one spine of 64
        (17, 8, 3),  # 17 uplinks would need 17 spines to be spread evenly, 18 need 3
        (31, 8, 4),  # as NVIDIA's unit of 32 with one server missing
        (100, 32, 13),  # four units of 26: 832 uplinks
        (127, 32, 16),
    ],
)
def test_a_unit_whose_size_is_left_open_needs_few_spines(plan, servers: int, leaves: int, spines: int) -> None:
    counted = summary(build(plan(servers=servers)))
    assert counted["switches"] == {"leaf": leaves, "spine": spines, "core": 0}
