"""What NCCL's tables leave out: chunks, filling pipelines, transports; by hand from the rules of src/enqueue.cc."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload import nccl
from eastwest.workload.nccl.chunks import nvls_chunk, ring_chunk, tree_chunk, used_channels

US, GB, KIB, MIB = 1e-6, 1e9, 2**10, 2**20
H100 = nccl.Machine("hopper", nvlink=18 * 20.6 * GB, nic=50 * GB)
A100 = nccl.Machine("ampere", nvlink=12 * 20.0 * GB, nic=25 * GB, nvlink_sharp=False)
B200 = nccl.Machine("blackwell", nvlink=18 * 40.1 * GB, nic=50 * GB)
ONE, TWO, SIXTEEN = nccl.Group(8, 1), nccl.Group(16, 2), nccl.Group(128, 16)
PATHS = nccl.Paths(0.0, 0.0)
PARTS = 16 * 8
"""Channels times heads of NVLS on 8 H100."""


def cost(method, protocol, size, group=ONE, kind="all-reduce", machine=H100, version="HEAD"):
    return nccl.cost(nccl.Way(kind, method, protocol, group, machine, nccl.constants(version)), size)


@pytest.mark.parametrize(
    ("size", "group", "chunk_kib"),
    [
        (2**30, ONE, 128),  # 64 rounds of 128 parts of 128 KiB
        (2**30 - 1, ONE, 64),
        (64 * MIB - 1, ONE, 32),
        (8 * MIB - 1, ONE, 16),
        (MIB, ONE, 8),  # a part of the message
        (64 * MIB, TWO, 128),
        (64 * MIB - 1, TWO, 64),
        (2**34, SIXTEEN, 64),
        (8 * MIB - 1, SIXTEEN, 32),
    ],
)
def test_chunks_of_nvls_grow_with_the_message(size, group, chunk_kib):
    assert nvls_chunk(size, PARTS, group, nccl.transport()) == pytest.approx(chunk_kib * KIB, rel=1e-6)


def test_aws_lets_nvls_have_larger_chunks():
    aws = nccl.transport("efa-v2")
    assert nvls_chunk(4 * 2**30, PARTS, ONE, aws) == 512 * KIB
    assert nvls_chunk(4 * 2**30 - 1, PARTS, ONE, aws) == 64 * KIB
    assert nvls_chunk(4 * 2**30, PARTS, SIXTEEN, aws) == 512 * KIB


@pytest.mark.parametrize(
    ("method", "protocol", "size", "channels"),
    [
        ("ring", "ll", 512 * KIB, 16),  # 512 threads x 8 B x 8 ranks: 32 KiB each
        ("ring", "ll", 8, 1),
        ("tree", "ll", 64 * KIB, 16),
        ("ring", "ll128", 50 * KIB, 10),  # 640 threads x 8 B
        ("ring", "simple", 512 * KIB, 16),  # 512 threads x 64 B
        ("ring", "simple", 2**30, 24),
        ("nvls", "simple", 8, 16),
    ],
)
def test_a_message_uses_the_channels_that_it_has_work_for(method, protocol, size, channels):
    way = nccl.Way("all-reduce", method, protocol, ONE, H100, nccl.constants())
    assert used_channels(way, size) == channels


def test_a_chunk_is_no_more_than_a_buffer_holds_nor_than_there_is():
    google = nccl.transport("tcpxo")
    way = nccl.Way("all-reduce", "tree", "simple", TWO, replace(H100, transport=google), nccl.constants())
    assert tree_chunk(way, 2**30, 16) == MIB  # an eighth of 8 MiB
    assert tree_chunk(way, MIB, 16) == MIB / 16
    assert ring_chunk(2**34, 16, 16, google) == 4 * MIB
    assert ring_chunk(16 * MIB, 16, 16, google) == 16 * MIB / 256


def test_nvls_takes_as_many_rounds_as_chunks_and_two_to_fill():
    """16 MiB in rounds of 128 x 32 KiB: four at 16 x 18.75 GB/s, two alone on NVLink, and 5.2 us each."""
    round_s, first_s = (PARTS * 32 * KIB / rate + 5.2 * US for rate in (16 * 18.75 * GB, H100.nvlink))
    found = cost("nvls", "simple", 16 * MIB)
    assert found.base_s + 16 * MIB / found.bandwidth == pytest.approx(6 * US + 4 * round_s + 2 * first_s)


def test_a_tree_fills_hop_by_hop():
    """8 MiB over 16 channels is one slot of 512 KiB each: over NVLink at once, over the NICs half of them at a time."""
    small, found = cost("tree", "simple", 8, TWO), cost("tree", "simple", 8 * MIB, TWO)
    assert found.intra_s - 1.4 * small.intra_s == pytest.approx(8 * MIB / H100.nvlink, rel=1e-4)
    assert found.inter_s - 1.4 * small.inter_s == pytest.approx(4 * MIB / (8 * H100.nic), rel=1e-4)
    assert cost("tree", "simple", 2**30, TWO).inter_s == found.inter_s


def test_over_many_nodes_both_children_wait_for_a_nic_but_the_roots():
    """Four levels: the root's hop has 8 of 16 channels' chunks of 64 KiB at a time, each of three others all."""
    found, empty = (cost("nvls-tree", "simple", size, SIXTEEN).inter_s for size in (2**30, 8))
    assert found - empty == pytest.approx(16 * 64 * KIB / H100.nic * 7 / 8, rel=1e-4)


def test_each_step_of_a_ring_waits_once_more_in_each_round_after_the_first():
    """8 ranks of 24 channels send 2 MiB a step: rounds of 384 MiB."""
    first, third = (cost("ring", "simple", times * 8 * 24 * 2 * MIB, machine=A100).base_s for times in (1, 3))
    assert third - first == pytest.approx(2 * 14 * 3.4 * US)


def test_a_channel_passes_4_kib_on_by_ll_in_a_third_of_a_microsecond():
    """Its 512 threads' 8 B at 13 GB/s; above that there are more channels."""
    small, full = cost("tree", "ll", 8, TWO), cost("tree", "ll", 4 * KIB, TWO)
    assert full.intra_s - small.intra_s == pytest.approx(4 * KIB / (13 * GB), rel=1e-2)
    assert full.inter_s - small.inter_s == pytest.approx(4 * KIB / (13 * GB), rel=1e-2)
    assert cost("tree", "ll", 16 * KIB, TWO).intra_s == pytest.approx(full.intra_s)


def test_a_ring_has_what_its_channels_pass_on_by_ll_up_to_nccl_s_most():
    """512 KiB are 16 channels of 13 GB/s, more than the 141 GB/s of NCCL's table for Hopper; 64 KiB are two."""
    two, sixteen = (cost("ring", "ll", size).bandwidth * 14 / 8 for size in (64 * KIB, 512 * KIB))
    assert (two, sixteen) == pytest.approx((26 * GB, 141 * GB))


def test_a_ring_on_ampere_has_less_by_ll128_than_nccl_s_table():
    """165 GB/s in all, where the table has 20 for each of 12 channels, and for each of 8 over two nodes."""
    assert cost("ring", "ll128", 8 * MIB, machine=A100).bandwidth * 14 / 8 == pytest.approx(165 * GB)
    assert cost("ring", "ll128", 8 * MIB, TWO, machine=A100).bandwidth * 30 / 16 == pytest.approx(8 * 20 * GB)
    assert cost("ring", "ll128", 8 * MIB).bandwidth * 14 / 8 == pytest.approx(12 * 36.7 * GB)


@pytest.mark.parametrize(
    ("machine", "protocol", "hop_us"),
    [
        (H100, "ll", 0.6),
        (H100, "ll128", 1.9),
        (A100, "ll", 1.7 * 0.6),
        (A100, "ll128", 1.9),
        (B200, "ll", 2.1 * 0.6),
        (B200, "ll128", 1.9 * 1.9),
    ],
)
def test_a_hop_over_nvlink_takes_what_was_measured_on_each_gpu(machine, protocol, hop_us):
    assert cost("ring", protocol, 8, machine=machine).intra_s == pytest.approx(hop_us * US)


@pytest.mark.parametrize("nodes", [2, 4, 16])
def test_a_ring_s_slowest_data_crosses_the_network_once_for_each_node(nodes):
    """Of n - 1 hops m are between nodes, at 5 us, and the others at 0.6; the engine counts m - 1 of the former."""
    found = cost("ring", "ll", 8, nccl.Group(8 * nodes, nodes), kind="all-gather")
    hops = (8 * nodes - 1 - (nodes - 1)) * found.intra_s + (nodes - 1) * found.inter_s
    assert hops == pytest.approx(((8 * nodes - 1 - nodes) * 0.6 + nodes * 5.0) * US)


def test_a_ring_of_one_gpu_a_node_has_no_other_hops_to_spare():
    assert cost("ring", "ll", 8, nccl.Group(4, 4), kind="all-gather").inter_s == pytest.approx(5 * US)


def test_trees_on_blackwell_carry_over_many_nodes_what_they_do_over_two():
    """8 channels of 42.8, where NCCL's table has 24 beyond two nodes; over two 1.05 times that."""
    many, two = (cost("tree", "simple", 2**30, group, machine=B200) for group in (nccl.Group(128, 16), TWO))
    assert many.bandwidth == pytest.approx(8 * 42.8 / 2 * GB)
    assert two.bandwidth == pytest.approx(8 * 42.8 / 2 * 1.05 * GB)


def test_trees_of_twice_the_channels_carry_twice_as_much():
    """2.27.3 runs 32 channels between two nodes of B200, where HEAD runs the 16 that its table is of."""
    more, fewer = (cost("tree", "simple", 2**30, TWO, machine=B200, version=each) for each in ("2.27", "HEAD"))
    assert more.bandwidth == pytest.approx(2 * fewer.bandwidth)


def test_a_broadcast_goes_round_once():
    large, larger = (cost("ring", "simple", size, kind="broadcast").base_s for size in (2**30, 2**34))
    assert large == larger


@pytest.mark.parametrize(
    ("name", "protocol", "more_us"), [("efa-v1", "simple", 34), ("efa-v2", "ll", 20), ("tcpxo", "simple", 14)]
)
def test_a_transport_adds_to_hops_between_nodes_alone(name, protocol, more_us):
    machine = replace(H100, transport=nccl.transport(name))
    slower, plain = cost("tree", protocol, 8, TWO, machine=machine), cost("tree", protocol, 8, TWO)
    assert slower.inter_s - plain.inter_s == pytest.approx(more_us * US, rel=1e-3)
    assert (slower.intra_s, slower.base_s) == (plain.intra_s, plain.base_s)


def test_a_transport_reaches_its_part_of_the_nics():
    machine = replace(H100, nic=25 * GB, transport=nccl.transport("tcpxo"))
    assert cost("ring", "ll128", 2**34, TWO, machine=machine).bandwidth == pytest.approx(8 * 25 * GB * 0.95 * 8 / 15)
    assert cost("tree", "simple", 2**34, TWO, machine=machine).bandwidth <= 8 * 25 * GB * 0.95


@pytest.mark.parametrize(
    ("name", "machine", "group", "expected"),
    [
        ("tcpx", H100, TWO, ("rail-ring", "simple", 12)),
        ("verbs", B200, ONE, ("rail-ring", "ll", 32)),
        ("efa-v4", B200, ONE, ("nvls", "simple", 3)),
    ],
)
def test_nccl_chooses_of_what_its_transport_leaves_it(name, machine, group, expected):
    machine = replace(machine, transport=nccl.transport(name))
    choose = nccl.choose("all-reduce", MIB, group, machine, nccl.constants(), PATHS)
    assert (choose.algorithm, choose.protocol, choose.channels) == expected


@pytest.mark.parametrize(
    ("parts", "name"),
    [(("aws-p5", "efa-v2"), "efa-v2"), (("gcp-a3-mega", "gvnic-200g"), "tcpxo"), (("hgx-h100", "connectx-7"), "verbs")],
)
def test_a_transport_belongs_to_a_server_or_its_nic(parts, name):
    assert nccl.transport_of(*parts) == name


def test_what_a_hop_takes_does_not_change_with_the_version_that_chooses():
    assert cost("tree", "simple", 8, TWO, version="2.21") == cost("tree", "simple", 8, TWO)


@given(
    st.floats(8, 2**35),
    st.floats(1, 4),
    st.sampled_from([("ring", "ll"), ("ring", "ll128"), ("ring", "simple"), ("tree", "ll"), ("tree", "simple")]),
    st.sampled_from([ONE, TWO, SIXTEEN]),
    st.sampled_from([H100, A100, B200]),
)
def test_more_bytes_take_longer(size, times, way, group, machine):
    def took(bytes_):
        found = cost(*way, bytes_, group, machine=machine)
        return found.base_s + 14 * found.intra_s + 2 * found.inter_s + bytes_ / found.bandwidth

    assert took(size * times) >= took(size) * (1 - 1e-9)
