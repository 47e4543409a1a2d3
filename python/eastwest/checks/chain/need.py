"""How much room a priority group needs for what still arrives after it has sent a pause.

Two bounds. Whatever the switches: light crosses the cable twice, one frame that began before the pause frame holds it
up, and the neighbour ends the frame that it has begun. By the standard: a neighbour may also take the pause quanta of
IEEE 802.3 (31B.3.7) to obey, which many switches and NICs need only in part.
"""

from __future__ import annotations

PROPAGATION_S_PER_M = 1 / 198e6
"""Light in fibre, as SONiC's headroom script takes it (sonic-swss, buffer_headroom_mellanox.lua)."""
ROCE_FRAME_BYTES = 4096 + 78
"""RoCE's largest payload, with Ethernet, IPv4, UDP, BTH, RETH, ICRC and FCS."""
_QUANTA = {10e9: 67, 25e9: 80, 40e9: 118, 50e9: 147, 100e9: 394, 200e9: 453, 400e9: 905, 800e9: 905}
"""Pause quanta of 512 bits in which a port of this speed must have stopped: IEEE 802.3, 31B.3.7, by that script."""
_QUANTUM_BYTES = 64


def in_flight_bytes(speed_bps: float, cable_m: float) -> int:
    """What no switch can do without: twice the cable, and a frame of RoCE at either end."""
    return int(2 * cable_m * PROPAGATION_S_PER_M * speed_bps / 8) + 2 * ROCE_FRAME_BYTES


def by_standard_bytes(speed_bps: float, cable_m: float, mtu: int) -> int:
    """What a neighbour may make necessary: the cable twice, a frame at either end and its time to obey."""
    quanta = _QUANTA.get(speed_bps, 905 if speed_bps > 400e9 else 67)
    return int(2 * cable_m * PROPAGATION_S_PER_M * speed_bps / 8) + mtu + ROCE_FRAME_BYTES + quanta * _QUANTUM_BYTES
