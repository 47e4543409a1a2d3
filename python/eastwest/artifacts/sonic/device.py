"""The switch as a whole: its names, how it routes and hashes, what it counts and tells."""

from __future__ import annotations

import zlib
from typing import Any

from eastwest.artifacts.plan import Switch
from eastwest.artifacts.sonic.box import Box
from eastwest.artifacts.sonic.ports import ROLES

HASHED = ("SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT")
"""Fields of which ECMP chooses a path: RoCE's queue pairs differ in the UDP source port."""

COUNTERS = ("PORT", "QUEUE", "PG_DROP", "PG_WATERMARK", "QUEUE_WATERMARK", "BUFFER_POOL_WATERMARK", "PFCWD")
"""Counters that a lossless network is watched by, polled as often as SONiC does by default."""

GNMI_PORT = 50051

HASH_OFFSET = {"leaf": 0, "access": 0, "spine": 10, "aggregation": 10, "core": 5, "border": 5}
"""Bits by which each tier rotates its hash; 10 is SONiC's second tier's."""


def tables(box: Box) -> dict[str, Any]:
    """DEVICE_METADATA, LOOPBACK_INTERFACE, SWITCH_HASH, FEATURE, LLDP, GNMI, FLEX_COUNTER_TABLE, and NTP and the like.

    `split-unified` has SONiC start FRR from one `frr.conf` that it does not write. Of the other modes, `separated` and
    `unified` write files of their own, and `split` deletes `frr.conf` when its container starts (sonic-buildimage,
    dockers/docker-fpm-frr/docker_init.sh). An MRC switch has no such file: SONiC writes what its static tables say, and
    with no ASN no BGP (bgpcfgd, managers_srv6 and managers_static_rt). The traditional buffer model takes buffers from
    the tables as they are.
    """
    switch, device = box.switch, box.device
    return {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": switch.name,
                "hwsku": device.sonic_hwsku or device.name,
                "platform": device.sonic_platform or "generic",
                "mac": switch.mac,
                "type": ROLES[switch.tier],
                **_routing(box),
                "default_pfcwd_status": "enable" if box.paused else "disable",
                "buffer_model": "traditional",
                "synchronous_mode": "enable",
            }
        },
        "LOOPBACK_INTERFACE": {
            "Loopback0": {},
            f"Loopback0|{switch.loopback}/32": {},
            f"Loopback0|{switch.loopback6}/128": {},
        },
        "SWITCH_HASH": {"GLOBAL": {"ecmp_hash": list(HASHED), "ecmp_hash_algorithm": "CRC"}},
        "FEATURE": {
            "bgp": {"state": "enabled", "auto_restart": "enabled"},
            "gnmi": {"state": "enabled", "auto_restart": "enabled"},
            "lldp": {"state": "enabled", "auto_restart": "enabled"},
            **({"sflow": {"state": "enabled", "auto_restart": "enabled"}} if box.subject.asked.build.sflow else {}),
        },
        "LLDP": {"GLOBAL": {"enabled": "true", "system_name": switch.name}},
        "GNMI": {"gnmi": {"client_auth": "true", "log_level": "2", "port": str(GNMI_PORT)}},
        "FLEX_COUNTER_TABLE": {name: {"FLEX_COUNTER_STATUS": "enable"} for name in COUNTERS},
        **_told(box),
    }


def _told(box: Box) -> dict[str, Any]:
    """NTP_SERVER, SYSLOG_SERVER and sFlow's tables, of whom the study names servers."""
    asked = box.subject.asked.build
    written: dict[str, Any] = {}
    if asked.ntp:
        written["NTP_SERVER"] = {server: {"association_type": "server", "iburst": "on"} for server in asked.ntp}
    if asked.syslog:
        written["SYSLOG_SERVER"] = {server: {} for server in asked.syslog}
    if asked.sflow is not None:
        written["SFLOW"] = {"global": {"admin_state": "up", "agent_id": "Loopback0"}}
        written["SFLOW_COLLECTOR"] = {
            f"collector{number}": {"collector_ip": address} for number, address in enumerate(asked.sflow.collectors)
        }
        written["SFLOW_SESSION"] = {
            port.name: {"admin_state": "up", "sample_rate": str(asked.sflow.sample)} for port in box.cabled
        }
    return written


def _routing(box: Box) -> dict[str, str]:
    if box.technology == "mrc":
        return {"docker_routing_config_mode": "separated", "default_bgp_status": "down"}
    return {
        "bgp_asn": str(box.switch.asn),
        "docker_routing_config_mode": "split-unified",
        "default_bgp_status": "up",
    }


def hash_seed(switch: Switch) -> list[dict[str, Any]]:
    """What gives a switch a hash of its own, for `swssconfig` in the swss container.

    The models of config_db have no seed: SONiC sets one for each kind of router (sonic-buildimage,
    dockers/docker-orchagent/switch.json.j2), so that all leaves hash alike, and a spine's traffic, which leaves chose
    by the same hash, uses a part of its ports. A CRC of an address of four bytes is another one for each. A seed alone
    does not part two tiers where the hash is a CRC itself, which is linear: each rotates its by an offset too.
    """
    seed, offset = str(zlib.crc32(switch.loopback.packed)), str(HASH_OFFSET[switch.tier])
    fields = {
        f"{kind}_hash_{what}": value for kind in ("ecmp", "lag") for what, value in (("seed", seed), ("offset", offset))
    }
    return [{"SWITCH_TABLE:switch": fields, "OP": "SET"}]
