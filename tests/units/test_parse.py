import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eastwest import units


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("400 Gb/s", 400e9),
        ("400Gb/s", 400e9),
        ("400 Gbps", 400e9),
        ("400 Gbit/s", 400e9),
        ("50 GB/s", 400e9),
        ("1.6 Tb/s", 1.6e12),
        ("100 Mb / s", 100e6),
        ("1 MiB/s", 8 * 2**20),
        ("1e3 b/ms", 1e6),
    ],
)
def test_rates_are_bits_per_second(text, bps):
    assert units.parse_rate(text) == bps


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2 MB", 2e6),
        ("512 KiB", 2**19),
        ("1 GiB", 2**30),
        ("80 GB", 80e9),
        ("8 bit", 1.0),
        ("3 bytes", 3.0),
        ("1 PB", 1e15),
    ],
)
def test_sizes_are_bytes_and_tell_decimal_from_binary(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("1.5 us", 1.5e-6), ("1.5 µs", 1.5e-6), ("1.5 μs", 1.5e-6), ("330 ns", 330e-9), ("7 ps", 7e-12)),
        *(("3 h", 10800.0), ("2 d", 172800.0), ("1 day", 86400.0), ("2 days", 172800.0)),
    ],
)
def test_times_are_seconds_and_both_mu_signs_are_read(text, seconds):
    assert units.parse_time(text) == seconds


def test_other_quantities():
    assert units.parse_length("2 km") == 2000
    assert units.parse_power("10.2 kW") == 10200
    assert units.parse_compute("989.4 TFLOP/s") == 989.4e12
    assert units.parse_money("2.50 USD") == units.Money(2.5, "USD")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("800G", "'800G' has no unit: write 800 Gb/s for a rate"),
        ("800", "'800' has no unit: write 800 Gb/s for a rate"),
        (800, "800 has no unit: write 800 Gb/s for a rate"),
        ("400 GHz", "'400 GHz' is a frequency, not a rate: write it like 400 Gb/s"),
        ("2 MB", "'2 MB' is a size, not a rate: write it like 400 Gb/s"),
        ("-3 Gb/s", "'-3 Gb/s' must be above zero, as in 400 Gb/s"),
        ("0 Gb/s", "'0 Gb/s' must be above zero, as in 400 Gb/s"),
        ("3 gauss", "'3 gauss' has an unknown unit 'gauss'; a rate looks like 400 Gb/s"),
        ("400 gb/s", "'400 gb/s' has an unknown unit 'gb/s' (did you mean 'Gb/s'?); a rate looks like 400 Gb/s"),
        ("1e999 Gb/s", "'1e999 Gb/s' is too large for a rate"),
    ],
)
def test_what_is_no_rate_is_told_with_what_fits(text, said):
    with pytest.raises(units.UnitError) as caught:
        units.parse_rate(text)
    assert str(caught.value) == said
    assert caught.value.found == text
    assert caught.value.example == "400 Gb/s"


@pytest.mark.parametrize(
    "text", ["gauss", "nan", "inf", "nan Gb/s", "inf Gb/s", "", " ", "Gb/s", None, True, [4], math.nan]
)
def test_what_is_no_number_is_no_rate(text):
    with pytest.raises(units.UnitError, match="no rate"):
        units.parse_rate(text)


@pytest.mark.parametrize("text", ["1 mb/s", "1 mB", "4 Gb/s/s", "4 /s", "4 Gb/", "4 b*s", "4 Gb/kg"])
def test_units_outside_the_vocabulary_are_refused(text):
    with pytest.raises(units.UnitError):
        units.parse_rate(text)


def test_zero_passes_only_where_it_is_allowed():
    assert units.parse_time("0 s", zero=True) == 0
    with pytest.raises(units.UnitError, match="must be zero or more"):
        units.parse_time("-1 s", zero=True)


@pytest.mark.parametrize("text", ["2.50", "USD", "2.50 usd", "2.50 dollars", "-1 USD", 2.5, "inf USD", "1e999 USD"])
def test_what_is_no_money_is_refused(text):
    with pytest.raises(units.UnitError, match=r"as in 2\.50 USD"):
        units.parse_money(text)


def test_a_long_text_is_cut_in_the_message():
    with pytest.raises(units.UnitError) as caught:
        units.parse_rate("9" * 5000 + " Gb/s")
    assert len(str(caught.value)) < 150


@settings(deadline=None)
@given(st.text() | st.from_regex(r"[0-9.]{1,5} ?[kMGTPmunp]?i?(b|B|bit|s|Hz|W)?(/s)?"))
def test_any_text_is_a_positive_rate_or_a_unit_error(text):
    try:
        value = units.parse_rate(text)
    except units.UnitError:
        return
    assert 0 < value < math.inf
