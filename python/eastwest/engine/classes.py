"""Traffic classes and the shared buffer of switches: what is asked, filled in from a run's other settings.

Not here: what classes do, which is the engine's (`crates/engine`, packet/classes.rs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eastwest.engine._native import EngineError

if TYPE_CHECKING:
    from eastwest.engine.packets import PacketSettings

MOST_CLASSES = 8
"""As many as priority flow control tells apart (IEEE 802.1Qbb)."""
CUT_THROUGH_BYTES = 64
"""Of a packet that must be in before it is sent on: its headers, 54 B with RoCEv2 over IPv4."""
URGENT = "urgent"
"""What stands for the queue ahead of all classes, where a class's name may stand."""
ALPHA = 1.0
"""Multiple of the free memory: SONiC's default for lossless traffic on NVIDIA's switches (dynamic_th 0)."""
PAUSE_ABOVE, RESUME_BELOW = 15, 3
"""Full packets held of a cable above which it is paused, and how far below it is let go (the reference simulator's)."""


@dataclass(frozen=True)
class SharedBuffer:
    """The memory of each switch for all packets in it: `size` in bytes, reserves and headroom included.

    A group may hold `reserve` bytes and `alpha` times what is free beyond; a lossless one is let go `resume_below`
    bytes under its threshold and has `headroom` bytes for what still comes, as many as its cable needs where none.
    """

    size: int
    alpha: float = ALPHA
    reserve: int = 0
    headroom: int | None = None
    resume_below: int | None = None


@dataclass(frozen=True)
class TrafficClass:
    """A class as asked; what is None is as the run's other settings have it.

    Flows are of the class with their `number`. A higher `priority` is sent first, equal ones share by `weight`.
    `pause_above` and `pause_at`, or `room`, are fixed thresholds in bytes, in place of `alpha`. `answers` and
    `notifications` name the class in which they travel, or are `URGENT`.
    """

    name: str
    number: int = 0
    priority: int = 0
    weight: int = 1
    is_lossless: bool | None = None
    room: int | None = None
    trim: int | None = None
    pause_above: int | None = None
    pause_at: int | None = None
    mark_from: int | None = None
    mark_to: int | None = None
    mark_most: float = 1.0
    alpha: float | None = None
    reserve: int | None = None
    headroom: int | None = None
    resume_below: int | None = None
    answers: str | None = None
    notifications: str | None = None


@dataclass(frozen=True)
class NativeClass:
    """A class as the native engine reads it, by the names of these attributes.

    A group may hold `alpha` times the free memory, or `threshold` bytes where that is 0; classes are named by place,
    None for ahead of all.
    """

    priority: int
    weight: int
    is_lossless: bool
    alpha: float
    threshold: int
    reserve: int
    trim: int
    resume_below: int
    headroom: int | None
    mark_from: int
    mark_to: int
    mark_most: float
    answers: int | None
    notifications: int | None


@dataclass(frozen=True)
class ClassCounts:
    """What became of one class: counts, seconds that ports were paused, and the most bytes in one queue or group."""

    name: str
    drops: int
    headroom_drops: int
    trims: int
    marks: int
    pauses: int
    paused_s: float
    storms: int
    deepest_queue_bytes: int
    most_shared_bytes: int
    most_headroom_bytes: int


def native_classes(settings: PacketSettings) -> list[NativeClass]:
    """The classes of a run; one for all flows where only a shared buffer is asked for."""
    asked = settings.classes
    if not asked and settings.buffer is not None:
        asked = (TrafficClass("all"),)
    places = {each.name: place for place, each in enumerate(asked)}
    return [_native(each, settings, places) for each in asked]


def _native(asked: TrafficClass, settings: PacketSettings, places: Mapping[str, int]) -> NativeClass:
    buffer = settings.buffer
    is_lossless = settings.pause_above > 0 if asked.is_lossless is None else asked.is_lossless
    is_fixed = buffer is None or (asked.pause_above if is_lossless else asked.room) is not None
    threshold, below = _fixed_pauses(asked, settings) if is_lossless else (_fixed_room(asked, settings), 0)
    if buffer is not None and not is_fixed:
        below = _first(asked.resume_below, buffer.resume_below, RESUME_BELOW * settings.full)
    marks = settings if asked.mark_to is None else asked
    answers = asked.answers or (asked.name if is_lossless else URGENT)
    headroom = buffer.headroom if buffer and asked.headroom is None else asked.headroom
    return NativeClass(
        priority=asked.priority,
        weight=asked.weight,
        is_lossless=is_lossless,
        alpha=0.0 if is_fixed or buffer is None else asked.alpha or buffer.alpha,
        threshold=threshold,
        reserve=_first(asked.reserve, buffer.reserve if buffer else None, 0),
        trim=_first(asked.trim, settings.trim),
        resume_below=below,
        headroom=headroom,
        mark_from=marks.mark_from or 0,
        mark_to=marks.mark_to or 0,
        mark_most=marks.mark_most,
        answers=places.get(answers),
        notifications=places.get(asked.notifications or answers),
    )


def _fixed_pauses(asked: TrafficClass, settings: PacketSettings) -> tuple[int, int]:
    """Bytes held of a cable above which a class is paused, and how far below them it is let go."""
    if asked.pause_above is not None:
        return asked.pause_above, asked.pause_above - _first(asked.pause_at, asked.pause_above)
    if settings.pause_above:
        return settings.pause_above, settings.pause_above - settings.pause_at
    return PAUSE_ABOVE * settings.full, RESUME_BELOW * settings.full


def _fixed_room(asked: TrafficClass, settings: PacketSettings) -> int:
    """Bytes of a lossy class before one port: a port's bandwidth-delay product in full packets unless stated."""
    return _first(asked.room, settings.room or None, settings.product * settings.full)


def _first(*given: int | None) -> int:
    """The first value that is one."""
    return next(value for value in given if value is not None)


def places_of(
    numbers: npt.NDArray[np.uint64] | None, count: int, classes: Sequence[TrafficClass]
) -> npt.NDArray[np.uint8]:
    """The place of each flow's class among those of a run; the first where there are none, or flows have no numbers.

    Raises:
        EngineError: a flow has a number that no class has.
    """
    if not classes:
        return np.zeros(count, dtype=np.uint8)
    place_of = {each.number: place for place, each in enumerate(classes)}
    given = np.zeros(count, dtype=np.uint64) if numbers is None else numbers
    for flow, number in enumerate(given.tolist()):
        if number not in place_of:
            known = ", ".join(f"{each.name} {each.number}" for each in classes)
            raise EngineError(
                f"flow {flow + 1} has priority {number}, and no class has that number (there are {known})"
            )
    return np.array([place_of[number] for number in given.tolist()], dtype=np.uint8)
