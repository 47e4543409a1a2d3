"""Logs made by degrading the simulated network: what was done to it is what is suggested first.

Real tables stand at the end, with the causes that their owners found.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.expect.conftest import Log, devices

from eastwest import expect, observe, spec
from eastwest.expect import Comparison, Fault, Finding

Compare = Callable[..., Comparison]
NETWORK = "n1:1:2 [{1}] NCCL INFO Channel 0{0}/0 : 0[0] -> 8[0] [send] via NET/IB/{0}/GDRDMA\n"


def first(comparison: Comparison) -> Finding:
    found = expect.diagnosed(comparison)
    assert found, [(band.name, band.ratio) for band in comparison.bands]
    return found[0]


def told(finding: Finding) -> str:
    return " ".join(cause.what for cause in finding.causes)


@pytest.mark.parametrize(
    ("part", "cause"),
    [(0.5, "4 of 8 rails"), (0.5, "ACS"), (0.5, "200 Gb/s"), (0.125, "one NIC"), (0.26, "Gen3 x16 or Gen4 x8")],
)
@pytest.mark.parametrize("program", ["all_reduce", "all_gather", "alltoall"])
def test_nics_of_less_than_their_rate_are_found_with_what_leaves_so_much(
    log: Log, compared: Compare, part: float, cause: str, program: str
) -> None:
    found = compared(log(Fault(nics=part), program, nodes=4))
    assert not found.agrees
    assert first(found).name == "slow-nics"
    assert first(found).model.nics == pytest.approx(part, rel=0.1)
    assert cause in told(first(found))


def test_nics_that_the_log_leaves_out_are_stated_and_not_guessed(log: Log, compared: Compare) -> None:
    said = "".join(NETWORK.format(nic % 4, nic) for nic in range(8))
    found = expect.diagnosed(compared(log(Fault(nics=0.5), nodes=4, said=said)))
    assert (found[0].name, found[0].is_certain) == ("idle-nics", True)
    assert found[0].says == "4 of 8 NICs carry channels"
    assert found[0].explains > 0.8


def test_a_flat_gap_at_small_messages_is_told_in_microseconds(log: Log, compared: Compare) -> None:
    found = first(compared(log(Fault(wait_s=60e-6), nodes=2, noise=0.02)))
    assert found.name == "latency-gap"
    assert found.model.wait_s == pytest.approx(60e-6, rel=0.1)
    assert "no GPUDirect RDMA" in told(found)


def test_nvlink_sharp_that_is_off_is_known_by_a_ring_s_plateau(log: Log, compared: Compare) -> None:
    found = first(compared(log(Fault(algorithm="rail-ring"), nodes=1)))
    assert found.name == "no-nvls"
    assert found.explains > 0.8


def test_a_ring_at_two_servers_where_a_tree_is_expected_is_known(log: Log, compared: Compare) -> None:
    found = first(compared(log(Fault(algorithm="tree"), nodes=2, noise=0.02)))
    assert found.name == "no-nvls"
    assert "Tree at every size" in found.says


def test_slow_nics_that_are_late_too_point_at_host_memory(log: Log, compared: Compare) -> None:
    found = first(compared(log(Fault(nics=0.5, wait_s=60e-6), nodes=4, noise=0.02)))
    assert found.name == "slow-nics"
    assert found.model.wait_s == pytest.approx(60e-6, rel=0.1)
    assert "no GPUDirect RDMA" in found.causes[0].what


def test_an_all_to_all_without_pxn_is_known_where_rails_meet_at_spines_alone(log: Log, compared: Compare) -> None:
    text = log(Fault(algorithm="direct"), "alltoall", nodes=8, fabric="thin")
    assert "no-pxn" in [each.name for each in expect.diagnosed(compared(text, "thin"))]


def test_gpus_that_talk_over_pcie_are_found_in_one_server(log: Log, compared: Compare) -> None:
    found = first(compared(log(Fault(nvlink=0.08), "all_gather", nodes=1)))
    assert found.name == "slow-nvlink"
    assert "PCIe or host memory" in told(found)


def test_links_between_switches_are_found_where_they_rule(log: Log, compared: Compare) -> None:
    text = log(Fault(switches=0.25), "alltoall", nodes=8, fabric="leaves")
    found = expect.diagnosed(compared(text, "leaves"))
    assert "slow-switches" in [each.name for each in found[:2]]


def test_more_servers_that_fall_short_by_more_point_at_the_network(log: Log, compared: Compare) -> None:
    logs = [log(program="alltoall", nodes=2, fabric="leaves")]
    logs.append(log(Fault(switches=0.2), "alltoall", nodes=8, fabric="leaves"))
    (found,) = expect.across([compared(each, "leaves") for each in logs])
    assert found.name == "falls-with-servers"
    assert "ECMP" in told(found)


def test_clean_logs_of_several_sizes_say_nothing_together(log: Log, compared: Compare) -> None:
    assert expect.across([compared(log(nodes=nodes)) for nodes in (1, 2, 4, 8)]) == ()


def test_sockets_in_the_log_come_first(log: Log, compared: Compare) -> None:
    said = "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
    found = first(compared(log(Fault(nics=0.03), said=said)))
    assert (found.name, found.is_certain) == ("sockets", True)


def test_a_plug_in_that_the_study_does_not_name_is_told(log: Log, compared: Compare) -> None:
    said = "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA\n"
    found = first(compared(log(Fault(wait_s=60e-6), said=said)))
    assert (found.name, found.is_certain) == ("other-transport", True)
    assert "transport: efa-v2" in found.causes[0].confirm


def test_channels_without_gpudirect_are_named(log: Log, compared: Compare) -> None:
    said = "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n"
    assert "no-gpudirect" in [
        each.name for each in expect.diagnosed(compared(log(Fault(nics=0.5), nodes=4, said=said)))
    ]


def test_shared_memory_in_place_of_nvlink_is_named(log: Log, compared: Compare) -> None:
    said = "n1:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
    assert first(compared(log(Fault(nvlink=0.05), nodes=1, said=said))).name == "no-peer-access"


def test_settings_that_slow_nccl_are_named(log: Log, compared: Compare) -> None:
    said = "n1:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n"
    found = {each.name: each for each in expect.diagnosed(compared(log(Fault(nvlink=0.05), nodes=1, said=said)))}
    assert "NCCL_P2P_DISABLE=1" in found["settings"].says


def test_wrong_results_come_before_all_else_and_never_agree(log: Log, compared: Compare) -> None:
    text = log()
    last = text.rstrip().splitlines()[-2]
    found = compared(text.replace(last, last.replace("N/A", "  3", 1)))
    assert not found.agrees
    assert first(found).name == "wrong-results"


def test_a_run_that_broke_off_does_not_agree_though_its_rates_do(log: Log, compared: Compare) -> None:
    found = compared(log() + "node-0: Test CUDA failure common.cu:411 'out of memory'\n")
    assert all(band.agrees for band in found.bands)
    assert not found.agrees
    assert first(found).name == "broken-off"
    assert "Test CUDA failure common.cu:411 'out of memory'" in first(found).evidence[0]


def test_bandwidth_that_falls_as_messages_grow_is_congestion(log: Log, compared: Compare) -> None:
    found = compared(log())
    pairs = [
        replace(each, measured_s=each.measured_s * (10 if each.size_bytes > 1 << 26 else 1)) for each in found.pairs
    ]
    assert "collapse" in [each.name for each in expect.diagnosed(replace(found, pairs=tuple(pairs)))]


def test_single_slow_sizes_are_told_and_do_not_fail(log: Log, compared: Compare) -> None:
    found = compared(log(noise=0.02))
    middle = len(found.pairs) - 4
    pairs = [
        replace(each, measured_s=each.measured_s * (8 if place == middle else 1))
        for place, each in enumerate(found.pairs)
    ]
    dipped = replace(found, pairs=tuple(pairs))
    assert dipped.agrees
    assert first(dipped).name == "dips"


def test_cycles_of_different_times_are_told(log: Log, compared: Compare) -> None:
    text = log(nodes=4, noise=0.0)
    again = "\n".join(line for line in log(Fault(nics=0.2), nodes=4, noise=0.0).splitlines() if line[:1] == " ")
    assert "unsteady" in [each.name for each in expect.diagnosed(compared(text + again))]


def test_every_finding_has_evidence_and_a_command(log: Log, compared: Compare) -> None:
    for fault in (Fault(nics=0.5), Fault(nvlink=0.1), Fault(wait_s=1e-4), Fault(algorithm="tree")):
        for finding in expect.diagnosed(compared(log(fault))):
            assert finding.evidence
            assert all(cause.confirm for cause in finding.causes)


def measured(
    rows: list[tuple[int, float]], nodes: int, factor: float = 1.875, name: str = "NVIDIA H100 80GB HBM3"
) -> str:
    lines = [
        f"{size} {size // 4} float sum -1 {time_us} {size / time_us / 1e3:.2f} {size / time_us / 1e3 * factor:.2f} 0"
        for size, time_us in rows
    ]
    heads = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    return "all_reduce_perf\n" + devices(nodes, name=name) + heads + "\n".join(lines) + "\n"


def test_nvls_off_on_h200_is_known_by_its_plateau(study: spec.Study) -> None:
    # stas00/ml-engineering, network/README.md: 8 H200, 8 GiB, 365.6 GB/s with NCCL_NVLS_ENABLE=0 and 473.1 without
    h200 = study.changed({"clusters": {"pod": {"server": "hgx-h200", "servers": 1}}}, by="test")

    def compare(busbw: float) -> Comparison:
        time_us = (1 << 33) / busbw * 1.75 / 1e3
        text = measured([(1 << 33, time_us)], 1, factor=1.75, name="NVIDIA H200")
        (benchmark,) = observe.parse(text.encode(), "h200.log")
        return expect.compare(h200, "rails", benchmark)

    assert compare(473.1).agrees
    assert first(compare(365.6)).name == "no-nvls"


def test_four_rails_of_eight_on_mi355x_are_half_of_the_nics(study: spec.Study) -> None:
    # a runbook of MI355X servers with eight 400 Gb/s NICs, of which exactly four carried traffic
    amd = study.changed({"clusters": {"pod": {"server": "hgx-mi355x", "servers": 2}}}, by="test")
    rows = [(134217728, 1275.7), (536870912, 5029.3), (1073741824, 10045.0), (17179869184, 161309.0)]
    (benchmark,) = observe.parse(measured(rows, 2, name="AMD Instinct MI355X").encode(), "mi355x.log")
    assert "4 of 8 rails" in told(first(expect.compare(amd, "rails", benchmark)))


def test_an_old_plug_in_that_ramps_late_is_not_taken_for_slow_links(study: spec.Study) -> None:
    # awsome-distributed-training, nccl-tests: 2 x p5.48xlarge with NCCL 2.18.5 and aws-ofi-nccl 1.7.3
    rows = [(67108864, 1001.7), (134217728, 1725.6), (268435456, 3020.7), (536870912, 3599.7), (1073741824, 6426.1),
            (2147483648, 9195.2)]  # fmt: skip
    (benchmark,) = observe.parse(measured(rows, 2).encode(), "p5.log")
    assert [each.name for each in expect.diagnosed(expect.compare(study, "rails", benchmark))] == ["late-ramp"]


def test_the_collapse_across_racks_of_nccl_1453_is_congestion(compared: Compare) -> None:
    # NVIDIA/nccl issue 1453: three servers of H100, 8 x 400 Gb/s, of which two racks do not get along
    rows = [(4194304, 622.6), (8388608, 992.6), (16777216, 1334.9), (33554432, 2180.1), (67108864, 24410.0),
            (134217728, 49264.0), (268435456, 125807.0), (536870912, 193909.0)]  # fmt: skip
    assert "collapse" in [each.name for each in expect.diagnosed(compared(measured(rows, 3, factor=23 / 12)))]


def test_healthy_two_node_servers_of_oci_agree(compared: Compare) -> None:
    # oracle-quickstart/oci-hpc, documentation/Troubleshooting.md: 2 x BM.GPU.H100.8, 8 x 400 Gb/s, RoCEv2
    assert compared(measured([(1073741824, 4478.8), (2147483648, 8722.7)], 2)).agrees
