from dataclasses import replace

import pytest
from tests.report.conftest import make_result, make_row

from eastwest.report.loads import Pair, band_of, heat, load_of, pairs_of
from eastwest.study.result import TierLoad

UP, DOWN = TierLoad("leaf-spine", 0.3, 0.5, 0.6), TierLoad("spine-leaf", 0.2, 0.7, 0.9)
LEAF_SPINE = Pair("leaf", "spine")


def row_with(*loads):
    return replace(make_row("roce-400g", 0), tiers=loads)


@pytest.mark.parametrize(("load", "step"), [(0.0, 0), (0.2, 1), (0.59, 2), (0.94, 4), (0.95, 5), (1.0, 5)])
def test_colours_change_at_the_loads_that_the_legend_names(load, step):
    assert heat(load) == step


def test_pairs_go_outwards_from_the_gpu_each_once(result):
    names = [pair.name.replace("\N{NO-BREAK SPACE}", " ") for pair in pairs_of(result)]
    assert names == ["GPU ↔ NVLink", "GPU ↔ PCIe", "PCIe ↔ NIC", "NIC ↔ leaf", "leaf ↔ spine"]


def test_directions_that_differ_are_told_apart_up_first():
    load = load_of(row_with(DOWN, UP), LEAF_SPINE)
    assert load.directions == (("↑", "30 / 50 / ", "60"), ("↓", "20 / 70 / ", "90"))
    assert load.heat == heat(0.9)


def test_directions_that_read_the_same_are_told_once():
    load = load_of(row_with(UP, replace(UP, tier="spine-leaf", max=0.6001)), LEAF_SPINE)
    assert load.directions == (("", "30 / 50 / ", "60"),)


def test_links_that_all_carry_the_same_have_one_figure():
    assert load_of(row_with(TierLoad("leaf-spine", 0.4, 0.4, 0.4)), LEAF_SPINE).directions == (("", "", "40"),)


def test_a_fabric_without_such_links_has_no_load():
    assert load_of(row_with(UP), Pair("spine", "core")) is None


def test_cables_have_the_load_of_their_busier_direction():
    band = band_of([UP, DOWN])
    assert band["text"].replace("\N{NO-BREAK SPACE}", " ") == "mean 30 %, busiest 90 %"
    assert band["heat"] == heat(0.9)
    assert band_of([]) is None


def test_no_study_has_no_pairs():
    assert pairs_of(make_result(rows=())) == ()
