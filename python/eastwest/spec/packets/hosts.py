"""What hosts and their NICs do: how they send, and what that takes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from eastwest.engine.defaults import EVEN_HEADERS, EXACT_HEADERS
from eastwest.engine.packets import CongestionControl, Dcqcn, Delivery, Repeat
from eastwest.spec.packets.values import Moment, Overhead, PacketSize, PowerOfTwo, QueueSize, in_bytes
from eastwest.spec.values import Entry, Rate, Size


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
    """How soon MRC tries an entropy value that it has retired."""
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


def transport_values(asked: TransportSettings) -> dict[str, Any]:
    """What is asked of how hosts send, by the engine's names; None where nothing is."""
    headers = {"exact": EXACT_HEADERS, "even": EVEN_HEADERS}.get(asked.headers or "", {})
    return headers | {
        "payload": in_bytes(asked.payload),
        "header": in_bytes(asked.header),
        "control": headers.get("control") if asked.answer is None else in_bytes(asked.answer),
        "entropies": asked.entropies,
        "ack_every": in_bytes(asked.ack_every),
        "timeout_s": asked.timeout,
        "probe_every_s": asked.probe_every,
        "congestion_control": asked.congestion_control,
        "delivery": asked.delivery,
        "window": in_bytes(asked.window),
        "repeat": asked.repeat,
        "dcqcn": asked.dcqcn,
        "shares_contexts": None if asked.contexts is None else asked.contexts == "shared",
        "keeps_s": asked.keep,
    }


def nic_values(asked: NicSettings) -> dict[str, Any]:
    """What is asked of NICs, by the engine's names; None where nothing is."""
    dpu = asked.dpu_overhead
    return {
        "message_overhead_s": asked.message_overhead if dpu is None else dpu,
        "completion_overhead_s": asked.completion_overhead if dpu is None else dpu,
    }
