"""A server's network settings as its built files have them: netplan.yaml (addresses, routes, rules) and sysctl.conf.

Applied with `ip` and /proc, as networkd and sysctl would, to the interfaces that the lab has named already. Not here:
settings of NICs and GPUs, which no namespace has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path
from typing import Any

from eastwest import document
from eastwest.lab.failure import LabError
from eastwest.lab.nodes import Node
from eastwest.lab.registry import Lab
from eastwest.lab.wiring import MTU, Place

SETTING = re.compile(r"(net\.ipv[46]\.[A-Za-z0-9_.-]+)\s*=\s*([0-9]+(?:\s+[0-9]+)*)")
"""A line of sysctl.conf that a network namespace has its own value of; those under net.core are the whole machine's."""

KINDS = ("unicast", "unreachable", "blackhole")


def host_place(lab: Lab, host: Node) -> Place:
    """What a server has in its namespace.

    Raises:
        LabError: its files are not there, or not as `eastwest build` writes them.
    """
    folder = lab.built / "hosts" / host.name
    netplan, sysctl = folder / "netplan.yaml", folder / "sysctl.conf"
    try:
        interfaces = document.read(netplan).data["network"]["ethernets"]
        addresses = {str(name): tuple(_addresses(each)) for name, each in interfaces.items()}
        commands = [line for name, each in interfaces.items() for line in _commands(str(name), each)]
        found = (SETTING.fullmatch(line) for line in _lines(sysctl))
        settings = {each[1]: each[2] for each in found if each is not None}
    except OSError as error:
        raise LabError(
            f"{error.filename}: {error.strerror}: the lab runs what `eastwest build` writes for hosts"
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LabError(
            f"{netplan}: this is no netplan file of `eastwest build`: {type(error).__name__} {error}"
        ) from None
    mine = {port.name for port in host.ports}
    return Place(
        name=host.name,
        addresses={name: those for name, those in addresses.items() if name in mine},
        macs={port.name: port.mac for port in host.ports},
        mtus={port.name: MTU for port in host.ports},
        commands=commands,
        sysctls=settings,
    )


def _addresses(interface: Mapping[str, Any]) -> Iterator[str]:
    for each in interface.get("addresses", ()):
        yield str(ip_interface(each))


def _commands(name: str, interface: Mapping[str, Any]) -> Iterator[str]:
    """The routes and rules of an interface, as lines of `ip -batch`."""
    for each in interface.get("routes", ()):
        kind = each.get("type", "unicast")
        if kind not in KINDS:
            raise ValueError(f"a route of type {kind!r}")
        words = ["route replace", kind, str(ip_network(each["to"]))]
        if kind == "unicast":
            words += ["via", str(ip_address(each["via"])), "dev", name]
        words += [f"{word} {int(each[word])}" for word in ("table", "metric") if word in each]
        yield " ".join(words)
    for each in interface.get("routing-policy", ()):
        yield f"rule add from {ip_network(each['from'])} table {int(each['table'])} priority {int(each['priority'])}"


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
