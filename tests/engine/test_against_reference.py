"""The engine against the independent solution (`tests.reference`): rates of random connections, and whole exchanges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fabric.conftest import G, make_plan, server, switch
from tests.reference import (
    Edges,
    Paths,
    completions,
    direct,
    double_tree,
    max_min,
    pair_traffic,
    queue_pair_shares,
    rail_ring,
    ring_traffic,
    tree_traffic,
)
from tests.reference.traffic import link_bytes

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed, scattered
from eastwest.workload import Collective, Step

MESSAGE_BYTES = 524288.0

fabrics = st.one_of(
    st.builds(
        lambda servers, gpus, ratio, link: make_plan(
            shape="leaf-spine",
            servers=servers,
            server=server(gpus=gpus, nics=gpus),
            servers_per_unit=2,
            oversubscription={"leaf": ratio},
            link_bps=link,
            switches={"leaf": switch(cages=32, cage_bps=800 * G)},
        ),
        st.integers(3, 12), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]), st.sampled_from([100 * G, 400 * G]),
    ),
    st.builds(
        lambda servers: make_plan(shape="fat-tree", servers=servers, server=server(gpus=2, nics=2), servers_per_unit=2,
                                  switches={"leaf": switch(cages=8)}),
        st.integers(5, 16),
    ),
    st.builds(
        lambda servers, rails: make_plan(servers=servers, server=server(gpus=rails, nics=rails), servers_per_unit=2),
        st.integers(3, 12), st.sampled_from([2, 4]),
    ),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(fabrics, st.integers(1, 60), st.integers(1, 4), st.integers(0, 2**32), st.sampled_from(["ecmp", "spray"]))
def test_rates_of_random_connections_are_those_of_water_filling(plan, connections, qps, seed, balancing):
    fabric = build(plan)
    gpus, draw = packed(fabric).astype(np.int64), np.random.default_rng(seed)
    ends = np.stack([draw.choice(gpus, size=2, replace=False) for _ in range(connections)])
    edges = Edges(ends[:, 0], ends[:, 1], np.zeros(connections, dtype=np.int64), 1.0)
    paths = Paths(fabric)
    even = np.full(qps, 1 / qps)
    crossing = paths.ecmp(edges, even, seed) if balancing == "ecmp" else paths.spray(edges)
    expected = max_min(pair_traffic(edges, crossing), paths.capacity) * 8
    found = Network(fabric).max_min(edges.sender, edges.receiver, Carriage(balancing, qps), seed)
    assert found == pytest.approx(expected, rel=1e-6)


# The bundled study's fabric and moe workload at an eighth of their size: 16 servers in units of 4, groups of 16 GPUs.
@pytest.fixture(scope="module", params=[1.0, 2.0], ids=["non-blocking", "2:1"])
def rails(request):
    fabric = build(make_plan(servers=16, servers_per_unit=4, oversubscription={"leaf": request.param}))
    return Network(fabric), Paths(fabric)


def group_times(network, gpus, kind, algorithm, size, seed, *, groups, channels=1, tolerance=0.0):
    """Seconds that each group's collective takes."""
    operation = Collective("it", kind, size, tuple(groups), algorithm, channels)
    step = Step(len(gpus), (operation,))
    run = network.run(step, gpus, Carriage(qps=4), seeds=[seed], tolerance=tolerance)
    return run.communication_s[0, [group[0] for group in groups]], run


@pytest.mark.parametrize("place", [packed, lambda fabric: scattered(fabric, 5)], ids=["packed", "scattered"])
@pytest.mark.parametrize("seed", [0, 1])
def test_each_group_of_an_all_to_all_ends_when_the_reference_says(rails, place, seed):
    network, paths = rails
    gpus, size = place(network.fabric), 2e9
    edges = direct(gpus.reshape(-1, 16).astype(np.int64), size)
    crossing = paths.ecmp(edges, queue_pair_shares(edges.bytes, 4, MESSAGE_BYTES), seed)
    expected = completions(pair_traffic(edges, crossing), paths.capacity).reshape(8, -1).max(axis=1)
    groups = np.arange(128).reshape(8, 16)
    exact, _ = group_times(network, gpus, "all-to-all", "direct", size, seed, groups=groups)
    assert exact == pytest.approx(expected, rel=1e-6)
    batched, run = group_times(network, gpus, "all-to-all", "direct", size, seed, groups=groups, tolerance=0.01)
    assert batched == pytest.approx(expected, rel=max(0.01, run.batching_error[0]))


@pytest.mark.parametrize("seed", range(4))
def test_a_scattered_rail_ring_ends_when_the_reference_says(rails, seed):
    network, paths = rails
    gpus, size = scattered(network.fabric, seed), 8e9
    edges = rail_ring(gpus.reshape(-1, 8).astype(np.int64), size, 16)
    crossing = paths.ecmp(edges, queue_pair_shares(edges.bytes, 4, MESSAGE_BYTES), seed)
    expected = completions(ring_traffic(edges, crossing), paths.capacity).max()
    found, _ = group_times(network, gpus, "all-reduce", "rail-ring", size, seed, groups=[np.arange(128)], channels=16)
    assert found[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("servers", [2, 5, 8, 16])
def test_a_scattered_double_tree_ends_when_the_reference_says(rails, servers):
    network, paths = rails
    gpus, size = scattered(network.fabric, servers)[: 8 * servers], 8e9
    edges, tree_of = double_tree(gpus.reshape(-1, 8).astype(np.int64), size, 16)
    crossing = paths.ecmp(edges, queue_pair_shares(edges.bytes, 4, MESSAGE_BYTES), 3)
    expected = completions(tree_traffic(edges, tree_of, crossing), paths.capacity).max()
    found, _ = group_times(network, gpus, "all-reduce", "tree", size, 3, groups=[np.arange(8 * servers)], channels=16)
    assert found[0] == pytest.approx(expected, rel=1e-6)


def test_links_carry_what_the_reference_puts_on_them(rails):
    network, paths = rails
    gpus = packed(network.fabric)
    edges = direct(gpus.reshape(-1, 16).astype(np.int64), 2e9)
    crossing = paths.ecmp(edges, queue_pair_shares(edges.bytes, 4, MESSAGE_BYTES), 3)
    _, run = group_times(network, gpus, "all-to-all", "direct", 2e9, 3, groups=np.arange(128).reshape(8, 16))
    expected = link_bytes(pair_traffic(edges, crossing), len(paths.capacity))
    assert run.link_bytes[0] == pytest.approx(expected, rel=1e-6)
