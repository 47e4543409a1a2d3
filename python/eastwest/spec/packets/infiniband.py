"""What InfiniBand alone has: buffers of virtual lanes, retries, and congestion control by notifications."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Strict, Tag

from eastwest.spec.packets.values import OnOrOff, PacketSize, QueueSize, in_bytes, off_or_set
from eastwest.spec.values import Entry, Time


class Notifications(Entry):
    """Congestion control by forward and backward notifications (FECN, BECN), with the names of InfiniBand's annex A10.

    Defaults are those of NVIDIA's congestion control manager, but for the timer.
    """

    threshold: Annotated[int, Strict(), Field(ge=1, le=15)] = 15
    """How soon switches mark: from 1, loose, to 15, aggressive."""
    marking_rate: Annotated[int, Strict(), Field(ge=0, le=65_535)] = 10
    """Packets between two marks, on average."""
    packet_size: Annotated[PacketSize, Field(json_schema_extra={"default": "512 B"})] = 512.0
    """Smaller packets are not marked."""
    ccti_increase: Annotated[int, Strict(), Field(ge=1, le=127)] = 1
    """By how much a notification raises a sender's index into the congestion control table."""
    ccti_timer: Annotated[Time, Field(gt=0, le=1, json_schema_extra={"default": "153.6 us"})] = 150 * 1.024e-6
    """Time after which the index falls by one."""
    ccti_min: Annotated[int, Strict(), Field(ge=0, le=127)] = 0
    """Least index."""


NotificationsOrNot = Annotated[Annotated[Notifications, Tag("set")] | OnOrOff, Discriminator(off_or_set)]


class InfiniBandSettings(Entry):
    """What InfiniBand alone has."""

    vl_buffer: Annotated[QueueSize, Field(ge=32_768)] | None = None
    """Buffer of a virtual lane at the end of each cable."""
    retries: Annotated[int, Strict(), Field(ge=0, le=7)] | None = None
    """Times that a packet is sent again before the queue pair gives up."""
    congestion_control: NotificationsOrNot | None = None
    """Whether switches mark and senders slow down."""


def infiniband_values(asked: InfiniBandSettings) -> dict[str, Any]:
    """What is asked, by the engine's names; None where nothing is."""
    values: dict[str, Any] = {"vl_buffer": in_bytes(asked.vl_buffer), "retries": asked.retries}
    control = Notifications() if asked.congestion_control == "on" else asked.congestion_control
    match control:
        case Notifications():
            values |= {
                "fecn_threshold": control.threshold,
                "fecn_between": control.marking_rate,
                "fecn_least": in_bytes(control.packet_size),
                "ccti_increase": control.ccti_increase,
                "ccti_timer_s": control.ccti_timer,
                "ccti_min": control.ccti_min,
            }
        case "off":
            values["fecn_threshold"] = 0
    return values
