"""Headroom of a lossless priority group, the fill at which it pauses, and the marks that must come before.

What a port must still take in after it has asked for a pause, as SONiC's switches compute it themselves where their
buffer model is dynamic; used by what is written for switches and by the linter alike. All sizes are bytes. Not here:
where the figures of a switch come from (`catalog`) or how SONiC writes them (`sonic`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

KIB = 1024

PORT_MTU = 9100
"""MTU of every port between switches and to hosts: SONiC's default, and more than RoCE's 4096 with its headers."""

ROCE_HEADERS = 98
"""Around the payload of a RoCEv2 packet as a buffer holds it: Ethernet 14 with FCS 4, IPv6 40 (IPv4 has 20), UDP 8, BTH
12, RETH 16, ICRC 4 (IBTA specification, annex A17)."""

SPEED_OF_LIGHT = 1.98e8
"""In a cable, m/s, as SONiC has it (5.05 ns a metre)."""

PIPELINE_LATENCY = 19 * KIB
MAC_PHY_DELAY = 0.8 * KIB
"""What is under way in the switch that asks: SONiC's figures for NVIDIA's Spectrum to Spectrum-5 (sonic-buildimage,
platform/mellanox/asic_table.j2). It has none that are public for other chips, which are taken to be no slower."""

GENERIC_CELL = 256
"""Bytes of a cell of the packet memory where the catalogue does not say: the largest that SONiC's table has."""

SMALLEST_PACKET = 64

PAUSE_QUANTA = {400e9: 905, 200e9: 453, 100e9: 394, 50e9: 147, 40e9: 118, 25e9: 80, 10e9: 67}
"""How long the other end may take to stop, in quanta of 512 bit times, by speed (IEEE 802.3, 31B.3.7, as SONiC's
buffer_headroom_mellanox.lua lists it). Faster ports are not in that list and are given the time of 400 Gb/s, 1.16 us;
SONiC falls back to 3.8 KiB there, which is less than at 25 Gb/s."""


MARGIN = 1.08
"""What is written over what the formula gives: what NVIDIA ships for the SN5600 (sonic-buildimage, ACS-SN5600's
pg_profile_lookup.ini) is up to 7 % more at 100, 200 and 400 Gb/s (231,424 B against 216,064 B at 400 Gb/s and 5 m)."""


@dataclass(frozen=True)
class Headroom:
    """Of one priority group: `xoff` is what it takes once paused, `xon` the fill at which it lets go, `size` both.

    `size` is what the group has for itself besides the shared memory; SONiC calls all three so in BUFFER_PROFILE.
    """

    xoff: int
    xon: int
    size: int


def response_bytes(rate_bps: float) -> float:
    """What still arrives while the other end takes its time to stop."""
    if rate_bps in PAUSE_QUANTA:
        return PAUSE_QUANTA[rate_bps] * 512 / 8
    slower = [rate for rate in PAUSE_QUANTA if rate <= rate_bps]
    nearest = max(slower, default=min(PAUSE_QUANTA))
    return PAUSE_QUANTA[nearest] * 512 / 8 * rate_bps / nearest


def headroom(
    rate_bps: float,
    cable_m: float,
    mtu: int = PORT_MTU,
    packet: int = 4096 + ROCE_HEADERS,
    lanes: int = 8,
    cell: int = GENERIC_CELL,
    margin: float = 1.0,
) -> Headroom:
    """What one lossless group needs at a port of this speed and cable, were all packets as small as they can be.

    The formula of SONiC's dynamic buffer model (design "Dynamically Headroom Calculation", SONiC/doc/qos;
    sonic-swss, cfgmgr/buffer_headroom_mellanox.lua), its shares of 1,024 kept:

        xoff = packet + (mtu + cable + MAC and PHY + response) x occupancy

    where the cable holds its length twice over, and occupancy is the cells that a packet of 64 B takes beyond its own
    size. A port of eight lanes has twice the latency and a packet more. Each is rounded up to 1,024 B.

    Args:
        rate_bps: Of the port.
        cable_m: Length of its cable.
        mtu: Largest packet that the port sends, which may have just begun when the pause is asked for.
        packet: Largest packet of the lossless class.
        lanes: Of the port.
        cell: Bytes in which the packet memory is given out.
        margin: What xoff is multiplied by.
    """
    occupancy = cell / SMALLEST_PACKET if cell > 2 * SMALLEST_PACKET else 2 * cell / (1 + cell)
    cable = 2 * cable_m * rate_bps / SPEED_OF_LIGHT / 8 * 1000 / 1024
    under_way = mtu + cable + MAC_PHY_DELAY + response_bytes(rate_bps)
    xoff = _rounded(margin * (packet + under_way * occupancy))
    is_wide = lanes == 8
    xon = _rounded(2 * PIPELINE_LATENCY - KIB if is_wide else PIPELINE_LATENCY)
    return Headroom(xoff, xon, _rounded(xoff + xon + (mtu if is_wide else 0)))


def pause_fill(shared: float, groups: int, alpha: float = 1.0) -> float:
    """What each of so many groups holds of a shared memory when all pause at once: alpha B / (1 + N alpha).

    Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches" (IEEE/ACM ToN 6(2), 1998).
    """
    return alpha * shared / (1 + groups * alpha)


@dataclass(frozen=True)
class Marking:
    """Fills of a queue at which marks begin, and from which every packet has one; the probability just below."""

    start: int
    to: int
    most: float


MARK_FROM_BPS, MARK_TO_BPS = 100e3 / 25e9, 400e3 / 25e9
"""Bytes a bit/s at which DCQCN's marks begin and end: 100 kB and 400 kB at 25 Gb/s, as HPCC's authors ran it (SIGCOMM
2019, section 5.1)."""
MOST_OF_PAUSE_FILL = 0.5
"""Marks are certain at this part of the fill that pauses, so that senders have slowed down before it comes."""


def marking(rate_bps: float, fill: float) -> Marking:
    """Marks for queues of ports at one speed: those of DCQCN in proportion to it, scaled to stay below the pause.

    `fill` is `pause_fill` of the switch. The ratio between start and end stays 1 to 4.
    """
    to = min(MARK_TO_BPS * rate_bps, MOST_OF_PAUSE_FILL * fill)
    start = to * MARK_FROM_BPS / MARK_TO_BPS
    return Marking(_down(start), _down(to), 0.2)


def _rounded(size: float) -> int:
    return math.ceil(size / KIB) * KIB


def _down(size: float) -> int:
    return max(1, int(size) // KIB) * KIB
