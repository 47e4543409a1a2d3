"""Logs beside expectations: what they are compared with, when they agree, and when they cannot be compared."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.expect.conftest import Log, devices

from eastwest import expect, observe, spec
from eastwest.errors import InputError
from eastwest.expect import Comparison, Fault

Compare = Callable[..., Comparison]
HEADS = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
OLD = Path(__file__).parents[1] / "data" / "nccl_tests" / "a100-old-columns.log"


@pytest.mark.parametrize("program", ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast"])
@pytest.mark.parametrize("nodes", [1, 2, 8])
def test_a_clean_log_agrees_and_nothing_is_suggested(log: Log, compared: Compare, program: str, nodes: int) -> None:
    found = compared(log(program=program, nodes=nodes))
    assert found.agrees
    assert expect.diagnosed(found) == ()


def test_a_log_is_compared_on_as_many_servers_as_it_has(log: Log, compared: Compare) -> None:
    scene = compared(log(nodes=4)).scene
    assert (scene.nodes, scene.per_node) == (4, 8)


def test_ratios_are_measured_rates_over_expected_ones(compared: Compare, study: spec.Study) -> None:
    size = 1 << 30
    time_s, _ = expect.scene(study, "rails", expect.program("all_reduce"), 2, 8).ran(size)
    algbw = size / (2 * time_s) / 1e9
    row = f"{size} {size // 4} float sum -1 {2e6 * time_s:.2f} {algbw:.2f} {algbw * 1.875:.2f} 0\n"
    (pair,) = compared(devices(2) + HEADS + row).pairs
    assert pair.ratio == pytest.approx(0.5, rel=1e-3)
    assert (pair.band, pair.busbw) == ("plateau", pytest.approx(algbw * 1.875e9, rel=1e-3))


def test_sizes_run_several_times_count_by_their_median(log: Log, compared: Compare) -> None:
    clean, slow = (log(fault, nodes=4, noise=0.0).splitlines() for fault in (Fault(), Fault(nics=0.1)))
    again = [line for line in [*slow, *clean] if line[:1] == " "]
    assert not compared("\n".join(slow)).agrees
    assert compared("\n".join([*clean, *again])).agrees


def test_one_thread_that_launches_on_eight_gpus_is_expected_to_take_longer(log: Log, compared: Compare) -> None:
    heads = "# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 4(factor) warmup iters: 5 iters: 20\n"
    alone, driven = (compared(said + log(nodes=1)).pairs[0].expected.time_s for said in ("", heads))
    assert driven == pytest.approx(max(alone, 8 * 4.4e-6))  # validation/programs.py: 4.4 us a launch


@given(st.lists(st.floats(0.01, 1e9), min_size=1, max_size=24))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_times_of_any_kind_are_compared_and_diagnosed(compared: Compare, times_us: list[float]) -> None:
    rows = "".join(
        f"{8 << number} {2 << number} float sum -1 {time_us:.2f} 0 0 0\n" for number, time_us in enumerate(times_us)
    )
    found = compared("all_reduce_perf\n" + devices(2) + HEADS + rows)
    assert all(each.evidence for each in expect.diagnosed(found))


def test_a_forced_algorithm_is_what_is_expected(log: Log, compared: Compare, study: spec.Study) -> None:
    said = "n1:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n"
    found = compared(log(Fault(algorithm="rail-ring"), said=said))
    assert found.scene.algorithm == "rail-ring"
    assert found.agrees


def test_small_messages_are_not_judged_where_software_s_part_is_not_known(log: Log, compared: Compare) -> None:
    found = compared(log(program="sendrecv"))
    assert all(pair.is_judged == (pair.band != "small" or pair.expected.has_software) for pair in found.pairs)


def test_a_real_log_of_another_gpu_does_not_agree_and_says_why(study: spec.Study) -> None:
    (benchmark,) = observe.read(OLD)
    found = expect.compare(study, "rails", benchmark)
    assert not found.agrees
    (finding,) = expect.diagnosed(found)
    assert finding.says.startswith("The log is of A100-SXM4-40GB, the study's servers have h100-sxm")


def test_ranks_sit_where_the_log_lists_them(log: Log, compared: Compare) -> None:
    # ranks in turn on two servers: each message to the next rank crosses between them, and shares a NIC with none
    packed = log(program="sendrecv", nodes=2)
    heads = [
        f"#  Rank {rank:2} Group  0 Pid 1 on node-{rank % 2} device {rank // 2} [00] NVIDIA H100\n"
        for rank in range(16)
    ]
    in_turn = "".join(heads) + packed[packed.index("# eastwest") :]
    scene = compared(in_turn).scene
    servers = scene.bench.network.fabric.nodes["server"].to_numpy()[scene.bench.gpus]
    assert servers.tolist() == [0, 1] * 8


def test_an_unnamed_all_reduce_is_known_by_its_bandwidths(study: spec.Study) -> None:
    a100 = study.changed({"clusters": {"pod": {"server": "hgx-a100", "servers": 2}}}, by="test")
    slower = a100.changed({"fabrics": {"rails": {**RAILS, "link": "200 Gb/s"}}}, by="test")
    (benchmark,) = observe.read(OLD)
    found = expect.compare(slower, "rails", benchmark)
    assert (found.scene.program.name, found.scene.ranks) == ("all_reduce_perf", 8)


RAILS = {"shape": "rail-optimized", "technology": "rocev2", "switch": "sn5600"}
ROW = "1073741824 268435456 float sum -1 4400.0 244.03 457.56 0 4400.0 244.03 457.56 0\n"


@pytest.mark.parametrize(
    ("text", "asked", "told"),
    [
        (HEADS + ROW.replace("sum", "none"), {}, "does not name its program"),
        (HEADS + ROW.replace("457.56", "244.03"), {}, "does not name its program"),
        (devices(2) + HEADS + ROW.replace("457.56", "427.05"), {}, "busbw is 1.750 of algbw"),
        (devices(9) + HEADS + ROW.replace("457.56", "481.28"), {}, "the log has 9 servers"),
        (devices(2) + HEADS + ROW, {"nodes": 4}, "the log has 2 servers, and --nodes asks for 4"),
        (devices(2) + HEADS + ROW, {"per_node": 4}, "the log has 8 GPUs of each server"),
        (devices(2).replace("node-1", "node-0", 3) + HEADS + ROW, {}, "different numbers of ranks"),
        (devices(1, 1) * 2 + HEADS + ROW, {}, "built without MPI"),
        (
            "all_reduce_perf\n" + HEADS + ROW,
            {"asked": expect.program("alltoall")},
            "--collective asks for alltoall_perf",
        ),
        ("scatter_perf\n" + HEADS + ROW, {}, "scatter_perf is not predicted"),
        (HEADS + ROW.replace("457.56", "0.00"), {"asked": expect.program("sendrecv")}, "how many ranks"),
    ],
)
def test_what_cannot_be_compared_is_refused(compared: Compare, text: str, asked: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told) as refusal:
        compared(text, **asked)
    assert str(refusal.value).startswith("run.log")
