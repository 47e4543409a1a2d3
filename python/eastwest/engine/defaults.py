"""What a transport and its switches do unless told otherwise, scaled to the network at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eastwest.engine.classes import PAUSE_ABOVE, RESUME_BELOW
from eastwest.engine.network import Stated
from eastwest.engine.packets import Choice, PacketNetwork, PacketSettings, Transport
from eastwest.workload.flows import Flows

BITS = 8.0

UET_PAYLOAD, UET_HEADER, UET_CONTROL = 4032, 64, 64
"""As the Ultra Ethernet Consortium's simulator frames packets at an MTU of 4,096, so that results can be compared."""
ROCE_PAYLOAD, ROCE_HEADER, ROCE_CONTROL = 4096, 82, 82
"""4 KiB and what stands around it on the wire; an ACK fills a smallest frame."""
ROCE_RETH, ROCE_ACK, ROCE_CNP = 16, 86, 98
"""True sizes: address and length that the first packet of an RDMA write bears besides; an acknowledgement, with its
4 bytes of AETH; a congestion notification, with its 16 reserved ones (InfiniBand Architecture Specification, chapter 9
and annex A17)."""
EXACT_HEADERS = {"first": ROCE_RETH, "control": ROCE_ACK, "notification": ROCE_CNP}
EVEN_HEADERS = {"first": 0, "control": ROCE_CONTROL, "notification": 0}
"""Every RoCEv2 packet at its true size; or every packet with the same headers, and answers of one size."""
UET_ENTROPIES, MRC_ENTROPIES = 64, 256
"""Of a flow: the reference simulator's, and the most of the MRC paper's 128 to 256."""
MARK_FROM, MARK_TO = 0.2, 0.8
"""Parts of the bandwidth-delay product where marking begins and is certain (the reference simulator's)."""
TCP_PAYLOAD, TCP_HEADER, TCP_CONTROL = 8948, 90, 90
"""A jumbo frame's segment; TCP with timestamps, IPv4 and what Ethernet adds on the wire (RFC 7323)."""
TCP_MARK = 1 / 7
"""Part of the bandwidth-delay product above which every packet is marked: the least that keeps a link busy (DCTCP's
paper, Alizadeh et al. 2010, section 3.4)."""
TCP_ROOM = 4.0
"""Bandwidth-delay products of room before each port: a deep enough queue for slow start."""
TCP_TIMEOUT_S = 10e-3
"""Least time for a repeat, as data centres set it (Linux: 200 ms); after a pause so long a connection begins anew in
slow start (RFC 5681, section 4.1)."""
IB_PAYLOAD, IB_HEADER, IB_CONTROL = 4096, 26, 30
"""InfiniBand's largest MTU; LRH 8, BTH 12, ICRC 4 and VCRC 2 around it; an ACK has 4 of AETH besides."""
ROCE_TIMEOUT_S = 4.096e-6 * 2**14
"""Local ACK timeout of 14, the usual default of RDMA connections."""

ONE_PATH: tuple[Choice, ...] = ("hash", "pinned", "wcmp", "flowlet", "source")
"""Choices of ports that keep a flow in order where it has one entropy value, but for new routes."""


@dataclass(frozen=True)
class Framing:
    """Bytes of a full packet's payload, of what stands around it on the wire, and of an answer."""

    payload: int
    header: int
    control: int


FRAMINGS: dict[Transport, Framing] = {
    "uet": Framing(UET_PAYLOAD, UET_HEADER, UET_CONTROL),
    "mrc": Framing(UET_PAYLOAD, UET_HEADER, UET_CONTROL),
    "infiniband": Framing(IB_PAYLOAD, IB_HEADER, IB_CONTROL),
    "rocev2": Framing(ROCE_PAYLOAD, ROCE_HEADER, ROCE_CONTROL),
    "dctcp": Framing(TCP_PAYLOAD, TCP_HEADER, TCP_CONTROL),
}


def settings_for(
    transport: Transport,
    network: PacketNetwork,
    flows: Flows,
    choice: Choice = "hash",
    seed: int = 0,
    framing: Framing | None = None,
    stated: Stated = (),
) -> PacketSettings:
    """Settings for flows on a network, with the transport's own framing where none is given; DCTCP always has its own.

    Ultra Ethernet and MRC: room of one bandwidth-delay product before each port, trimming, marks from 0.2 to 0.8 of it.
    RoCEv2: lossless by pauses, no marks. InfiniBand: lossless by credits, no congestion control. DCTCP: four
    bandwidth-delay products of room, marks above a seventh of one.

    What is `stated` stands in place of these; framing scales the rest. Where it leaves neither pauses nor room,
    switches have room of one bandwidth-delay product.

    Congestion control scales with the longest round trip of the network, whichever of its hosts the flows join: as
    operators set it.
    """
    links = network.fabric.links
    from_hosts = np.isin(links["src"].to_numpy(), network.hosts) & (links["cable"].to_numpy() >= 0)
    ports = int(np.bincount(links["src"].to_numpy()[from_hosts], minlength=1).max())  # one a plane
    rate = float(network.rate_bps[from_hosts].max(initial=0.0)) / BITS * ports
    values = dict(stated)
    own = FRAMINGS[transport] if framing is None or transport == "dctcp" else framing
    sizes = replace(own, **{key: values.pop(key) for key in ("payload", "header", "control") if key in values})
    full = sizes.payload + sizes.header
    cut_through = values.get("cut_through")
    trips = (
        network.round_trip_s(flows, full, sizes.control, cut_through),
        network.longest_round_trip_s(full, sizes.control, cut_through),
    )
    bare = PacketSettings(
        transport,
        sizes.payload,
        sizes.header,
        sizes.control,
        rate,
        max(trips),
        ROCE_TIMEOUT_S,
        planes=ports,
        choice=choice,
        seed=seed,
    )
    habits = {"dctcp": _dctcp, "rocev2": _rocev2, "infiniband": _infiniband, "uet": _sprayed, "mrc": _sprayed}
    return _with(habits[transport](bare), values)


def _with(settings: PacketSettings, values: dict[str, Any]) -> PacketSettings:
    changed = replace(settings, **values)
    if changed.transport in ("rocev2", "infiniband") and "ack_every" in values:
        changed = replace(changed, ack_packets=max(1, changed.ack_every // changed.payload))
    if not changed.pause_above and not changed.room and changed.transport != "infiniband":
        changed = replace(changed, room=changed.product * changed.full)
    return changed


def _rocev2(bare: PacketSettings) -> PacketSettings:
    pause_above = PAUSE_ABOVE * bare.full
    return replace(_infiniband(bare), pause_above=pause_above, pause_at=pause_above - RESUME_BELOW * bare.full)


def _infiniband(bare: PacketSettings) -> PacketSettings:
    # where switches spread a flow, a gap is no sign of loss: NICs then place packets in any order
    return bare if bare.choice in ONE_PATH else replace(bare, repeat="any-order")


def _sprayed(bare: PacketSettings) -> PacketSettings:
    full, packets = bare.full, bare.product
    room = packets * full
    return replace(
        bare,
        # enough for a queue at each of six hops, both ways, and 15 us
        timeout_s=15e-6 + 6 * room / bare.port_rate,
        entropies=MRC_ENTROPIES if bare.transport == "mrc" else UET_ENTROPIES,
        room=room,
        trim=UET_CONTROL,
        mark_from=math.ceil(packets * MARK_FROM) * full,
        mark_to=math.ceil(packets * MARK_TO) * full,
    )


def _dctcp(bare: PacketSettings) -> PacketSettings:
    full = bare.full
    product = bare.base_rtt_s * bare.port_rate
    mark = max(math.ceil(product * TCP_MARK), 2 * full)
    return replace(
        bare,
        timeout_s=TCP_TIMEOUT_S,
        ack_every=full,
        keeps_s=TCP_TIMEOUT_S,
        room=math.ceil(product * TCP_ROOM) + 2 * full,
        mark_from=mark,
        mark_to=mark + 1,
    )
