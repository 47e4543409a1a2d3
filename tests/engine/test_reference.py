"""The reference held against what is published and what can be worked out by hand, before the engine is held to it."""

import numpy as np
import pytest
from tests.fabric.conftest import make_plan, switch
from tests.reference import Paths, completions, direct, max_min, pair_traffic, queue_pair_shares, rail_ring
from tests.reference.hashing import choose, mix
from tests.reference.traffic import Traffic

from eastwest.fabric import build, packed

MIX_OF_ZERO = 0xE220A8397B1DCDAF


def traffic(*demands: dict[int, float], weight: list[float] | None = None, work: list[float] | None = None) -> Traffic:
    """Demands given as {link: coefficient}."""
    listed = [(number, link, c) for number, demand in enumerate(demands) for link, c in sorted(demand.items())]
    demand, link, coefficient = (np.array(column) for column in zip(*listed, strict=True))
    ones = np.ones(len(demands))
    return Traffic(demand, link, coefficient.astype(float), np.array(weight or ones), np.array(work or ones), 0 * ones)


# First outputs of the reference implementation for seed 0: https://prng.di.unimi.it/splitmix64.c
def test_the_mix_is_splitmix64():
    golden = 0x9E3779B97F4A7C15
    states = [0, golden, 2 * golden % 2**64]
    assert mix(np.array(states, dtype=np.uint64)).tolist() == [MIX_OF_ZERO, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("width", [1, 2, 3, 8, 32, 1000])
def test_a_choice_is_the_hash_scaled_to_the_width(width):
    assert choose(0, 0, width) == MIX_OF_ZERO * width >> 64


# Two flows meet on a link of 2; one of them goes on over a link of 10, where a third takes what is left.
def test_what_one_flow_cannot_use_goes_to_the_others():
    rates = max_min(traffic({0: 1}, {0: 1, 1: 1}, {1: 1}), np.array([2.0, 10.0]))
    assert rates == pytest.approx([1, 1, 9])


def test_a_full_link_shares_itself_by_weight():
    assert max_min(traffic({0: 1}, {0: 1}, weight=[1, 3]), np.array([8.0])) == pytest.approx([2, 6])


def test_a_demand_that_crosses_a_link_twice_takes_twice_its_rate():
    assert max_min(traffic({0: 2}, {0: 1}), np.array([3.0])) == pytest.approx([1, 1])


# Both at rate 1 until the shorter has carried 1; the other then has 2 left, at rate 2.
def test_whoever_is_left_speeds_up():
    assert completions(traffic({0: 1}, {0: 1}, work=[1, 3]), np.array([2.0])) == pytest.approx([1, 2])


def test_messages_in_turns_leave_queue_pairs_uneven_by_one_message_at_most():
    assert queue_pair_shares(10.0, 2, 4.0) == pytest.approx([0.6, 0.4])
    assert queue_pair_shares(5.0, 4, 4.0) == pytest.approx([0.8, 0.2, 0, 0])


def test_a_rail_ring_visits_every_gpu_once_and_keeps_to_rails():
    edges = rail_ring(np.arange(32).reshape(4, 8), 1.0, channels=8)
    for channel in range(8):
        mine = edges.channel == channel
        assert sorted(edges.sender[mine]) == sorted(edges.receiver[mine]) == list(range(32))
    leaves_server = edges.sender // 8 != edges.receiver // 8
    assert np.array_equal(edges.sender[leaves_server] % 8, edges.receiver[leaves_server] % 8)
    assert np.array_equal(np.bincount(edges.sender[leaves_server]), np.ones(32))  # every NIC sends for one channel


def test_paths_join_what_they_should_whatever_the_balancing():
    fabric = build(make_plan(shape="fat-tree", servers=12, servers_per_unit=1, switches={"leaf": switch(cages=16)}))
    paths, gpus = Paths(fabric), packed(fabric).astype(np.int64)
    edges = direct(gpus[None, :], 1e9)
    for crossing in (paths.ecmp(edges, np.array([0.5, 0.5]), seed=7), paths.spray(edges)):
        flow = np.zeros((len(edges), fabric.nodes.height))
        np.add.at(flow, (crossing.edge, paths.src[crossing.link]), crossing.share)
        np.add.at(flow, (crossing.edge, paths.dst[crossing.link]), -crossing.share)
        # What enters a node leaves it, but for all that leaves the sender and enters the receiver.
        flow[np.arange(len(edges)), edges.sender] -= 1
        flow[np.arange(len(edges)), edges.receiver] += 1
        assert np.abs(flow).max() < 1e-12
        assert pair_traffic(edges, crossing).latency_s.min() > 0
