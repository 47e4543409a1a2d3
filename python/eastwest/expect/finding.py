"""What a difference between log and expectation suggests: a hypothesis with its evidence and how to confirm it."""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.expect.faults import Fault


@dataclass(frozen=True)
class Cause:
    """One thing that would have this effect, and a command that would show it."""

    what: str
    confirm: str


@dataclass(frozen=True)
class Finding:
    """A hypothesis: `says` in a sentence, `evidence` as sentences, causes as likely first.

    `explains` is the part of the difference that goes away where it is simulated (`model`), None where it is not; a
    finding `is_certain` where the log itself says so.
    """

    name: str
    says: str
    evidence: tuple[str, ...]
    causes: tuple[Cause, ...]
    explains: float | None = None
    is_certain: bool = False
    model: Fault | None = None
