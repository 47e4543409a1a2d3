"""What NCCL's sends and receives cost: latencies of a ring's step, posting, and the part of NVLink that they reach."""

from dataclasses import replace

import pytest

from eastwest import spec
from eastwest.study import run
from eastwest.workload import nccl

US, GB, KIB, MIB = 1e-6, 1e9, 2**10, 2**20
H100 = nccl.Machine("hopper", nvlink=18 * 20.6 * GB, nic=50 * GB)
ONE, TWO, SIXTEEN = nccl.Group(8, 1), nccl.Group(16, 2), nccl.Group(128, 16)
PATHS = nccl.Paths(nvlink_s=3 * US, network_s=2 * US)


def test_small_messages_inside_a_node_go_by_ll_and_larger_ones_by_simple():
    small, large = (nccl.send_recv(size, 0, H100, PATHS) for size in (16 * KIB, 16 * KIB + 1))
    assert (small.base_s, small.intra_s) == pytest.approx((6.6 * US, (0.6 - 3) * US))
    assert (large.base_s, large.intra_s) == pytest.approx((8.4 * US, (3.4 - 3) * US))


def test_a_message_to_another_node_has_the_transports_latency():
    aws = replace(H100, transport=nccl.transport("efa-v2"))
    assert nccl.send_recv(8, 1, H100, PATHS).inter_s == pytest.approx((14 - 2) * US)
    assert nccl.send_recv(8, 1, aws, PATHS).inter_s == pytest.approx((14 + 20 - 2) * US)


def test_each_further_message_to_another_node_is_posted_after_the_one_before():
    two, sixteen = (nccl.all_to_all(8, group, H100, PATHS).base_s for group in (TWO, SIXTEEN))
    assert two == pytest.approx((8.4 + 7 * 3) * US)
    assert sixteen - two == pytest.approx((120 - 8) * 3 * US)


def test_posting_takes_twice_as_long_on_a_cpu_of_amd():
    intel, amd = (nccl.all_to_all(8, TWO, replace(H100, cpu=cpu), PATHS).base_s for cpu in ("intel", "amd"))
    assert amd - intel == pytest.approx(7 * 3 * US)


@pytest.mark.parametrize(("architecture", "part"), [("ampere", 0.81), ("hopper", 1.0), ("blackwell", 1.0)])
def test_messages_reach_a_part_of_nvlink_as_more_bytes_on_the_wire(architecture, part):
    machine = replace(H100, architecture=architecture)
    assert nccl.send_recv(MIB, 0, machine, PATHS).wire == pytest.approx(1 / part)
    assert nccl.all_to_all(2**30, ONE, machine, PATHS).wire == pytest.approx(1 / 0.875)


def test_between_nodes_they_reach_the_transports_part_of_the_nics():
    aws = replace(H100, transport=nccl.transport("efa-v2"))
    assert nccl.all_to_all(2**30, TWO, aws, PATHS).wire == pytest.approx(1 / 0.85)
    assert nccl.all_to_all(2**30, TWO, H100, PATHS).wire == 1.0


def study(server, *operations, servers=2, technology="infiniband", switch="qm9700"):
    fabric = {"shape": "rail-optimized", "technology": technology, "link": "400 Gb/s", "switch": switch}
    return spec.from_mapping(
        {
            "name": "messages",
            "clusters": {"pod": {"server": server, "servers": servers}},
            "fabrics": {"net": fabric},
            "workloads": {"job": {"kind": "operations", "operations": list(operations)}},
        }
    )


@pytest.mark.parametrize(("pairs", "expected_us"), [([[0, 8]], 8.4 + 14), ([[0, 1]], 6.6 + 0.6)])
def test_a_message_of_a_study_takes_what_nccl_s_takes_where_it_says_so(pairs, expected_us):
    message = {"name": "send", "send_recv": {"pairs": pairs}, "bytes": "8 B"}
    (with_nccl,) = run(study("hgx-h100", {**message, "protocol": "auto"})).rows
    (without,) = run(study("hgx-h100", message)).rows
    assert with_nccl.step_s == pytest.approx(expected_us * US, rel=1e-3)
    assert without.step_s < with_nccl.step_s


def test_an_all_to_all_on_one_server_reaches_seven_eighths_of_nvlink():
    exchange = {"name": "swap", "collective": "all-to-all", "bytes": "8 GiB", "algorithm": "auto"}
    (row,) = run(study("hgx-h100", exchange, servers=1)).rows
    assert 7 / 8 * 2**33 / row.step_s == pytest.approx(0.875 * H100.nvlink, rel=0.001)


def test_messages_of_gpus_that_nccl_does_not_know_are_refused():
    message = {"name": "send", "send_recv": {"shift": 1}, "bytes": "8 B", "protocol": "auto"}
    asked = study("hgx-mi300x", message, technology="rocev2", switch="sn5600")
    with pytest.raises(spec.StudyError, match="NCCL has no constants for the GPU mi300x"):
        run(asked)
