"""NCCL's tuning model: its arithmetic by hand from src/graph/tuning.cc, and where its predictions cross.

On 8 H100 with 18 NVLinks of 20.6 GB/s NCCL finds 12 channels of 30 GB/s inside a server, and 8 of 48 over 8 NICs of
400 Gb/s; of NVLS, 8 channels of 40 GB/s.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload import nccl

US, GB = 1e-6, 1e9
H100 = nccl.Machine("hopper", nvlink=18 * 20.6 * GB, nic=50 * GB)
A100 = nccl.Machine("ampere", nvlink=12 * 20.0 * GB, nic=25 * GB, nvlink_sharp=False)
B200 = nccl.Machine("blackwell", nvlink=18 * 40.1 * GB, nic=50 * GB)
ONE, TWO, SIXTEEN = nccl.Group(8, 1), nccl.Group(16, 2), nccl.Group(128, 16)
NO_PATHS = nccl.Paths(0.0, 0.0)
HEAD = nccl.constants()


def way(method, protocol, group=ONE, kind="all-reduce", machine=H100, constants=HEAD):
    return nccl.Way(kind, method, protocol, group, machine, constants)


def chosen(size, group, kind="all-reduce", machine=H100, constants=HEAD, **asked):
    found = nccl.choose(kind, size, group, machine, constants, NO_PATHS, **asked)
    return found.algorithm, found.protocol


@pytest.mark.parametrize(
    ("machine", "group", "found", "running"),
    [
        (H100, ONE, (12, 30), 24),  # "24 coll channels" in logs of DGX H100
        (H100, TWO, (8, 48), 16),
        (H100, nccl.Group(2, 2), (2, 24), 4),  # one NIC a node: one channel of 48, made two
        (A100, ONE, (12, 20), 24),  # 6 of 40, made 12
        (A100, SIXTEEN, (8, 24), 16),
        (B200, ONE, (16, 45), 32),  # 8 of 90, made 16
    ],
)
def test_a_ring_has_the_channels_that_nvlink_and_nics_carry(machine, group, found, running):
    ring = nccl.search("ring", group, machine)
    assert (ring.count, ring.inter / GB) == pytest.approx(found)
    assert nccl.running("ring", group, machine) == running


@pytest.mark.parametrize(
    ("of", "size", "latency_us", "bandwidth"),
    [
        # 6.6 + 14 steps of 0.6; LL's most on one node of Hopper, 141, by 8/14
        (way("ring", "ll"), 2**20, 6.6 + 14 * 0.6, 141 * 8 / 14),
        # 2 (7 x 1.25 + 8.5); 8 channels of 36.7 by half, and 0.6 of it at 1 MiB
        (way("tree", "ll128", TWO), 2**20, 14 + 2 * (7 * 1.25 + 8.5), 8 * 36.7 / 2 * 0.6),
        # the switch alone; 8 channels of 40 x 0.85 x 7/8 x 2
        (way("nvls", "simple"), 2**20, 25, 8 * 59.5 * 8 / 14),
        (way("nvls", "simple", kind="all-gather"), 2**20, 25, 8 * 40 * 0.85 * 7 / 8 * 7 / 8),
        (way("nvls-tree", "simple", SIXTEEN), 2**30, 25 + 8 * 20.9, 8 * 45.5 * 128 / 254),
        # 254 steps, 30 between nodes, all 1.4 times as long
        (way("ring", "simple", SIXTEEN), 2**30, 1.4 * (8.4 + 224 * 3.4 + 30 * 14), 8 * 48 * 128 / 254),
        (way("ring", "simple", SIXTEEN, "all-gather"), 2**30, 8.4 + 112 * 3.4 + 15 * 14, 8 * 48 * 128 / 127),
        (way("ring", "ll", TWO, "broadcast"), 2**20, 6.6 + 16 * 2.7, 39),
        # one GPU a node: the tree's constant between nodes
        (way("ring", "ll", nccl.Group(16, 16), "all-gather"), 2**20, 6.6 + 15 * 5.0, 20.4 * 16 / 15),
    ],
)
def test_a_prediction_is_latency_and_bytes_over_bandwidth(of, size, latency_us, bandwidth):
    assert of.latency(size).total_s == pytest.approx(latency_us * US)
    assert of.bandwidth(size) == pytest.approx(bandwidth * GB)
    assert of.time_s(size) == pytest.approx(latency_us * US + size / (bandwidth * GB))


def crossing(one, other):
    """Size at which two lines of (latency in us, GB/s) meet, bytes."""
    return (other[0] - one[0]) * US / (1 / (one[1] * GB) - 1 / (other[1] * GB))


@pytest.mark.parametrize(
    ("group", "before", "after", "size"),
    [
        (ONE, ("rail-ring", "ll"), ("nvls", "simple"), crossing((15.0, 141 * 8 / 14), (25, 476 * 8 / 14))),
        # corrections of trees: from 128 KiB to 256 KiB 0.5 (LL) and 0.6 (LL128), from 2 MiB 0.6, from 16 MiB 0.9
        (TWO, ("tree", "ll"), ("tree", "ll128"), crossing((25.2, 39 / 2 * 0.5), (48.5, 146.8 * 0.6))),
        (TWO, ("tree", "ll128"), ("nvls-tree", "simple"), crossing((48.5, 146.8 * 0.6), (66.8, 461.6 * 16 / 30))),
        (SIXTEEN, ("tree", "ll"), ("tree", "ll128"), crossing((55.2, 10.2 * 0.5), (99.5, 116 * 0.6))),
        (SIXTEEN, ("tree", "ll128"), ("nvls-tree", "simple"), crossing((99.5, 116 * 0.9), (192.2, 364 * 128 / 254))),
        (
            SIXTEEN,
            ("nvls-tree", "simple"),
            ("rail-ring", "simple"),
            crossing((192.2, 364 * 128 / 254), (1.4 * 1190, 384 * 128 / 254)),
        ),
    ],
)
def test_the_choice_changes_where_predictions_cross(group, before, after, size):
    assert chosen(size * 0.999, group) == before
    assert chosen(size * 1.001, group) == after


def test_one_node_of_hopper_runs_ll_to_1_mib_and_nvls_from_2_mib():
    """As measured on 8 H200 with NCCL 2.27.7 (all_reduce_bench of the smol training playbook)."""
    constants = nccl.constants("2.27")
    assert chosen(2**20, ONE, constants=constants) == ("rail-ring", "ll")
    assert chosen(2**21, ONE, constants=constants) == ("nvls", "simple")


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("2.26.2", "2.26"),
        ("2.24", "2.26"),
        ("2.27.5", "2.27.7"),
        ("2.27.3", "2.27"),
        ("2.30", "HEAD"),
        ("2.20.5", "2.21"),
    ],
)
def test_a_release_chooses_by_the_constants_that_are_its_own_or_nearest(release, version):
    assert nccl.version_of(release) == version


@pytest.mark.parametrize("release", ["2.11", "3.0", "2", "", "2.27x"])
def test_nothing_is_known_of_other_releases(release):
    assert nccl.version_of(release) is None


@pytest.mark.parametrize(
    ("version", "found", "running"),
    [
        ("HEAD", (8, 48), 16),
        ("2.27", (16, 24), 32),  # it tries 47.9, and 16 x 24 is more than 8 x 47.9
        ("2.26", (8, 48), 16),
    ],
)
def test_versions_find_other_channels_on_blackwell_since_they_try_other_speeds(version, found, running):
    ring = nccl.search("ring", TWO, B200, version)
    assert (ring.count, ring.inter / GB) == pytest.approx(found)
    assert nccl.running("ring", TWO, B200, version) == running


def test_two_nodes_of_b200_run_nvls_trees_from_64_mib_with_2_26():
    """As 700 GB/s of bus bandwidth show that 2.26.2 did (dstack's page on Lambda)."""
    assert {chosen(2.0**power, TWO, machine=B200, constants=nccl.constants("2.26"))[0] for power in range(26, 35)} == {
        "nvls-tree"
    }


@pytest.mark.parametrize(
    ("version", "group", "method", "bandwidth"),
    [
        # 8 channels, of which the search finds 40 inside a node and 48 between two, 5/6 of their sum
        ("2.27", ONE, "nvls", 8 * 40 * 5 / 6),
        ("2.27", TWO, "nvls-tree", 8 * 40 * 5 / 6),
        ("2.27", SIXTEEN, "nvls-tree", 8 * 24 * 5 / 6),
        ("2.18", SIXTEEN, "nvls-tree", 8 * 40 * 0.7 * 16 / 30),
    ],
)
def test_older_versions_reckon_nvls_their_own_way(version, group, method, bandwidth):
    of = way(method, "simple", group, constants=nccl.constants(version))
    assert of.bandwidth(2**30) == pytest.approx(bandwidth * GB)


def test_ampere_knows_no_nvls_and_ends_with_the_ring():
    assert {chosen(2.0**power, TWO, machine=A100)[0] for power in range(3, 35)} == {"tree", "rail-ring"}
    assert chosen(2**34, TWO, machine=A100) == ("rail-ring", "simple")


@given(st.floats(8, 2**35), st.sampled_from([ONE, TWO, SIXTEEN]), st.sampled_from([H100, A100, B200]))
def test_no_other_way_is_predicted_to_be_faster(size, group, machine):
    found = nccl.choose("all-reduce", size, group, machine, HEAD, NO_PATHS)
    times = {
        (method, protocol): way(method, protocol, group, machine=machine).time_s(size)
        for method in nccl.METHODS
        for protocol in nccl.PROTOCOLS
        if way(method, protocol, group, machine=machine).is_open
    }
    assert times[nccl.METHOD_OF[found.algorithm], found.protocol] == min(times.values())


def test_what_is_named_is_kept_and_the_rest_chosen():
    assert chosen(2**34, SIXTEEN, algorithm="tree", protocol="ll") == ("tree", "ll")
    assert chosen(8, SIXTEEN, protocol="simple")[1] == "simple"
    assert chosen(8, ONE, algorithm="ring") == ("ring", "ll")


def test_nodes_of_unequal_ranks_have_no_tree_over_nvls():
    assert chosen(2**30, nccl.Group(12, 2, is_even=False))[0] != "nvls-tree"


def test_an_all_to_all_goes_over_rails_where_ranks_share_nodes():
    assert chosen(1e6, TWO, "all-to-all") == ("pxn", None)
    assert chosen(1e6, ONE, "all-to-all") == ("direct", None)
    assert chosen(1e6, nccl.Group(16, 16), "all-to-all") == ("direct", None)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"machine": B200, "constants": nccl.constants("2.21")}, "NCCL 2.21 has no constants for blackwell GPUs"),
        ({"algorithm": "bruck"}, "NCCL has no constants for bruck"),
        ({"algorithm": "nvls-tree"}, "NCCL HEAD does not run all-reduce by nvls-tree over one node"),
    ],
)
def test_what_nccl_has_no_constants_for_is_refused(asked, said):
    with pytest.raises(nccl.NoConstantsError, match=said):
        chosen(1e6, ONE, **asked)


def test_costs_are_constants_less_the_paths_that_they_contain():
    paths = nccl.Paths(nvlink_s=3 * US, network_s=2 * US)
    found = nccl.overheads(way("tree", "ll", TWO), 8, paths, channels=16)
    expected = (6.8 * US, (0.6 - 3) * US, (5 - 2) * US)
    assert (found.base_s, found.intra_s, found.inter_s) == pytest.approx(expected, rel=1e-3)
    assert (found.wire, found.channel_rate) == pytest.approx((2.0, 39 * GB / 2 / 16))


def test_a_cpu_of_amd_posts_to_the_nic_more_slowly():
    intel, amd = (way("ring", "ll", TWO, machine=replace(H100, cpu=cpu)).latency(8).intra_s for cpu in ("intel", "amd"))
    assert (intel, amd) == pytest.approx((1 * US, 2 * US))
