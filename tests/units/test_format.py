import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eastwest import units


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (400e9, "400 Gb/s"),
        (1.6e12, "1.6 Tb/s"),
        (392.15e9, "392 Gb/s"),
        (999.6e9, "1 Tb/s"),
        (0, "0 b/s"),
        (12.5, "12.5 b/s"),
    ],
)
def test_rates_have_three_digits_and_the_unit_that_fits(value, shown):
    assert units.format_rate(value) == shown


def test_sizes_are_shown_in_decimal_units():
    assert units.format_size(2e6) == "2 MB"
    assert units.format_size(2**30) == "1.07 GB"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (1.5e-6, "1.5 us"),
        (0.4, "400 ms"),
        (2.0, "2 s"),
        (90, "90 s"),
        (7200, "2 h"),
        (1_425_600, "16.5 days"),
        (0, "0 s"),
        (999.6e-6, "1 ms"),
        (3e-13, "0.3 ps"),
    ],
)
def test_times_have_three_digits_and_the_unit_that_fits(seconds, shown):
    assert units.format_time(seconds) == shown


def test_lengths_powers_and_money():
    assert units.format_length(30) == "30 m"
    assert units.format_length(2500) == "2.5 km"
    assert units.format_power(10200) == "10.2 kW"
    assert str(units.Money(12345.678, "EUR")) == "12,345.68 EUR"


@settings(deadline=None)
@given(st.floats(1e-3, 1e20))
def test_a_shown_rate_reads_back_within_three_digits(bps):
    assert units.parse_rate(units.format_rate(bps)) == pytest.approx(bps, rel=5.001e-3)


@settings(deadline=None)
@given(st.floats(1e-12, 1e9))
def test_a_shown_time_reads_back_within_three_digits(seconds):
    assert units.parse_time(units.format_time(seconds)) == pytest.approx(seconds, rel=5.001e-3)


@settings(deadline=None)
@given(st.integers(1, 999), st.sampled_from(["kB", "MB", "GB", "TB", "PB"]))
def test_what_a_person_would_write_comes_back_unchanged(number, unit):
    text = f"{number} {unit}"
    assert units.format_size(units.parse_size(text)) == text
