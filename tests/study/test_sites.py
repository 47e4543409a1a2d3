"""Training over sites: the long haul holds a ring back where it is narrow, and adds its light's travel."""

from typing import Any

import pytest

from eastwest import spec
from eastwest.report.drawing import draw
from eastwest.study import build_fabric, run
from eastwest.study.sketch import sketch

SERVERS = 8
FAILED = {"tier": "border-border", "links": 1}
SITES = {"count": 2, "distance": "80 km", "links": 8, "rate": "400 Gb/s"}


def study(size: str = "1 GB", channels: int = 8, **sites: Any) -> spec.Study:
    work = {"name": "it", "collective": "all-reduce", "bytes": size, "algorithm": "rail-ring", "channels": channels}
    return spec.from_mapping(
        {
            "name": "sites",
            "clusters": {"pod": {"server": "hgx-h100", "servers": SERVERS}},
            "fabrics": {
                "far": {
                    "shape": "leaf-spine",
                    "servers_per_unit": 2,
                    "technology": "rocev2",
                    "link": "400 Gb/s",
                    "switch": {"leaf": "sn5400", "border": "cisco-8223-64eh"},
                    "balancing": "spray",
                    "sites": {**SITES, **sites},
                }
            },
            "workloads": {"job": {"kind": "operations", "operations": [work]}},
        }
    )


def row(**asked: Any) -> Any:
    (only,) = run(study(**asked)).rows
    return only


def test_a_narrow_long_haul_is_the_bottleneck_and_sets_the_pace() -> None:
    """Each of 8 channels crosses once each way: all of the bytes of a ring over one link of 100 Gb/s."""
    found = row(links=1, rate="100 Gb/s", size="8 GB", distance="0 m")
    ranks, payload_bytes_s = SERVERS * 8, 100e9 / 8 * 4096 / 4178
    assert found.bottleneck.where == "links between sites"
    assert found.step_s == pytest.approx(2 * (ranks - 1) / ranks * 8e9 / payload_bytes_s, rel=2e-3)


def test_a_wide_long_haul_costs_nothing_but_its_distance() -> None:
    near, wide = row(size="8 GB", distance="0 m"), row(size="8 GB", distance="0 m", links=32)
    assert near.step_s == pytest.approx(wide.step_s)
    assert "sites" not in near.bottleneck.where


def test_a_ring_waits_for_light_in_every_step() -> None:
    """2 (n - 1) steps, each over the mean edge; 2 of n edges cross, at 5 ns a metre."""
    ranks = SERVERS * 8
    waited = row(distance="80 km").step_s - row(distance="0 m").step_s
    assert waited == pytest.approx(2 * (ranks - 1) * 2 / ranks * 80e3 * 5e-9, rel=1e-6)


def test_a_long_haul_link_that_fails_leaves_the_others() -> None:
    """Eight links of 100 Gb/s carry a ring's eight channels; seven take 8/7 of the time."""
    whole = study(rate="100 Gb/s", size="8 GB", distance="0 m")
    hurt = whole.changed({"fabrics": {"far": {**whole.written["fabrics"]["far"], "failures": [FAILED]}}})
    (before,), (after,) = run(whole).rows, run(hurt).rows
    assert after.step_s / before.step_s == pytest.approx(8 / 7, rel=1e-2)


def test_a_mistake_is_told_at_its_place() -> None:
    with pytest.raises(spec.StudyError, match=r"8 servers do not split evenly over 3 sites: try 9"):
        build_fabric(study(count=3), "far")
    with pytest.raises(spec.StudyError, match=r"'80 us' is a time, not a length"):
        study(distance="80 us")


def test_sites_are_drawn_beside_each_other_under_joined_borders() -> None:
    drawing = draw(sketch(build_fabric(study(), "far")))
    assert drawing.rows[-1].tier == "border"
    assert drawing.rows[-1].label == "2 border switches"
    assert [box.below for box in drawing.rows[0].boxes] == ["site 0", "site 1"]
    assert any("Q" in path for band in drawing.bands for path, _ in band.strokes)
