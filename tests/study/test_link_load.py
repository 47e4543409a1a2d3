"""Link loads on a case small enough to count by hand: two units of one server of two GPUs, a rail each."""

import numpy as np
import pytest
from tests.fabric.conftest import make_plan, server

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.study import load
from eastwest.workload import Compute, SendRecv, Step

NIC = 400e9 * 0.96 / 8
"""Payload of a port, bytes a second."""


@pytest.fixture(scope="module")
def network():
    return Network(build(make_plan(servers=4, servers_per_unit=2, server=server(gpus=2, nics=2))))


def loads(network, *messages):
    """Sends messages (from, to, bytes) one after another: ranks 0 and 1 in the first server, 2 and 3 in the next."""
    operations = tuple(
        SendRecv(f"send {index}", size, np.array([[source, to]])) for index, (source, to, size) in enumerate(messages)
    )
    run = network.run(Step(8, operations), packed(network.fabric), Carriage("spray"))
    return run, {each.tier: each for each in load.by_tier(network, run)}


def test_a_message_under_one_leaf_loads_one_port_of_eight(network):
    run, tiers = loads(network, (0, 2, 1e9))  # rail 0, both servers in the first unit
    busy = 1e9 / NIC / run.step_s[0]  # while it communicates, all but its latency
    assert 0.99 < busy < 1
    for tier in ("nic-leaf", "leaf-nic"):
        assert tiers[tier].max == pytest.approx(busy)
        assert tiers[tier].mean == pytest.approx(busy / 8)
        assert tiers[tier].p99 == pytest.approx(np.percentile([busy] + 7 * [0], 99))
    assert tiers["leaf-spine"].max == 0
    assert tiers["gpu-nvlink"].max == 0
    assert load.crossing_share(network, run) == 0


def test_a_message_to_another_rail_spreads_over_the_uplinks_of_its_leaf(network):
    run, tiers = loads(network, (0, 3, 1e9))
    uplinks = network.fabric.links.filter(tier="leaf-spine")
    assert (uplinks.height, uplinks["src"].n_unique()) == (8, 4)  # two uplinks a leaf, which the message shares
    busy = 1e9 / NIC / run.step_s[0]
    assert tiers["leaf-spine"].max == pytest.approx(busy / 2)
    assert tiers["leaf-spine"].mean == pytest.approx(busy / 2 * 2 / 8)
    assert load.crossing_share(network, run) == pytest.approx(1)


def test_the_crossing_share_counts_bytes_that_leave_servers(network):
    run, _ = loads(network, (0, 2, 3e9), (0, 3, 1e9), (0, 1, 5e9))  # within the leaf, over the spine, within the server
    assert load.crossing_share(network, run) == pytest.approx(1 / 4)


def test_nothing_leaves_a_server_over_nvlink(network):
    run, tiers = loads(network, (0, 1, 1e9))
    assert load.crossing_share(network, run) is None
    assert tiers["nic-leaf"].max == 0
    assert tiers["gpu-nvlink"].max == pytest.approx(1e9 / (3600e9 * 0.8 / 8) / run.step_s[0])


def test_without_communication_nothing_is_loaded(network):
    run = network.run(Step(8, (Compute("think", 1.0),)), packed(network.fabric), Carriage())
    assert load.window_s(run) == 0
    assert load.utilisation(network, run).tolist() == [0] * network.fabric.links.height
