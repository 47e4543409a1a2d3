from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.report.conftest import three_tier_sketch, two_tier_sketch

from eastwest.report.drawing import MARGIN, WIDTH, draw


@given(units=st.integers(1, 6), leaves=st.integers(1, 8), spines=st.integers(1, 32))
def test_boxes_stand_side_by_side_within_the_page(units, leaves, spines):
    for row in draw(two_tier_sketch(units, leaves, spines)).rows:
        boxes = sorted(row.boxes, key=lambda box: box.x)
        assert all(left.x + left.width <= right.x + 1e-6 for left, right in pairwise(boxes))
        assert boxes[0].x >= MARGIN - 1e-6
        assert boxes[-1].x + boxes[-1].width <= WIDTH + 1e-6


def test_a_small_fabric_shows_every_switch_and_every_bundle():
    drawing = draw(two_tier_sketch(units=4, leaves=8, spines=16))
    assert [(row.tier, len(row.boxes), row.more) for row in drawing.rows] == [
        ("server", 4, ""),
        ("leaf", 32, ""),
        ("spine", 16, ""),
    ]
    assert [sum(path.count("M") for path, _ in band.strokes) for band in drawing.bands] == [32 * 16, 32]


def test_a_large_fabric_shows_some_groups_and_counts_the_rest():
    drawing = draw(three_tier_sketch(pods=64))
    assert [row.label for row in drawing.rows] == [
        "8,192 servers",
        "2,048 leaves",
        "2,048 spines",
        "1,024 core switches",
    ]
    assert [(len(row.boxes), row.more) for row in drawing.rows[:3]] == [(8, "… 56 more")] * 3
    assert drawing.rows[-1].boxes[0].inside == "1,024"


def test_what_is_left_out_is_left_out_of_every_tier():
    # 8 pods of 4 units: two pods have 8 units, and a ninth would be too many.
    tiers = {"server": [(p, u) for p in range(8) for u in range(4)], "spine": [(p, -1) for p in range(8)]}
    tiers |= {"leaf": tiers["server"], "core": [(-1, -1)]}
    boxes = [
        {"tier": tier, "name": "", "unit": unit, "pod": pod, "count": 8, "gpus": 0}
        for tier, homes in tiers.items()
        for pod, unit in homes
    ]
    rows = draw({"boxes": boxes, "bundles": []}).rows
    assert [(row.tier, len(row.boxes), row.more) for row in rows] == [
        ("server", 8, "… 24 more"),
        ("leaf", 8, "… 24 more"),
        ("spine", 2, "… 6 more"),
        ("core", 1, ""),
    ]


def test_bands_count_all_cables_drawn_or_not():
    drawing = draw(three_tier_sketch(pods=64))
    assert {band.label.replace("\N{NO-BREAK SPACE}", " ") for band in drawing.bands} == {"65,536 cables of 400 Gb/s"}


def test_bands_of_groups_are_plumb_where_they_can_be():
    strokes = [stroke for band in draw(three_tier_sketch(pods=64)).bands for stroke in band.strokes]
    for path, _ in strokes:
        for line in path.split(" M"):
            low, high = line.removeprefix("M").split("L")
            assert low.split()[0] == high.split()[0]


def test_cables_to_servers_have_the_load_of_the_nic_ports():
    assert {band.tiers[:2] for band in draw(two_tier_sketch()).bands} == {
        ("nic-leaf", "leaf-nic"),
        ("leaf-spine", "spine-leaf"),
    }
