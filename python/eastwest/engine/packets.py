"""Every packet: a fabric's queues and cables made ready for runs of flows, and what a run gives back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eastwest.engine import _native
from eastwest.engine._native import EngineError
from eastwest.engine.classes import ClassCounts, NativeClass, SharedBuffer, TrafficClass, native_classes, places_of
from eastwest.engine.links import port_names
from eastwest.engine.network import Floats
from eastwest.engine.program import BITS
from eastwest.engine.series import Ports, Sampling, Series
from eastwest.fabric import Fabric, Routes
from eastwest.units import format_rate
from eastwest.workload.flows import Flows

Transport = Literal["uet", "mrc", "rocev2", "infiniband", "dctcp"]
Dcqcn = Literal["off", "paper", "nvidia"]
Delivery = Literal["rud", "rod"]
CongestionControl = Literal["nscc", "rccc", "nscc+rccc"]
Repeat = Literal["go-back-n", "selective", "any-order"]
Becomes = Literal["down", "up", "rate", "erring", "lost", "late"]
Choice = Literal[
    "hash", "random", "shortest-queue", "shorter-of-two", "least-congested", "wcmp", "flowlet", "pinned", "source"
]
ControlPlane = Literal["bgp-bfd", "bgp", "opensm"]
Adaptive = Literal["shortest-queue", "shorter-of-two", "least-congested"]
"""Choices by queues."""
PS_PER_S = 1e12
MOST_PACKETS = 2**32 - 1
"""Of one flow: what sequence numbers count."""
SLOWEST_BPS, FASTEST_BPS = 1e6, 20e12
"""Rates of a cable: the engine counts the time of a byte in 256ths of a picosecond and in 32 bits, which end at half of
the one, and round the other by up to half a per cent."""
PULLS = {"oneshot": 0, "multishot": -1}


@dataclass(frozen=True)
class PacketSettings:
    """How packets are sent and switched; the native engine reads these attributes by name.

    Sizes are bytes, `rate` is that of a NIC in bytes a second. `payload` and `header` make a full packet, `control` is
    the size of an answer. `base_rtt_s` is the longest round trip of the empty network, with which congestion control
    scales.

    Sprayed transports (uet, mrc): a flow has `entropies` entropy values, a power of two; a receiver acknowledges
    after `ack_every` bytes; mrc probes a value `probe_every_s` after it was retired, and those that stay silent in
    turn, ever more rarely. With uet a window at the sender (nscc), the receiver's credit (rccc) or both are the
    `congestion_control`, and its receivers place packets in any order (rud) or take them in order alone (rod).
    RoCEv2: a receiver acknowledges after `ack_packets`; what is missed is sent again from there on (`repeat` is
    go-back-n), one by one (selective), or, where packets take several paths and none is lost, only after a timeout
    (any-order); `dcqcn` has the paper's parameters, NVIDIA's, or is off; `window` bytes may be under way, or any
    number where that is 0. The first packet of a message is longer by `first`, a congestion notification has the size
    `notification`, or where that is 0 an answer's. A NIC has `planes` ports.

    Switches: `room` is for data before each port, beyond which packets are trimmed to `trim` bytes, or dropped where
    that is 0. Marks are set from `mark_from` bytes on, with probability that grows to `mark_most` at `mark_to`, and
    always above; none where that is 0. Where `pause_above` is not 0, nothing is dropped: a switch that holds more than
    so many bytes of what came by one cable pauses its other end, until it holds `pause_at`; the watchdog drops what
    waits where a pause lasts `watchdog_detect_s` (0: never), and hears none for `watchdog_restore_s`. `choice` says how
    a switch picks a port: a flow that pauses for longer than `flowlet_gap_s` begins a flowlet; least-congested switches
    tell each other of their queues every `telemetry_s`. `pinned` ones have one port for each
    receiver, as static tables do. `loss` is the share of packets that bit errors take on a link.

    InfiniBand: as RoCEv2, and a timer that runs out `retries` times in a row after the first ends the flow, unfinished.
    Nothing is dropped, since a port sends only what it has credits for: the buffer of `vl_buffer` bytes at the end of
    each cable (0: 128 KiB, or twice what keeps the cable busy if that is more). Where `fecn_threshold` is not 0,
    congestion is controlled (annex A10): ports that are its root mark packets of `fecn_least` bytes and more, one of
    `fecn_between` + 1 on average, once (16 - `fecn_threshold`) sixteenths of a buffer wait; a notification raises a
    sender's index by `ccti_increase`, each `ccti_timer_s` it falls by one, not below `ccti_min`.

    Where there are `classes`, each has queues of its own before every port, with thresholds of its own; a `buffer` is
    shared by what is in a switch, and thresholds follow what is free of it. Switches store packets and send them on, or
    do so once `cut_through` bytes are in.

    Where `shares_contexts`, what a sender has learnt outlasts its flow, and flows at once share it: window and paths of
    uet and mrc belong to the two NICs, a connection's window and a queue pair's rate to these; else each flow begins
    anew. Window and paths are forgotten after `keeps_s` without a flow.

    A message costs its sender `message_overhead_s` before the NIC has it, one message of a host after the other, and
    both ends `completion_overhead_s` from the last packet until software knows.

    A run in which nothing new arrives for `patience_s` ends.
    """

    transport: Transport
    payload: int
    header: int
    control: int
    rate: float
    base_rtt_s: float
    timeout_s: float
    entropies: int = 64
    congestion_control: CongestionControl = "nscc"
    delivery: Delivery = "rud"
    window: int = 0
    first: int = 0
    notification: int = 0
    planes: int = 1
    probe_every_s: float = 50e-6
    ack_every: int = 16384
    ack_packets: int = 1
    repeat: Repeat = "go-back-n"
    dcqcn: Dcqcn = "off"
    room: int = 0
    trim: int = 0
    mark_from: int = 0
    mark_to: int = 0
    mark_most: float = 1.0
    pause_above: int = 0
    pause_at: int = 0
    watchdog_detect_s: float = 0.0
    watchdog_restore_s: float = 0.0
    vl_buffer: int = 0
    retries: int = 7
    fecn_threshold: int = 0
    fecn_between: int = 10
    fecn_least: int = 512
    ccti_increase: int = 1
    ccti_timer_s: float = 150 * 1.024e-6
    ccti_min: int = 0
    loss: float = 0.0
    patience_s: float = 1.0
    message_overhead_s: float = 0.0
    completion_overhead_s: float = 0.0
    shares_contexts: bool = False
    keeps_s: float = 1e-3
    choice: Choice = "hash"
    flowlet_gap_s: float = 16e-6
    telemetry_s: float = 1e-6
    classes: tuple[TrafficClass, ...] = ()
    buffer: SharedBuffer | None = None
    cut_through: int | None = None
    seed: int = 0

    @property
    def full(self) -> int:
        """Bytes of a full packet on the wire."""
        return self.payload + self.header

    @property
    def port_rate(self) -> float:
        """Rate of one port of a NIC, bytes a second."""
        return self.rate / self.planes

    @property
    def product(self) -> int:
        """The bandwidth-delay product of one port of a NIC in full packets."""
        return math.ceil(self.base_rtt_s * self.port_rate / self.full)

    @property
    def native_classes(self) -> list[NativeClass]:
        """The classes with all that other settings say of them."""
        return native_classes(self)

    @property
    def memory(self) -> int:
        """Bytes of a switch's shared buffer; 0 for as much as it takes."""
        return 0 if self.buffer is None else self.buffer.size


@dataclass(frozen=True)
class PacketRun:
    """A run of flows. Times are seconds, NaN where a flow never got there; one entry a flow.

    `end_s` is when the sender knew that all had arrived, `received_s` when it had. Counts: `packets` of data that
    senders sent, repeats included; `link_hops`, transmissions over links; `delivered`, packets of data that arrived
    whole; `bit_errors` packets whose checksum was wrong, which are no `drops`; `failed`, flows whose sender gave up,
    `lost_flows`, those whose NIC was lost at one end; with InfiniBand `pauses` and `paused_s` tell how often and how
    long ports had something to send and no credits. `flow_retransmits` are the packets of each flow that were sent
    again, `ports` what became of each port. `class_counts` say what became of each traffic class, `class_paused_s` how
    long each was paused at each port, shape (links, classes); both are empty where there are none. `capture` holds what
    left by chosen links, `series` the run over time, where that was wanted.
    """

    start_s: Floats
    received_s: Floats
    end_s: Floats
    flow_retransmits: npt.NDArray[np.uint64]
    packets: int
    link_hops: int
    delivered: int
    drops: int
    bit_errors: int
    lost_flows: int
    trims: int
    marks: int
    retransmits: int
    cnps: int
    storms: int
    failed: int
    pauses: int
    paused_s: float
    deepest_queue_bytes: int
    simulated_s: float
    events: int
    ports: Ports
    class_counts: tuple[ClassCounts, ...]
    class_paused_s: Floats
    capture: _native.Capture | None = None
    series: Series | None = None


@dataclass(frozen=True)
class LinkChange:
    """What becomes of a link (one direction of a cable) at a time; the native engine reads these attributes by name.

    It goes `down` or comes `up` again, gets another `rate` (bytes a second), or loses a share `loss` of packets to bit
    errors (`erring`); at a share of 1 the switch that it leads to has no routes, and drops. A link from a NIC may be
    `lost`, with all flows from and to the NIC, or `late`: messages start `late_s` after they are due. All switches have
    new routes `routes_after_s` later; never where that is None.
    """

    at_s: float
    link: int
    becomes: Becomes
    rate: float = 0.0
    loss: float = 0.0
    late_s: float = 0.0
    routes_after_s: float | None = None


@dataclass(frozen=True)
class Capturing:
    """Links (directions of cables) whose packets are recorded as they leave; the engine reads these attributes by name.

    The first `most` packets are kept, at 56 bytes each; those after them are counted.
    """

    links: list[int]
    most: int


@dataclass(frozen=True)
class NativeFlows:
    """Flows as the native engine takes them, by node."""

    from_node: npt.NDArray[np.uint32]
    to_node: npt.NDArray[np.uint32]
    bytes: npt.NDArray[np.uint64]
    traffic_class: npt.NDArray[np.uint8]
    start_ps: npt.NDArray[np.uint64]
    start_trigger: npt.NDArray[np.int64]
    sent_trigger: npt.NDArray[np.int64]
    received_trigger: npt.NDArray[np.int64]
    triggers: list[int]


class PacketNetwork:
    """A fabric's NICs, queues and cables inside the engine; build it once, run many flows on it."""

    def __init__(self, fabric: Fabric, rate_bps: Floats | None = None, routes: Routes | None = None) -> None:
        """Reads the fabric's tables into the engine; `rate_bps` are other rates of its links on the wire.

        Packets take these `routes`, or else the shortest paths.

        Raises:
            EngineError: the tables contradict each other, or a cable is slower than `SLOWEST_BPS` or faster than
                `FASTEST_BPS`; the routes loop, have holes, or weigh the links of a switch for a destination
                differently, which packets do not.
        """
        if routes is not None and not routes.is_even:
            raise EngineError("the links of a switch for one destination have different weights, which packets ignore")
        links, nodes = fabric.links, fabric.nodes
        kind = nodes["kind"].to_physical().to_numpy().astype(np.uint8)
        self.fabric = fabric
        self.hosts: npt.NDArray[np.uint32] = np.flatnonzero((nodes["kind"] == "nic").to_numpy()).astype(np.uint32)
        self.rate_bps: Floats = links["rate_bps"].to_numpy().astype(np.float64) if rate_bps is None else rate_bps
        cabled = links["cable"].to_numpy() >= 0
        beyond = np.flatnonzero(cabled & ((self.rate_bps < SLOWEST_BPS) | (self.rate_bps > FASTEST_BPS)))
        if len(beyond):
            which, rate = port_names(fabric)[beyond[0]], format_rate(float(self.rate_bps[beyond[0]]))
            raise EngineError(
                f"{which} runs at {rate}: packets are simulated on cables of {format_rate(SLOWEST_BPS)} to "
                f"{format_rate(FASTEST_BPS)}"
            )
        self.native = _native.PacketNetwork(
            kind,
            links["src"].to_numpy().astype(np.uint32),
            links["dst"].to_numpy().astype(np.uint32),
            self.rate_bps / BITS,
            links["latency_s"].to_numpy().astype(np.float64),
            None if routes is None else (routes.switch, routes.destination, routes.link, routes.weight),
        )

    def round_trip_s(self, flows: Flows, there: int, back: int, cut_through: int | None = None) -> float:
        """Longest round trip of the flows' paths on the empty network: a packet of `there` bytes, and one of `back`.

        Switches store them, or send them on once `cut_through` bytes are in.

        Raises:
            EngineError: a flow's ends are no hosts, or no path joins them.
        """
        return float(self.round_trips_s(flows, there, back, cut_through).max(initial=0.0))

    def round_trips_s(self, flows: Flows, there: int, back: int, cut_through: int | None = None) -> Floats:
        """Round trip of each flow's path on the empty network, as `round_trip_s`. Shape (flows,).

        Raises:
            EngineError: a flow's ends are no hosts, or no path joins them.
        """
        given = self._native_flows(flows)
        return self.native.round_trips_s(given.from_node, given.to_node, there, back, cut_through)

    def longest_round_trip_s(self, there: int, back: int, cut_through: int | None = None) -> float:
        """Longest such round trip between any hosts of the network.

        Exact for fat trees; from the farthest host that the first reaches in others.
        """
        return self.native.longest_round_trip_s(self.hosts, there, back, cut_through)

    def run(
        self,
        flows: Flows,
        settings: PacketSettings,
        until_s: float = np.inf,
        changes: Sequence[LinkChange] = (),
        capturing: Capturing | None = None,
        sampling: Sampling | None = None,
    ) -> PacketRun:
        """Runs flows until all have ended, or until a time, through changes of the network; records some links.

        With `sampling` the run has a series; what is sampled changes nothing.

        Raises:
            EngineError: a flow's ends are no hosts, no path joins them, or there is no link such as is to be recorded.
            KeyboardInterrupt: Ctrl-C was pressed; nothing is kept.
        """
        if len(flows) and int(flows.size_bytes.max()) > MOST_PACKETS * settings.payload:
            raise EngineError(f"a flow has at most {MOST_PACKETS} packets, here of {settings.payload} B")
        given = self._native_flows(flows, settings.classes)
        found = self.native.run(given, settings, list(changes), until_s, capturing, sampling)
        ports, series = Ports(**found.pop("ports")), found.pop("series")
        names = [each.name for each in settings.classes] or ["all"]
        counts = tuple(ClassCounts(name, **of) for name, of in zip(names, found.pop("class_counts"), strict=False))
        paused_s = found.pop("class_paused_s").reshape(len(self.rate_bps), len(counts))
        return PacketRun(
            **found,
            ports=ports,
            class_counts=counts,
            class_paused_s=paused_s,
            series=Series.of(series) if series else None,
        )

    def _native_flows(self, flows: Flows, classes: Sequence[TrafficClass] = ()) -> NativeFlows:
        ends = np.concatenate([flows.source, flows.destination])
        if len(ends) and int(ends.max()) >= len(self.hosts):
            raise EngineError(f"there is no host {int(ends.max())}: the hosts are 0 to {len(self.hosts) - 1}")
        return NativeFlows(
            np.ascontiguousarray(self.hosts[flows.source]),
            np.ascontiguousarray(self.hosts[flows.destination]),
            np.ascontiguousarray(flows.size_bytes),
            places_of(flows.priority, len(flows), classes),
            np.round(flows.start_s * PS_PER_S).astype(np.uint64),
            np.ascontiguousarray(flows.start_trigger),
            np.ascontiguousarray(flows.sent_trigger),
            np.ascontiguousarray(flows.received_trigger),
            [PULLS.get(trigger.kind, trigger.pulls) for trigger in flows.triggers],
        )
