import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.report.figures import NBSP, Scale, amount, count, listing, percent, rate


@pytest.mark.parametrize(
    ("times_s", "unit", "texts"),
    [
        ([2.0, 0.4], "s", ["2.00", "0.40"]),
        ([0.4, 0.02], "s", ["0.400", "0.020"]),
        ([0.0123, 0.0004], "ms", ["12.3", "0.4"]),
        ([5.6e-6], "µs", ["5.60"]),
        ([1234.0, 3.0], "s", ["1,234", "3"]),
        ([], "s", []),
    ],
)
def test_a_column_of_times_has_one_unit_and_three_digits_in_its_largest(times_s, unit, texts):
    scale = Scale.of(times_s)
    assert scale.unit == unit
    assert [scale.text(time_s) for time_s in times_s] == texts


def test_a_time_too_small_for_its_column_is_not_shown_as_nothing():
    assert Scale.of([2.0]).text(0.001) == "<0.01"
    assert Scale.of([2.0]).text(0.0) == "0.00"


@given(st.floats(1e-9, 1e6))
def test_the_largest_time_is_shown_within_half_a_per_cent(time_s):
    scale = Scale.of([time_s])
    assert float(scale.text(time_s).replace(",", "")) * scale.seconds == pytest.approx(time_s, rel=0.0051)


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.001, "<1 %"), (0.2, "20 %"), (0.996, "100 %"), (1.25, "125 %")]
)
def test_shares_are_whole_per_cents(share, text):
    assert percent(share) == text.replace(" ", NBSP)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (12288.0, "12,300"), (405.4, "405"), (1.254, "1.25"), (0.0123, "0.0123")]
)
def test_amounts_have_three_significant_digits(value, text):
    assert amount(value) == text


@pytest.mark.parametrize(
    ("bits", "text"), [(4e11, "400 Gb/s"), (204.8e12, "204.8 Tb/s"), (13.1072e15, "13.11 Pb/s"), (0.0, "0 Mb/s")]
)
def test_rates_choose_their_unit(bits, text):
    assert rate(bits) == text.replace(" ", NBSP)


@pytest.mark.parametrize(
    ("number", "thing", "text"),
    [(1, "spine", "1 spine"), (2, "leaf", "2 leaves"), (48, "switch", "48 switches"), (1024, "GPU", "1,024 GPUs")],
)
def test_things_are_counted_in_english(number, thing, text):
    assert count(number, thing) == text


def test_a_listing_reads_as_a_sentence_does():
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"
