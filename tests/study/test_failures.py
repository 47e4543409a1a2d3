"""What if: failed parts as part of a study, beside the fabric as built."""

from typing import Any

import pytest

from eastwest import spec
from eastwest.study import run, to_json

BASE = {
    "shape": "rail-optimized",
    "technology": "rocev2",
    "link": "400 Gb/s",
    "switch": "sn5400",
    "breakout": 1,
    "servers_per_unit": 8,
    "balancing": "spray",
}
ALL_TO_ALL = {"name": "it", "collective": "all-to-all", "bytes": "1 GB"}


def study(
    fabrics: dict[str, Any], servers: int = 64, server: str = "hgx-h100", operation: dict[str, Any] = ALL_TO_ALL
) -> spec.Study:
    """64 servers in 8 units: 64 leaves of 8 uplinks, one to each of 8 spines."""
    return spec.from_mapping(
        {
            "name": "what-if",
            "clusters": {"pod": {"server": server, "servers": servers}},
            "fabrics": {"whole": BASE, **{name: {"like": "whole", **each} for name, each in fabrics.items()}},
            "workloads": {"job": {"kind": "operations", "operations": [operation]}},
        }
    )


def test_a_spine_of_eight_that_is_down_leaves_seven_links_to_what_leaves_the_leaf() -> None:
    # A NIC sends to 504 of 512 ranks, 497 of them beyond its leaf, whose 8 NICs had 8 links for that and have 7.
    whole, less = run(study({"less": {"failures": [{"switch": "spine-3"}]}})).rows
    assert less.slowdown == pytest.approx(8 / 7 * 497 / 504, rel=1e-3)
    assert less.slowdown == less.step_s / whole.step_s
    assert less.failures == ("spine-3 down",)
    assert (whole.failures, whole.slowdown) == ((), None)


def test_a_failed_fabric_is_compared_with_its_whole_even_where_that_is_not_listed() -> None:
    failed = study({"less": {"failures": [{"switch": "spine-3"}]}})
    alone = run(failed, where="fabric=less").rows[0]
    assert alone.slowdown == run(failed).rows[1].slowdown


def test_a_link_at_a_quarter_of_its_rate_holds_back_all_that_is_dealt_evenly_over_it() -> None:
    # A link up from a leaf carries 497/504 of what a NIC does, and now has a quarter of its rate.
    slow = {"failures": [{"link": ["leaf-u0-r0", "spine-3"], "rate": "100 Gb/s"}]}
    assert run(study({"slow": slow})).rows[1].slowdown == pytest.approx(4 * 497 / 504, rel=1e-3)


def test_a_leaf_of_a_rail_that_is_down_stops_a_job_and_its_gpus_are_named() -> None:
    result = run(study({"less": {"failures": [{"switch": "leaf-u0-r0"}]}}))
    assert [row.fabric for row in result.rows] == ["whole"]
    (stopped,) = result.stopped
    assert stopped.gpus == tuple(f"server-{number:02}/gpu-0" for number in range(8))
    told = "job, packed, cannot run on less with leaf-u0-r0 down: 8 of 512 GPUs are cut off (server-00/gpu-0, "
    assert result.warnings[0].startswith(told)
    assert to_json(result)["stopped"][0]["gpus"][0] == "server-00/gpu-0"


def test_what_needs_no_network_runs_on_whatever_is_left() -> None:
    inside = {"name": "it", "collective": "all-reduce", "bytes": "1 GB", "group": 8, "algorithm": "ring"}
    result = run(study({"less": {"failures": [{"switch": "leaf-u0-r0"}]}}, operation=inside))
    assert result.rows[1].slowdown == 1.0


def test_one_plane_of_eight_lost_costs_an_eighth_of_the_rate() -> None:
    # arXiv 2605.04333: a plane lost costs 1/8 of a NIC's bandwidth, so that the exchange takes 8/7 as long.
    planes = {
        "shape": "leaf-spine",
        "technology": "mrc",
        "link": "800 Gb/s",
        "planes": 8,
        "nic": "connectx-8",
        "switch": "mrc-64x800g",
        "breakout": 8,
        "servers_per_unit": 8,
        "failures": {"each": [[], [{"plane": 2}], [{"plane": 5}]]},
    }
    found = run(study({"mrc": planes}, servers=16, server="hgx-b300")).rows
    assert [row.slowdown for row in found[1:]] == [None, *[pytest.approx(8 / 7, rel=1e-3)] * 2]


def test_each_of_several_failures_is_a_row() -> None:
    spines = [f"spine-{number}" for number in range(3)]
    result = run(study({"less": {"failures": [{"switch": spines}]}}))
    assert [row.failures for row in result.rows] == [(), *((f"{spine} down",) for spine in spines)]
    assert any(note.startswith("less, any of 3 failures: a step takes 1.13 times") for note in result.notes)


def test_a_failure_that_the_fabric_cannot_have_is_told_at_its_line() -> None:
    text = """name: what-if
clusters:
  pod: {server: hgx-h100, servers: 4}
fabrics:
  one: {shape: leaf-spine, technology: rocev2, link: 400 Gb/s, switch: sn5400}
  two:
    like: one
    failures:
      - {switch: leaf-0}
      - {switch: leaf-00}
workloads:
  job: {kind: operations, operations: [{name: it, collective: all-reduce, bytes: 1 GB}]}
"""
    with pytest.raises(
        spec.StudyError, match="study:10:9: fabric 'two': there is no switch 'leaf-00'; did you mean 'leaf-0'"
    ):
        run(spec.loads(text))


def outage(**changes: Any) -> Any:
    """What becomes of an all-to-all between the end of spine 3 and new routes."""
    spine = {"failures": [{"switch": "spine-3"}]}
    return run(study({"less": {**spine, **changes}})).rows[1].outage


def test_until_routes_are_new_pinned_connections_over_a_spine_that_is_down_hang_and_all_ranks_wait() -> None:
    # 497 of 504 connections between servers go beyond the leaf, where static routes use 8 spines alike.
    found = outage(balancing="pinned")
    assert found.connections == pytest.approx(497 / 504 / 8, rel=1e-9)
    assert (found.lost, found.ranks, found.ends) == (pytest.approx(found.connections), 1.0, False)
    assert (
        found.why
        == "12.3 % of the connections between servers hang, 100 % of the ranks wait for them, and no step ends"
    )


def test_hashed_connections_hang_as_often_as_a_hash_falls_on_the_spine() -> None:
    found = outage(balancing="ecmp")
    # 16 draws of 254,464 connections: 0.002 is over ten standard deviations.
    assert found.connections == pytest.approx(497 / 504 / 8, abs=0.002)
    assert not found.ends


def test_sprayed_connections_all_lose_an_eighth_and_it_is_the_nic_s_matter_what_becomes_of_it() -> None:
    selective, go_back = outage(balancing="spray"), outage(balancing="spray", nic="thor-2")
    for found in (selective, go_back):
        assert found.connections == pytest.approx(497 / 504, rel=1e-9)
        assert found.lost == pytest.approx(497 / 504 / 8, rel=1e-9)
    assert selective.ends
    assert not go_back.ends


def test_senders_that_choose_paths_retire_those_that_are_down() -> None:
    found = outage(balancing="source")
    assert found.ends
    assert "their senders retire these" in found.why


def test_a_slow_link_loses_nothing() -> None:
    slow = {"failures": [{"link": ["leaf-u0-r0", "spine-3"], "rate": "100 Gb/s"}]}
    assert run(study({"slow": slow})).rows[1].outage is None


def test_what_stays_on_a_rail_of_one_unit_loses_nothing_with_a_spine() -> None:
    on_rail = {"name": "it", "collective": "all-reduce", "bytes": "1 GB", "group": 64}
    fabrics = {"less": {"balancing": "pinned", "failures": [{"switch": "spine-3"}]}}
    found = run(study(fabrics, operation=on_rail)).rows[1].outage
    assert (found.connections, found.ranks, found.ends) == (0.0, 0.0, True)
