"""Knows configurations of other network systems, so that they are refused by name and not misread."""

from __future__ import annotations

import re

_SIGNS = (
    (
        "Junos",
        r"^\s*set (?:system host-name|version \d|interfaces [a-z]+-\d|class-of-service|protocols bgp) ?"
        r"|^(?:system|interfaces|protocols|class-of-service|routing-options|policy-options)\s*\{"
        r"|^## Last (?:commit|changed)",
    ),
    (
        "Cumulus Linux",
        r"^\s*-?\s*(?:nv set|net add) |^\s*auto swp\d|^iface swp\d|bridge-ports .*swp\d|^\s*nvue-api-version:"
        r"|^traffic\.cos_\d|^pfc\.[\w-]+\.port_set|^\s*ecn_red\.port_set_list|^\s*(?:lossless|source)\.\w+.*swp",
    ),
    (
        "NX-OS",
        r"^feature (?:bgp|lldp|interface-vlan|nxapi|ospf|vpc)|^class-map type (?:qos|network-qos|queuing)"
        r"|^\s*priority-flow-control (?:mode|watch-dog)|^vdc \S+ id \d|^boot nxos |^version \d+\.\d+\(\d",
    ),
    (
        "Arista EOS",
        r"^! device: .*EOS|^! Command: show running-config|^! boot system flash:|^daemon TerminAttr|^management api "
        r"|^\s*priority-flow-control (?:on|priority|pause)|^service routing protocols model|^\s*qos trust dscp"
        r"|^qos map dscp|^transceiver qsfp default-mode|^spanning-tree mode (?:mstp|rapid-pvst|none)",
    ),
    (
        "SR Linux",
        r"^\s*(?:set / )?(?:interface ethernet-\d|network-instance \S+ ?\{?)|srl_nokia-|^\s*/ ?interface ethernet-",
    ),
    (
        "Dell OS10",
        r"^! Version 10\.\d|^class-map type (?:application|control-plane)|^trust dot1p-map"
        r"|^interface ethernet\d+/\d+/\d+",
    ),
    (
        "Cisco IOS",
        r"^version 1\d\.\d+\s*$|^service timestamps |^!! IOS XR"
        r"|^interface (?:GigabitEthernet|TenGig|HundredGig|Gi)\S*\d/\d",
    ),
)
_COMPILED = tuple((name, re.compile(pattern, re.MULTILINE)) for name, pattern in _SIGNS)
_HEAD = 200_000
_FRR = re.compile(
    r"^frr (?:version|defaults)|^service integrated-vtysh-config|^\s*neighbor \S+ interface\b", re.MULTILINE
)


def system(text: str) -> str | None:
    """The system whose configuration a text is, where it is one that is not read here."""
    head = text[:_HEAD]
    if _FRR.search(head):
        return None
    counts = [(len(pattern.findall(head)), -place, name) for place, (name, pattern) in enumerate(_COMPILED)]
    most, _, name = max(counts)
    return name if most else None


def is_frr(text: str, name: str) -> bool:
    """Whether a text is the configuration of FRR's daemons."""
    return bool(_FRR.search(text[:_HEAD])) or (
        name.lower().endswith(("frr.conf", "bgpd.conf")) or ("router bgp" in text and system(text) is None)
    )
