"""Buffers: how the packet memory is shared out, and the headroom of each port's lossless group."""

from __future__ import annotations

import math
from typing import Any

from eastwest.artifacts.headroom import PORT_MTU
from eastwest.artifacts.marking import CLASSES, LOSSLESS
from eastwest.artifacts.plan import Port
from eastwest.artifacts.sonic.box import Box
from eastwest.fabric import FRONTEND_TIERS

INGRESS, EGRESS_LOSSLESS, EGRESS_LOSSY = "ingress_lossless_pool", "egress_lossless_pool", "egress_lossy_pool"

LOSSY_PART = 0.25
"""Part of the shared memory that lossy queues have at most, so that they leave lossless ones theirs."""

UNLIMITED_TH = "7"
"""Exponent of a threshold that never rules (alpha 128): the limit is at the other side, ingress of lossless traffic and
egress of lossy, as SONiC's defaults for NVIDIA's switches have it."""
LOSSY_TH = "0"
LEAST_TH, MOST_TH = -8, 7
"""SONiC writes alpha as its power of two."""


def alpha(box: Box) -> float:
    """The multiple of free memory that a lossless group may hold: the power of two next below what the study says."""
    return 2.0 ** _threshold(box)


def _threshold(box: Box) -> int:
    asked = box.subject.asked.packets.switch.buffer
    if asked is None or box.switch.tier in FRONTEND_TIERS:
        return 0  # alpha 1, as SONiC's for lossless traffic on NVIDIA's switches
    return max(LEAST_TH, min(MOST_TH, math.floor(math.log2(asked.alpha))))


def tables(box: Box) -> dict[str, Any]:
    """BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG, BUFFER_QUEUE and CABLE_LENGTH."""
    shared = box.shared
    headroom = sum(box.headroom(port).size for port in box.paused)
    ingress = {"type": "ingress", "mode": "dynamic", "size": str(shared)}
    if box.paused and box.device.headroom_pool:
        ingress["xoff"] = str(headroom)
    profiles = {
        "ingress_lossy_profile": _profile(INGRESS, UNLIMITED_TH),
        "egress_lossless_profile": _profile(EGRESS_LOSSLESS, UNLIMITED_TH),
        "egress_lossy_profile": _profile(EGRESS_LOSSY, LOSSY_TH, size=_whole_packets(box)),
        **{_lossless_name(box, port): _lossless(box, port) for port in box.paused},
    }
    return {
        "BUFFER_POOL": {
            INGRESS: ingress,
            EGRESS_LOSSLESS: {"type": "egress", "mode": "dynamic", "size": str(box.memory)},
            EGRESS_LOSSY: {"type": "egress", "mode": "dynamic", "size": str(int(shared * LOSSY_PART))},
        },
        "BUFFER_PROFILE": profiles,
        "BUFFER_PG": _groups(box),
        "BUFFER_QUEUE": _queues(box),
        "CABLE_LENGTH": {"AZURE": {port.name: f"{box.metres(port)}m" for port in box.switch.ports}},
    }


def _profile(pool: str, threshold: str, size: int = 0) -> dict[str, str]:
    return {"pool": pool, "size": str(size), "dynamic_th": threshold}


def _whole_packets(box: Box) -> int:
    """One packet that every lossy queue may hold whatever is free."""
    cell = box.device.cell_bytes or 1
    return -(-PORT_MTU // cell) * cell


def _lossless_name(box: Box, port: Port) -> str:
    """As SONiC's buffer manager would call it, which then leaves the values alone that it finds."""
    return f"pg_lossless_{port.rate_bps / 1e6:.0f}_{box.metres(port)}m_profile"


def _lossless(box: Box, port: Port) -> dict[str, str]:
    """Headroom as part of what the group has reserved, or where the chip has a pool for it, besides."""
    needs = box.headroom(port)
    written = {"pool": INGRESS, "dynamic_th": str(_threshold(box)), "xoff": str(needs.xoff)}
    if box.device.headroom_pool:
        return {**written, "size": str(_whole_packets(box)), "xon": "0", "xon_offset": str(_whole_packets(box))}
    return {**written, "size": str(needs.size), "xon": str(needs.xon)}


def _groups(box: Box) -> dict[str, dict[str, str]]:
    written: dict[str, dict[str, str]] = {}
    for port in box.cabled:
        is_paused = port in box.paused
        for each in CLASSES:
            is_lossless = each.number == LOSSLESS and is_paused
            profile = _lossless_name(box, port) if is_lossless else "ingress_lossy_profile"
            written[f"{port.name}|{each.number}"] = {"profile": profile}
    return written


def _queues(box: Box) -> dict[str, dict[str, str]]:
    return {
        f"{port.name}|{each.number}": {
            "profile": "egress_lossless_profile" if each.is_lossless and port in box.paused else "egress_lossy_profile"
        }
        for port in box.cabled
        for each in CLASSES
    }
