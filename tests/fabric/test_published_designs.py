"""Sizes that vendors and papers have published, counted from what is built."""

import pytest

from eastwest.fabric import build, faults, summary

# NVIDIA DGX SuperPOD B200 reference architecture, "DGX SuperPOD Architecture", table 3 (docs.nvidia.com): servers,
# leaf, spine, core; 8 cables a server on every pair of tiers that there is. 64-port switches, units of 32.
SUPERPOD_B200 = [
    (64, 16, 8, 0),
    (128, 32, 16, 0),
    (256, 64, 32, 0),
    (512, 128, 128, 64),
    (1024, 256, 256, 128),
    (2048, 512, 512, 256),
]

# NVIDIA DGX SuperPOD H100 reference architecture, "Network Fabrics", table 4: servers, leaf, spine, leaf-spine cables.
SUPERPOD_H100 = [(31, 8, 4, 256), (63, 16, 8, 512), (95, 24, 16, 768), (127, 32, 16, 1024)]

# NVIDIA DGX SuperPOD B300 with Quantum-X800 reference architecture, table 3: servers, leaf, spine; 144-port switches,
# units of 72.
SUPERPOD_B300 = [(72, 8, 4), (144, 16, 8), (288, 32, 18), (576, 64, 36), (1296, 144, 72)]


@pytest.mark.parametrize(("servers", "leaf", "spine", "core"), SUPERPOD_B200)
def test_superpod_b200(plan, servers, leaf, spine, core):
    counts = summary(build(plan(servers=servers, servers_per_unit=32)))
    assert counts["switches"] == {"leaf": leaf, "spine": spine, "core": core}
    cables = servers * 8
    assert counts["cables"] == {"server-leaf": cables, "leaf-spine": cables, "spine-core": cables if core else 0}


@pytest.mark.parametrize(("servers", "leaf", "spine", "cables"), SUPERPOD_H100)
def test_superpod_h100_cables_leaves_as_if_its_units_were_full(plan, servers, leaf, spine, cables):
    counts = summary(build(plan(servers=servers, servers_per_unit=32)))
    assert counts["switches"] == {"leaf": leaf, "spine": spine, "core": 0}
    assert counts["cables"] == {"server-leaf": servers * 8, "leaf-spine": cables, "spine-core": 0}


@pytest.mark.parametrize(("servers", "leaf", "spine"), SUPERPOD_B300)
def test_superpod_b300_has_spines_that_divide_72_uplinks(plan, a_switch, servers, leaf, spine):
    q3400 = a_switch(cages=72, cage_bps=1600e9, default_breakout=2)
    counts = summary(build(plan(servers=servers, switches={"leaf": q3400}, link_bps=800e9)))
    assert counts["switches"] == {"leaf": leaf, "spine": spine, "core": 0}
    assert counts["cables"]["leaf-spine"] == servers * 8


def test_deepseek_two_layer_fat_tree(plan):
    """arXiv 2505.09343, table 3, FT2: 2,048 endpoints, 96 switches, 2,048 links between switches."""
    for shape, tiers in (("leaf-spine", None), ("fat-tree", 2)):
        counts = summary(build(plan(shape=shape, tiers=tiers, servers=256)))
        assert (counts["nics"], counts["switches_total"], counts["cables"]["leaf-spine"]) == (2048, 96, 2048)


def test_deepseek_three_layer_fat_tree(plan):
    """arXiv 2505.09343, table 3, FT3: 65,536 endpoints, 5,120 switches, 131,072 links between switches."""
    counts = summary(build(plan(shape="fat-tree", servers=8192)))
    assert (counts["nics"], counts["switches_total"]) == (65536, 5120)
    assert counts["switches"] == {"leaf": 2048, "spine": 2048, "core": 1024}
    assert counts["cables"]["leaf-spine"] + counts["cables"]["spine-core"] == 131072


def test_full_three_tiers_are_sound(plan):
    assert faults(build(plan(servers=2048))) == []


def test_128_port_switches_from_broken_out_cages(plan, a_switch):
    """64 x 800G as 128 x 400G: units of 64 servers, and by the same rule 16 leaves and 8 spines for 128."""
    counts = summary(build(plan(switches={"leaf": a_switch(cage_bps=800e9)}, breakout={"leaf": 2, "spine": 2})))
    assert counts["switches"] == {"leaf": 16, "spine": 8, "core": 0}
    assert counts["ports"]["leaf"] == {"total": 2048, "used": 2048, "spare": 0}
