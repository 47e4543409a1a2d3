"""Ports: lanes, speed, FEC, breakout, addresses, and who is at the other end."""

from __future__ import annotations

import string
from typing import Any

from eastwest.artifacts.headroom import PORT_MTU
from eastwest.artifacts.plan import Host, Port
from eastwest.artifacts.sonic.box import Box

COPPER_M = 3
"""Longest cable that is taken to be passive copper, whose ends train their link (IEEE 802.3ck, 802.3cd)."""

LEAST_FEC_BPS = 25e9
"""Slower ports run without FEC."""

ROLES = {
    "leaf": "ToRRouter",
    "access": "ToRRouter",
    "spine": "LeafRouter",
    "aggregation": "LeafRouter",
    "core": "SpineRouter",
    "border": "SpineRouter",
}
"""SONiC's words for the tiers of a Clos network."""


def tables(box: Box) -> dict[str, Any]:
    """PORT, BREAKOUT_CFG, INTERFACE, DEVICE_NEIGHBOR and DEVICE_NEIGHBOR_METADATA."""
    return {
        "PORT": {port.name: _port(box, port) for port in box.switch.ports},
        "BREAKOUT_CFG": {
            port.name: {"brkout_mode": f"{port.breakout}x{port.rate_bps / 1e9:.0f}G"}
            for port in box.switch.ports
            if port.place == 0
        },
        "INTERFACE": _interfaces(box),
        "DEVICE_NEIGHBOR": {
            port.name: {"name": port.peer, "port": port.peer_interface} for port in box.cabled if port.peer is not None
        },
        "DEVICE_NEIGHBOR_METADATA": {
            name: _neighbour(box, name) for name in sorted({port.peer for port in box.cabled if port.peer is not None})
        },
    }


def _port(box: Box, port: Port) -> dict[str, str]:
    lanes = box.lanes(port)
    first = port.cage * box.device.cage_lanes + port.place * lanes
    is_copper = port.cable is not None and box.metres(port) <= COPPER_M
    written = {
        "alias": f"etp{port.cage + 1}" + (string.ascii_lowercase[port.place] if port.breakout > 1 else ""),
        "index": str(port.cage + 1),
        "lanes": ",".join(str(lane) for lane in range(first, first + lanes)),
        "speed": f"{port.rate_bps / 1e6:.0f}",
        "mtu": str(PORT_MTU),
        "fec": "rs" if port.rate_bps >= LEAST_FEC_BPS else "none",
        "autoneg": "on" if is_copper else "off",
        "admin_status": "down" if port.cable is None else "up",
    }
    if port.breakout > 1:
        written["subport"] = str(port.place + 1)
    if port.peer is not None:
        written["description"] = f"{port.peer}:{port.peer_interface}"
    return written


def _interfaces(box: Box) -> dict[str, dict[str, str]]:
    """Every cabled port routes, with an IPv6 link-local address, and the addresses of the plan where it has some."""
    written: dict[str, dict[str, str]] = {}
    for port in box.cabled:
        written[port.name] = {"ipv6_use_link_local_only": "enable"}
        if port.address is not None:
            written[f"{port.name}|{port.address}/31"] = {}
        if port.address6 is not None:
            written[f"{port.name}|{port.address6}/127"] = {}
    return written


def _neighbour(box: Box, name: str) -> dict[str, str]:
    other = box.subject.plan.by_name[name]
    if isinstance(other, Host):
        return {"type": "Server"}
    return {
        "hwsku": box.subject.study.catalog_entries().switch(other.device).sonic_hwsku or other.device,
        "lo_addr": f"{other.loopback}/32",
        "lo_addr_v6": f"{other.loopback6}/128",
        "type": ROLES[other.tier],
    }
