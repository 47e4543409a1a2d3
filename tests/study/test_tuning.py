"""What a study leaves to NCCL: chosen by its tuning, run with its latencies, told in the result."""

import pytest

from eastwest import spec
from eastwest.study import build_fabric, curve, run, sensitivity, to_json
from eastwest.study.result import to_table

US = 1e-6
FABRIC = {"shape": "rail-optimized", "technology": "infiniband", "link": "400 Gb/s", "switch": "qm9700"}
SYNC = {"name": "sync", "collective": "all-reduce", "bytes": "1 MiB", "algorithm": "auto"}


def study(*operations, server="hgx-h100", servers=2, fabric=FABRIC, **more):
    return spec.from_mapping(
        {
            "name": "tuned",
            "clusters": {"pod": {"server": server, "servers": servers}},
            "fabrics": {"net": fabric},
            "workloads": {"job": {"kind": "operations", "operations": list(operations or [SYNC])}},
            **more,
        }
    )


def seconds(fabric, *tiers):
    links = fabric.links
    return sum(float(links.filter(links["tier"] == tier)["latency_s"].min()) for tier in tiers)


@pytest.mark.parametrize(
    ("gpus", "algorithm", "protocol", "latency_us"),
    [
        (8, "auto", "ll", 6.6 + 14 * 0.6),
        (8, "tree", "ll128", 14 + 14 * 1.25),
        (16, "auto", "ll", 6.8 + 14 * 0.6 + 2 * 5.0),
    ],
)
def test_a_small_message_takes_the_latency_that_nccl_predicts_where_a_switch_is_between(
    gpus, algorithm, protocol, latency_us
):
    found = curve(study(), "net", "all-reduce", [8.0], algorithm, gpus, protocol=protocol)
    assert found.points[0].time_s == pytest.approx(latency_us * US, rel=1e-3)


def test_a_ring_over_servers_has_the_paths_of_all_its_edges_by_their_mean():
    """14 of 16 edges are NVLink's: of 30 steps that is 26.25, where NCCL counts 28 and two between nodes.

    Data crosses the network four times, where NCCL counts two, at the 8.5 us that a tree's hop takes.
    """
    asked = study()
    built = build_fabric(asked, "net")
    over_nvlink = seconds(built, "gpu-nvlink", "nvlink-gpu")
    between = seconds(built, "gpu-pcie", "pcie-nic", "nic-leaf", "leaf-nic", "nic-pcie", "pcie-gpu")
    found = curve(asked, "net", "all-reduce", [8.0], "rail-ring", protocol="ll128")
    nccl_s = (14 + 26 * 1.9 + 4 * 8.5) * US
    assert found.points[0].time_s == pytest.approx(nccl_s + 1.75 * (between - over_nvlink), rel=1e-3)


def test_beyond_one_switch_a_hop_takes_as_much_longer_as_its_path():
    """One server a leaf: up to a spine and down again. The tree of two nodes passes twice."""
    asked = study(fabric={**FABRIC, "shape": "leaf-spine", "servers_per_unit": 1})
    near, far = (curve(each, "net", "all-reduce", [8.0], "tree", protocol="ll") for each in (study(), asked))
    beyond = seconds(build_fabric(asked, "net"), "leaf-spine", "spine-leaf")
    assert far.points[0].time_s - near.points[0].time_s == pytest.approx(2 * beyond, rel=1e-3)


def test_a_curve_names_what_ran_at_each_size():
    found = curve(study(), "net", "all-reduce", [8.0, 2.0**20, 2.0**30], "auto")
    assert [(point.algorithm, point.protocol, point.channels) for point in found.points] == [
        ("tree", "ll", 1),
        ("tree", "ll128", 16),
        ("nvls-tree", "simple", 2),
    ]
    assert found.algorithm == "auto"


def test_over_sizes_two_nodes_rise_above_what_their_nics_carry():
    """Each is the root of one tree: 1.05 times NCCL's table for 8 channels of NVLSTree, where NICs have 8 x 50 GB/s."""
    found = curve(study(), "net", "all-reduce", [2.0**power for power in range(3, 35)], "auto")
    times, rates = [point.time_s for point in found.points], [point.busbw for point in found.points]
    assert times == sorted(times)
    assert rates[-1] == max(rates) == pytest.approx(1.05 * 8 * 57.7e9, rel=0.01)
    assert rates[-1] > 8 * 50e9
    assert rates[0] < 1e6


def test_nvls_has_a_bus_bandwidth_that_nvlink_has_not_and_a_ring_has_less():
    """NVLink of an H100 has 450 GB/s a direction; NVLS makes 480 of them, rings at most 371."""
    nvls, ring = (
        curve(study(), "net", "all-reduce", [2.0**34], algorithm, 8, protocol="auto").points[0].busbw
        for algorithm in ("nvls", "rail-ring")
    )
    assert nvls > 450e9
    assert 0.95 * 371e9 < ring < 371e9


def test_the_result_tells_what_was_chosen():
    quick = {**SYNC, "name": "exchange", "collective": "all-to-all"}
    result = run(study(SYNC, quick, {**SYNC, "name": "plain", "algorithm": "tree"}))
    choices = [{"operation": "sync", "algorithm": "tree", "protocol": "ll128", "channels": 16}]
    choices += [{"operation": "exchange", "algorithm": "pxn", "protocol": None, "channels": 1}]
    assert [dict(each) for each in to_json(result)["results"][0]["choices"]] == choices
    assert "job, sync: NCCL (HEAD) would choose tree, ll128, 16 channels." in result.notes
    assert to_table(result)["choices"].to_list() == ["sync: tree, ll128, 16 channels; exchange: pxn, 1 channel"]


def test_without_a_word_of_nccl_nothing_is_chosen():
    plain = {key: value for key, value in SYNC.items() if key != "algorithm"}
    assert run(study(plain)).rows[0].choices == ()


def test_channels_that_are_named_are_kept():
    assert run(study({**SYNC, "channels": 4})).rows[0].choices[0].channels == 4


def test_a_group_is_chosen_for_by_the_nodes_that_it_spans():
    found = run(study({**SYNC, "group": 8}, {**SYNC, "name": "rails", "group": {"size": 2, "stride": 8}})).rows[0]
    assert [each.channels for each in found.choices] == [24, 4]


def test_ranks_spread_unevenly_run_what_the_engine_can():
    curve(study(), "net", "all-reduce", [2.0**30], "auto", gpus=12)


def test_a_rack_that_shares_nvlink_is_one_node():
    racks = {**FABRIC, "shape": "leaf-spine", "link": "400 Gb/s"}
    found = curve(study(server="gb200-nvl72", servers=18, fabric=racks), "net", "all-reduce", [2.0**30], "auto")
    assert found.points[0].algorithm == "nvls"


def test_the_size_of_a_measured_exchange_is_solved_for_with_what_nccl_would_choose():
    measured = {
        "kind": "measured",
        "measured_on": {"fabric": "net"},
        "step": "1 ms",
        "exposed": "0.1 ms",
        "collective": {"kind": "all-reduce", "algorithm": "auto"},
    }
    found = run(study(workloads={"job": measured}))
    assert found.rows[0].exposed_s == pytest.approx(1e-4, rel=1e-3)
    assert found.rows[0].choices[0].operation == "exchange"


def test_a_job_of_a_mix_tells_what_was_chosen():
    jobs = [{"workload": "job", "servers": 1}, {"workload": "job", "servers": 2}]
    found = run(study(servers=4, mixes={"both": {"jobs": jobs}})).jobs
    assert [each.choices[0].algorithm for each in found] == ["rail-ring", "tree"]


@pytest.mark.parametrize(
    ("operation", "more", "said"),
    [
        (SYNC, {"server": "hgx-mi300x"}, "workload 'job': NCCL has no constants for the GPU mi300x"),
        (SYNC, {"nccl": {"version": 2.12}}, "workload 'job': NCCL 2.12 has no constants for hopper GPUs"),
        (SYNC, {"nccl": {"version": "2.72"}}, "no constants are known of NCCL '2.72'"),
        (
            {**SYNC, "algorithm": "bruck", "collective": "all-gather", "protocol": "ll"},
            {},
            "NCCL has no protocols for all-gather by bruck (expected one of: auto, ring, rail-ring, nvls)",
        ),
        ({**SYNC, "algorithm": "nvls", "protocol": "ll"}, {}, "nvls runs by the simple protocol alone"),
        ({**SYNC, "collective": "all-to-all", "protocol": "ll"}, {}, "an all-to-all is sends and receives"),
        ({**SYNC, "protocol": "ll256"}, {}, "ll256"),
        (
            {**SYNC, "algorithm": "nvls-tree", "protocol": "auto"},
            {"servers": 1},
            "does not run all-reduce by nvls-tree",
        ),
    ],
)
def test_what_cannot_be_chosen_is_refused(operation, more, said):
    fabric = {**FABRIC, "technology": "rocev2", "switch": "sn5400"} if "server" in more else FABRIC
    with pytest.raises(spec.StudyError) as caught:
        run(study(operation, fabric=fabric, **more))
    assert said in str(caught.value)


def test_channels_that_carry_no_more_are_the_bottleneck_and_wider_ones_buy_what_they_say():
    """All of 2 GB goes at the rate of the channels, so that ones a little wider save that much, but for latency."""
    leaves = {**FABRIC, "technology": "rocev2", "switch": "sn5400", "servers_per_unit": 4, "balancing": "spray"}
    asked = study({**SYNC, "bytes": "2 GB"}, servers=8, fabric=leaves)
    (row,) = run(asked).rows
    (choice,) = row.choices
    assert (choice.algorithm, choice.channels) == ("nvls-tree", 2)
    assert row.bottleneck.where == "NCCL's channels"
    assert row.bottleneck.utilisation > 0.95
    assert "each of the 2 channels of nvls-tree" in row.bottleneck.why
    best = sensitivity(asked, "net", "job", more=0.02).gains[0]
    assert best.resource == "NCCL's channels"
    assert best.gain == pytest.approx(1 - 1 / 1.02, rel=0.05)


def test_small_messages_over_few_channels_still_wait_for_latency():
    (row,) = run(study({**SYNC, "bytes": "8 B"}, servers=8)).rows
    assert row.bottleneck.where == "latency"
