"""Classes of traffic, each with queues of its own in every port."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict, model_validator

from eastwest.document import nearest
from eastwest.engine import classes as engine_classes
from eastwest.engine.defaults import UET_CONTROL
from eastwest.engine.packets import Transport
from eastwest.spec.packets.thresholds import MarksOrNot, Pauses, mark_values
from eastwest.spec.packets.transports import BY_DROPS_OR_PAUSES, KNOWN_TO, OF_LANES
from eastwest.spec.packets.values import Alpha, QueueSize, in_bytes
from eastwest.spec.values import Entry, refuse


class TrafficClass(Entry):
    """A class of traffic: what is left out is as `switch` says."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    """By which it is called."""
    number: Annotated[int, Strict(), Field(ge=0, le=2**32)] | None = None
    """Flows of the class have it as their priority; its place in the list, from 0, where left out."""
    priority: Annotated[int, Strict(), Field(ge=0, le=255)] = 0
    """Classes of a higher one are always sent first."""
    weight: Annotated[int, Strict(), Field(ge=1, le=1000)] = 1
    """Share among classes of one priority."""
    lossless: Annotated[bool, Strict()] | None = None
    """Whether it is paused and never dropped, or dropped or trimmed."""
    room: QueueSize | None = None
    """A fixed room before each port, of a lossy class."""
    trimming: Literal["on", "off"] | None = None
    """Whether packets of a lossy class without room lose their payload, or are dropped whole."""
    pauses: Pauses | None = None
    """Fixed thresholds of a lossless class."""
    marks: MarksOrNot | None = None
    """Marks of congestion, by the fill of its own queue."""
    alpha: Alpha | None = None
    """Its multiple of what is free of a shared buffer."""
    reserve: QueueSize | None = None
    """What it may hold of a shared buffer whatever is free."""
    headroom: QueueSize | None = None
    """Of a lossless class in a shared buffer."""
    resume_below: QueueSize | None = None
    """Of a lossless class in a shared buffer."""
    answers: str | None = None
    """Class in which acknowledgements travel, or urgent: ahead of all. Its own if it is lossless, else urgent."""
    notifications: str | None = None
    """The same for congestion notifications; as answers where left out."""

    @model_validator(mode="after")
    def _has_one_threshold(self) -> TrafficClass:
        fixed = "pauses" if self.pauses else "room" if self.room is not None else None
        if fixed and self.alpha is not None:
            raise refuse(f"{fixed} and alpha are two thresholds of one class: leave one out", at="alpha")
        return self


def class_values(
    asked: tuple[TrafficClass, ...], transport: Transport, *, is_lossless: bool, is_shared: bool
) -> tuple[engine_classes.TrafficClass, ...] | None:
    """Classes as the engine has them, where there are any.

    Args:
        asked: As they are written.
        transport: Of all of them.
        is_lossless: Whether a class is that does not say.
        is_shared: Whether switches have a shared buffer.

    Raises:
        PydanticCustomError: a class states what is not read of it, or contradicts another; says at which.
    """
    names, numbers = [each.name for each in asked], _numbers(asked)
    for place, each in enumerate(asked):
        _check_class(each, is_lossless, is_shared, transport, place)
        if names.index(each.name) != place:
            raise refuse(f"two classes are called {each.name!r}", at=("classes", place, "name"))
        if each.name == engine_classes.URGENT:
            raise refuse(
                "urgent is what goes ahead of all classes: call this one otherwise", at=("classes", place, "name")
            )
        if numbers.index(numbers[place]) != place:
            first = names[numbers.index(numbers[place])]
            raise refuse(f"number {numbers[place]} is that of {first!r} already", at=("classes", place, "number"))
        for key in ("answers", "notifications"):
            if getattr(each, key) not in (None, engine_classes.URGENT, *names):
                known = (engine_classes.URGENT, *names)
                message = f"there is no class {getattr(each, key)!r} for {key} to travel in"
                raise refuse(message, known, nearest(getattr(each, key), known), ("classes", place, key))
    return tuple(map(_class, asked, numbers)) or None


def _numbers(classes: tuple[TrafficClass, ...]) -> list[int]:
    return [place if each.number is None else each.number for place, each in enumerate(classes)]


def _check_class(each: TrafficClass, by_default: bool, is_shared: bool, transport: Transport, place: int) -> None:
    """Whether a class states only what is read of it."""
    stated_here = each.model_fields_set - set(OF_LANES)
    if stated_here and transport not in BY_DROPS_OR_PAUSES:
        key = min(stated_here)
        message = f"{key} is nothing for InfiniBand, of which classes are virtual lanes with {', '.join(OF_LANES)}"
        raise refuse(f"{message}: leave it out", at=("classes", place, key))
    is_lossless = by_default if each.lossless is None else each.lossless
    kind = "lossless" if is_lossless else "lossy"
    others = ("room", "trimming") if is_lossless else ("pauses", "headroom", "resume_below")
    for key in others:
        if getattr(each, key) not in (None, "off"):
            message = f"{key} is nothing for a class that is {kind}, as {each.name!r} is"
            raise refuse(
                f"{message}: leave it out, or say lossless: {str(not is_lossless).lower()}", at=("classes", place, key)
            )
    if each.trimming == "on" and transport not in KNOWN_TO["switch", "trimming"]:
        raise refuse(
            f"{transport} does not know packets that were trimmed: leave trimming out",
            at=("classes", place, "trimming"),
        )
    for key in ("alpha", "reserve", "headroom", "resume_below"):
        if not is_shared and getattr(each, key) is not None:
            message = f"{key} is a share of a buffer, and switches have none: add switch: {{buffer: {{size: 64 MB}}}}"
            raise refuse(f"{message}, or leave it out", at=("classes", place, key))


def _class(asked: TrafficClass, number: int) -> engine_classes.TrafficClass:
    return engine_classes.TrafficClass(
        asked.name,
        number,
        asked.priority,
        asked.weight,
        asked.lossless,
        room=in_bytes(asked.room),
        trim=None if asked.trimming is None else UET_CONTROL if asked.trimming == "on" else 0,
        pause_above=in_bytes(asked.pauses.above) if asked.pauses else None,
        pause_at=in_bytes(asked.pauses.at) if asked.pauses else None,
        alpha=asked.alpha,
        reserve=in_bytes(asked.reserve),
        headroom=in_bytes(asked.headroom),
        resume_below=in_bytes(asked.resume_below),
        answers=asked.answers,
        notifications=asked.notifications,
        **mark_values(asked.marks),
    )
