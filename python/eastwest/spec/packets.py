"""Packet settings as a person writes them: of a study's fabric (`packets:`), and of `eastwest simulate --settings`.

What is left out keeps the transport's own default (`eastwest.engine.defaults`). Not here: which transport hosts speak
and how switches choose a port, which a study takes from `technology` and `balancing` and the command line has as flags.

To add a setting: a field of an entry below, its name and value in `stated` as `eastwest.engine.packets.PacketSettings`
has them, the transports that know it in `KNOWN_TO` where not all do, and a row in docs/simulate.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Strict, Tag, WithJsonSchema, model_validator

from eastwest.document import nearest
from eastwest.engine import Stated
from eastwest.engine import classes as engine_classes
from eastwest.engine.classes import ALPHA, CUT_THROUGH_BYTES, MOST_CLASSES
from eastwest.engine.control_planes import DELAYS_S
from eastwest.engine.defaults import EVEN_HEADERS, EXACT_HEADERS, UET_CONTROL
from eastwest.engine.events import FORMS, read_event
from eastwest.engine.packets import Adaptive, CongestionControl, Dcqcn, Delivery, Repeat, Transport
from eastwest.errors import InputError
from eastwest.fabric.bare import LEAST_LOSS
from eastwest.spec.values import Entry, Rate, Size, Time, TimeOrZero, refuse

TRANSPORTS: dict[str, Transport] = {
    "rocev2": "rocev2",
    "infiniband": "infiniband",
    "ultra-ethernet": "uet",
    "mrc": "mrc",
}
"""Of a fabric's technology."""

BY_DROPS_OR_PAUSES: tuple[Transport, ...] = ("uet", "mrc", "rocev2", "dctcp")
"""Those that InfiniBand's credits are not for."""

OF_LANES = ("name", "number", "priority", "weight")
"""What classes have where they are virtual lanes."""

KNOWN_TO: dict[tuple[str, str], tuple[Transport, ...]] = {
    ("transport", "entropies"): ("uet", "mrc"),
    ("transport", "probe_every"): ("mrc",),
    ("transport", "congestion_control"): ("uet",),
    ("transport", "delivery"): ("uet",),
    ("transport", "window"): ("rocev2", "infiniband"),
    ("transport", "headers"): ("rocev2",),
    ("transport", "repeat"): ("rocev2", "infiniband"),
    ("transport", "keep"): ("uet", "mrc", "dctcp"),
    ("transport", "dcqcn"): ("rocev2",),
    ("switch", "trimming"): ("uet", "mrc"),
    ("switch", "forwarding"): BY_DROPS_OR_PAUSES,
    ("switch", "buffer"): BY_DROPS_OR_PAUSES,
    ("switch", "room"): BY_DROPS_OR_PAUSES,
    ("switch", "marks"): BY_DROPS_OR_PAUSES,
    ("switch", "pauses"): BY_DROPS_OR_PAUSES,
    ("switch", "watchdog"): BY_DROPS_OR_PAUSES,
    ("infiniband", "vl_buffer"): ("infiniband",),
    ("infiniband", "retries"): ("infiniband",),
    ("infiniband", "congestion_control"): ("infiniband",),
}
"""Settings that only some transports know."""

LARGEST_QUEUE = 2**32 - 1
"""Bytes that the engine counts before one port."""


def _power_of_two(written: Any) -> Any:
    is_one = isinstance(written, int) and not isinstance(written, bool) and 0 < written <= 2**15
    if not is_one or written & (written - 1):
        raise refuse(f"entropy values are counted in powers of two up to {2**15:,}, not {written!r}")
    return written


def _off_or_set(written: Any) -> str:
    return "set" if isinstance(written, dict | Entry) else "off"


def _control_plane(written: Any) -> Any:
    """The time that a control plane takes, where one is named."""
    named = next((delay_s for name, delay_s in DELAYS_S.items() if name == written), None)
    return written if named is None else f"{named} s"


def _event(written: Any) -> Any:
    if not isinstance(written, str):
        raise refuse(f"{written!r} is no event; write one of: {'; '.join(FORMS.values())}")
    try:
        return read_event(written).text
    except InputError as error:
        raise refuse(str(error)) from None


def _counted(share: float) -> float:
    if 0.0 < share < LEAST_LOSS or share > 1.0 - LEAST_LOSS:
        raise refuse(f"bit errors are counted in steps of {LEAST_LOSS:g}: {share:g} would be {round(share)}")
    return share


PowerOfTwo = Annotated[
    int, BeforeValidator(_power_of_two), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 2**15})
]
PacketSize = Annotated[Size, Field(le=16_384)]
QueueSize = Annotated[Size, Field(le=LARGEST_QUEUE)]
Moment = Annotated[Time, Field(le=3600)]
Overhead = Annotated[TimeOrZero, Field(le=1)]
RoutesAfter = Annotated[
    Moment,
    BeforeValidator(_control_plane),
    WithJsonSchema({"type": "string", "examples": ["2 ms", *DELAYS_S]}),
]
Share = Annotated[float, Strict(), Field(ge=0.0, lt=1.0), AfterValidator(_counted)]
EventText = Annotated[
    str, BeforeValidator(_event), WithJsonSchema({"type": "string", "examples": ["down spine-3 at 50 us for 1 ms"]})
]
Off = Annotated[Literal["off"], Tag("off")]
OnOrOff = Annotated[Literal["on", "off"], Tag("off")]
Alpha = Annotated[float, Strict(), Field(ge=1 / 128, le=64)]


class TransportSettings(Entry):
    """How hosts send."""

    payload: PacketSize | None = None
    """Payload of a full packet."""
    header: PacketSize | None = None
    """What stands around the payload on the wire."""
    answer: PacketSize | None = None
    """Size of an acknowledgement on the wire."""
    entropies: PowerOfTwo | None = None
    """Entropy values of a flow: a power of two."""
    ack_every: QueueSize | None = None
    """What arrives between two acknowledgements; with rocev2 in whole packets."""
    timeout: Moment | None = None
    """Without an answer for so long, a sender sends again."""
    probe_every: Moment | None = None
    """How often MRC tries an entropy value that it has retired."""
    congestion_control: CongestionControl | None = None
    """What limits Ultra Ethernet's senders: a window (NSCC), the receiver's credit (RCCC), or both."""
    delivery: Delivery | None = None
    """What Ultra Ethernet's receivers do with packets out of order: place them (RUD), or drop them (ROD)."""
    window: Annotated[Size, Field(ge=1, le=2**40)] | None = None
    """Payload that a RoCEv2 queue pair may have under way."""
    headers: Literal["exact", "even"] | None = None
    """Whether RoCEv2's packets have their true sizes, or all the same headers."""
    repeat: Repeat | None = None
    """What is sent again where packets are missing: all from the gap on, or one by one."""
    dcqcn: Dcqcn | None = None
    """Rate control of RoCEv2 by marks: off, with the parameters of its paper, or with NVIDIA's."""
    contexts: Literal["shared", "per-flow"] | None = None
    """Whether what a sender learns (window, rate, paths) outlasts its flow and is shared, or each flow begins anew."""
    keep: Moment | None = None
    """How long windows and paths are kept while no flow uses them."""


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
    marks: Annotated[Annotated[Marks, Tag("set")] | Off, Discriminator(_off_or_set)] | None = None
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


class SwitchSettings(Entry):
    """How switches treat packets."""

    room: QueueSize | None = None
    """For data before each port, where nothing is paused."""
    trimming: Literal["on", "off"] | None = None
    """Whether packets without room lose their payload, or are dropped whole."""
    marks: Annotated[Annotated[Marks, Tag("set")] | Off, Discriminator(_off_or_set)] | None = None
    """Marks of congestion."""
    pauses: Annotated[Annotated[Pauses, Tag("set")] | Off, Discriminator(_off_or_set)] | None = None
    """Pauses, in place of drops."""
    watchdog: Annotated[Annotated[Watchdog, Tag("set")] | Off, Discriminator(_off_or_set)] | None = None
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


class NicSettings(Entry):
    """What hosts and their NICs take."""

    pcie: Rate | None = None
    """Payload that a host's PCIe carries each way, shared by the ports of its NIC."""
    message_overhead: Overhead | None = None
    """What a message costs its sender before the NIC has it: one of a host after the other."""
    completion_overhead: Overhead | None = None
    """What it costs at both ends from its last packet until software knows."""
    dpu_overhead: Overhead | None = None
    """Where a DPU does this work, what it costs there: in place of both."""


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


NotificationsOrNot = Annotated[Annotated[Notifications, Tag("set")] | OnOrOff, Discriminator(_off_or_set)]


class InfiniBandSettings(Entry):
    """What InfiniBand alone has."""

    vl_buffer: Annotated[QueueSize, Field(ge=32_768)] | None = None
    """Buffer of a virtual lane at the end of each cable."""
    retries: Annotated[int, Strict(), Field(ge=0, le=7)] | None = None
    """Times that a packet is sent again before the queue pair gives up."""
    congestion_control: NotificationsOrNot | None = None
    """Whether switches mark and senders slow down."""


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
        **_hosts(asked.transport),
        **_switches(asked.switch, asked.classes, transport),
        **_infiniband(asked.infiniband),
        **_nic(asked.nic),
    }
    values |= {"classes": _classes(asked, transport), "loss": asked.loss, "patience_s": asked.patience}
    return tuple((name, value) for name, value in values.items() if value is not None)


def _hosts(asked: TransportSettings) -> dict[str, Any]:
    headers = {"exact": EXACT_HEADERS, "even": EVEN_HEADERS}.get(asked.headers or "", {})
    return headers | {
        "payload": _bytes(asked.payload),
        "header": _bytes(asked.header),
        "control": headers.get("control") if asked.answer is None else _bytes(asked.answer),
        "entropies": asked.entropies,
        "ack_every": _bytes(asked.ack_every),
        "timeout_s": asked.timeout,
        "probe_every_s": asked.probe_every,
        "congestion_control": asked.congestion_control,
        "delivery": asked.delivery,
        "window": _bytes(asked.window),
        "repeat": asked.repeat,
        "dcqcn": asked.dcqcn,
        "shares_contexts": None if asked.contexts is None else asked.contexts == "shared",
        "keeps_s": asked.keep,
    }


def _nic(asked: NicSettings) -> dict[str, Any]:
    dpu = asked.dpu_overhead
    return {
        "message_overhead_s": asked.message_overhead if dpu is None else dpu,
        "completion_overhead_s": asked.completion_overhead if dpu is None else dpu,
    }


def _is_lossless(asked: SwitchSettings, transport: Transport) -> bool:
    """Whether switches pause senders where a class does not say otherwise."""
    return transport == "rocev2" if asked.pauses is None else asked.pauses != "off"


def _switches(asked: SwitchSettings, classes: tuple[TrafficClass, ...], transport: Transport) -> dict[str, Any]:
    is_lossless = _is_lossless(asked, transport)
    for key in ("room", "trimming") if is_lossless and not classes else ():
        if getattr(asked, key) not in (None, "off"):
            what = f"nothing goes without room where switches pause senders, and {key} says what happens then"
            raise refuse(f"{what}: leave it out, or say pauses: off", at=("switch", key))
    for key in ("room", "pauses") if asked.buffer else ():
        if getattr(asked, key) not in (None, "off"):
            raise refuse(
                f"{key} is a fixed threshold, and a buffer has those that follow its fill: leave out one of them",
                at=("switch", key),
            )
    any_lossless = any(is_lossless if each.lossless is None else each.lossless for each in classes)
    if not (any_lossless if classes else is_lossless) and asked.watchdog not in (None, "off"):
        raise refuse("a watchdog breaks pauses, and there are none: leave it out", at=("switch", "watchdog"))
    values: dict[str, Any] = {
        "room": _bytes(asked.room),
        "choice": asked.adaptive,
        "telemetry_s": asked.telemetry,
        "flowlet_gap_s": asked.flowlet_gap,
        "cut_through": CUT_THROUGH_BYTES if asked.forwarding == "cut-through" else None,
        "buffer": None if asked.buffer is None else _buffer(asked.buffer),
    }
    if asked.trimming is not None:
        values["trim"] = UET_CONTROL if asked.trimming == "on" else 0
    match asked.marks:
        case Marks(start=start, to=to, most=most):
            values |= {"mark_from": _bytes(start), "mark_to": max(_bytes(to) or 0, 1), "mark_most": most}
        case "off":
            values |= {"mark_from": 0, "mark_to": 0}
    match asked.pauses:
        case Pauses(above=above, at=at):
            values |= {"pause_above": _bytes(above), "pause_at": _bytes(at), "room": 0, "trim": 0}
        case "off":
            values |= {"pause_above": 0, "pause_at": 0}
    match asked.watchdog:
        case Watchdog(detect=detect, restore=restore):
            values |= {"watchdog_detect_s": detect, "watchdog_restore_s": restore}
        case "off":
            values |= {"watchdog_detect_s": 0.0}
    return values


def _infiniband(asked: InfiniBandSettings) -> dict[str, Any]:
    values: dict[str, Any] = {"vl_buffer": _bytes(asked.vl_buffer), "retries": asked.retries}
    control = Notifications() if asked.congestion_control == "on" else asked.congestion_control
    match control:
        case Notifications():
            values |= {
                "fecn_threshold": control.threshold,
                "fecn_between": control.marking_rate,
                "fecn_least": _bytes(control.packet_size),
                "ccti_increase": control.ccti_increase,
                "ccti_timer_s": control.ccti_timer,
                "ccti_min": control.ccti_min,
            }
        case "off":
            values["fecn_threshold"] = 0
    return values


def _buffer(asked: Buffer) -> engine_classes.SharedBuffer:
    return engine_classes.SharedBuffer(
        round(asked.size), asked.alpha, _bytes(asked.reserve) or 0, _bytes(asked.headroom), _bytes(asked.resume_below)
    )


def _classes(asked: Packets, transport: Transport) -> tuple[engine_classes.TrafficClass, ...] | None:
    names, numbers = [each.name for each in asked.classes], _numbers(asked.classes)
    for place, each in enumerate(asked.classes):
        _check_class(each, _is_lossless(asked.switch, transport), asked.switch.buffer is not None, transport, place)
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
    return tuple(map(_class, asked.classes, numbers)) or None


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
    marks: dict[str, Any] = {}
    match asked.marks:
        case Marks(start=start, to=to, most=most):
            marks = {"mark_from": _bytes(start), "mark_to": max(_bytes(to) or 0, 1), "mark_most": most}
        case "off":
            marks = {"mark_from": 0, "mark_to": 0}
    return engine_classes.TrafficClass(
        asked.name,
        number,
        asked.priority,
        asked.weight,
        asked.lossless,
        room=_bytes(asked.room),
        trim=None if asked.trimming is None else UET_CONTROL if asked.trimming == "on" else 0,
        pause_above=_bytes(asked.pauses.above) if asked.pauses else None,
        pause_at=_bytes(asked.pauses.at) if asked.pauses else None,
        alpha=asked.alpha,
        reserve=_bytes(asked.reserve),
        headroom=_bytes(asked.headroom),
        resume_below=_bytes(asked.resume_below),
        answers=asked.answers,
        notifications=asked.notifications,
        **marks,
    )


def _bytes(size: float | None) -> int | None:
    return None if size is None else round(size)
