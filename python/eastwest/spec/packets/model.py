"""All packet settings of a run, and what is stated of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from eastwest.engine import Stated
from eastwest.engine.classes import MOST_CLASSES
from eastwest.engine.packets import Transport
from eastwest.spec.packets.classes import TrafficClass, class_values
from eastwest.spec.packets.hosts import NicSettings, TransportSettings, nic_values, transport_values
from eastwest.spec.packets.infiniband import InfiniBandSettings, infiniband_values
from eastwest.spec.packets.switches import SwitchSettings, is_lossless, switch_values
from eastwest.spec.packets.thresholds import Marks
from eastwest.spec.packets.transports import KNOWN_TO
from eastwest.spec.packets.values import EventText, Moment, RoutesAfter, Share
from eastwest.spec.values import Entry, refuse


class Packets(Entry):
    """How packets are sent and switched, where it is not as the transport has it by default."""

    transport: TransportSettings = TransportSettings()
    """How hosts send."""
    switch: SwitchSettings = SwitchSettings()
    """How switches treat packets."""
    infiniband: InfiniBandSettings = InfiniBandSettings()
    """What InfiniBand alone has."""
    nic: NicSettings = NicSettings()
    """What hosts and their NICs take."""
    classes: Annotated[tuple[TrafficClass, ...], Field(max_length=MOST_CLASSES)] = ()
    """Classes of traffic, each with queues of its own; one for all where left out."""
    events: tuple[EventText, ...] = ()
    """What goes wrong while the step runs, as in 'down spine-3 at 50 us for 1 ms'."""
    routes_after: RoutesAfter | None = None
    """How long after a link went down or came back all switches have new routes; never where left out."""
    loss: Share | None = None
    """Share of packets that bit errors take on each link."""
    patience: Moment | None = None
    """A run in which nothing new arrives for so long is given up."""


def stated(asked: Packets, transport: Transport) -> Stated:
    """What is asked, as names and values of `PacketSettings`.

    Raises:
        PydanticCustomError: the transport knows no such setting, or two contradict each other; says at which.
    """
    for (part, key), known in KNOWN_TO.items():
        if getattr(getattr(asked, part), key) is not None and transport not in known:
            message = f"{key} is a setting of {' and '.join(known)}, and the transport is {transport}"
            raise refuse(f"{message}: leave it out", at=(part, key))
    marks = (asked.switch.marks, *(each.marks for each in asked.classes))
    if asked.transport.dcqcn not in (None, "off") and not any(isinstance(each, Marks) for each in marks):
        message = "DCQCN slows down by marks, and there are none: add switch: {marks: {from: 100 kB, to: 400 kB}}"
        raise refuse(f"{message}, or leave it out", at=("transport", "dcqcn"))
    values: dict[str, Any] = {
        **transport_values(asked.transport),
        **switch_values(asked.switch, asked.classes, transport),
        **infiniband_values(asked.infiniband),
        **nic_values(asked.nic),
    }
    classes = class_values(
        asked.classes,
        transport,
        is_lossless=is_lossless(asked.switch, transport),
        is_shared=asked.switch.buffer is not None,
    )
    values |= {"classes": classes, "loss": asked.loss, "patience_s": asked.patience}
    return tuple((name, value) for name, value in values.items() if value is not None)
