"""An all-to-all by PXN in a study: it stays on its receivers' rails, where a direct one needs the spine."""

from typing import Any

import pytest

from eastwest import spec
from eastwest.study import StudyResult, run

RAILS = {"technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400", "balancing": "spray"}


def result(algorithm: str, group: int | str, **fabric: Any) -> StudyResult:
    exchange = {"name": "it", "collective": "all-to-all", "bytes": "1 GB", "algorithm": algorithm, "group": group}
    return run(
        spec.from_mapping(
            {
                "name": "rails",
                "clusters": {"pod": {"server": "hgx-h100", "servers": 16}},
                "fabrics": {"rails": {**RAILS, **fabric}},
                "workloads": {"job": {"kind": "operations", "operations": [exchange]}},
            }
        )
    )


def test_it_runs_over_rails_that_nothing_joins() -> None:
    """The NICs hold it back, or NVLink, and both are the servers' own."""
    (row,) = result("pxn", "all", shape="rail-only").rows
    assert row.closeness == pytest.approx(1.0)


def test_inside_a_unit_it_leaves_a_thin_spine_alone() -> None:
    """Groups of eight servers in units of eight: a direct exchange sends 7 of 8 rails' worth up."""
    thin = {"shape": "rail-optimized", "servers_per_unit": 8, "oversubscription": "4:1"}
    (relayed,) = result("pxn", 64, **thin).rows
    (straight,) = result("direct", 64, **thin).rows
    up = {row: next(load.max for load in row.tiers if load.tier == "leaf-spine") for row in (relayed, straight)}
    assert up[relayed] == 0.0
    assert up[straight] > 0.9
    assert relayed.closeness == pytest.approx(1.0)
    assert straight.closeness < 0.5


def test_a_direct_exchange_over_rails_is_told_of_it() -> None:
    railed = {"shape": "rail-optimized", "servers_per_unit": 8}
    assert any("job: " in note and "algorithm: pxn" in note for note in result("direct", "all", **railed).notes)
    assert not any("algorithm: pxn" in note for note in result("pxn", "all", **railed).notes)
    assert not any("algorithm: pxn" in note for note in result("direct", "all", shape="leaf-spine").notes)
