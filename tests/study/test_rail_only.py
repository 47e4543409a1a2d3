"""Rail-only in a study: as good as rail-optimized along rails, and told where a job needs more."""

from typing import Any

import pytest

from eastwest import spec
from eastwest.study import run

RAIL_ONLY = {"shape": "rail-only", "technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400"}


def study(operation: dict[str, Any], **fabrics: dict[str, Any]) -> spec.Study:
    return spec.from_mapping(
        {
            "name": "rails",
            "clusters": {"pod": {"server": "hgx-h100", "servers": 32}},
            "fabrics": {"rails": RAIL_ONLY, **fabrics},
            "workloads": {"job": {"kind": "operations", "operations": [{"name": "it", **operation}]}},
        }
    )


def test_an_all_reduce_along_rails_takes_what_it_takes_on_rail_optimized() -> None:
    """Both have one leaf between any two GPUs of a rail."""
    reduced = {"collective": "all-reduce", "bytes": "1 GB"}
    rows = run(study(reduced, joined={**RAIL_ONLY, "shape": "rail-optimized"})).rows
    assert {row.fabric for row in rows} == {"rails", "joined"}
    assert rows[0].step_s == pytest.approx(rows[1].step_s, rel=1e-9)


def test_a_job_that_needs_two_rails_joined_is_refused_with_both_ends() -> None:
    with pytest.raises(spec.StudyError) as caught:
        run(study({"collective": "all-to-all", "bytes": "1 GB"}))
    said = str(caught.value)
    assert "workload 'job': fabric 'rails' has no path from server-00/gpu-0 to server-01/gpu-1" in said
    assert "joins GPUs of one rail and unit; others meet over NVLink alone" in said


def test_units_on_one_tier_are_refused_where_a_job_crosses_them() -> None:
    with pytest.raises(spec.StudyError, match=r"no path from server-15/gpu-\d to server-16/gpu-\d"):
        run(
            study(
                {"collective": "all-reduce", "bytes": "1 GB"}, rails={**RAIL_ONLY, "tiers": 1, "servers_per_unit": 16}
            )
        )


def test_a_rail_on_two_tiers_joins_units() -> None:
    rows = run(study({"collective": "all-reduce", "bytes": "1 GB"}, rails={**RAIL_ONLY, "servers_per_unit": 16})).rows
    assert rows[0].step_s > 0
