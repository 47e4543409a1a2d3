"""How much room a priority group needs for what still arrives after it has sent a pause.

Two bounds below what `artifacts.headroom` would give. Whatever the switches: light crosses the cable twice, one frame
that began before the pause frame holds it up, and the neighbour ends the frame that it has begun. By the standard: a
neighbour may also take the pause quanta of IEEE 802.3 (31B.3.7) to obey, which many switches and NICs need in part.
Neither counts what cells of the packet memory leave empty behind small packets.
"""

from __future__ import annotations

from eastwest.artifacts.headroom import ROCE_HEADERS, SPEED_OF_LIGHT, response_bytes

ROCE_PACKET = 4096 + ROCE_HEADERS
"""RoCE's largest packet."""


def in_flight_bytes(speed_bps: float, cable_m: float) -> int:
    """What no switch can do without: twice the cable, and a packet of RoCE at either end."""
    return int(2 * cable_m / SPEED_OF_LIGHT * speed_bps / 8) + 2 * ROCE_PACKET


def by_standard_bytes(speed_bps: float, cable_m: float, mtu: int) -> int:
    """What a neighbour may make necessary: the cable twice, a packet at either end and its time to obey."""
    return int(2 * cable_m / SPEED_OF_LIGHT * speed_bps / 8 + response_bytes(speed_bps)) + mtu + ROCE_PACKET
