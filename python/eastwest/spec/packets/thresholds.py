"""Fills of queues at which switches do something: mark, pause, or share out a memory."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Strict, Tag, model_validator

from eastwest.engine.classes import ALPHA
from eastwest.spec.packets.values import Alpha, Moment, Off, QueueSize, in_bytes, off_or_set
from eastwest.spec.values import Entry, Size, refuse


class Marks(Entry):
    """Fill of a queue at which packets are marked as congested (ECN, RED)."""

    start: Annotated[QueueSize, Field(alias="from")]
    """Up to here none are."""
    to: QueueSize
    """From here on all are."""
    most: Annotated[float, Strict(), Field(gt=0.0, le=1.0)] = 1.0
    """Probability reached just before that."""

    @model_validator(mode="after")
    def _ascend(self) -> Marks:
        if self.to < self.start:
            raise refuse("marks are certain before they begin: 'to' is below 'from'", at="to")
        return self


class Pauses(Entry):
    """When a switch pauses the other end of a cable (PFC)."""

    above: QueueSize
    """Bytes held of what came by the cable, above which it asks."""
    at: QueueSize
    """Bytes at which it lets go."""

    @model_validator(mode="after")
    def _descend(self) -> Pauses:
        if self.at > self.above:
            raise refuse("a switch lets go at less than it pauses above: 'at' exceeds 'above'", at="at")
        return self


class Watchdog(Entry):
    """What breaks pauses that last too long (PFC watchdog)."""

    detect: Moment
    """A pause of this length is a storm: what waits is dropped."""
    restore: Moment
    """For so long after that the port hears no pause."""


class Buffer(Entry):
    """The memory of each switch that all packets in it share, with dynamic thresholds (Choudhury and Hahne)."""

    size: Size
    """In all, reserves and headroom included."""
    alpha: Alpha = ALPHA
    """Multiple of what is free that may be held: of a lossless class of what came by a cable, else before a port."""
    reserve: QueueSize | None = None
    """What may be held whatever is free."""
    headroom: QueueSize | None = None
    """For what still comes by a cable once it is paused; as much as its speed and length need where left out."""
    resume_below: QueueSize | None = None
    """How far below its threshold a paused class is let go; three full packets where left out."""


MarksOrNot = Annotated[Annotated[Marks, Tag("set")] | Off, Discriminator(off_or_set)]
"""Marks, or that there are none."""


def mark_values(marks: Marks | Literal["off"] | None) -> dict[str, Any]:
    """Marks as the engine's settings name them: none where nothing is said."""
    match marks:
        case Marks(start=start, to=to, most=most):
            return {"mark_from": in_bytes(start), "mark_to": max(in_bytes(to) or 0, 1), "mark_most": most}
        case "off":
            return {"mark_from": 0, "mark_to": 0}
    return {}
