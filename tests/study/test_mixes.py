"""Several jobs on one cluster: who shares a link gets its arithmetic share of it, who shares none is not touched."""

from typing import Any

import polars as pl
import pytest

from eastwest import spec
from eastwest.fabric import Part, parted
from eastwest.study import StudyResult, build_fabric, jobs_table, run, to_json

PORT_BPS = 400e9 * 4096 / 4178
"""Payload of a NIC's port over RoCEv2."""
MESSAGE = {"name": "it", "send_recv": {"shift": 8}, "bytes": "1 GB"}
"""Every GPU sends to the same GPU of the next server."""
LEAVES = {"shape": "leaf-spine", "servers_per_unit": 2, "oversubscription": "4:1"}
"""Two servers, that is 16 NICs, to a leaf, which has 4 uplinks of a port's rate."""


def values(jobs: list[dict[str, Any]], fabric: dict[str, Any], servers: int = 4, **others: Any) -> dict[str, Any]:
    common = {"technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400", "balancing": "spray"}
    small = {"name": "sync", "collective": "all-reduce", "bytes": "100 MB"}
    return {
        "name": "mixed",
        "tolerance": 0,
        "clusters": {"pod": {"server": "hgx-h100", "servers": servers}},
        "fabrics": {"one": {**common, **fabric}},
        "workloads": {
            "messages": {"kind": "operations", "operations": [MESSAGE]},
            "larger": {"kind": "operations", "operations": [{**MESSAGE, "bytes": "3500 MB"}]},
            "training": {"kind": "operations", "operations": [{"name": "forward", "compute": "5 ms"}, small]},
        },
        "mixes": {"both": {"jobs": jobs, **others}},
    }


def result(*args: Any, where: str = "mix=both", **others: Any) -> StudyResult:
    return run(spec.from_mapping(values(*args, **others)), where=where)


def over_both_leaves() -> dict[str, Any]:
    """A placement that gives the first two servers of a mix one on each leaf, and so the other two."""
    fabric = build_fabric(spec.from_mapping(values([{"workload": "messages", "servers": 2}], LEAVES)), "one")
    server = dict(fabric.nodes.select("node", "server").iter_rows())

    def leaves(seed: int) -> set[int]:
        (gpus,) = parted(fabric, [Part(2, "scattered", seed)])
        return {server[int(gpu)] // 2 for gpu in gpus}

    return {"scattered": {"seed": next(seed for seed in range(1, 99) if len(leaves(seed)) == 2)}}


def test_jobs_that_share_uplinks_get_half_each() -> None:
    """Alone, 8 flows have 4 uplinks; together, 16. The larger messages change nothing: a faster job repeats itself."""
    jobs = [
        {"workload": "messages", "servers": 2, "placement": over_both_leaves()},
        {"workload": "larger", "servers": 2},
    ]
    small, large = result(jobs, LEAVES).jobs
    for row, size in ((small, 1e9), (large, 3.5e9)):
        assert row.alone_s == pytest.approx(size * 8 / (PORT_BPS / 2), rel=1e-3)
        assert row.step_s == pytest.approx(size * 8 / (PORT_BPS / 4), rel=1e-3)
        assert row.slowdown == pytest.approx(2.0, rel=1e-3)
        assert row.bottleneck.utilisation == pytest.approx(1.0, rel=1e-2)
        assert {row.bottleneck.where} < {"leaf to spine links", "spine to leaf links"}
    assert (small.shared_with, large.shared_with) == (("larger",), ("messages",))
    assert (small.steps, large.steps) == (3, 1)


def test_jobs_on_leaves_of_their_own_do_not_touch() -> None:
    jobs = [{"workload": "messages", "servers": 2}, {"workload": "training", "servers": 2}]
    for row in result(jobs, LEAVES).jobs:
        assert row.slowdown == pytest.approx(1.0, rel=1e-9)
        assert row.shared_with == ()


@pytest.mark.parametrize(
    ("offered_gbps", "left"), [(50, PORT_BPS - 50e9), (150, PORT_BPS - 150e9), (300, PORT_BPS / 2)]
)
def test_background_traffic_takes_what_it_offers_or_its_fair_share(offered_gbps: int, left: float) -> None:
    """Every NIC sends and receives one background flow beside the job's one."""
    beside = {"traffic": "permutation", "rate": f"{offered_gbps} Gb/s", "seed": 3}
    jobs = [{"workload": "messages", "servers": 4}]
    (row,) = result(jobs, {"shape": "single-switch"}, background=beside).jobs
    assert row.step_s == pytest.approx(8e9 / left, rel=1e-3)
    assert row.alone_s == pytest.approx(8e9 / PORT_BPS, rel=1e-3)
    assert row.shared_with == ("background traffic",)


def test_background_traffic_to_all_takes_as_much_of_each_port() -> None:
    beside = {"traffic": "all-to-all", "rate": "100 Gb/s"}
    (row,) = result([{"workload": "messages", "servers": 4}], {"shape": "single-switch"}, background=beside).jobs
    assert row.step_s == pytest.approx(8e9 / (PORT_BPS - 100e9), rel=1e-3)


def test_incast_slows_only_whoever_has_the_receiver() -> None:
    """56 GPUs offer 100 Gb/s each to one port; the job's flow to it has a 57th part, all others their own rate."""
    beside = {"traffic": "incast", "rate": "100 Gb/s", "seed": 1}
    (row,) = result([{"workload": "messages", "servers": 8}], {"shape": "single-switch"}, 8, background=beside).jobs
    assert row.step_s == pytest.approx(8e9 / (PORT_BPS / 57), rel=1e-3)


def test_a_job_does_its_steps_one_after_another() -> None:
    (row,) = result([{"workload": "training", "servers": 4, "steps": 5}], {"shape": "single-switch"}).jobs
    assert row.steps == 5
    assert row.step_s == pytest.approx(row.alone_s, rel=1e-9)


def test_each_job_is_slowed_by_its_own_overlap() -> None:
    asked = values([{"workload": "training", "servers": 2}, {"workload": "slowed", "servers": 2}], LEAVES)
    operations = [{"name": "forward", "compute": "5 ms"}, {"name": "sync", "send_recv": {"shift": 8}, "bytes": "1 GB"}]
    asked["workloads"]["training"] = {"kind": "operations", "operations": operations}
    asked["workloads"]["slowed"] = {**asked["workloads"]["training"], "overlap_slowdown": 9.0}
    plain, slowed = run(spec.from_mapping(asked), where="mix=both").jobs
    message_s = 8e9 / PORT_BPS
    assert plain.step_s == pytest.approx(message_s, rel=1e-3)
    assert slowed.step_s == pytest.approx(message_s + 5e-3 - message_s / 9, rel=1e-3)
    assert slowed.step_s == pytest.approx(slowed.alone_s)


def test_hashed_paths_are_drawn_as_often_as_the_study_says_and_alike_alone() -> None:
    jobs = [{"workload": "messages", "servers": 2, "placement": "scattered"}, {"workload": "training", "servers": 2}]
    asked = values(jobs, {**LEAVES, "balancing": "ecmp"}) | {"seeds": 5}
    found = run(spec.from_mapping(asked), where="mix=both")
    assert [row.draws for row in found.jobs] == [5, 5]
    assert all(row.slowdown >= 1 - 1e-9 for row in found.jobs)
    assert found.jobs == run(spec.from_mapping(asked), where="mix=both").jobs


def test_a_mix_can_be_swept() -> None:
    beside = {"traffic": "permutation", "rate": ["50 Gb/s", "100 Gb/s"]}
    found = result([{"workload": "messages", "servers": [2, 4]}], {"shape": "single-switch"}, background=beside)
    assert [{each.name: each.value for each in row.parameters} for row in found.jobs] == [
        {"servers": servers, "background.rate": rate} for servers in (2, 4) for rate in (50e9, 100e9)
    ]
    table = jobs_table(found)
    assert table["servers"].to_list() == [2, 2, 4, 4]
    assert table.filter(pl.col("background.rate") == 50e9)["slowdown"].to_list() == pytest.approx(
        [PORT_BPS / (PORT_BPS - 50e9)] * 2, rel=1e-3
    )


def test_conditions_choose_mixes_or_workloads() -> None:
    jobs = [{"workload": "training", "servers": 4}]
    asked = spec.from_mapping(values(jobs, {"shape": "single-switch"}))
    both, alone, mixed = (run(asked, where=where) for where in ("", "workload=training", "mix=both"))
    assert [(len(each.rows), len(each.jobs)) for each in (both, alone, mixed)] == [(3, 1), (1, 0), (0, 1)]
    assert to_json(both)["jobs"][0]["mix"] == "both"
    with pytest.raises(Exception, match="did you mean 'both'"):
        run(asked, where="mix=bith")


def test_one_workload_may_run_twice() -> None:
    jobs = [{"workload": "training", "servers": 1}, {"workload": "training", "servers": 1}]
    named = [*jobs, {"workload": "training", "servers": 1, "name": "mine"}]
    assert [row.job for row in result(named, {"shape": "single-switch"}).jobs] == ["training", "training-2", "mine"]


@pytest.mark.parametrize(
    ("jobs", "others", "said"),
    [
        ([{"workload": "trainin", "servers": 2}], {}, "there is no workload 'trainin'; did you mean 'training'?"),
        ([{"workload": "training", "servers": 5}], {}, "the jobs take 5 servers, and cluster 'pod' has 4"),
        ([{"workload": "training"}], {}, "jobs of mix 'both' lacks 'servers'"),
        ([], {}, "jobs of mix 'both' is empty"),
        (
            [{"workload": "training", "servers": 1, "name": "a"}, {"workload": "larger", "servers": 2, "name": "a"}],
            {},
            "two jobs of mix 'both' are named 'a'",
        ),
        (
            [{"workload": "messages", "servers": 1}],
            {},
            "workload 'messages' does not fit: a shift of 8 sends every rank of 'job messages' to itself",
        ),
        (
            [{"workload": "training", "servers": 2}],
            {"background": {"traffic": "permutations", "rate": "5 Gb/s"}},
            "did you mean 'permutation'?",
        ),
        (
            [{"workload": "training", "servers": 2}],
            {"background": {"traffic": "incast", "rate": "5 GHz"}},
            "'5 GHz' is a frequency, not a rate",
        ),
        ([{"workload": "training", "servers": 2, "step": 2}], {}, "did you mean 'steps'?"),
    ],
)
def test_a_mix_that_cannot_be_is_refused(jobs: list[dict[str, Any]], others: dict[str, Any], said: str) -> None:
    with pytest.raises(spec.StudyError) as refused:
        spec.from_mapping(values(jobs, {"shape": "single-switch"}, **others))
    assert said in str(refused.value)


def test_a_job_does_not_run_a_swept_workload() -> None:
    asked = values([{"workload": "training", "servers": 2}], {"shape": "single-switch"})
    asked["workloads"]["training"]["operations"][0]["compute"] = ["1 ms", "2 ms"]
    with pytest.raises(spec.StudyError, match="workload 'training' is swept, and a job runs one of its 2 variants"):
        spec.from_mapping(asked)


def test_jobs_too_far_apart_are_refused() -> None:
    asked = values([{"workload": "training", "servers": 2}, {"workload": "blink", "servers": 2}], LEAVES)
    asked["workloads"]["blink"] = {"kind": "operations", "operations": [{"name": "it", "compute": "1 us"}]}
    with pytest.raises(spec.StudyError, match="job 'blink' would do over 1,000 steps"):
        run(spec.from_mapping(asked), where="mix=both")


def test_a_job_without_work_is_refused() -> None:
    asked = values([{"workload": "idle", "servers": 2}], LEAVES)
    asked["workloads"]["idle"] = {"kind": "operations", "operations": [{"name": "it", "compute": "0 s"}]}
    with pytest.raises(spec.StudyError, match="job 'idle' of mix 'both' takes no time"):
        run(spec.from_mapping(asked), where="mix=both")


def test_on_an_ideal_fabric_jobs_share_no_links_between_switches() -> None:
    """Both jobs cross the thin spine, which has no limit there; background traffic takes its part of every port."""
    jobs = [
        {"workload": "messages", "servers": 2, "placement": over_both_leaves()},
        {"workload": "messages", "servers": 2},
    ]
    asked = values(jobs, LEAVES, background={"traffic": "permutation", "rate": "100 Gb/s"}) | {"fidelity": "ideal"}
    for row in run(spec.from_mapping(asked), where="mix=both").jobs:
        assert row.step_s == pytest.approx(8e9 / (PORT_BPS - 100e9), rel=1e-3)
        assert row.shared_with == ("background traffic",)
        assert row.bottleneck.where.startswith("NIC ports")


@pytest.mark.parametrize(("rate", "told"), [("900 Gb/s", 1), ("400 Gb/s", 0)])
def test_background_traffic_of_more_than_a_nic_sends_is_warned_of(rate: str, told: int) -> None:
    beside = {"traffic": "permutation", "rate": rate}
    found = result([{"workload": "messages", "servers": 4}], {"shape": "single-switch"}, background=beside).warnings
    said = "mix both on one: every GPU offers 900 Gb/s of background traffic and can send 400 Gb/s"
    assert [each.startswith(said) for each in found] == [True] * told
