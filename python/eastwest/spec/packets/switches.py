"""What switches do with packets: room, marks, pauses, choice of ports, forwarding."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from eastwest.engine import classes as engine_classes
from eastwest.engine.classes import CUT_THROUGH_BYTES
from eastwest.engine.defaults import UET_CONTROL
from eastwest.engine.packets import Adaptive, Transport
from eastwest.spec.packets.classes import TrafficClass
from eastwest.spec.packets.thresholds import Buffer, MarksOrNot, Pauses, Watchdog, mark_values
from eastwest.spec.packets.values import Moment, Off, QueueSize, in_bytes, off_or_set
from eastwest.spec.values import Entry, refuse


class SwitchSettings(Entry):
    """How switches treat packets."""

    room: QueueSize | None = None
    """For data before each port, where nothing is paused."""
    trimming: Literal["on", "off"] | None = None
    """Whether packets without room lose their payload, or are dropped whole."""
    marks: MarksOrNot | None = None
    """Marks of congestion."""
    pauses: Annotated[Annotated[Pauses, Tag("set")] | Off, Discriminator(off_or_set)] | None = None
    """Pauses, in place of drops."""
    watchdog: Annotated[Annotated[Watchdog, Tag("set")] | Off, Discriminator(off_or_set)] | None = None
    """What breaks pauses that last too long."""
    adaptive: Adaptive | None = None
    """By which queues switches choose a port, where they choose by queues."""
    telemetry: Annotated[Moment, Field(ge=1e-8)] | None = None
    """How often switches tell each other of their queues, with least-congested."""
    flowlet_gap: Moment | None = None
    """A flow that pauses for longer begins a flowlet, which may take another port."""
    forwarding: Literal["store-and-forward", "cut-through"] | None = None
    """Whether a packet is stored before it is sent on, or sent on while it comes in."""
    buffer: Buffer | None = None
    """A memory that all packets in a switch share, in place of fixed thresholds."""


def is_lossless(asked: SwitchSettings, transport: Transport) -> bool:
    """Whether switches pause senders where a class does not say otherwise."""
    return transport == "rocev2" if asked.pauses is None else asked.pauses != "off"


def switch_values(asked: SwitchSettings, classes: tuple[TrafficClass, ...], transport: Transport) -> dict[str, Any]:
    """What is asked of switches, by the engine's names; None where nothing is.

    Raises:
        PydanticCustomError: two settings contradict each other; says at which.
    """
    by_default = is_lossless(asked, transport)
    for key in ("room", "trimming") if by_default and not classes else ():
        if getattr(asked, key) not in (None, "off"):
            what = f"nothing goes without room where switches pause senders, and {key} says what happens then"
            raise refuse(f"{what}: leave it out, or say pauses: off", at=("switch", key))
    for key in ("room", "pauses") if asked.buffer else ():
        if getattr(asked, key) not in (None, "off"):
            raise refuse(
                f"{key} is a fixed threshold, and a buffer has those that follow its fill: leave out one of them",
                at=("switch", key),
            )
    any_lossless = any(by_default if each.lossless is None else each.lossless for each in classes)
    if not (any_lossless if classes else by_default) and asked.watchdog not in (None, "off"):
        raise refuse("a watchdog breaks pauses, and there are none: leave it out", at=("switch", "watchdog"))
    values: dict[str, Any] = {
        "room": in_bytes(asked.room),
        "choice": asked.adaptive,
        "telemetry_s": asked.telemetry,
        "flowlet_gap_s": asked.flowlet_gap,
        "cut_through": CUT_THROUGH_BYTES if asked.forwarding == "cut-through" else None,
        "buffer": None if asked.buffer is None else _buffer(asked.buffer),
    }
    values |= mark_values(asked.marks)
    if asked.trimming is not None:
        values["trim"] = UET_CONTROL if asked.trimming == "on" else 0
    match asked.pauses:
        case Pauses(above=above, at=at):
            values |= {"pause_above": in_bytes(above), "pause_at": in_bytes(at), "room": 0, "trim": 0}
        case "off":
            values |= {"pause_above": 0, "pause_at": 0}
    match asked.watchdog:
        case Watchdog(detect=detect, restore=restore):
            values |= {"watchdog_detect_s": detect, "watchdog_restore_s": restore}
        case "off":
            values |= {"watchdog_detect_s": 0.0}
    return values


def _buffer(asked: Buffer) -> engine_classes.SharedBuffer:
    return engine_classes.SharedBuffer(
        round(asked.size),
        asked.alpha,
        in_bytes(asked.reserve) or 0,
        in_bytes(asked.headroom),
        in_bytes(asked.resume_below),
    )
