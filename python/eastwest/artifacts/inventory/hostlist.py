"""Lists of host names in short, as Slurm writes them: server-[000-031,040]."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

_NUMBERED = re.compile(r"^(.*?)([0-9]+)$")


def hostlist(names: Iterable[str]) -> str:
    """Names in the order in which they come, runs of consecutive numbers of one width written as ranges.

    Slurm's own expressions (its `hostlist_create`): brackets hold numbers with leading zeros kept.
    """
    parts: list[str] = []
    for (stem, width), named in groupby((_split(name) for name in names), key=lambda each: each[:2]):
        numbers = [number for _, _, number in named]
        if width == 0:
            parts += [stem] * len(numbers)
            continue
        runs: list[list[int]] = []
        for number in numbers:
            if runs and number == runs[-1][-1] + 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        ranges = ",".join(
            f"{run[0]:0{width}d}" if len(run) == 1 else f"{run[0]:0{width}d}-{run[-1]:0{width}d}" for run in runs
        )
        parts.append(f"{stem}{ranges}" if len(numbers) == 1 else f"{stem}[{ranges}]")
    return ",".join(parts)


def _split(name: str) -> tuple[str, int, int]:
    """The stem, the width of the number at the end (0 where there is none) and the number."""
    found = _NUMBERED.match(name)
    if found is None:
        return name, 0, 0
    stem, digits = found.groups()
    return stem, len(digits), int(digits)
