"""NVLink domains larger than a server: trays of a rack that share one."""

from dataclasses import replace

import polars as pl
import pytest

from eastwest.catalog import Catalog
from eastwest.fabric import build, faults, packed, summary


@pytest.fixture
def racks(plan, a_server):
    """Trays of 4 GPUs, 18 in a domain."""

    def built(servers, **changes):
        tray = replace(a_server(gpus=4, nics=4), nvlink_domain_servers=18)
        return build(plan(**({"servers": servers, "server": tray, "servers_per_unit": 18} | changes)))

    return built


def gpus_of_domains(fabric):
    """Number of GPUs at each NVLink switch, in order."""
    links = fabric.links.filter(pl.col("tier") == "gpu-nvlink")
    return links.group_by("dst").len().sort("dst")["len"].to_list()


def test_72_gpus_of_18_trays_meet_at_one_nvlink_switch(racks):
    fabric = racks(18)
    assert gpus_of_domains(fabric) == [72]
    assert summary(fabric)["nvlink_domains"] == 1
    assert faults(fabric) == []


def test_every_rack_has_a_switch_of_its_own_and_the_last_what_is_left(racks):
    fabric = racks(40)
    assert gpus_of_domains(fabric) == [72, 72, 16]
    assert faults(fabric) == []


def test_a_shared_switch_belongs_to_no_server(racks):
    switches = racks(36).nodes.filter(pl.col("kind") == "nvswitch")
    assert switches.select("name", "server", "index").rows() == [
        ("domain-0/nvswitch", -1, 0),
        ("domain-1/nvswitch", -1, 1),
    ]


def test_trays_count_as_servers(racks):
    counts = summary(racks(36))
    assert (counts["servers"], counts["gpus"], counts["nics"], counts["units"]) == (36, 144, 144, 2)
    assert len(packed(racks(36))) == 144


def test_trays_of_one_gpu_have_nvlink_too(plan, a_server):
    tray = replace(a_server(gpus=1, nics=1), nvlink_domain_servers=4)
    assert gpus_of_domains(build(plan(servers=8, server=tray))) == [4, 4]


def test_racks_on_rails_of_one_tier_are_sound_where_units_cut_them(racks):
    assert faults(racks(36, shape="rail-only", tiers=1, servers_per_unit=9)) == []


def test_nvl72_has_130_terabytes_a_second(plan):
    """NVIDIA's data sheet: 72 GPUs in one domain, 1.8 TB/s each, 130 TB/s in all, both directions together."""
    server = Catalog.bundled().server("gb200-nvl72")
    fabric = build(plan(shape="single-switch", servers=16, server=server))
    assert gpus_of_domains(fabric) == [64]
    links = fabric.links.filter(pl.col("tier").is_in(["gpu-nvlink", "nvlink-gpu"]))
    assert links["rate_bps"].sum() / 64 == 1.8e12 * 8
    assert 72 * links["rate_bps"].sum() / 64 / 8 == pytest.approx(130e12, rel=0.005)
