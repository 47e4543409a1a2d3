"""A small fabric's files as plain text, right in every respect, and a way to put one fault into them.

Two spines, a leaf for each of two rails, two servers with a NIC a rail; names, layout and values as `eastwest build`
lays them out. The thresholds are worked out below and not taken from the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LEAVES, SPINES, SERVERS = ("leaf-u0-r0", "leaf-u0-r1"), ("spine-00", "spine-01"), ("server-000", "server-001")
POOL = 60_000_000
FILL = POOL // 2
"""Fill at which one group alone pauses: alpha 1 (dynamic_th 0) of the pool leaves half of it."""
XOFF = 120_000
"""More than 400 Gb/s over 30 m need: 2 x 30 m x 50.5 ns/m x 5 = 15 kB on the cable, two frames, 905 quanta = 58 kB."""
SPEED, MTU = "400000", "9100"


def build(folder: Path) -> Site:
    """Writes the files."""
    for index, leaf in enumerate(LEAVES):
        _switch(folder, leaf, 4_200_000_000 + index, f"100.64.0.{index}", _leaf_ports(index))
    for index, spine in enumerate(SPINES):
        _switch(folder, spine, 4_210_000_000, f"100.64.1.{index}", _spine_ports(index))
    for index, server in enumerate(SERVERS):
        _server(folder / "hosts" / server, index)
    return Site(folder)


def _leaf_ports(rail: int) -> dict[str, tuple[str, str, str]]:
    """Port: neighbour, its port, own address; servers first."""
    down = {
        f"Ethernet{8 * index}": (server, f"rail{rail}", f"10.0.{rail}.{2 * index}/31")
        for index, server in enumerate(SERVERS)
    }
    return down | {f"Ethernet{16 + 8 * spine}": (SPINES[spine], f"Ethernet{8 * rail}", "") for spine in range(2)}


def _spine_ports(spine: int) -> dict[str, tuple[str, str, str]]:
    return {f"Ethernet{8 * rail}": (leaf, f"Ethernet{16 + 8 * spine}", "") for rail, leaf in enumerate(LEAVES)}


def _switch(folder: Path, name: str, asn: int, loopback: str, ports: dict[str, tuple[str, str, str]]) -> None:
    place = folder / "switches" / name
    place.mkdir(parents=True)
    dscp = {str(each): {26: "3", 48: "6"}.get(each, "0") for each in range(64)}
    seed = sum(map(ord, name))
    interfaces: dict[str, Any] = {"|".join(["Loopback0", f"{loopback}/32"]): {}}
    config = {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": name,
                "bgp_asn": str(asn),
                "docker_routing_config_mode": "split-unified",
                "mac": f"02:00:00:00:00:{seed % 251:02x}",
                "type": "LeafRouter",
            }
        },
        "PORT": {
            port: {"speed": SPEED, "mtu": MTU, "fec": "rs", "admin_status": "up", "alias": f"etp{index + 1}"}
            for index, port in enumerate(ports)
        },
        "LOOPBACK_INTERFACE": {"Loopback0": {}, **interfaces},
        "INTERFACE": {
            **{port: {"ipv6_use_link_local_only": "enable"} for port in ports},
            **{f"{port}|{address}": {} for port, (_, _, address) in ports.items() if address},
        },
        "DEVICE_NEIGHBOR": {port: {"name": peer, "port": far} for port, (peer, far, _) in ports.items()},
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(ports, "30m")},
        "DSCP_TO_TC_MAP": {"ROCE": dscp},
        "TC_TO_QUEUE_MAP": {"ROCE": {str(each): str(each) for each in range(8)}},
        "TC_TO_PRIORITY_GROUP_MAP": {"ROCE": {str(each): {3: "3"}.get(each, "0") for each in range(8)}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"ROCE": {str(each): str(each) for each in range(8)}},
        "PORT_QOS_MAP": {
            "global": {"dscp_to_tc_map": "ROCE"},
            **{
                port: {
                    "dscp_to_tc_map": "ROCE",
                    "tc_to_queue_map": "ROCE",
                    "tc_to_pg_map": "ROCE",
                    "pfc_to_queue_map": "ROCE",
                    "pfc_enable": "3",
                    "pfcwd_sw_enable": "3",
                }
                for port in ports
            },
        },
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": str(POOL)},
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": str(POOL)},
            "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": str(POOL // 4)},
        },
        "BUFFER_PROFILE": {
            "pg_lossless_400000_30m_profile": {
                "pool": "ingress_lossless_pool",
                "size": "130000",
                "xon": "10000",
                "xoff": str(XOFF),
                "dynamic_th": "0",
            },
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": str(POOL)},
            "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"},
        },
        "BUFFER_PG": {
            **{f"{port}|3": {"profile": "pg_lossless_400000_30m_profile"} for port in ports},
            **{f"{port}|0": {"profile": "ingress_lossy_profile"} for port in ports},
        },
        "BUFFER_QUEUE": {
            **{f"{port}|3": {"profile": "egress_lossless_profile"} for port in ports},
            **{f"{port}|0-2": {"profile": "egress_lossy_profile"} for port in ports},
        },
        "WRED_PROFILE": {
            "ROCE": {
                "ecn": "ecn_all",
                "green_min_threshold": "1000000",
                "green_max_threshold": "2000000",
                "green_drop_probability": "5",
                "wred_green_enable": "true",
            }
        },
        "SCHEDULER": {"data": {"type": "DWRR", "weight": "50"}, "cnp": {"type": "STRICT"}},
        "QUEUE": {
            **{f"{port}|3": {"scheduler": "data", "wred_profile": "ROCE"} for port in ports},
            **{f"{port}|6": {"scheduler": "cnp"} for port in ports},
        },
        "PFC_WD": {
            "GLOBAL": {"POLL_INTERVAL": "200"},
            **{port: {"action": "drop", "detection_time": "200", "restoration_time": "400"} for port in ports},
        },
        "SWITCH_HASH": {"GLOBAL": {"ecmp_hash": ["DST_IP", "SRC_IP", "L4_SRC_PORT", "L4_DST_PORT"]}},
    }
    (place / "config_db.json").write_text(json.dumps(config, indent=1))
    switch = [{"SWITCH_TABLE:switch": {"ecmp_hash_seed": str(seed)}, "OP": "SET"}]
    (place / "switch.json").write_text(json.dumps(switch))
    fabric = [port for port, (_, _, address) in ports.items() if not address]
    lines = [
        "frr defaults datacenter",
        f"hostname {name}",
        f"router bgp {asn}",
        f" bgp router-id {loopback}",
        " bgp bestpath as-path multipath-relax",
        " neighbor FABRIC peer-group",
        " neighbor FABRIC remote-as external",
        " neighbor FABRIC bfd",
        *(f" neighbor {port} interface peer-group FABRIC" for port in fabric),
        " address-family ipv4 unicast",
        "  maximum-paths 2",
    ]
    (place / "frr.conf").write_text("\n".join(lines) + "\n")


def _server(place: Path, index: int) -> None:
    place.mkdir(parents=True)
    (place / "nccl.conf").write_text(
        "NCCL_IB_HCA==rail0,rail1\nNCCL_SOCKET_IFNAME=eth0\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TC=106\n"
    )
    ports = "".join(
        f'    rail{rail}:\n      match: {{macaddress: "02:01:0a:00:{rail:02x}:{2 * index + 1:02x}"}}\n'
        f"      set-name: rail{rail}\n      mtu: 9000\n      addresses: [10.0.{rail}.{2 * index + 1}/31]\n"
        for rail in range(2)
    )
    (place / "netplan.yaml").write_text(f"network:\n  version: 2\n  ethernets:\n{ports}")
    (place / "sysctl.conf").write_text("net.ipv4.conf.all.rp_filter = 2\n")
    (place / "nic.sh").write_text(
        "#!/bin/bash\nreadonly interfaces=(rail0 rail1)\n"
        'for interface in "${interfaces[@]}"; do\n  device=$(device_of "$interface")\n'
        '  mlnx_qos -i "$interface" --trust dscp\n  mlnx_qos -i "$interface" --dscp2prio set,26,3\n'
        '  mlnx_qos -i "$interface" --pfc 0,0,0,1,0,0,0,0\n'
        '  echo 106 >"/sys/class/infiniband/$device/tc/1/traffic_class"\n'
        '  echo 48 >"/sys/class/net/$interface/ecn/roce_np/cnp_dscp"\n'
        '  echo 1 >"/sys/class/net/$interface/ecn/roce_np/enable/3"\n'
        '  echo 1 >"/sys/class/net/$interface/ecn/roce_rp/enable/3"\ndone\n'
    )


class Site:
    """The files of a fabric in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def config(self, switch: str) -> Iterator[dict[str, Any]]:
        """A switch's config_db.json, written back when the block ends."""
        path = self.folder / "switches" / switch / "config_db.json"
        document = json.loads(path.read_text())
        yield document
        path.write_text(json.dumps(document))

    def set(self, switch: str, table: str, row: str, **fields: str | None) -> None:
        """Changes fields of a row; None takes one away."""
        with self.config(switch) as document:
            for field, value in fields.items():
                if value is None:
                    del document[table][row][field]
                else:
                    document[table][row][field] = value

    def replace(self, file: str, old: str, new: str) -> None:
        """Changes a text that is there, everywhere in a file."""
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
