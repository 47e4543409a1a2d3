"""Every algorithm, through the door, takes the time of its closed form where nothing but the named rates limits.

With n ranks on m servers of g, buffer B, NIC rate C and NVLink rate N, all of payload. Rings and direct exchange:
nccl-tests, doc/PERFORMANCE.md; a hierarchy's stages are a reduce-scatter (or gather) inside and a ring outside.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.conftest import without_latency
from tests.fabric.conftest import G, make_plan, nic, server, switch

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.workload import KINDS, SHARP, Collective, Overheads, SendRecv, Step

PCIE_BPS = 4000 * G  # never the limit here
WITHIN = 1e-3

links = st.sampled_from([100 * G, 200 * G, 400 * G, 800 * G])
nvlinks = st.floats(1000 * G, 8000 * G)
sizes = st.floats(1e3, 1e13)
reducing = st.sampled_from(["all-reduce", "all-gather", "reduce-scatter"])
carriages = st.builds(
    Carriage,
    balancing=st.sampled_from(["ecmp", "spray", "adaptive", "pinned"]),
    qps=st.integers(1, 8),
    qp_use=st.sampled_from(["split", "round-robin"]),
)
cases = settings(max_examples=30, deadline=None)


def network(servers: int, gpus: int, link_bps: float, nvlink_bps: float = 3600 * G) -> Network:
    """Servers on one switch, where nothing but their own ports and NVLink can limit."""
    plan = make_plan(
        shape="single-switch",
        servers=servers,
        server=server(gpus=gpus, nics=gpus, nvlink_bps=nvlink_bps, pcie_bps=PCIE_BPS),
        nic=nic(pcie_bps=PCIE_BPS),
        link_bps=link_bps,
        switches={"leaf": switch(cage_bps=800 * G)},
    )
    return Network(without_latency(build(plan)))


def rate(on: Network, tier: str) -> float:
    """Payload of a tier's links, bytes a second, from the fabric's table."""
    first = on.fabric.links.filter(tier=tier).row(0, named=True)
    return first["rate_bps"] * first["efficiency"] / 8


def seconds(on: Network, kind, algorithm, size, *, ranks=None, carriage=None, tolerance=0.01, **more) -> float:
    gpus = packed(on.fabric)
    group = np.arange(len(gpus)) if ranks is None else ranks
    step = Step(len(gpus), (Collective("it", kind, size, (group,), algorithm, **more),))
    return on.run(step, gpus, carriage or Carriage(), tolerance=tolerance).step_s[0]


def sent(kind: str, n: int) -> float:
    """Of its buffer, what each of n ranks sends."""
    return (2 if kind == "all-reduce" else 1) * (n - 1) / n


@cases
@given(st.integers(2, 16), links, sizes, reducing, carriages, st.integers(1, 4), st.randoms(use_true_random=False))
def test_a_ring_sends_each_buffer_but_one_part_round(servers, link_bps, size, kind, carriage, channels, random):
    on = network(servers, 1, link_bps)
    ranks = random.sample(range(servers), random.randint(2, servers))
    found = seconds(on, kind, "ring", size, ranks=np.array(ranks), carriage=carriage, channels=channels)
    assert found == pytest.approx(sent(kind, len(ranks)) * size / rate(on, "nic-leaf"), rel=WITHIN)


@cases
@given(st.integers(1, 8), st.sampled_from([2, 4, 8]), links, nvlinks, sizes, reducing, st.integers(1, 3))
def test_a_rail_ring_uses_every_nic_or_fills_nvlink(servers, gpus, link_bps, nvlink_bps, size, kind, turns):
    on, n = network(servers, gpus, link_bps, nvlink_bps), servers * gpus
    found = seconds(on, kind, "rail-ring", size, channels=gpus * turns)
    # Of the channels through a GPU one in g leaves the server, the others go on over NVLink; all, in a single server.
    over_nic = 0 if servers == 1 else 1 / gpus / rate(on, "nic-leaf")
    over_nvlink = (1 if servers == 1 else (gpus - 1) / gpus) / rate(on, "gpu-nvlink")
    assert found == pytest.approx(sent(kind, n) * size * max(over_nic, over_nvlink), rel=WITHIN)


@cases
@given(st.integers(2, 8), st.sampled_from([2, 4, 8]), links, nvlinks, sizes, st.integers(1, 3))
def test_a_broadcast_by_rails_uses_every_nic_or_fills_nvlink(servers, gpus, link_bps, nvlink_bps, size, turns):
    on = network(servers, gpus, link_bps, nvlink_bps)
    found = seconds(on, "broadcast", "rail-ring", size, channels=gpus * turns)
    slowest = max(1 / gpus / rate(on, "nic-leaf"), (gpus - 1) / gpus / rate(on, "gpu-nvlink"))
    assert found == pytest.approx(size * slowest, rel=WITHIN)


@cases
@given(st.integers(2, 12), links, sizes, st.sampled_from(["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]))
def test_a_direct_exchange_sends_to_each_in_turn(servers, link_bps, size, kind):
    on = network(servers, 1, link_bps)
    assert seconds(on, kind, "direct", size) == pytest.approx(
        sent(kind, servers) * size / rate(on, "nic-leaf"), rel=WITHIN
    )


@cases
@given(st.integers(2, 12), links, sizes)
def test_a_direct_broadcast_sends_all_from_the_root(servers, link_bps, size):
    on = network(servers, 1, link_bps)
    found = seconds(on, "broadcast", "direct", size)
    assert found == pytest.approx((servers - 1) * size / rate(on, "nic-leaf"), rel=WITHIN)


@cases
@given(st.integers(2, 12), st.sampled_from([1, 2, 4]), links, sizes)
def test_a_reduce_takes_what_its_broadcast_does(servers, gpus, link_bps, size):
    on = network(servers, gpus, link_bps)
    for algorithm in (word for word, kinds in KINDS.items() if "reduce" in kinds and word not in SHARP):
        there, back = (seconds(on, kind, algorithm, size, channels=gpus) for kind in ("broadcast", "reduce"))
        assert back == pytest.approx(there, rel=WITHIN), algorithm


@cases
@given(st.integers(2, 12), links, sizes)
def test_a_direct_reduce_fills_the_nic_of_its_root(servers, link_bps, size):
    on = network(servers, 1, link_bps)
    found = seconds(on, "reduce", "direct", size)
    assert found == pytest.approx((servers - 1) * size / rate(on, "nic-leaf"), rel=WITHIN)


@cases
@given(st.integers(1, 8), st.sampled_from([2, 4, 8]), links, nvlinks, sizes)
def test_an_all_to_all_keeps_inside_what_is_for_the_same_server(servers, gpus, link_bps, nvlink_bps, size):
    on, n = network(servers, gpus, link_bps, nvlink_bps), servers * gpus
    inside = (gpus - 1) / n * size / rate(on, "gpu-nvlink")
    outside = (n - gpus) / n * size / rate(on, "nic-leaf")
    assert seconds(on, "all-to-all", "direct", size) == pytest.approx(max(inside, outside), rel=WITHIN)


@cases
@given(st.integers(2, 8), st.sampled_from([2, 4, 8]), links, nvlinks, sizes)
def test_pxn_fills_each_nic_with_its_rails_part_or_nvlink(servers, gpus, link_bps, nvlink_bps, size):
    """A NIC sends its server's data for one rail: (n-g)/n B; a GPU passes on all that is for other local indices."""
    on, n = network(servers, gpus, link_bps, nvlink_bps), servers * gpus
    inside = (gpus - 1) / gpus * size / rate(on, "gpu-nvlink")
    outside = (n - gpus) / n * size / rate(on, "nic-leaf")
    assert seconds(on, "all-to-all", "pxn", size) == pytest.approx(max(inside, outside), rel=WITHIN)


@cases
@given(st.integers(2, 8), links, st.integers(0, 2**32))
def test_an_uneven_all_to_all_of_one_sender_takes_what_it_sends(servers, link_bps, seed):
    on = network(servers, 1, link_bps)
    matrix = np.zeros((servers, servers))
    matrix[0] = np.random.default_rng(seed).uniform(1e6, 1e9, servers)  # what it has for itself costs nothing
    found = seconds(on, "all-to-all", "direct", 0.0, matrix=matrix, tolerance=0.0)
    assert found == pytest.approx(matrix[0, 1:].sum() / rate(on, "nic-leaf"), rel=WITHIN)


@cases
@given(
    st.integers(2, 6), st.sampled_from([2, 4, 8]), links, nvlinks, sizes, st.integers(1, 3),
    st.sampled_from(["all-reduce", "all-gather", "reduce-scatter", "broadcast"]),
)  # fmt: skip
def test_a_hierarchy_adds_its_stages_or_takes_the_slowest(servers, gpus, link_bps, nvlink_bps, size, channels, kind):
    on = network(servers, gpus, link_bps, nvlink_bps)
    stages_inside = 2 if kind in ("all-reduce", "broadcast") else 1
    inside = stages_inside * (gpus - 1) / gpus * size / rate(on, "gpu-nvlink")
    outside = (1 if kind == "broadcast" else sent(kind, servers)) * size / gpus / rate(on, "nic-leaf")
    staged, pipelined = (
        seconds(on, kind, f"hierarchical-{how}", size, channels=channels) for how in ("staged", "pipelined")
    )
    assert staged == pytest.approx(inside + outside, rel=WITHIN)
    assert pipelined == pytest.approx(max(inside, outside), rel=WITHIN)


@cases
@given(st.integers(2, 8), st.sampled_from([2, 4, 8]), links, nvlinks, sizes, st.integers(1, 2))
def test_a_tree_sends_half_a_channel_to_each_neighbour(servers, gpus, link_bps, nvlink_bps, size, turns):
    """Over both trees a server has 2 neighbours where there are two, 3 of three, at most 4 of more."""
    on = network(servers, gpus, link_bps, nvlink_bps)
    outside = min(servers, 4) / 2 * size / gpus / rate(on, "nic-leaf")
    inside = 2 * (gpus - 1) / gpus * size / rate(on, "gpu-nvlink")
    found = seconds(on, "all-reduce", "tree", size, channels=gpus * turns)
    assert found == pytest.approx(max(inside, outside), rel=WITHIN)


@cases
@given(st.sampled_from([2, 4, 8, 16]), links, sizes, reducing)
def test_recursive_halving_and_doubling_send_what_a_ring_does(servers, link_bps, size, kind):
    on = network(servers, 1, link_bps)
    found = seconds(on, kind, "halving-doubling", size)
    assert found == pytest.approx(sent(kind, servers) * size / rate(on, "nic-leaf"), rel=WITHIN)


@cases
@given(st.integers(2, 16), links, sizes)
def test_bruck_sends_a_block_once_for_each_bit_of_its_way(servers, link_bps, size):
    on = network(servers, 1, link_bps)
    bits = sum(way.bit_count() for way in range(servers))
    found = seconds(on, "all-to-all", "bruck", size)
    assert found == pytest.approx(bits / servers * size / rate(on, "nic-leaf"), rel=WITHIN)
    assert seconds(on, "all-gather", "bruck", size) == pytest.approx(
        (servers - 1) / servers * size / rate(on, "nic-leaf"), rel=WITHIN
    )


@pytest.mark.parametrize(("algorithm", "steps"), [("ring", 15), ("bruck", 4), ("halving-doubling", 4), ("direct", 1)])
def test_a_small_all_gather_takes_the_steps_of_its_algorithm(algorithm, steps):
    on = network(16, 1, 400 * G)
    found = seconds(on, "all-gather", algorithm, 8.0, overheads=Overheads(inter_s=1e-3))
    assert found == pytest.approx(steps * 1e-3, rel=WITHIN)


def test_a_tree_of_two_servers_has_more_bus_bandwidth_than_their_nics():
    on = network(2, 8, 400 * G, 7200 * G)
    busbw = 2 * 15 / 16 * 1e10 / seconds(on, "all-reduce", "tree", 1e10, channels=8)
    assert busbw == pytest.approx(2 * 15 / 16 * 8 * rate(on, "nic-leaf"), rel=WITHIN)


@cases
@given(st.integers(2, 8), sizes, st.sampled_from(["ring", "tree", "direct"]), st.floats(1, 4), st.floats(0, 1e-3))
def test_a_protocol_costs_its_base_and_its_bytes_on_the_wire(servers, size, algorithm, wire, base_s):
    on = network(servers, 1, 400 * G)
    plain = seconds(on, "all-reduce", algorithm, size)
    found = seconds(on, "all-reduce", algorithm, size, overheads=Overheads(base_s=base_s, wire=wire))
    assert found == pytest.approx(wire * plain + base_s, rel=WITHIN)


@pytest.mark.parametrize(("kind", "algorithm"), [("all-reduce", "ring"), ("all-to-all", "direct")])
def test_a_collective_that_stands_for_several_takes_as_long_as_they_do(kind, algorithm):
    on, costs = network(4, 1, 400 * G), Overheads(base_s=1e-5, inter_s=1e-4)
    one = seconds(on, kind, algorithm, 1e8, overheads=costs)
    found = seconds(on, kind, algorithm, 7e8, overheads=costs, repeats=7)
    assert found == pytest.approx(7 * one, rel=1e-9)


def test_a_channel_goes_no_faster_than_its_protocol():
    on = network(4, 1, 400 * G)
    found = seconds(on, "all-reduce", "ring", 8e9, channels=2, overheads=Overheads(channel_rate=1e9))
    assert found == pytest.approx(2 * 3 / 4 * 4e9 / 1e9, rel=WITHIN)


@cases
@given(st.integers(2, 16), links, sizes, carriages)
def test_messages_between_pairs_run_at_the_rate_of_a_port(servers, link_bps, size, carriage):
    on, ranks = network(servers, 1, link_bps), np.arange(servers)
    pairs = np.stack([ranks, np.roll(ranks, 1)], axis=1)
    run = on.run(Step(servers, (SendRecv("send", size, pairs),)), packed(on.fabric), carriage)
    assert run.step_s[0] == pytest.approx(size / rate(on, "nic-leaf"), rel=WITHIN)


@pytest.mark.parametrize(("kind", "steps"), [("all-reduce", 14), ("all-gather", 7), ("reduce-scatter", 7)])
def test_a_small_ring_takes_the_latency_of_its_steps(kind, steps):
    fabric = build(make_plan(shape="single-switch", servers=8, server=server(gpus=1, nics=1)))
    hop_s = sum(
        fabric.links.filter(tier=tier)["latency_s"][0]
        for tier in ("gpu-pcie", "pcie-nic", "nic-leaf", "leaf-nic", "nic-pcie", "pcie-gpu")
    )
    assert seconds(Network(fabric), kind, "ring", 8.0) == pytest.approx(steps * hop_s, rel=WITHIN)
