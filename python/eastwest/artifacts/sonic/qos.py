"""The chain from a packet's DSCP to its queue, its pauses, its marks and its turn at the port."""

from __future__ import annotations

from typing import Any

from eastwest.artifacts import headroom
from eastwest.artifacts.headroom import Marking
from eastwest.artifacts.marking import CLASSES, CNP, DSCPS, LOSSLESS, LOSSY, class_of
from eastwest.artifacts.plan import Port
from eastwest.artifacts.sonic.box import Box
from eastwest.artifacts.sonic.buffers import LOSSY_PART, alpha
from eastwest.fabric import FRONTEND_TIERS
from eastwest.spec.packets.thresholds import Marks, Watchdog

MAP = "ROCE"
"""Name of every map: there is one of each kind."""

WEIGHTS = {LOSSLESS: 80, LOSSY: 20}
"""Shares of RoCE and of all else where both wait; what one leaves, the other has."""

WATCHDOG_MS = 200
"""Length of a pause that is taken for a storm, and of the cure, as SONiC's `pfcwd start_default` has them."""
LEAST_MS, MOST_MS = 100, 5000


def tables(box: Box) -> dict[str, Any]:
    """All QoS tables but the buffers."""
    numbers = range(8)
    own = {each.number for each in CLASSES}
    written: dict[str, Any] = {
        "DSCP_TO_TC_MAP": {MAP: {str(dscp): str(class_of(dscp).number) for dscp in DSCPS}},
        "TC_TO_QUEUE_MAP": {MAP: {str(tc): str(tc) for tc in numbers}},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {str(tc): str(tc if tc in own else LOSSY) for tc in numbers}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: {str(priority): str(priority) for priority in numbers}},
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {MAP: {str(LOSSLESS): str(LOSSLESS)}},
        "PORT_QOS_MAP": {
            "global": {"dscp_to_tc_map": MAP},
            **{port.name: _of_port(box, port) for port in box.cabled},
        },
        "SCHEDULER": {
            "scheduler.roce": {"type": "DWRR", "weight": str(WEIGHTS[LOSSLESS])},
            "scheduler.other": {"type": "DWRR", "weight": str(WEIGHTS[LOSSY])},
            "scheduler.cnp": {"type": "STRICT"},
        },
        "QUEUE": _queues(box),
    }
    speeds = sorted({port.rate_bps for port in box.cabled})
    profiles = {_wred_name(speed): marks for speed in speeds if (marks := _marks(box, speed)) is not None}
    if profiles:
        written["WRED_PROFILE"] = {name: _wred(marks) for name, marks in profiles.items()}
    if box.paused:
        written["PFC_WD"] = _watchdog(box)
    return written


def _of_port(box: Box, port: Port) -> dict[str, str]:
    written = {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP}
    if port in box.paused:
        written |= {
            "pfc_to_queue_map": MAP,
            "pfc_to_pg_map": MAP,
            "pfc_enable": str(LOSSLESS),
            "pfcwd_sw_enable": str(LOSSLESS),
        }
    return written


def _queues(box: Box) -> dict[str, dict[str, str]]:
    written: dict[str, dict[str, str]] = {}
    for port in box.cabled:
        roce = {"scheduler": "scheduler.roce"}
        if _marks(box, port.rate_bps) is not None:
            roce["wred_profile"] = _wred_name(port.rate_bps)
        written[f"{port.name}|{LOSSY}"] = {"scheduler": "scheduler.other"}
        written[f"{port.name}|{LOSSLESS}"] = roce
        written[f"{port.name}|{CNP}"] = {"scheduler": "scheduler.cnp"}
    return written


def _wred_name(rate_bps: float) -> str:
    return f"{MAP}_{rate_bps / 1e9:.0f}G"


def _marks(box: Box, rate_bps: float) -> Marking | None:
    """Marks of a port's RoCE queue: the study's, or some before the pause; None where the study has them off."""
    asked = box.subject.asked.packets.switch.marks
    if box.switch.tier not in FRONTEND_TIERS and asked is not None:
        if not isinstance(asked, Marks):
            return None
        return Marking(round(asked.start), round(asked.to), asked.most)
    left = box.shared * (1 - LOSSY_PART)
    fill = headroom.pause_fill(left, max(len(box.paused), 1), alpha(box)) if box.paused else left
    return headroom.marking(rate_bps, fill)


def _wred(marks: Marking) -> dict[str, str]:
    """Packets of all three colours alike; those that can carry a mark get one and are not dropped."""
    written = {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        written |= {
            f"wred_{colour}_enable": "true",
            f"{colour}_min_threshold": str(marks.start),
            f"{colour}_max_threshold": str(marks.to),
            f"{colour}_drop_probability": f"{100 * marks.most:.0f}",
        }
    return written


def _watchdog(box: Box) -> dict[str, dict[str, str]]:
    asked = box.subject.asked.packets.switch.watchdog
    if asked == "off":
        return {}
    detect, restore = WATCHDOG_MS, WATCHDOG_MS
    if isinstance(asked, Watchdog):
        detect, restore = (min(max(round(time * 1e3), LEAST_MS), MOST_MS) for time in (asked.detect, asked.restore))
    each = {"action": "drop", "detection_time": str(detect), "restoration_time": str(restore)}
    poll = min(detect, restore, WATCHDOG_MS)
    return {"GLOBAL": {"POLL_INTERVAL": str(poll)}, **{port.name: dict(each) for port in box.paused}}
