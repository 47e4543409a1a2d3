"""Planes through the door: what a NIC that is split into ports carries."""

import numpy as np
import pytest
from tests.fabric.conftest import G, make_plan, nic, switch

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.workload import Collective, Step, all_ranks

EFFICIENCY = 0.96
"""Payload over line rate in the tests' link layer."""


@pytest.fixture(scope="module")
def network():
    """Two units of 8 servers with NICs of 400 Gb/s, on so many planes."""

    def joined(planes: int) -> Network:
        changes = {"switches": {"leaf": switch(cages=64)}, "nic": nic(max_planes=8)}
        return Network(build(make_plan(servers=16, servers_per_unit=8, planes=planes, **changes)))

    known = {planes: joined(planes) for planes in (1, 2, 4)}
    return known.__getitem__


def step_s(network: Network, carriage: Carriage, algorithm="rail-ring", channels=8, kind="all-reduce"):
    gpus = packed(network.fabric)
    work = Collective("it", kind, 1e9, all_ranks(len(gpus)), algorithm, channels)
    return float(network.run(Step(len(gpus), (work,)), gpus, carriage, tolerance=0.0).step_s[0])


@pytest.mark.parametrize("balancing", ["spray", "adaptive"])
@pytest.mark.parametrize(("kind", "algorithm"), [("all-reduce", "rail-ring"), ("all-to-all", "direct")])
def test_sprayed_planes_carry_what_one_network_of_their_rate_does(network, balancing, kind, algorithm):
    one = step_s(network(1), Carriage(balancing), algorithm, kind=kind)
    for planes in (2, 4):
        assert step_s(network(planes), Carriage(balancing), algorithm, kind=kind) == pytest.approx(one, rel=1e-9)


def rates(network: Network, carriage: Carriage):
    """Payload rate of GPU 0 sending to its peer of another unit, alone."""
    gpus = packed(network.fabric)
    return network.max_min(gpus[:1], gpus[64:65], carriage) / (400 * G * EFFICIENCY)


@pytest.mark.parametrize("balancing", ["ecmp", "pinned"])
@pytest.mark.parametrize(
    ("planes", "qps", "share"), [(2, 1, 1 / 2), (4, 1, 1 / 4), (4, 2, 1 / 2), (4, 4, 1.0), (2, 4, 1.0)]
)
def test_a_connection_has_the_planes_that_its_queue_pairs_reach(network, balancing, planes, qps, share):
    assert rates(network(planes), Carriage(balancing, qps=qps)) == pytest.approx(share)


def test_a_ring_of_one_channel_and_queue_pair_uses_one_plane(network):
    """Of four, so that it takes four times as long, but for its latency."""
    slow, fast = (step_s(network(4), Carriage("ecmp", qps=qps, qp_use="split"), channels=1) for qps in (1, 4))
    assert slow == pytest.approx(4 * fast, rel=0.02)


def test_channels_take_turns_over_the_planes(network):
    """32 channels, 4 a rail, on 4 planes: all of them, with one queue pair each."""
    spread = step_s(network(4), Carriage("ecmp"), channels=32)
    assert spread == pytest.approx(step_s(network(1), Carriage("spray"), channels=32), rel=0.01)


def test_every_port_carries_its_part_of_what_is_sprayed(network):
    planes = network(4)
    gpus = packed(planes.fabric)
    work = Collective("it", "all-to-all", 1e9, all_ranks(len(gpus)), "direct", 1)
    sent = planes.run(Step(len(gpus), (work,)), gpus, Carriage("spray")).link_bytes[0]
    ports = sent[(planes.fabric.links["tier"] == "nic-leaf").to_numpy()]
    assert ports == pytest.approx(np.full(128 * 4, 1e9 / 128 * 120 / 4), rel=1e-9)
