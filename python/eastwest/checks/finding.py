"""What a check found: how bad, by which rule, where, what, and how to mend it.

Not here: how a finding is shown (`report/config_check.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_PLACES_NAMED = 3


class Severity(StrEnum):
    """How bad a finding is. Only errors make the command end with 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Fault:
    """What a rule sees at one place.

    Attributes:
        file: the file to change.
        key: the row, key or line in it, e.g. `PORT_QOS_MAP|Ethernet0`.
        what: what is wrong, without the place, so that the same fault at many ports is told once.
        fix: what to write instead.
        severity: where it is not the rule's own.
    """

    file: str
    key: str
    what: str
    fix: str
    severity: Severity | None = None


@dataclass(frozen=True)
class Finding:
    """A fault of one file, at one or many of its keys."""

    severity: Severity
    rule: str
    where: str
    what: str
    fix: str

    def as_json(self) -> dict[str, str]:
        """The five fields that `--json` shows."""
        return {
            "severity": self.severity.value,
            "rule": self.rule,
            "where": self.where,
            "what": self.what,
            "fix": self.fix,
        }


def gathered(rule: str, severity: Severity, faults: Iterable[Fault]) -> list[Finding]:
    """The faults of one rule, the same one at many keys of a file told once."""
    keys: dict[tuple[str, str, str, Severity], list[str]] = {}
    for fault in faults:
        place = keys.setdefault((fault.file, fault.what, fault.fix, fault.severity or severity), [])
        if fault.key not in place:
            place.append(fault.key)
    return [
        Finding(grade, rule, f"{file}: {_listed(places)}" if file else _listed(places), what, fix)
        for (file, what, fix, grade), places in keys.items()
    ]


def _listed(keys: list[str]) -> str:
    """The first keys, and how many more there are."""
    named = ", ".join(keys[:_PLACES_NAMED])
    more = len(keys) - _PLACES_NAMED
    return f"{named} and {more} more" if more > 0 else named
