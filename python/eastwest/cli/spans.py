"""Options that span values, as in `--gpus 64..4096` or `--sizes 1KiB..16GiB`: from the text to its two ends."""

from __future__ import annotations

from eastwest import units
from eastwest.errors import InputError
from eastwest.workload.step_file import LARGEST_OPERATION_BYTES


def counts(option: str, text: str) -> tuple[int, int]:
    """The ends of a span of whole numbers; raises `InputError`."""
    first, last = _ends(option, text, "64..4096")
    if not (first.isdecimal() and last.isdecimal()):
        raise InputError(f"{option} {text}: write two whole numbers, as in 64..4096")
    return int(first), int(last)


def sizes(option: str, text: str) -> list[float]:
    """Sizes in bytes, each twice the one before, over a span; raises `InputError`."""
    try:
        first, last = (units.parse_size(end) for end in _ends(option, text, "1KiB..16GiB"))
    except units.UnitError as error:
        raise InputError(f"{option} {text}: {error}") from None
    if last < first or last / first > 2**60:
        raise InputError(f"{option} {text}: from small to large, as in 1KiB..16GiB")
    if last > LARGEST_OPERATION_BYTES:
        raise InputError(f"{option} {text}: up to {units.format_size(LARGEST_OPERATION_BYTES)}")
    found = [first]
    while found[-1] * 2 <= last * (1 + 1e-12):
        found.append(found[-1] * 2)
    return found


def _ends(option: str, text: str, example: str) -> tuple[str, str]:
    first, dots, last = (part.strip() for part in text.partition(".."))
    if not (dots and first and last):
        raise InputError(f"{option} {text}: write from..to, as in {example}")
    return first, last
