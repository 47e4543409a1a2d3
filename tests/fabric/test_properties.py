"""What holds of every fabric that can be built, tried on random plans."""

import tempfile
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eastwest.catalog.entries import Gpu, LinkLayer, Nic, Server, Switch
from eastwest.fabric import (
    FabricError,
    FabricPlan,
    Frontend,
    Sites,
    Storage,
    addresses,
    build,
    faults,
    read,
    summary,
    write,
)

RATES = (100e9, 200e9, 400e9)


@st.composite
def frontends(draw, network, nic, switch, link_bps):
    return Frontend(
        network=network,
        nics=draw(st.integers(1, 3)),
        nic=nic,
        link_layer=LinkLayer("rocev2", 4096, 0.96, 5e-9),
        link_bps=link_bps if network == "shared" else draw(st.sampled_from(RATES)),
        switches={"access": switch} if network == "separate" else {},
        oversubscription=draw(st.sampled_from([1.0, 3.0])),
        storage=draw(st.none() | st.builds(Storage, st.integers(1, 9), st.integers(1, 3))),
    )


@st.composite
def plans(draw, networks=(None, "separate", "shared")):
    gpus, nics = draw(st.sampled_from([(1, 1), (2, 2), (4, 4), (4, 2), (2, 4), (3, 3)]))
    nic = Nic("nic", ("rocev2",), 400e9, RATES, 256e9, 1e-6, False, "go-back-n", 25.0, max_planes=2)
    gpu = Gpu("gpu", 1.0, 1.0, 1.0, 900e9, 0.8, 1e-6, 256e9, 0.9, 1e-6, 1.0)
    switch = Switch("switch", ("rocev2",), draw(st.integers(4, 24)), 400e9, RATES, 1, 4, 64, 1e-6, 1.0)
    link_bps = draw(st.sampled_from(RATES))
    clos = ["single-switch", "leaf-spine", "fat-tree", "rail-optimized"]
    shape = draw(st.sampled_from([*clos, "rail-only", "mesh", "torus", "dragonfly-plus"]))
    planes = draw(st.sampled_from([1, 1, 2]))
    sites = draw(st.sampled_from([None, None, Sites(2, 1e3, 2, 400e9)])) if shape in clos else None
    network = draw(st.sampled_from(networks))
    if network == "shared" and (shape not in clos or planes > 1 or sites):
        network = "separate"
    return FabricPlan(
        name="random",
        shape=shape,
        servers=draw(st.integers(1, 60)),
        server=Server("server", gpu, gpus, nics, nic, 1.0, nvlink_domain_servers=draw(st.sampled_from([1, 1, 3]))),
        nic=nic,
        link_layer=LinkLayer("rocev2", 4096, 0.96, 5e-9),
        link_bps=link_bps,
        uplink_bps=draw(st.sampled_from([None, *RATES])),
        switches={"leaf": switch},
        breakout=draw(st.sampled_from([{}, {"leaf": 2, "spine": 2}] if link_bps < 400e9 else [{}])),
        planes=planes,
        dims=tuple(draw(st.lists(st.integers(2, 5), min_size=2, max_size=3))) if shape == "torus" else None,
        groups=draw(st.integers(2, 6)) if shape == "dragonfly-plus" else None,
        links_per_pair=draw(st.sampled_from([None, 1, 2, 3])),
        sites=sites,
        frontend=draw(frontends(network, nic, switch, link_bps)) if network else None,
        servers_per_unit=draw(st.none() | st.integers(1, 12)),
        oversubscription={
            "leaf": draw(st.sampled_from([0.5, 1.0, 1.5, 3.0])),
            "spine": draw(st.sampled_from([1.0, 2.0])) if shape == "fat-tree" else 1.0,
        },
    )


@st.composite
def fabrics(draw, networks=(None, "separate", "shared")):
    try:
        return build(draw(plans(networks)))
    except FabricError:
        assume(False)


def refused(plan):
    try:
        build(plan)
    except FabricError as error:
        return error
    return None


def uplinks_by_switch(fabric, tier):
    """For each switch, the number of links to each switch above that it joins."""
    links = fabric.links.filter(pl.col("tier") == tier).group_by("src", "dst").len()
    return links.group_by("src").agg("len")["len"].to_list()


@given(fabrics())
@settings(deadline=None)
def test_tables_are_sound(fabric):
    """Ports used once, equal speeds at both ends, links in both directions, all joined: see `faults`."""
    assert faults(fabric) == []


@given(fabrics())
@settings(deadline=None)
def test_every_cable_takes_two_ports_and_the_rest_are_spare(fabric):
    used = fabric.ports.filter(pl.col("cable") >= 0)
    assert len(used) == 2 * len(fabric.cables)
    assert Counter(used["cable"].to_list()) == Counter(dict.fromkeys(range(len(fabric.cables)), 2))


@given(fabrics())
@settings(deadline=None)
def test_uplinks_spread_evenly(fabric):
    for tier in ("leaf-spine", "spine-core"):
        bundles = uplinks_by_switch(fabric, tier)
        assert all(len(set(bundle)) == 1 for bundle in bundles)
        assert len({sum(bundle) for bundle in bundles}) <= 1


@given(fabrics())
@settings(deadline=None)
def test_every_nic_has_one_cable_a_plane(fabric):
    nics = fabric.nodes.filter(kind="nic", tier="server")["node"].to_list()
    links = fabric.links.filter(pl.col("tier") == "nic-leaf")["src"].to_list()
    assert sorted(links) == sorted(nics * fabric.plan["planes"])


@given(fabrics(["separate", "shared"]))
@settings(deadline=None)
def test_every_front_end_nic_and_storage_nic_has_one_cable(fabric):
    frontend = fabric.plan["frontend"]
    storage = frontend["storage"] or {"servers": 0, "nics": 0}
    hosts = fabric.nodes.filter(kind="host").group_by("tier").len().rows()
    wanted = {"frontend": fabric.plan["servers"] * frontend["nics"], "storage": storage["servers"] * storage["nics"]}
    assert dict(hosts) == {tier: count for tier, count in wanted.items() if count}
    cables = fabric.cables.filter(pl.col("tiers").str.contains("^(frontend|storage)-"))
    assert len(cables) == sum(wanted.values())


@given(plans(["separate"]))
@settings(deadline=None)
def test_a_separate_front_end_moves_nothing_of_the_gpus_network(plan):
    assume(refused(plan) is None)
    alone, both = build(replace(plan, frontend=None)), build(plan)
    assert both.nodes.head(len(alone.nodes)).equals(alone.nodes)
    assert both.cables.head(len(alone.cables)).equals(alone.cables)
    assert np.array_equal(addresses(both)[: len(alone.nodes)], addresses(alone))


@given(fabrics())
@settings(deadline=None)
def test_no_leaf_is_more_oversubscribed_than_asked(fabric):
    asked = fabric.plan["oversubscription"]["leaf"]
    down = fabric.links.filter(pl.col("tier") == "leaf-nic").group_by("src").agg(pl.sum("rate_bps").alias("down"))
    up = fabric.links.filter(pl.col("tier") == "leaf-spine").group_by("src").agg(pl.sum("rate_bps").alias("up"))
    both = down.join(up, on="src")
    assert (both["down"] <= both["up"] * asked * (1 + 1e-9)).all()


@given(fabrics([None, "separate"]))
@settings(deadline=None)
def test_servers_fill_units_and_pods_to_within_one_part(fabric):
    nics = fabric.nodes.filter((pl.col("kind") == "nic") & (pl.col("unit") >= 0))
    sizes = nics.group_by("unit").agg(pl.col("server").n_unique())["server"]
    assert sizes.is_empty() or sizes.max() - sizes.min() <= 1


@given(fabrics())
@settings(deadline=None)
def test_summary_agrees_with_the_tables(fabric):
    counts = summary(fabric)
    switches = (fabric.nodes["kind"] == "switch").sum()
    assert counts["switches_total"] == switches
    assert counts["cables_total"] == len(fabric.cables)
    assert counts["cables"]["server-leaf"] == counts["nics"] * counts["planes"]
    of_switches = np.isin(fabric.ports["node"], fabric.nodes.filter(pl.col("kind") == "switch")["node"])
    assert sum(tier["total"] for tier in counts["ports"].values()) == of_switches.sum()
    assert (
        sum(tier["used"] for tier in counts["ports"].values())
        == 2 * len(fabric.cables) - counts["nics"] * counts["planes"] - (fabric.nodes["kind"] == "host").sum()
    )
    assert counts["bisection_bps"] <= counts["nics"] * fabric.plan["link_bps"] / 2


@given(fabrics())
@settings(deadline=None, max_examples=25)
def test_written_and_read_back_unchanged(fabric):
    with tempfile.TemporaryDirectory() as folder:
        back = read(write(fabric, f"{folder}/fabric"))
    for table in ("nodes", "ports", "cages", "cables", "links"):
        assert getattr(back, table).equals(getattr(fabric, table))
    assert (back.name, back.plan) == (fabric.name, fabric.plan)


@given(plans())
@settings(deadline=None)
def test_what_cannot_be_built_is_refused_in_words(plan):
    refusal = refused(plan)
    assert refusal is None or (refusal.field and len(refusal.message) > 20)
