"""Scaling, message-size curves and sensitivity against closed forms and against studies run by hand."""

import pytest

from eastwest import spec
from eastwest.errors import InputError
from eastwest.study import build_fabric, curve, run, scaling, sensitivity
from eastwest.study.curve import bus_factor

PAYLOAD = 4096 / 4178  # of RoCEv2's line rate, as docs/engine.md derives it
PORT = 400e9 * PAYLOAD / 8


def study(operations, link="400 Gb/s", servers=8, **more):
    return spec.from_mapping(
        {
            "name": "asked",
            "clusters": {"pod": {"server": "hgx-h100", "servers": servers}},
            "fabrics": {
                "rails": {
                    "shape": "rail-optimized",
                    "technology": "rocev2",
                    "link": link,
                    "switch": "sn5400",
                    "balancing": "spray",
                    **more,
                }
            },
            "workloads": {"job": {"kind": "operations", "operations": operations}},
        }
    )


COMPUTE = {"name": "forward", "compute": "10 ms"}
GRADIENTS = {"name": "gradients", "collective": "all-reduce", "bytes": "4 GB", "after": ["forward"]}
EXPERTS = {"name": "dispatch", "collective": "all-to-all", "bytes": "4 GB", "after": ["forward"]}


def link_seconds(fabric, *tiers):
    """Latency of a path over links of these tiers, from the fabric's own table."""
    return sum(fabric.links.filter(tier=tier)["latency_s"].max() for tier in tiers)


@pytest.mark.parametrize(
    ("kind", "ranks", "factor"),
    [
        ("all-reduce", 8, 2 * 7 / 8),
        ("all-gather", 4, 3 / 4),
        ("reduce-scatter", 4, 3 / 4),
        ("all-to-all", 2, 1 / 2),
        ("broadcast", 64, 1),
        ("reduce", 64, 1),
    ],
)
def test_bus_bandwidth_is_counted_as_nccl_tests_does(kind, ranks, factor):
    assert bus_factor(kind, ranks) == pytest.approx(factor)


def test_a_large_all_reduce_s_bus_bandwidth_is_that_of_a_server_s_ports():
    found = curve(study([COMPUTE]), "rails", "all-reduce", [64 * 2**30])
    assert found.points[0].busbw == pytest.approx(8 * PORT, rel=0.01)


def test_a_small_all_to_all_takes_the_latency_of_a_path():
    asked = study([COMPUTE])
    found = curve(asked, "rails", "all-to-all", [8.0])
    up, down = ("gpu-pcie", "pcie-nic", "nic-leaf", "leaf-spine"), ("spine-leaf", "leaf-nic", "nic-pcie", "pcie-gpu")
    assert found.points[0].time_s == pytest.approx(link_seconds(build_fabric(asked, "rails"), *up, *down), rel=0.01)


def test_algorithm_bandwidth_is_size_over_time_and_time_never_falls_with_size():
    found = curve(study([COMPUTE]), "rails", "all-gather", [2.0**power for power in range(10, 31, 4)])
    assert all(point.algbw == pytest.approx(point.size_bytes / point.time_s) for point in found.points)
    assert [point.time_s for point in found.points] == sorted(point.time_s for point in found.points)


def test_a_curve_among_the_gpus_of_one_server_never_leaves_it():
    slow, fast = (
        curve(study([COMPUTE], link), "rails", "all-reduce", [1e9], gpus=8) for link in ("100 Gb/s", "400 Gb/s")
    )
    assert slow.points == fast.points


@pytest.mark.parametrize("gpus", [1, 65])
def test_a_collective_needs_two_gpus_and_no_more_than_there_are(gpus):
    with pytest.raises(InputError, match="joins 64"):
        curve(study([COMPUTE]), "rails", "all-reduce", [1e9], gpus=gpus)


@pytest.mark.parametrize(
    ("collective", "algorithm"), [("all-redcue", None), ("all-reduce", "rng"), ("all-to-all", "ring")]
)
def test_an_unknown_collective_or_algorithm_is_told(collective, algorithm):
    with pytest.raises(spec.StudyError, match=rf"^--collective {collective}(?: --algorithm {algorithm})?: "):
        curve(study([COMPUTE]), "rails", collective, [1e9], algorithm)


def test_a_swept_fabric_needs_a_choice():
    asked = study([COMPUTE], link=["100 Gb/s", "400 Gb/s"])
    with pytest.raises(InputError, match="leaves 2 combinations: choose one by link with --where"):
        curve(asked, "rails", "all-reduce", [1e9])
    assert curve(asked, "rails", "all-reduce", [1e9], where="link=400 Gb/s").points


def test_compute_alone_scales_linearly():
    (found,) = scaling(study([COMPUTE]), "rails", "job", (8, 64)).curves
    assert [(size.servers, size.gpus, size.efficiency) for size in found.sizes] == [(n, 8 * n, 1) for n in (1, 2, 4, 8)]
    assert [size.speedup for size in found.sizes] == [1, 2, 4, 8]
    assert "scales linearly" in found.findings[0]


def test_each_size_is_as_if_the_study_had_it():
    (found,) = scaling(study([COMPUTE, EXPERTS]), "rails", "job", (16, 64)).curves
    for size in found.sizes:
        (row,) = run(study([COMPUTE, EXPERTS], servers=size.servers)).rows
        assert (size.step_s, size.exposed_share) == (row.step_s, row.exposed_share)
    assert [size.efficiency for size in found.sizes] == [found.sizes[0].step_s / size.step_s for size in found.sizes]


def test_where_more_gpus_get_less_done_is_told():
    # Inside a server NVLink carries 7/8 of the buffer; among two, 8/16 of it goes through a port of a 30th of its rate:
    # the step takes more than twice as long, and two servers do less than one.
    (found,) = scaling(study([EXPERTS | {"after": []}], link="100 Gb/s"), "rails", "job", (8, 16)).curves
    one, two = found.sizes
    assert two.step_s == pytest.approx(8 / 16 * 4e9 / (100e9 * PAYLOAD / 8), rel=1e-2)
    assert two.speedup == pytest.approx(2 * one.step_s / two.step_s)
    assert two.speedup < 1
    assert found.findings[0].startswith("More GPUs made it slower: 16 get ")


def test_sizes_left_out_are_the_cluster_s_halved_while_the_workload_fits():
    (found,) = scaling(study([COMPUTE, EXPERTS | {"group": 16}]), "rails", "job").curves
    assert [size.servers for size in found.sizes] == [2, 4, 8]


def test_a_study_that_sweeps_its_servers_says_the_sizes_itself():
    (found,) = scaling(study([COMPUTE], servers=[3, 5]), "rails", "job").curves
    assert [size.servers for size in found.sizes] == [3, 5]


def test_a_measured_step_stays_measured_where_it_was():
    asked = study([COMPUTE]).changed(
        {
            "workloads": {
                "known": {
                    "kind": "measured",
                    "measured_on": {"fabric": "rails"},
                    "step": "2 s",
                    "exposed": "0.4 s",
                    "collective": {"kind": "all-reduce"},
                }
            }
        }
    )
    (found,) = scaling(asked, "rails", "known", (32, 128)).curves
    exposed = {size.gpus: size.exposed_share * size.step_s for size in found.sizes}
    assert exposed[64] == pytest.approx(0.4, rel=1e-5)
    assert exposed[32] == pytest.approx(0.4 * (31 / 32) / (63 / 64), rel=1e-2)


def test_strong_scaling_of_compute_alone_is_linear():
    found = scaling(study([COMPUTE]), "rails", "job", (8, 64), is_strong=True)
    (line,) = found.curves
    assert found.is_strong
    assert [size.step_s for size in line.sizes] == pytest.approx([0.010 / times for times in (1, 2, 4, 8)])
    assert [size.speedup for size in line.sizes] == pytest.approx([1, 2, 4, 8])
    assert [size.efficiency for size in line.sizes] == pytest.approx([1, 1, 1, 1])
    assert line.findings == ("It scales linearly up to 64 GPUs.",)


def test_strong_scaling_divides_the_batch_and_leaves_the_model_whole():
    tokens = {"name": "tensor", "collective": "all-reduce", "group": 8, "bytes": "256 MB", "carries": "batch"}
    hand_on = {"name": "hand-on", "send_recv": {"shift": 8}, "bytes": "64 MB"}
    asked = [COMPUTE, GRADIENTS, EXPERTS, tokens, hand_on]
    (found,) = scaling(study(asked), "rails", "job", (16, 64), is_strong=True).curves
    for size, part in zip(found.sizes, (1, 2, 4), strict=True):
        by_hand = [
            COMPUTE | {"compute": f"{10 / part} ms"},
            GRADIENTS,
            EXPERTS | {"bytes": f"{4 / part} GB"},
            tokens | {"bytes": f"{256 / part} MB"},
            hand_on | {"bytes": f"{64 / part} MB"},
        ]
        (row,) = run(study(by_hand, servers=size.servers)).rows
        assert size.step_s == pytest.approx(row.step_s, rel=1e-9)


def test_where_a_strong_scaling_curve_turns_is_told():
    """Ever less compute, ever more steps of a ring: 2 (n-1) of them, each of one path's latency or more."""
    ring = {"name": "gradients", "collective": "all-reduce", "bytes": "1 MB", "algorithm": "ring", "channels": 1}
    short = {"name": "forward", "compute": "200 us"}
    (found,) = scaling(study([short, ring | {"after": ["forward"]}]), "rails", "job", (8, 64), is_strong=True).curves
    steps = [size.step_s for size in found.sizes]
    assert steps[-1] > steps[-2]
    turn = found.sizes[steps.index(min(steps))]
    assert any(each.startswith("More GPUs made it slower: a step takes ") for each in found.findings)
    assert found.findings[-1].startswith(f"The curve turns at {turn.gpus} GPUs: ")
    assert found.findings[-1].endswith("none of the larger sizes is faster.")


def test_mixes_of_a_study_are_in_no_other_question_s_way():
    asked = study([COMPUTE, GRADIENTS])
    mixed = asked.changed({"mixes": {"all": {"jobs": [{"workload": "job", "servers": 8}]}}})
    assert scaling(mixed, "rails", "job") == scaling(asked, "rails", "job")
    assert curve(mixed, "rails", "all-reduce", [1e9]) == curve(asked, "rails", "all-reduce", [1e9])
    assert sensitivity(mixed, "rails", "job") == sensitivity(asked, "rails", "job")


def test_other_workloads_that_do_not_fit_every_size_are_in_no_scaling_s_way():
    asked = study([COMPUTE, GRADIENTS])
    wide = {"name": "wide", "collective": "all-to-all", "bytes": "1 MB", "group": 64}
    more = asked.changed(
        {"workloads": {**asked.written["workloads"], "wide": {"kind": "operations", "operations": [wide]}}}
    )
    assert scaling(more, "rails", "job", (8, 64)) == scaling(asked, "rails", "job", (8, 64))


def test_a_fabric_that_is_not_there_is_told_by_curves_too():
    with pytest.raises(InputError, match=r"no fabric 'rail'; did you mean 'rails'\?"):
        curve(study([COMPUTE]), "rail", "all-reduce", [1e9])


@pytest.mark.parametrize(
    ("fabric", "workload", "gpus", "said"),
    [
        ("rail", "job", None, "no fabric 'rail'; did you mean 'rails'?"),
        ("rails", "jab", None, "no workload 'jab'; did you mean 'job'?"),
        ("rails", "job", (12, 64), "whole servers of 8 GPUs"),
        ("rails", "job", (64, 8), "from few to many"),
    ],
)
def test_what_cannot_be_scaled_is_told(fabric, workload, gpus, said):
    with pytest.raises(InputError, match="^.*" + said.replace("?", r"\?")):
        scaling(study([COMPUTE]), fabric, workload, gpus)


def gains(asked, **more):
    return {each.resource: each for each in sensitivity(asked, "rails", "job", **more).gains}


def test_a_full_port_is_worth_what_amdahl_says():
    ring = GRADIENTS | {"algorithm": "ring", "channels": 1}
    found = sensitivity(study([COMPUTE, ring], shape="single-switch"), "rails", "job")
    by_name = {each.resource: each for each in found.gains}
    # one ring through every GPU: 2 (n-1)/n of the buffer through one port of each server
    exchange_s = 2 * 63 / 64 * 4e9 / PORT
    gain = exchange_s * (1 - 1 / 1.1) / (0.010 + exchange_s)
    assert by_name["links between NIC and leaf"].gain == pytest.approx(gain, rel=1e-2)
    assert by_name["GPU compute"].gain == pytest.approx(0.010 * (1 - 1 / 1.1) / found.step_s, rel=1e-6)
    assert by_name["PCIe"].gain == pytest.approx(0, abs=1e-9)


def test_latency_is_all_of_a_tiny_message_s_time():
    assert gains(study([EXPERTS | {"bytes": "8 B", "after": []}]))["latency"].gain == pytest.approx(0.10, rel=0.01)


def test_ports_and_spine_that_are_full_together_buy_nothing_one_by_one():
    # a single ring leaves every server at its last rail and enters the next at its first: the eight ports of one leaf
    # and its eight uplinks carry the same
    found = gains(study([COMPUTE, GRADIENTS | {"algorithm": "ring", "channels": 1}]))
    assert found["links between NIC and leaf"].gain == pytest.approx(0, abs=1e-9)
    assert found["links between switches"].gain == pytest.approx(0, abs=1e-9)


def test_an_oversubscribed_spine_buys_its_part_of_the_exchange():
    # 4:1 above the leaves holds an all-to-all back: a tenth more of it shortens the exchange to 1/1.1, compute stays
    found = sensitivity(
        study([COMPUTE, EXPERTS], servers=16, servers_per_unit=8, oversubscription="4:1"), "rails", "job"
    )
    by_name = {each.resource: each.gain for each in found.gains}
    assert by_name["links between switches"] == pytest.approx((1 - 0.010 / found.step_s) * (1 - 1 / 1.1), rel=1e-2)


def test_gains_come_sorted_and_a_fabric_without_a_resource_has_no_line_for_it():
    asked = study([COMPUTE, EXPERTS], servers=2, shape="single-switch")
    found = sensitivity(asked, "rails", "job").gains
    assert [each.gain for each in found] == sorted((each.gain for each in found), reverse=True)
    assert "links between switches" not in {each.resource for each in found}
