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

NVIDIA_PLATFORM = "x86_64-nvidia_"
NVIDIA_RATES = (400, 200, 100, 50, 40, 25, 10)
"""Gb/s to which a port of Spectrum-4 can be lowered."""
FOUR_LANE_RATE = 40
"""Gb/s: in four lanes alone."""

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
    modes = ((port.name, _breakout_mode(box, port)) for port in box.switch.ports if port.place == 0)
    return {
        "PORT": {port.name: _port(box, port) for port in box.switch.ports},
        "BREAKOUT_CFG": {name: {"brkout_mode": mode} for name, mode in modes if mode is not None},
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


def _breakout_mode(box: Box, port: Port) -> str | None:
    """The name that the platform has for how a cage is divided, None where it is not known or there is none.

    NVIDIA's name the rate of a port, and all that it may be lowered to; SONiC takes the whole name or none
    (sonic-buildimage, platform.json of SN5400 and SN5600; sonic-config-engine, portconfig.py).
    """
    lanes = box.lanes(port)
    if not (box.device.sonic_platform or "").startswith(NVIDIA_PLATFORM) or lanes < 2:
        return None
    most = round(box.device.cage_bps / 1e9) // port.breakout
    lower = [f"{rate}G" for rate in NVIDIA_RATES if rate < most and (rate != FOUR_LANE_RATE or lanes >= 4)]
    return f"{port.breakout}x{most}G[{','.join(lower)}]"


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
