"""Fabrics as topologies of htsim: what is read back is the same network, and what htsim has not is refused."""

import numpy as np
import polars as pl
import pytest

from eastwest.fabric import FabricError
from eastwest.fabric.formats import read_htsim_topology
from eastwest.fabric.formats.write_htsim import write_htsim_topology

WRITABLE = ("rails", "half", "leaves", "tree")
REFUSED = {
    "one": "2 or 3 tiers",
    "planes": "a NIC here has 2",
    "torus": "2 or 3 tiers",
    "fast-up": "of another rate",
    "worn": "differ in rate",
    "broken": "not the same everywhere",
}


def hops(fabric, nodes):
    """How many cables apart any two of the nodes are."""
    joined = fabric.links.filter(pl.col("cable") >= 0)
    near = np.zeros((len(fabric.nodes),) * 2, dtype=bool)
    near[joined["src"].to_numpy(), joined["dst"].to_numpy()] = True
    apart = np.full((len(nodes), len(fabric.nodes)), -1)
    reached = np.eye(len(fabric.nodes), dtype=bool)[nodes]
    for step in range(8):
        apart[reached & (apart < 0)] = step
        reached = reached | (reached.astype(np.int64) @ near.astype(np.int64) > 0)
    return apart[:, nodes]


def cables(fabric):
    tiers = fabric.cables.with_columns(tiers=pl.col("tiers").str.replace("server|host", "nic"))
    return sorted(tiers.group_by("tiers", "rate_bps").len().rows())


def round_trips_s(fabric):
    """Latency up and down again through each pair of tiers."""
    joined = fabric.links.filter(pl.col("cable") >= 0)
    seconds = joined.group_by("cable").agg(pl.col("latency_s").sum(), pl.col("tier").first())
    tiers = seconds.with_columns(tier=pl.col("tier").str.replace("host", "nic"))
    return dict(tiers.group_by("tier").agg(pl.col("latency_s").mean()).rows())


@pytest.fixture
def both(request, fabric, file):
    ours = fabric(request.param)
    written = write_htsim_topology(ours)
    return ours, written, read_htsim_topology(file("net.topo", written.text))


@pytest.mark.parametrize("both", WRITABLE, indirect=True)
def test_the_network_read_back_has_the_same_cables(both):
    ours, _, back = both
    assert cables(back) == cables(ours)


@pytest.mark.parametrize("both", WRITABLE, indirect=True)
def test_any_two_hosts_are_as_far_apart_as_their_nics(both):
    ours, written, back = both
    assert np.array_equal(hops(ours, written.nic_of_host), hops(back, np.arange(len(written.nic_of_host))))


@pytest.mark.parametrize("both", WRITABLE, indirect=True)
def test_ways_up_and_down_take_as_long(both):
    ours, _, back = both
    expected, found = round_trips_s(ours), round_trips_s(back)
    assert found == pytest.approx(expected, abs=2e-9)  # four whole nanoseconds, each rounded by at most half of one


@pytest.mark.parametrize("name", WRITABLE)
def test_a_host_is_each_nic_once(name, fabric):
    ours = fabric(name)
    nics = ours.nodes.filter(pl.col("kind") == "nic")["node"].to_list()
    assert sorted(write_htsim_topology(ours).nic_of_host.tolist()) == nics


@pytest.mark.parametrize(("name", "why"), REFUSED.items())
def test_a_network_that_htsim_has_not_is_refused_with_the_reason(name, why, fabric):
    with pytest.raises(FabricError, match=why):
        write_htsim_topology(fabric(name))


def test_oversubscription_is_written_as_htsim_checks_it(fabric):
    # 16 NICs on a leaf, 4 uplinks of their rate
    text = write_htsim_topology(fabric("leaves")).text
    assert "Radix_Down 16\nRadix_Up 4\n" in text
    assert "Oversubscribed 4\n" in text
