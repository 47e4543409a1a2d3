"""What limits each result, every reason told once: a table gives its number, and a list beside it the sentence.

Fabrics that differ in one setting mostly share their reasons; a sentence in every row would hide those that differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.report.figures import listing
from eastwest.study.result import StudyResult


@dataclass(frozen=True)
class Reason:
    """One reason: the number that tables give for it, where it limits, and the sentence that says why."""

    number: int
    where: str
    text: str


def reasons_of(result: StudyResult) -> dict[str, Reason]:
    """Give the reasons by the bottleneck's `why`, numbered from 1 in the order in which they first appear."""
    places: dict[str, dict[str, None]] = {}
    for row in result.rows:
        places.setdefault(row.bottleneck.why, {})[row.bottleneck.where] = None
    return {
        why: Reason(number, _together(list(wheres)), sentence(why))
        for number, (why, wheres) in enumerate(places.items(), start=1)
    }


def in_short(where: str) -> str:
    """Give a bottleneck's place without its direction: `NIC ports` for `NIC ports, leaf to server`."""
    return where.partition(",")[0].removesuffix(" links")


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop."""
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else ""


def _together(wheres: list[str]) -> str:
    """Name places that share a reason; two directions of the same ports go by the name of the ports."""
    return wheres[0] if len(wheres) == 1 else listing(dict.fromkeys(in_short(where) for where in wheres))
