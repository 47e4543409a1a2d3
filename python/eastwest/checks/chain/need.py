"""How much room a priority group needs for what still arrives after it has sent a pause.

Three bounds. Whatever the switches: light crosses the cable twice, one frame
that began before the pause frame holds it up, and the neighbour ends the frame that it has begun. By the standard: a
neighbour may also take the pause quanta of IEEE 802.3 (31B.3.7) to obey, which many switches and NICs need in part.
With small packets: each of them leaves a part of its cell of the packet memory empty (`artifacts.headroom`), which
only counts where the switch's cells are known.
"""

from __future__ import annotations

from eastwest.artifacts.headroom import PORT_MTU, ROCE_HEADERS, SPEED_OF_LIGHT, headroom, response_bytes

ROCE_PACKET = 4096 + ROCE_HEADERS
"""RoCE's largest packet."""


def in_flight_bytes(speed_bps: float, cable_m: float) -> int:
    """What no switch can do without: twice the cable, and a packet of RoCE at either end."""
    return int(2 * cable_m / SPEED_OF_LIGHT * speed_bps / 8) + 2 * ROCE_PACKET


def by_standard_bytes(speed_bps: float, cable_m: float, mtu: int) -> int:
    """What a neighbour may make necessary: the cable twice, a packet at either end and its time to obey."""
    return int(2 * cable_m / SPEED_OF_LIGHT * speed_bps / 8 + response_bytes(speed_bps)) + mtu + ROCE_PACKET


def with_small_packets_bytes(speed_bps: float, cable_m: float, cell: int, payload: int) -> int:
    """What `eastwest build` writes for a switch with cells of this size: all of it packets of 64 B.

    `payload` is the largest of RoCE in the fabric.
    """
    return headroom(speed_bps, cable_m, PORT_MTU, payload + ROCE_HEADERS, cell=cell).xoff
