from collections import Counter

import pytest
from tests.fabric.conftest import make_plan

from eastwest.fabric import build
from eastwest.report.drawing import draw
from eastwest.study.sketch import sketch


def things(drawn):
    """Boxes, and servers or switches in them, by tier."""
    boxes = Counter(box["tier"] for box in drawn["boxes"])
    counts = Counter()
    for box in drawn["boxes"]:
        counts[box["tier"]] += box["count"]
    return dict(boxes), dict(counts)


def cables(drawn):
    counts = Counter()
    for bundle in drawn["bundles"]:
        counts[bundle["tiers"]] += bundle["cables"]
    return dict(counts)


# NVIDIA DGX SuperPOD B200 reference architecture, table 3: 128 servers, 32 leaves, 16 spines, 1,024 cables on each
# pair of tiers; so each leaf has two cables to each spine.
def test_a_small_fabric_is_sketched_switch_by_switch():
    drawn = sketch(build(make_plan(servers=128, servers_per_unit=32)))
    assert things(drawn) == ({"server": 4, "leaf": 32, "spine": 16}, {"server": 128, "leaf": 32, "spine": 16})
    assert cables(drawn) == {"server-leaf": 1024, "leaf-spine": 1024}
    between = [bundle for bundle in drawn["bundles"] if bundle["tiers"] == "leaf-spine"]
    assert [bundle["cables"] for bundle in between] == [2] * (32 * 16)
    assert sum(box["gpus"] for box in drawn["boxes"]) == 1024


# The same table: 512 servers, 128 leaves, 128 spines, 64 cores.
def test_a_large_fabric_is_sketched_in_groups():
    drawn = sketch(build(make_plan(servers=512, servers_per_unit=32)))
    boxes, counts = things(drawn)
    assert counts == {"server": 512, "leaf": 128, "spine": 128, "core": 64}
    assert boxes["leaf"] == boxes["server"] == 512 // 32
    assert len(drawn["bundles"]) < 100
    assert cables(drawn) == {"server-leaf": 4096, "leaf-spine": 4096, "spine-core": 4096}


def test_a_bundle_leads_up_from_its_first_box():
    drawn = sketch(build(make_plan(servers=128, servers_per_unit=32)))
    for bundle in drawn["bundles"]:
        ends = drawn["boxes"][bundle["a"]]["tier"], drawn["boxes"][bundle["b"]]["tier"]
        assert "-".join(ends) == bundle["tiers"]


@pytest.mark.parametrize("servers", [1, 31, 127, 512])
def test_what_is_sketched_can_be_drawn(servers):
    fabric = build(make_plan(servers=servers, servers_per_unit=32))
    drawing = draw(sketch(fabric))
    assert [row.tier for row in drawing.rows][:2] == ["server", "leaf"]
    assert drawing.rows[0].label == f"{servers} server{'s' if servers > 1 else ''}"
