"""Plans that cannot be built are refused: which entry is at fault, what was needed, what there is, how to mend it."""

import math

import pytest

from eastwest.catalog.entries import LinkLayer
from eastwest.fabric import FabricError, build


@pytest.fixture
def refusal(plan):
    def refuse(**changes):
        with pytest.raises(FabricError) as caught:
            build(plan(**changes))
        return caught.value

    return refuse


def test_unit_larger_than_a_leaf_says_what_would_fit(refusal):
    error = refusal(servers_per_unit=40)
    assert error.field == "servers_per_unit"
    assert "40 ports down and 40 up" in error.message
    assert "80 in all" in error.message
    assert "switch-64 has 64 at 400 Gb/s" in error.message
    assert "servers_per_unit of 32 or less" in error.message


def test_unit_larger_than_a_leaf_points_to_breakout_where_cages_have_it(refusal, a_switch):
    error = refusal(servers_per_unit=40, switches={"leaf": a_switch(cage_bps=800e9)})
    assert "breakout: 2" in error.message
    assert "128 ports" in error.message


def test_servers_on_a_leaf_are_bounded_by_its_ports(refusal):
    error = refusal(shape="leaf-spine", servers_per_unit=5)
    assert error.field == "servers_per_unit"
    assert "servers_per_unit of 4 or less" in error.message


def test_too_many_leaves_for_two_tiers_point_to_three(refusal):
    error = refusal(servers=512, servers_per_unit=32, tiers=2)
    assert error.field == "tiers"
    assert "128 leaves" in error.message
    assert "switch-64 has 64" in error.message
    assert "three tiers (tiers: 3)" in error.message
    assert "servers in a unit" not in error.message


def test_small_units_that_make_too_many_leaves_could_be_larger(refusal):
    assert "up to 32 servers in a unit" in refusal(servers_per_unit=8, tiers=2).message


def test_leaf_spine_too_large_names_what_reaches_further(refusal):
    error = refusal(shape="leaf-spine", servers=257)
    assert error.field == "tiers"
    assert "65 leaves" in error.message
    assert "shape: fat-tree" in error.message


def test_too_many_pods_for_the_core_say_how_many_servers_it_reaches(refusal):
    error = refusal(shape="fat-tree", servers=8193)
    assert error.field == "servers"
    assert "65 pods" in error.message
    assert "at most 8192 servers" in error.message


def test_unit_with_more_rails_than_a_spine_has_ports_down(refusal, a_switch):
    error = refusal(servers=40, servers_per_unit=2, tiers=3, switches={"leaf": a_switch(cages=8)})
    assert error.field == "switch"
    assert "8 leaves" in error.message


def test_single_switch_too_small_points_to_two_tiers(refusal):
    error = refusal(shape="single-switch", servers=9)
    assert error.field == "switch"
    assert "72 ports" in error.message
    assert "leaf-spine" in error.message


@pytest.mark.parametrize("shape", ["leaf-spine", "rail-optimized"])
def test_switch_of_one_port_makes_no_leaf(refusal, a_switch, shape):
    assert refusal(shape=shape, switches={"leaf": a_switch(cages=1)}).field == "switch"


def test_breakout_beyond_the_switchs_own(refusal, a_switch):
    error = refusal(link_bps=100e9, switches={"leaf": a_switch(max_breakout=2)}, breakout={"leaf": 4})
    assert error.field == "breakout"
    assert "1 to 2 ports, not 4" in error.message


def test_breakout_faster_than_the_cage(refusal):
    error = refusal(breakout={"leaf": 2})
    assert error.field == "breakout"
    assert "800 Gb/s" in error.message
    assert "400 Gb/s" in error.message


def test_speed_that_the_switch_does_not_run(refusal, a_switch):
    error = refusal(switches={"leaf": a_switch(port_speeds_bps=(100e9, 200e9))})
    assert error.field == "link"
    assert "100 Gb/s, 200 Gb/s" in error.message


def test_speed_above_the_cage(refusal):
    assert refusal(link_bps=800e9).field == "link"


def test_speed_that_the_nic_does_not_run(refusal, a_nic):
    error = refusal(nic=a_nic(port_bps=200e9, port_speeds_bps=(100e9, 200e9)))
    assert error.field == "link"
    assert "100 Gb/s, 200 Gb/s" in error.message


def test_uplink_speed_that_the_switch_does_not_run(refusal):
    assert refusal(uplink_bps=50e9).field == "uplink"


@pytest.mark.parametrize("rate_bps", [0.0, -1.0, math.inf, math.nan])
def test_rate_that_is_none(refusal, rate_bps):
    assert refusal(link_bps=rate_bps).field == "link"


def test_switch_of_another_technology(refusal):
    error = refusal(link_layer=LinkLayer("infiniband", 4096, 0.97, 5e-9))
    assert error.field == "switch"
    assert "rocev2" in error.message
    assert "infiniband" in error.message


def test_nic_of_another_technology(refusal, a_nic):
    error = refusal(nic=a_nic(technologies=("infiniband",)))
    assert error.field == "nic"


def test_gpus_that_cannot_share_nics_evenly(refusal, a_server):
    error = refusal(server=a_server(gpus=8, nics=5))
    assert error.field == "server"
    assert "8 GPUs" in error.message


@pytest.mark.parametrize(("gpus", "nics"), [(0, 8), (8, 0)])
def test_server_without_gpus_or_nics(refusal, a_server, gpus, nics):
    assert refusal(server=a_server(gpus=gpus, nics=nics)).field == "server"


@pytest.mark.parametrize("servers", [0, -1])
def test_no_servers(refusal, servers):
    assert refusal(servers=servers).field == "servers"


def test_empty_unit(refusal):
    assert refusal(servers_per_unit=0).field == "servers_per_unit"


@pytest.mark.parametrize("ratio", [0.0, -4.0, math.nan, math.inf])
def test_oversubscription_that_is_no_ratio(refusal, ratio):
    assert refusal(oversubscription={"leaf": ratio}).field == "oversubscription"


@pytest.mark.parametrize(("shape", "tiers"), [("single-switch", 2), ("leaf-spine", 3), ("fat-tree", 4)])
def test_tiers_that_the_shape_does_not_have(refusal, shape, tiers):
    assert refusal(shape=shape, tiers=tiers).field == "tiers"


def test_unknown_shape_lists_those_that_there_are(refusal):
    error = refusal(shape="dragonfly")
    assert error.field == "shape"
    assert "rail-optimized" in error.message


def test_no_switch(refusal):
    assert refusal(switches={}).field == "switch"


def test_cable_of_negative_length(refusal):
    assert refusal(cable_lengths_m={"leaf-spine": -1.0}).field == "cables"


def test_a_ratio_of_spines_that_have_nothing_above_them_is_refused(plan):
    with pytest.raises(FabricError, match="spines of this fabric have nothing above them") as refusal:
        build(plan(oversubscription={"spine": 8.0}))
    assert refusal.value.field == "oversubscription"


def test_a_cable_longer_than_half_the_world_is_refused(plan):
    with pytest.raises(FabricError, match="from 0 m to 20000 km"):
        build(plan(cable_lengths_m={"leaf-spine": 1e15}))
