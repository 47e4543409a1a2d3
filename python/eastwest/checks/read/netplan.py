"""Netplan's YAML: addresses, MTU and MAC of each Ethernet interface."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from eastwest import document
from eastwest.checks.read import spelling
from eastwest.checks.read.host import Host, HostPort


def is_netplan(data: object) -> bool:
    """Whether a YAML document is netplan's."""
    network = data.get("network") if isinstance(data, Mapping) else None
    return isinstance(network, Mapping) and bool({"version", "renderer", "ethernets"} & set(network))


def read_netplan(parsed: document.Document, host: Host) -> None:
    """Adds the interfaces of a netplan file to a host's."""
    ethernets = parsed.data["network"].get("ethernets")
    if not isinstance(ethernets, Mapping):
        return
    for key, fields in ethernets.items():
        if not isinstance(fields, Mapping):
            continue
        listed = fields.get("addresses")
        addresses = [_address(each) for each in listed] if isinstance(listed, list) else []
        match = fields.get("match")
        mac = fields.get("macaddress") or (match.get("macaddress") if isinstance(match, Mapping) else "")
        name = str(fields.get("set-name") or key)
        line = parsed.locate(("network", "ethernets", key))[1] or 1
        mtu = spelling.number(str(fields.get("mtu", "")))
        routes = fields.get("routes")
        ways = [each for each in (routes if isinstance(routes, list) else []) if isinstance(each, Mapping)]
        hops = (each.get("via") for each in ways)
        policy = fields.get("routing-policy")
        rules = [each for each in (policy if isinstance(policy, list) else []) if isinstance(each, Mapping)]
        host.ports[name] = HostPort(
            name,
            parsed.file,
            line,
            tuple(each for each in addresses if each),
            mtu,
            str(mac or "").lower(),
            tuple(dict.fromkeys(str(each) for each in hops if each)),
            fields.get("accept-ra") is False and not fields.get("dhcp4") and not fields.get("dhcp6"),
            tuple((str(each["from"]), table) for each in rules if "from" in each and (table := _table(each))),
            tuple(dict.fromkeys(table for each in ways if (table := _table(each)))),
        )


def _table(fields: Mapping[str, object]) -> int | None:
    return spelling.number(str(fields.get("table", "")))


def _address(written: object) -> str:
    """An address with prefix length; empty where it is none. One with options is a mapping of one key."""
    word = next(iter(written), "") if isinstance(written, Mapping) else written
    try:
        return str(ipaddress.ip_interface(str(word))) if "/" in str(word) else ""
    except ValueError:
        return ""
