"""The tables: numbering, names, and the rates and latencies of links."""

import polars as pl
import pytest

from eastwest.fabric import build
from eastwest.fabric.tables import CABLES, CAGES, LINKS, NODES, PORTS


def the_link(fabric, tier):
    """Rate, efficiency and latency of the links of a tier, which must all be alike."""
    return fabric.links.filter(pl.col("tier") == tier).select("rate_bps", "efficiency", "latency_s").unique().row(0)


def test_columns_and_types_are_those_of_the_contract(plan):
    fabric = build(plan(servers=2))
    for table, schema in (
        (fabric.nodes, NODES),
        (fabric.ports, PORTS),
        (fabric.cages, CAGES),
        (fabric.cables, CABLES),
        (fabric.links, LINKS),
    ):
        assert dict(table.schema) == pl.Schema(schema)


def test_names_say_where_a_node_stands(plan):
    names = set(build(plan(servers=512)).nodes["name"])
    assert {"server-003/gpu-5", "server-003/nvswitch", "server-511/nic-7", "leaf-u00-r3"} <= names
    assert {"spine-p3-31", "core-g31-1"} <= names


def test_server_joins_gpus_by_nvlink_and_each_to_its_nic_by_pcie(plan):
    nodes = build(plan(servers=1)).nodes.filter(pl.col("server") == 0)
    counts = dict(nodes.group_by(pl.col("kind").cast(pl.String)).len().rows())
    assert counts == {"gpu": 8, "nvswitch": 1, "pcie": 8, "nic": 8}


def test_lone_gpu_has_no_nvlink(plan, a_server):
    kinds = build(plan(servers=2, server=a_server(gpus=1, nics=1))).nodes["kind"].unique().to_list()
    assert "nvswitch" not in kinds


@pytest.mark.parametrize(("gpus", "nics"), [(8, 4), (8, 1), (4, 8), (1, 2)])
def test_gpus_and_nics_share_pcie_hops_evenly(plan, a_server, gpus, nics):
    fabric = build(plan(servers=2, server=a_server(gpus=gpus, nics=nics)))
    hops = min(gpus, nics)
    to_hop = fabric.links.filter(pl.col("tier") == "gpu-pcie").group_by("dst").len()["len"]
    from_hop = fabric.links.filter(pl.col("tier") == "pcie-nic").group_by("src").len()["len"]
    assert to_hop.to_list() == [gpus // hops] * 2 * hops
    assert from_hop.to_list() == [nics // hops] * 2 * hops


def test_pcie_runs_at_the_slower_end(plan, a_server, a_nic):
    fabric = build(plan(server=a_server(pcie_bps=512e9), nic=a_nic(pcie_bps=256e9)))
    for tier in ("gpu-pcie", "pcie-gpu", "pcie-nic", "nic-pcie"):
        assert the_link(fabric, tier)[:2] == (256e9, 0.9)


def test_two_nics_of_a_gpu_are_fed_by_its_whole_pcie(plan, a_server, a_nic):
    fabric = build(plan(servers=4, server=a_server(gpus=4, nics=8, pcie_bps=512e9), nic=a_nic(pcie_bps=256e9)))
    assert the_link(fabric, "gpu-pcie")[0] == 512e9
    assert the_link(fabric, "pcie-nic")[0] == 256e9


def test_nvlink_has_the_gpus_rate_and_efficiency(plan):
    assert the_link(build(plan()), "gpu-nvlink")[:2] == (3600e9, 0.8)


def test_link_latency_is_the_cable_and_the_node_entered(plan):
    fabric = build(plan(cable_lengths_m={"server-leaf": 10.0, "leaf-spine": 50.0}))
    # 5 ns/m of fibre; the test switch takes 500 ns and the NIC 1 us
    assert the_link(fabric, "nic-leaf")[2] == pytest.approx(50e-9 + 500e-9)
    assert the_link(fabric, "leaf-nic")[2] == pytest.approx(50e-9 + 1e-6)
    assert the_link(fabric, "leaf-spine")[2] == pytest.approx(250e-9 + 500e-9)
    assert the_link(fabric, "spine-leaf")[2] == pytest.approx(250e-9 + 500e-9)


def test_latency_from_gpu_to_gpu_and_from_gpu_to_nic_is_the_catalogues(plan):
    fabric = build(plan())
    nvlink = the_link(fabric, "gpu-nvlink")[2] + the_link(fabric, "nvlink-gpu")[2]
    assert nvlink == pytest.approx(2e-6)
    out = the_link(fabric, "gpu-pcie")[2] + the_link(fabric, "pcie-nic")[2]
    assert out == pytest.approx(0.6e-6 + 1e-6)
    back = the_link(fabric, "nic-pcie")[2] + the_link(fabric, "pcie-gpu")[2]
    assert back == pytest.approx(0.6e-6)


def test_scale_out_links_have_the_link_layers_efficiency(plan):
    fabric = build(plan(servers=512))
    for tier in ("nic-leaf", "leaf-nic", "leaf-spine", "spine-leaf", "spine-core", "core-spine"):
        assert the_link(fabric, tier)[:2] == (400e9, 0.96)


def test_uplinks_run_at_their_own_rate(plan, a_switch):
    fabric = build(plan(servers=64, switches={"leaf": a_switch(cage_bps=800e9)}, link_bps=400e9, uplink_bps=800e9))
    assert the_link(fabric, "nic-leaf")[0] == 400e9
    assert the_link(fabric, "leaf-spine")[0] == 800e9


def test_uplinks_keep_their_port_where_a_unit_is_not_full(plan):
    fabric = build(plan(servers=31, servers_per_unit=32))
    leaf = fabric.nodes.filter(pl.col("tier") == "leaf")["node"][0]
    ports = fabric.ports.filter((pl.col("node") == leaf) & (pl.col("cable") < 0))
    assert ports["number"].to_list() == [31]


def test_switch_has_no_more_ports_than_its_silicon(plan, a_switch):
    """64 cages that could be 4 ports each, but 128 ports at the most: half of the cages stay dark."""
    fabric = build(plan(servers=64, link_bps=100e9, switches={"leaf": a_switch(max_ports=128)}, breakout={"leaf": 4}))
    leaf = fabric.nodes.filter(pl.col("tier") == "leaf")["node"][0]
    assert fabric.ports.filter(pl.col("node") == leaf).height == 128
    assert fabric.cages.filter(pl.col("node") == leaf)["breakout"].to_list() == [4] * 32 + [0] * 32
