"""Quantities as people write them ("400 Gb/s", "2 MB", "1.5 us") in and out; floats in SI units everywhere else.

The vocabulary is closed: a word that is not in it is refused, so that `800G`, `400 GHz` and `3 gauss` cannot pass for a
rate. Definitions and dimensions are pint's, in a registry of our own with a data dimension; pint is imported with the
first quantity read, so that programs that read none start without it. GB is 10^9 bytes, GiB 2^30.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pint import UnitRegistry

_DECIMAL = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
_SMALL = {"m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9, "p": -12}  # micro sign and Greek mu look alike


def _vocabulary() -> dict[str, str]:
    """Each word that may stand in a unit, with its definition for pint."""
    words: dict[str, str] = {}
    for base, spellings in {
        "bit": ("b", "bit"),
        "byte": ("B", "byte"),
        "bit / second": ("bps",),
        "flop": ("FLOP",),
        "watt": ("W",),
        "hertz": ("Hz",),
    }.items():
        for spelling in spellings:
            words |= {f"{prefix}{spelling}": f"1e{power} * {base}" for prefix, power in _DECIMAL.items()}
            if base in ("bit", "byte"):
                words |= {f"{prefix}{spelling}": f"{2**power} * {base}" for prefix, power in _BINARY.items()}
    words |= {"bits": "1 * bit", "bytes": "1 * byte"}
    words |= {f"{prefix}s": f"1e{power} * second" for prefix, power in _SMALL.items()}
    words |= {"s": "1 * second", "min": "60 * second", "h": "3600 * second"}
    words |= dict.fromkeys(("d", "day", "days"), "86400 * second")
    words |= {"mm": "1e-3 * meter", "cm": "1e-2 * meter", "m": "1 * meter", "km": "1e3 * meter"}
    return words


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity: what people call it, its base unit, an example, and the units it is shown in.

    `bare` is the unit that a number without any is most likely to lack; the example's where empty.
    """

    name: str
    base: str
    example: str
    prefixed: str = ""  # the unit that takes k, M, G, T ... when shown
    bare: str = ""


RATE = Quantity("rate", "bit/second", "400 Gb/s", "b/s")
SIZE = Quantity("size", "byte", "2 MB", "B")
TIME = Quantity("time", "second", "1.5 us", bare="s")
LENGTH = Quantity("length", "meter", "30 m")
POWER = Quantity("power", "watt", "700 W", "W")
COMPUTE = Quantity("compute rate", "flop/second", "989 TFLOP/s", "FLOP/s")
_FREQUENCY = Quantity("frequency", "hertz", "1.5 GHz")
_KINDS = (RATE, SIZE, TIME, LENGTH, POWER, COMPUTE, _FREQUENCY)

_STEPS = (
    *(("ps", 1e-12), ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)),
    *(("min", 60.0), ("h", 3600.0), ("days", 86400.0)),
)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_WRITTEN = re.compile(rf"\s*({_NUMBER})\s*(\S.*?)?\s*", re.ASCII)
_MONEY = re.compile(rf"\s*({_NUMBER})\s*([A-Z]{{3}})\s*", re.ASCII)


class UnitError(ValueError):
    """A quantity that cannot be read: `found` as written, what was `expected`, and an `example`."""

    def __init__(self, message: str, *, found: object, expected: str, example: str) -> None:
        super().__init__(message)
        self.found = found
        self.expected = expected
        self.example = example


@dataclass(frozen=True)
class Money:
    """An amount in one currency (its three letters, as ISO 4217 has them)."""

    amount: float
    currency: str

    def __str__(self) -> str:
        return f"{self.amount:,.2f} {self.currency}"


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[Any]:
    import pint

    registry: UnitRegistry[Any] = pint.UnitRegistry(None, non_int_type=Decimal)
    dimensions = {"bit": "data", "second": "time", "meter": "length", "watt": "power", "flop": "work"}
    for base, dimension in dimensions.items():
        registry.define(f"{base} = [{dimension}]")
    registry.define("hertz = 1 / second")
    registry.define("byte = 8 * bit")
    return registry


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    return _vocabulary()


@lru_cache(maxsize=1024)
def _factor(unit: str) -> tuple[Decimal, Quantity | None]:
    """Size of a unit in the base unit of its kind, and that kind (None where it is no kind that we read)."""
    registry = _registry()
    over, _, under = unit.partition("/")
    expression = f"({_words()[over]}) / ({_words()[under]})" if under else _words()[over]
    value = registry.parse_expression(expression)
    for kind in _KINDS:
        base = registry.parse_units(kind.base)
        if value.dimensionality == base.dimensionality:
            return Decimal(value.to(base).magnitude), kind
    return Decimal(1), None


def _shown(found: object) -> str:
    """What was written, short enough for a message."""
    text = repr(found) if isinstance(found, str) else str(found)
    return text if len(text) <= 60 else f"{text[:56]} ..."


def _read(found: object, kind: Quantity, *, zero: bool) -> float:
    def refuse(reason: str) -> UnitError:
        return UnitError(f"{_shown(found)} {reason}", found=found, expected=f"a {kind.name}", example=kind.example)

    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise refuse(f"is no {kind.name}: write a number with a unit, as in {kind.example}")
    written = _WRITTEN.fullmatch(str(found))
    if written is None:
        raise refuse(f"is no {kind.name}: write a number with a unit, as in {kind.example}")
    number, unit = written.group(1), (written.group(2) or "").replace(" ", "")
    scaled = kind.example.split()[1]
    if not unit or unit in _DECIMAL or unit in _BINARY:
        with_unit = f"{number} {_with_prefix(unit, scaled) if unit else kind.bare or scaled}"
        raise refuse(f"has no unit: write {with_unit} for a {kind.name}")
    words = unit.split("/")
    if len(words) > 2 or any(word not in _words() for word in words):
        raise refuse(f"has an unknown unit {_shown(unit)}{_meant(words)}; a {kind.name} looks like {kind.example}")
    factor, what = _factor(unit)
    if what is not kind:
        named = f"is a {what.name}, not a {kind.name}" if what else f"is no {kind.name}"
        raise refuse(f"{named}: write it like {kind.example}")
    try:
        value = float(Decimal(number) * factor)
    except (InvalidOperation, OverflowError):
        value = math.inf
    if not math.isfinite(value):
        raise refuse(f"is too large for a {kind.name}")
    if value < 0 or (value == 0 and not zero):
        raise refuse(f"must be {'zero or more' if zero else 'above zero'}, as in {kind.example}")
    return value


def _with_prefix(prefix: str, example: str) -> str:
    """The example's unit with the prefix that was written, where that makes a unit: 'G' and 'b/s' give 'Gb/s'."""
    candidate = f"{prefix}{example[1:]}"
    return candidate if prefix and candidate.split("/")[0] in _words() else example


def _meant(words: list[str]) -> str:
    for word in words:
        if word not in _words():
            same = [known for known in _words() if known.lower() == word.lower()]
            close = same or difflib.get_close_matches(word, _words(), n=1, cutoff=0.6)
            if close:
                return f" (did you mean {'/'.join(close[0] if each == word else each for each in words)!r}?)"
    return ""


def parse_rate(text: object, *, zero: bool = False) -> float:
    """Bits per second of a rate: "400 Gb/s", "50 GB/s", "400 Gbps". Raises `UnitError`."""
    return _read(text, RATE, zero=zero)


def parse_size(text: object, *, zero: bool = False) -> float:
    """Bytes of a size: "2 MB", "512 KiB", "1 Gb". Raises `UnitError`."""
    return _read(text, SIZE, zero=zero)


def parse_time(text: object, *, zero: bool = False) -> float:
    """Seconds of a time: "1.5 us", "2 s", "3 h". Raises `UnitError`."""
    return _read(text, TIME, zero=zero)


def parse_length(text: object, *, zero: bool = False) -> float:
    """Metres of a length: "30 m", "2 km". Raises `UnitError`."""
    return _read(text, LENGTH, zero=zero)


def parse_power(text: object, *, zero: bool = False) -> float:
    """Watts of a power: "700 W", "10.2 kW". Raises `UnitError`."""
    return _read(text, POWER, zero=zero)


def parse_compute(text: object, *, zero: bool = False) -> float:
    """Floating-point operations per second: "989 TFLOP/s". Raises `UnitError`."""
    return _read(text, COMPUTE, zero=zero)


def parse_money(text: object, *, zero: bool = True) -> Money:
    """An amount of money: "2.50 USD". Raises `UnitError`."""

    def refuse(reason: str) -> UnitError:
        message = f"{_shown(text)} {reason}, as in 2.50 USD"
        return UnitError(message, found=text, expected="an amount of money", example="2.50 USD")

    written = _MONEY.fullmatch(str(text)) if isinstance(text, str) else None
    if written is None:
        raise refuse("is no amount of money: write a number and a currency's three letters")
    amount = float(written.group(1))
    if not math.isfinite(amount) or amount < 0 or (amount == 0 and not zero):
        raise refuse(f"must be {'zero or more' if zero else 'above zero'}")
    return Money(amount, written.group(2))


def measure(text: str) -> tuple[float, Quantity] | None:
    """What a text measures, in the base unit of its kind (sizes in bytes), and that kind; None where it is no quantity.

    >>> measure("400 Gb/s")[0]
    400000000000.0
    """
    split = split_unit(text)
    if split is None:
        return None
    number, unit = split
    factor, kind = _factor(unit)
    return None if kind is None else (float(number * factor), kind)


def split_unit(text: str) -> tuple[Decimal, str] | None:
    """Number and unit of a quantity as written, "400 Gb/s" as (400, "Gb/s"); None where it is no quantity."""
    written = _WRITTEN.fullmatch(text)
    if written is None or written.group(2) is None:
        return None
    unit = written.group(2).replace(" ", "")
    words = unit.split("/")
    if len(words) > 2 or any(word not in _words() for word in words):
        return None
    return Decimal(written.group(1)), unit


def tidy(number: Decimal, unit: str) -> str:
    """A quantity with the largest prefix that leaves it as short: 1024 KiB gives "1 MiB", 1600 Gb/s "1.6 Tb/s".

    No digit is lost.
    """
    word, slash, under = unit.partition("/")
    for prefixes, ratio, most_digits in ((list(_DECIMAL), 1000, 1), (["", *_BINARY], 1024, 0)):
        start = next((prefix for prefix in reversed(prefixes) if prefix and word.startswith(prefix)), "")
        base = word.removeprefix(start)
        if base not in ("b", "bit", "B", "byte", "bps", "FLOP", "W", "Hz") or (ratio == 1024 and not start):
            continue
        for larger in prefixes[prefixes.index(start) + 1 :]:
            scaled = number / ratio
            if scaled < 1 or -_exponent(scaled) > max(most_digits, -_exponent(number)):
                break
            number, word = scaled, f"{larger}{base}"
    return f"{number.normalize():f} {word}{slash}{under}"


def _exponent(number: Decimal) -> int:
    return int(number.normalize().as_tuple().exponent)


def format_rate(bps: float) -> str:
    """A rate for people: 4e11 gives "400 Gb/s". Three significant digits, decimal prefixes."""
    return _show(bps, RATE)


def format_size(size_bytes: float) -> str:
    """A size for people: 2e6 gives "2 MB". Three significant digits, decimal prefixes."""
    return _show(size_bytes, SIZE)


def format_power(watts: float) -> str:
    """A power for people: 10200 gives "10.2 kW"."""
    return _show(watts, POWER)


def format_time(seconds: float) -> str:
    """A time for people: 1.5e-6 gives "1.5 us", 7200 gives "2 h". Three significant digits."""
    if seconds == 0:
        return "0 s"
    unit, length = _STEPS[0]
    for step, step_s in _STEPS:
        # seconds stay seconds up to two minutes, hours up to two days: "90 s" reads better than "1.5 min"
        if abs(_three_digits(seconds / step_s)) >= (2 if step_s > 1 else 1):
            unit, length = step, step_s
    return f"{_plain(seconds / length)} {unit}"


def format_length(metres: float) -> str:
    """A length for people: 30.0 gives "30 m"."""
    return f"{_plain(metres / 1e3)} km" if _three_digits(metres) >= 1e3 else f"{_plain(metres)} m"


def _show(value: float, kind: Quantity) -> str:
    fitting = (prefix for prefix, power in _DECIMAL.items() if abs(_three_digits(value / 10**power)) < 1000)
    prefix = next(fitting, "E")
    return f"{_plain(value / 10 ** _DECIMAL[prefix])} {prefix}{kind.prefixed}"


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def _plain(value: float) -> str:
    """Three significant digits, without an exponent."""
    rounded = Decimal(f"{value:.3g}")
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
