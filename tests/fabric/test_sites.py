"""Networks at several sites: borders, long-haul links, and what is told where they do not fit."""

from collections import Counter

import polars as pl
import pytest

from eastwest.fabric import FabricError, Sites, build, faults, summary

G = 1e9


def sites(count=2, links=32, rate_bps=400 * G):
    return Sites(count=count, distance_m=80e3, links=links, rate_bps=rate_bps)


@pytest.mark.parametrize(
    "shape",
    [
        {"shape": "rail-optimized", "servers_per_unit": 8},
        {"shape": "leaf-spine", "servers_per_unit": 4},
        {"shape": "fat-tree", "servers_per_unit": 4, "servers_per_pod": 8},
        {"shape": "leaf-spine", "servers_per_unit": 4, "planes": 2},
    ],
    ids=["rails", "leaf-spine", "fat-tree", "planes"],
)
@pytest.mark.parametrize("count", [2, 3])
def test_each_site_is_the_network_of_its_servers_under_borders(plan, a_nic, shape, count):
    nic = a_nic(max_planes=2)
    alone = summary(build(plan(servers=16, nic=nic, **shape)))
    fabric = build(plan(servers=16 * count, nic=nic, sites=sites(count, links=6), **shape))
    joined = summary(fabric)
    assert faults(fabric) == []
    assert joined["sites"] == count
    assert joined["switches"]["leaf"] == count * alone["switches"]["leaf"]
    assert joined["cables"]["border-border"] == count * (count - 1) // 2 * 6 * alone["planes"]
    servers = fabric.nodes.filter(kind="nic").unique("server").group_by("site").len()
    assert set(servers["len"]) == {16}


def test_a_border_carries_as_much_down_as_long_haul_and_joins_every_spine_alike(plan, a_switch):
    """4 spines; 12 links of 800 Gb/s want 24 ports of 400 down: six to each spine."""
    fabric = build(
        plan(
            servers=16,
            servers_per_unit=8,
            shape="leaf-spine",
            switches={"leaf": a_switch(cages=128), "border": a_switch(cages=64, cage_bps=800 * G)},
            breakout={"border": 1},
            sites=sites(links=12, rate_bps=800 * G),
        )
    )
    spines = summary(fabric)["switches"]["spine"]
    pairs = fabric.links.filter(pl.col("tier") == "border-spine").group_by("src", "dst").len()
    assert len(pairs) == spines
    assert set(pairs["len"]) == {-(-24 // (spines // 2))}


def test_long_haul_links_are_dealt_out_evenly_over_borders(plan, a_switch):
    """96 links on switches of 64 ports: 3 borders with 32 up and 32 down."""
    fabric = build(
        plan(
            servers=32,
            servers_per_unit=4,
            shape="leaf-spine",
            switches={"leaf": a_switch(), "border": a_switch()},
            sites=sites(links=96),
        )
    )
    names = fabric.nodes["name"]
    links = fabric.links.filter(pl.col("tier") == "border-border")
    of_border = Counter(names[src] for src in links["src"])
    assert of_border == {f"site-{site}/border-{number}": 32 for site in range(2) for number in range(3)}


def test_the_cut_between_sites_bounds_the_bisection(plan):
    """4 sites, 2 links of 400 Gb/s between every two: 2 x 2 pairs cross between halves."""
    assert summary(build(plan(sites=sites(4, links=2))))["bisection_bps"] == 8 * 400 * G


def test_the_long_haul_takes_its_distance(plan):
    """80 km at 5 ns a metre, and the border's 0.5 us."""
    fabric = build(plan(sites=sites()))
    links = fabric.links.filter(pl.col("tier") == "border-border")
    assert links["latency_s"].to_list() == pytest.approx([400.5e-6] * 64)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"cable_lengths_m": {"border-border": 1e3}}, "cables", "told by their distance: leave out border-border"),
        ({"servers": 127}, "sites", "127 servers do not split evenly over 2 sites: try 128"),
        ({"shape": "torus", "dims": (4, 4)}, "sites", "sites are for single-switch, leaf-spine"),
        ({"sites": sites(1)}, "sites", "two sites or more"),
        ({"sites": sites(rate_bps=300 * G)}, "sites", "the border switch switch-64 does not run ports at 300 Gb/s"),
        ({"sites": sites(links=7, rate_bps=800 * G)}, "sites", "800 Gb/s is more than a cage of switch-64 carries"),
        ({"sites": sites(70)}, "sites", "a border switch needs a port for each"),
    ],
)
def test_what_does_not_fit_is_told(plan, changes, field, said):
    if changes.get("sites") == sites(70):
        changes = {**changes, "servers": 140}
    with pytest.raises(FabricError, match=said) as caught:
        build(plan(**{"sites": sites(), **changes}))
    assert caught.value.field == field
