"""Reductions in switches, of NVLink and the scale-out network, held to closed forms and published measurements."""

from dataclasses import replace

import numpy as np
import pytest
from tests.engine.conftest import without_latency
from tests.fabric.conftest import G, make_plan, nic, server, switch

from eastwest.catalog import Catalog
from eastwest.engine import Carriage, EngineError, Network
from eastwest.engine.reduction import ABLE
from eastwest.fabric import FabricPlan, build, packed
from eastwest.workload import Collective, Step

PARTS = Catalog.bundled()


def network(servers: int, *, nvlink_sharp: float | None = 0.8, adds_up: bool = True, nvlink_bps: float = 3600 * G):
    plan = make_plan(
        shape="single-switch",
        servers=servers,
        server=server(gpus=8, nics=8, nvlink_bps=nvlink_bps, nvlink_sharp=nvlink_sharp, pcie_bps=4000 * G),
        nic=nic(pcie_bps=4000 * G),
        switches={"leaf": switch(in_network_reduction=adds_up)},
    )
    return Network(without_latency(build(plan)))


def of_catalogue(name: str) -> Network:
    """One server of the catalogue."""
    parts = PARTS.server(name)
    plan = FabricPlan(
        name=name,
        shape="single-switch",
        servers=1,
        server=parts,
        nic=parts.nic,
        link_layer=PARTS.link_layer("infiniband"),
        link_bps=400 * G,
        switches={"leaf": PARTS.switch("qm9700")},
    )
    return Network(build(plan))


def seconds(on: Network, kind: str, algorithm: str, size: float, channels: int = 1) -> float:
    gpus = packed(on.fabric)
    step = Step(len(gpus), (Collective("it", kind, size, (np.arange(len(gpus)),), algorithm, channels),))
    return on.run(step, gpus, Carriage()).step_s[0]


def rate(on: Network, tier: str) -> float:
    first = on.fabric.links.filter(tier=tier).row(0, named=True)
    return first["rate_bps"] * first["efficiency"] / 8


@pytest.mark.parametrize(("kind", "factor"), [("all-reduce", 9 / 8), ("all-gather", 1.0), ("reduce-scatter", 1.0)])
def test_nvlink_sharp_carries_each_half_once_and_its_parts(kind, factor):
    on = network(1)
    assert seconds(on, kind, "nvls", 1e9) == pytest.approx(factor * 1e9 / (0.8 * rate(on, "gpu-nvlink")), rel=1e-3)


@pytest.mark.parametrize(
    ("name", "busbw"),
    [
        ("hgx-h100", 480e9),  # sjeaugey, github.com/NVIDIA/nccl-tests/issues/212
        ("hgx-b300", 845e9),  # github.com/NVIDIA/nccl/issues/2140
    ],
)
def test_nvlink_sharp_of_eight_gpus_is_within_three_percent_of_what_was_measured(name, busbw):
    found = 2 * 7 / 8 * 8e9 / seconds(of_catalogue(name), "all-reduce", "nvls", 8e9)
    assert found == pytest.approx(busbw, rel=0.03)


def test_between_servers_the_trees_of_two_and_the_switches_send_a_byte_once():
    two, nics = network(2, nvlink_bps=36000 * G), 8
    once = 1e10 / nics / rate(two, "nic-leaf")
    assert seconds(two, "all-reduce", "nvls-tree", 1e10) == pytest.approx(once, rel=1e-3)
    assert seconds(two, "all-reduce", "nvls", 1e10) == pytest.approx(2 / 2 * once, rel=1e-3)
    eight = network(8, nvlink_bps=36000 * G)
    for algorithm in ("sharp", "nvls-sharp"):
        assert seconds(eight, "all-reduce", algorithm, 1e10) == pytest.approx(once, rel=1e-3)
    assert seconds(eight, "all-reduce", "nvls-tree", 1e10) == pytest.approx(2 * once, rel=1e-3)
    assert seconds(eight, "all-reduce", "nvls", 1e10) == pytest.approx(2 * 7 / 8 * once, rel=1e-3)


@pytest.mark.parametrize("algorithm", ["nvls", "nvls-tree", "nvls-sharp"])
def test_an_nvlink_switch_that_adds_nothing_up_is_refused(algorithm):
    with pytest.raises(
        EngineError, match=rf"'it' by {algorithm} needs an NVLink switch that adds up .* gpu does not have: .*rail-ring"
    ):
        seconds(network(2, nvlink_sharp=None), "all-reduce", algorithm, 1e6)


@pytest.mark.parametrize("algorithm", ["sharp", "nvls-sharp"])
def test_a_switch_that_adds_nothing_up_is_refused(algorithm):
    with pytest.raises(
        EngineError,
        match=rf"by {algorithm} needs switches that add up .* switch-64 cannot: try .* or algorithm: rail-ring",
    ):
        seconds(network(2, adds_up=False), "all-reduce", algorithm, 1e6)


def test_the_catalogue_says_which_gpus_and_switches_add_up():
    can = {name for name in PARTS.names("gpus") if PARTS.gpu(name).nvlink_sharp}
    assert can == {"h100-sxm", "h200-sxm", "h800-sxm", "h20-sxm", "b200", "b300", "gb200", "gb300"}
    switches = {name for name in PARTS.names("switches") if PARTS.switch(name).in_network_reduction}
    assert switches == {"qm8790", "qm9700", "q3400", "q3450-ld"}


def test_the_switches_named_to_those_who_have_none_do_add_up():
    named = [name for name in PARTS.names("switches") if name in ABLE.split()]
    assert named
    assert all(PARTS.switch(name).in_network_reduction for name in named)


def test_one_tier_that_cannot_is_enough_to_refuse():
    plan = make_plan(
        servers=64, switches={"leaf": switch(in_network_reduction=True), "spine": replace(switch(), name="plain")}
    )
    with pytest.raises(EngineError, match="plain cannot"):
        seconds(Network(build(plan)), "all-reduce", "sharp", 1e6)
