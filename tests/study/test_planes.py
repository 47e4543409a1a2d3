"""Planes in a study: reach, rate, and what is told of a NIC that cannot be split."""

from typing import Any

import pytest

from eastwest import spec
from eastwest.study import build_fabric, run


def study(**changes: Any) -> spec.Study:
    fabric = {
        "shape": "rail-optimized",
        "technology": "rocev2",
        "link": "400 Gb/s",
        "nic": "connectx-7",
        "switch": "sn5400",
        "balancing": "spray",
    }
    return spec.from_mapping(
        {
            "name": "planes",
            "clusters": {"pod": {"server": "hgx-h100", "servers": 32}},
            "fabrics": {"one": fabric, "two": {"like": "one", "planes": 2, **changes}},
            "workloads": {
                "job": {
                    "kind": "operations",
                    "operations": [{"name": "it", "collective": "all-reduce", "bytes": "1 GB"}],
                }
            },
        }
    )


def test_two_planes_of_half_the_rate_reduce_as_fast_as_one_network_when_sprayed() -> None:
    rows = run(study()).rows
    assert [row.fabric for row in rows] == ["one", "two"]
    assert rows[1].step_s == pytest.approx(rows[0].step_s, rel=1e-9)


def test_leaves_of_two_planes_have_ports_of_half_the_rate() -> None:
    built = build_fabric(study(), "two")
    assert built.cables["rate_bps"].unique().to_list() == [200e9]


def test_more_planes_than_the_nic_has_ports_are_refused_where_they_are_asked_for() -> None:
    with pytest.raises(
        spec.StudyError, match="NIC connectx-7 splits its port into 2 at most, and 4 planes take a port"
    ):
        run(study(planes=4))
