"""Headroom against SONiC's formula worked by hand, and marks that come before pauses."""

import pytest

from eastwest.artifacts.headroom import headroom, marking, pause_fill, response_bytes


def test_a_port_of_400_g_on_spectrum_4_by_hand():
    """30 m: 2 x 30 m x 400 Gb/s / 1.98e8 m/s / 8 = 15,152 B, of 1,000/1,024: 14,796. A cell of 192 B is 3 x 64."""
    cable, quanta = 14_796, 905 * 64
    xoff = 4194 + (9100 + cable + 819.2 + quanta) * 3
    found = headroom(400e9, 30.0, cell=192)
    assert found.xoff == pytest.approx(xoff, abs=1024)
    assert found.xoff >= xoff - 1
    assert found.xon == 37 * 1024
    assert found.size == found.xoff + found.xon + 9 * 1024


def test_a_port_of_four_lanes_has_half_the_pipeline():
    """100 Gb/s and 5 m on Spectrum (96 B cells: occupancy 192/97)."""
    found = headroom(100e9, 5.0, packet=1024, lanes=4, cell=96)
    cable = 2 * 5 * 100e6 / 1.98e8 * 1e3 / 8 / 1024 * 1000
    assert found.xon == 19 * 1024
    assert found.xoff == pytest.approx(1024 + (9100 + cable + 819.2 + 394 * 64) * 192 / 97, abs=1024)


def test_longer_cables_and_larger_packets_need_more():
    assert headroom(400e9, 100).xoff > headroom(400e9, 30).xoff
    assert headroom(400e9, 30, mtu=9216).xoff > headroom(400e9, 30, mtu=1500).xoff


@pytest.mark.parametrize("rate_bps", [800e9, 1.6e12])
def test_faster_ports_have_the_time_of_400_g(rate_bps):
    assert response_bytes(rate_bps) == pytest.approx(905 * 64 * rate_bps / 400e9)


def test_64_groups_of_a_memory_hold_a_65th_each():
    assert pause_fill(130e6, 64) == pytest.approx(2e6)
    assert pause_fill(130e6, 64, alpha=0.125) == pytest.approx(130e6 / 8 / 9)


@pytest.mark.parametrize("groups", [2, 64, 1024])
def test_marks_are_certain_before_a_group_pauses(groups):
    fill = pause_fill(130e6, groups)
    marks = marking(400e9, fill)
    assert marks.start < marks.to <= fill / 2 or marks.to == 1024


def test_marks_of_a_small_switch_are_those_of_dcqcn():
    marks = marking(25e9, 1e9)
    assert (marks.start, marks.to) == pytest.approx((100e3, 400e3), abs=1024)
