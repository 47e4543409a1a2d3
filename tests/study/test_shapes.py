"""Shapes as a study file names them: what each needs, what has no meaning for it, and that it is drawn."""

from typing import Any

import pytest

from eastwest import spec
from eastwest.report.drawing import draw
from eastwest.study import build_fabric, run
from eastwest.study.sketch import sketch

TORUS = {"shape": "torus", "dims": [4, 2]}
MESH = {"shape": "mesh", "servers_per_unit": 4}
DRAGONFLY = {"shape": "dragonfly-plus", "groups": 4, "servers_per_unit": 4}


def study(fabric: dict[str, Any], servers: int = 16, **others: Any) -> spec.Study:
    common = {"technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400"}
    return spec.from_mapping(
        {
            "name": "shapes",
            "clusters": {"pod": {"server": "hgx-h100", "servers": servers}},
            "fabrics": {"one": {**common, **fabric}, **others},
            "workloads": {
                "job": {
                    "kind": "operations",
                    "operations": [{"name": "it", "collective": "all-to-all", "bytes": "100 MB"}],
                }
            },
        }
    )


@pytest.mark.parametrize("fabric", [TORUS, MESH, DRAGONFLY], ids=lambda fabric: fabric["shape"])
def test_a_shape_runs_and_its_fullest_links_are_named(fabric: dict[str, Any]) -> None:
    (row,) = run(study({**fabric, "balancing": "spray", "links_per_pair": 1})).rows
    assert row.bottleneck.where in ("leaf to leaf links", "spine to spine links")
    assert row.step_s > row.ideal_step_s


@pytest.mark.parametrize("fabric", [TORUS, MESH, DRAGONFLY], ids=lambda fabric: fabric["shape"])
def test_cables_within_a_tier_are_drawn_above_its_row(fabric: dict[str, Any]) -> None:
    drawing = draw(sketch(build_fabric(study(fabric), "one")))
    top = min(row.y for row in drawing.rows)
    arcs = [path for band in drawing.bands for path, _ in band.strokes if "Q" in path]
    assert len(arcs) > 0
    assert top >= 46  # there is room for them
    assert min(band.y for band in drawing.bands) < top


@pytest.mark.parametrize(
    ("fabric", "said"),
    [
        ({"shape": "torus"}, "the shape torus needs 'dims'"),
        ({"shape": "torus", "dims": [4]}, "dims"),
        ({"shape": "torus", "dims": [4, 1]}, "must be at least 2"),
        ({"shape": "torus", "dims": [64, 64]}, "64 x 64 are 4096 switches, for 16 servers"),
        ({"shape": "dragonfly-plus"}, "the shape dragonfly-plus needs 'groups'"),
        ({"shape": "dragonfly-plus", "groups": 1}, "must be at least 2"),
        ({**MESH, "dims": [2, 2]}, "dims has no meaning for the shape mesh"),
        ({**MESH, "tiers": 2}, "tiers has no meaning for the shape mesh"),
        ({"shape": "leaf-spine", "groups": 3}, "groups has no meaning for the shape leaf-spine"),
        ({"shape": "mesh", "servers_per_unit": 8}, "2 leaves of 8 servers need 64 ports down and 1 to the others"),
    ],
)
def test_what_a_shape_cannot_have_is_told(fabric: dict[str, Any], said: str) -> None:
    with pytest.raises(spec.StudyError, match=said):
        build_fabric(study(fabric), "one")


def test_what_means_nothing_to_a_shape_is_not_inherited() -> None:
    read = study({"shape": "leaf-spine", "oversubscription": "2:1"}, grid={"like": "one", **TORUS})
    assert read.fabrics["grid"].oversubscription == {}
    back = study(TORUS, tree={"like": "one", "shape": "fat-tree"})
    assert back.fabrics["tree"].dims is None
