"""Cases that cannot run stand beside those that can: told why and what to write instead, and listed in the result."""

from typing import Any

import pytest

from eastwest import spec
from eastwest.report.answer import answer
from eastwest.study import run, scaling, to_json

RAIL = {"technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400", "balancing": "spray"}
ALL_TO_ALL = {"name": "it", "collective": "all-to-all", "bytes": "1 GB"}
ALL_REDUCE = {"name": "it", "collective": "all-reduce", "bytes": "1 GB"}


def study(workloads: dict[str, Any], cluster: dict[str, Any] | None = None, **others: Any) -> spec.Study:
    values: dict[str, Any] = {
        "name": "some-run",
        "clusters": {"pod": cluster or {"server": "hgx-h100", "servers": 8}},
        "fabrics": {"joined": {**RAIL, "shape": "rail-optimized"}, "apart": {**RAIL, "shape": "rail-only"}},
        "workloads": {name: {"kind": "operations", "operations": [each]} for name, each in workloads.items()},
    }
    return spec.from_mapping({**values, **others})


def test_what_a_fabric_cannot_carry_leaves_the_others_their_rows() -> None:
    result = run(study({"experts": ALL_TO_ALL, "gradients": ALL_REDUCE}))
    assert [(row.workload, row.fabric) for row in result.rows] == [
        ("experts", "joined"),
        ("gradients", "joined"),
        ("gradients", "apart"),
    ]
    (stopped,) = to_json(result)["stopped"]
    assert (stopped["workload"], stopped["fabric"], stopped["failures"], stopped["gpus"]) == (
        "experts",
        "apart",
        (),
        (),
    )
    assert stopped["why"] in result.warnings
    assert "write algorithm: pxn" in stopped["why"]
    assert "1 of 4 cases cannot run and is left out" in answer(result)[0]


def test_what_the_warning_says_to_write_runs() -> None:
    assert len(run(study({"experts": {**ALL_TO_ALL, "algorithm": "pxn"}})).rows) == 2


def test_where_no_unit_is_joined_pxn_is_not_advised() -> None:
    apart = {**RAIL, "shape": "rail-only", "tiers": 1, "servers_per_unit": 4}
    with pytest.raises(spec.StudyError) as refused:
        run(study({"experts": ALL_TO_ALL}, fabrics={"apart": apart}))
    assert "pxn" not in str(refused.value)
    assert str(refused.value).endswith("write shape: rail-optimized, whose spines join rails and units")
    assert len(run(study({"experts": ALL_TO_ALL}, fabrics={"joined": {**RAIL, "shape": "rail-optimized"}})).rows) == 1


def test_a_study_of_which_nothing_can_run_is_refused_with_every_reason() -> None:
    with pytest.raises(spec.StudyError, match="no path") as refused:
        run(study({"experts": ALL_TO_ALL, "tokens": ALL_TO_ALL}), where="fabric=apart")
    assert len(refused.value.mistakes) == 2


def test_a_hierarchical_collective_on_uneven_nvlink_domains_stops_alone() -> None:
    rack = {"server": "gb200-nvl72", "servers": 20}
    leaves = {"technology": "rocev2", "link": "400 Gb/s", "switch": "sn5600", "shape": "leaf-spine"}
    asked = {"staged": {**ALL_REDUCE, "algorithm": "hierarchical-staged"}, "plain": ALL_REDUCE}
    result = run(study(asked, rack, fabrics={"one": leaves}))
    assert [row.workload for row in result.rows] == ["plain"]
    assert result.stopped[0].why.endswith("write algorithm: ring, which takes any number")


def test_a_sweep_keeps_the_values_that_run_and_tells_the_others_in_one_warning() -> None:
    swept = {**RAIL, "shape": ["rail-optimized", "rail-only"], "link": ["200 Gb/s", "400 Gb/s"]}
    result = run(study({"experts": ALL_TO_ALL}, fabrics={"one": swept}))
    assert (len(result.rows), len(result.stopped)) == (2, 2)
    told = [each for each in result.warnings if "cannot run" in each]
    assert len(told) == 1
    assert told[0].endswith("(link 200 Gb/s, shape rail-only; link 400 Gb/s, shape rail-only)")


def test_a_size_that_cannot_run_is_told_beside_its_curve() -> None:
    leaves = {"technology": "rocev2", "link": "400 Gb/s", "switch": "sn5600", "shape": "leaf-spine"}
    rack = {"server": "gb200-nvl72", "servers": [18, 20, 36]}
    staged = study({"staged": {**ALL_REDUCE, "algorithm": "hierarchical-staged"}}, rack, fabrics={"one": leaves})
    (curve,) = scaling(staged, "one", "staged").curves
    assert [size.servers for size in curve.sizes] == [18, 36]
    assert curve.findings[-1].endswith("(servers 20).")


def mixed(workload: str, shape: str, failures: tuple[dict[str, Any], ...] = ()) -> spec.Study:
    alone = {"jobs": [{"workload": "gradients", "servers": 4}]}
    both = {"jobs": [{"workload": workload, "servers": 4}, {"workload": "gradients", "servers": 4}]}
    fabric = {**RAIL, "shape": shape, "failures": list(failures)}
    return study(
        {"experts": ALL_TO_ALL, "gradients": ALL_REDUCE}, fabrics={"rails": fabric}, mixes={"one": alone, "two": both}
    )


def test_a_mix_that_cannot_run_is_among_what_stopped_and_the_others_run() -> None:
    result = run(mixed("experts", "rail-only"))
    assert {job.mix for job in result.jobs} == {"one"}
    found = {(each.mix, each.workload) for each in result.stopped}
    assert found == {("two", ""), ("", "experts")}
    (told,) = [each["why"] for each in to_json(result)["stopped"] if each["mix"]]
    assert told.startswith("two cannot run on rails: ")
    assert told in result.warnings


def test_a_mix_that_failures_stop_names_the_gpus_that_are_cut_off() -> None:
    (stopped,) = run(mixed("gradients", "rail-optimized", ({"switch": "leaf-u0-r0"},)), where="mix=two").stopped
    assert stopped.gpus == tuple(f"server-{number}/gpu-0" for number in range(8))
    assert "two cannot run on rails with leaf-u0-r0 down: 8 of 64 GPUs are cut off" in stopped.why
