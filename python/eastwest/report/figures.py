"""Numbers as people read them: one unit a column, no false precision, thousands set apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

NBSP = "\N{NO-BREAK SPACE}"
"""Between a number and its unit, so that no line ends between them."""

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_RATES = ((1e15, "Pb/s"), (1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"))
_LEAST = 0.0995
"""Least part of a unit that is told in it: 0.400 s, so that a step and its exchange mostly share a unit."""
_DIGITS = 3
"""Significant digits of the largest figure in a column; models of networks are not better than that."""


@dataclass(frozen=True)
class Scale:
    """One unit and one number of decimals for a whole column of times."""

    unit: str
    seconds: float
    decimals: int

    @classmethod
    def of(cls, times_s: Iterable[float], least: float = _LEAST) -> Scale:
        """Choose them so that the largest time has three significant digits, and is `least` of its unit or more."""
        largest = max(times_s, default=0.0)
        seconds, unit = next((pair for pair in _TIMES if largest >= pair[0] * least), _TIMES[-1 if largest else 0])
        return cls(unit, seconds, _decimals(largest / seconds))

    def text(self, time_s: float) -> str:
        """Give the bare number; the unit stands in the column's head."""
        smallest = 10.0**-self.decimals
        value = time_s / self.seconds
        return f"<{smallest:.{self.decimals}f}" if 0 < value < smallest / 2 else f"{value:,.{self.decimals}f}"

    def with_unit(self, time_s: float) -> str:
        """Give the number and its unit, for running text."""
        return f"{self.text(time_s)}{NBSP}{self.unit}"


def fine(times_s: Iterable[float]) -> Scale:
    """Give a scale for times of packets: never below one of its unit, so that 326 µs is not 0.326 ms."""
    return Scale.of(times_s, least=1.0)


def duration(time_s: float) -> str:
    """Give one such time with three significant digits: 57.3 µs, 1.11 ms."""
    return fine([time_s]).with_unit(time_s)


def factor(ratio: float) -> str:
    """Give a ratio with three significant digits: 1.09x, 21x, 340x."""
    return f"{float(f'{ratio:.3g}'):,.10g}x"


def percent(share: float) -> str:
    """Give a share of one in whole per cent; what is not nothing is not shown as nothing."""
    return f"<1{NBSP}%" if 0 < share < 0.005 else f"{share * 100:.0f}{NBSP}%"


def amount(value: float) -> str:
    """Give an amount of money or hours with three significant digits: 12,300, 405, 1.25."""
    if value == 0:
        return "0"
    digits = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def rate(bits_per_second: float) -> str:
    """Give a rate in the unit that leaves one to three digits before the point: 400 Gb/s, 204.8 Tb/s."""
    size, unit = next((pair for pair in _RATES if bits_per_second >= pair[0]), _RATES[-1])
    return f"{bits_per_second / size:,.4g}{NBSP}{unit}"


def count(number: int, thing: str) -> str:
    """Give a number of things: 1 spine, 1,024 servers, 2 leaves, no switches."""
    if number == 1:
        return f"1 {thing}"
    few = f"{number:,}" if number else "no"
    if thing.endswith("leaf"):
        thing = thing.removesuffix("f") + "v"
    return f"{few} {thing}{'es' if thing.endswith(('v', 'ch')) else 's'}"


def listing(words: Iterable[str]) -> str:
    """Join words as a sentence does: a, b and c."""
    *head, last = words
    return f"{', '.join(head)} and {last}" if head else last


def _decimals(value: float) -> int:
    return max(0, _DIGITS - 1 - math.floor(math.log10(value))) if value > 0 else _DIGITS - 1
