"""Ranges of a study file: `{from: 16, to: 256, times: 2}` or `{from: 100 Gb/s, to: 400 Gb/s, step: 100 Gb/s}`.

From a range to the values that it stands for, each as a person would write it. Arithmetic is decimal, so that a range
ends where its reader expects. Not here: where a range may stand (`sweep`).
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from eastwest import units
from eastwest.spec.values import refuse

KEYS = ("from", "to", "times", "step")
MOST_VALUES = 10_000
"""Of one range; a study is refused far below the product of several such."""


def is_range(written: dict[str, Any]) -> bool:
    """Whether a mapping is meant as a range: it has a start or an end."""
    return "from" in written or "to" in written


def values(written: dict[str, Any]) -> list[Any]:
    """The values of a range, first to last: whole numbers, numbers, or quantities in the unit of `from`.

    Raises:
        PydanticCustomError: it is no range; says why, and at which key.
    """
    unknown = next((key for key in written if key not in KEYS), None)
    if unknown is not None:
        raise refuse(f"a range has no entry {unknown!r}", KEYS, at=unknown)
    for key in ("from", "to"):
        if key not in written:
            raise refuse(f"a range lacks its {key!r}")
    if ("times" in written) == ("step" in written):
        raise refuse(
            "a range has either times, a factor, or step, a difference", at="step" if "step" in written else None
        )
    first, unit = _number(written["from"], "from")
    last = _in_unit(written, "to", unit)
    if last < first:
        raise refuse(f"a range goes up: {written['to']!r} is below {written['from']!r}", at="to")
    if "times" in written:
        factor, its_unit = _number(written["times"], "times")
        if its_unit or factor <= 1:
            raise refuse(f"times is a factor above 1, not {written['times']!r}", at="times")
        if first <= 0:
            raise refuse("a range with a factor starts above zero", at="from")
        numbers = _climb(first, last, lambda number: number * factor)
    else:
        difference = _in_unit(written, "step", unit)
        if difference <= 0:
            raise refuse(f"a step is above zero, not {written['step']!r}", at="step")
        numbers = _climb(first, last, lambda number: number + difference)
    return [units.tidy(number, unit) if unit else _plain(number) for number in numbers]


def _climb(first: Decimal, last: Decimal, onward: Any) -> list[Decimal]:
    numbers = [first]
    while (following := onward(numbers[-1])) <= last:
        numbers.append(following)
        if len(numbers) > MOST_VALUES:
            raise refuse(f"a range of more than {MOST_VALUES:,} values")
    return numbers


def _number(written: Any, key: str) -> tuple[Decimal, str]:
    """A number and its unit, which is empty for a bare number."""
    if isinstance(written, int | float) and not isinstance(written, bool):
        number = Decimal(str(written))
        if number.is_finite():
            return number, ""
    if isinstance(written, str) and (split := units.split_unit(written)) is not None:
        return split
    raise refuse(f"{str(written)[:60]!r} is no number, with or without a unit", at=key)


def _in_unit(written: dict[str, Any], key: str, unit: str) -> Decimal:
    """The number at `key` in the unit in which the range starts."""
    number, its_unit = _number(written[key], key)
    if its_unit == unit:
        return number
    here, there = units.measure(f"1 {its_unit}"), units.measure(f"1 {unit}")
    if here is None or there is None or here[1] is not there[1]:
        raise refuse(f"{written[key]!r} does not go with {written['from']!r}, the start of the range", at=key)
    try:
        return number * Decimal(repr(here[0])) / Decimal(repr(there[0]))
    except InvalidOperation:
        raise refuse(f"{written[key]!r} is too large", at=key) from None


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)
