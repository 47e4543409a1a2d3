"""Addresses: no two alike, both ends of a link in one subnet, gateways next door, MACs and names unique."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from eastwest.checks.finding import Fault, Severity
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene


@rule("address-twice", Severity.ERROR)
def address_twice(scene: Scene) -> Iterator[Fault]:
    """Two interfaces have the same address (loopbacks shared on purpose, other than Loopback0, are left out)."""
    seen: dict[str, tuple[str, str]] = {}
    for owner, file, key, interface, address in _addresses(scene):
        if interface.startswith("Loopback") and interface != "Loopback0":
            continue
        plain = address.split("/")[0]
        if plain not in seen:
            seen[plain] = (owner, interface)
        elif seen[plain] != (owner, interface) and seen[plain][0] != owner:
            first, port = seen[plain]
            yield Fault(file, key, f"{plain} is also the address of {first} {port}", "an address of its own")


@rule("link-subnets-differ", Severity.ERROR)
def link_subnets_differ(scene: Scene) -> Iterator[Fault]:
    """The two ends of a cable have addresses, and none of them in one subnet."""
    by_end: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for owner, file, key, interface, address in _addresses(scene):
        by_end.setdefault((owner, interface), []).append((file, key, address))
    for link in scene.links:
        if any(end.host and (end.owner, end.port) in scene.by_address for end in (link.a, link.b)):
            continue  # an address of another link: rails-crossed tells of it
        mine, theirs = (by_end.get((end.owner, end.port), []) for end in (link.a, link.b))
        for version in (4, 6):
            ours = [each for each in mine if ipaddress.ip_interface(each[2]).version == version]
            others = [each for each in theirs if ipaddress.ip_interface(each[2]).version == version]
            nets = {ipaddress.ip_interface(address).network for _, _, address in others}
            if ours and others and not any(ipaddress.ip_interface(address).network in nets for _, _, address in ours):
                file, key, address = ours[0]
                yield Fault(
                    file,
                    key,
                    f"{address} is in no subnet of the other end, {link.b} ({', '.join(each[2] for each in others)})",
                    "both addresses of one /31 (or /30, /127)",
                )


@rule("host-gateway", Severity.ERROR)
def host_gateway(scene: Scene) -> Iterator[Fault]:
    """A server's route goes by a gateway that is in no subnet of its interface, or is not the switch's address."""
    for host in scene.hosts:
        for port in host.ports.values():
            nets = [ipaddress.ip_interface(address) for address in port.addresses]
            for gateway in port.gateways:
                if not _is_address(f"{gateway}/32"):
                    continue
                at = ipaddress.ip_address(gateway)
                around = [net for net in nets if net.version == at.version]
                if around and not any(at in net.network and at != net.ip for net in around):
                    yield Fault(
                        port.file,
                        f"line {port.line} {port.name} routes",
                        f"via {gateway}, which is no neighbour of {', '.join(map(str, around))}",
                        "the other address of the link's /31",
                    )


@rule("host-gateway-nowhere", Severity.ERROR)
def host_gateway_nowhere(scene: Scene) -> Iterator[Fault]:
    """A server's gateway is in its subnet, but no switch has it, that at the cable's other end included."""
    far_of = {(end.owner, end.port): far for link in scene.links for end, far in link.ends}
    there = {address.split("/")[0] for device in scene.devices for *_, address in device.switch.addresses()}
    for host in scene.hosts:
        for port in host.ports.values():
            far = far_of.get((host.name, port.name))
            nets = [ipaddress.ip_interface(address).network for address in port.addresses]
            for gateway in port.gateways if far is not None and far.device is not None and there else ():
                is_near = _is_address(f"{gateway}/32") and any(ipaddress.ip_address(gateway) in net for net in nets)
                if is_near and ":" not in gateway and gateway not in there and far and far.device:
                    yield Fault(
                        far.device.switch.file_of("INTERFACE"),
                        f"INTERFACE|{far.port}",
                        f"has no {gateway}, by which {host.name} sends from {port.name}",
                        f"INTERFACE|{far.port}|{gateway}/31",
                    )


@rule("host-policy-route", Severity.ERROR)
def host_policy_route(scene: Scene) -> Iterator[Fault]:
    """A server routes by source, and an interface's address leads to a table in which no route goes by it."""
    for host in scene.hosts:
        rules = {source.split("/")[0]: (table, port) for port in host.ports.values() for source, table in port.rules}
        for port in host.ports.values():
            for address in (each.split("/")[0] for each in port.addresses):
                if not rules or not port.tables or ":" in address or rules.get(address, (None,))[0] in port.tables:
                    continue
                table, at = rules.get(address, (None, port))
                leads = "no rule leads" if table is None else f"the rule leads to table {table}, not"
                yield Fault(
                    at.file,
                    f"line {at.line} {at.name} routing-policy",
                    f"from {address} of {port.name} {leads} to {port.tables[0]}, where its routes are: it sends by "
                    "another NIC or not at all",
                    f"from: {address}/32, table: {port.tables[0]}",
                )


@rule("router-id-twice", Severity.ERROR)
def router_id_twice(scene: Scene) -> Iterator[Fault]:
    """Two switches have the same BGP router ID."""
    seen: dict[str, str] = {}
    for device in scene.devices:
        frr = device.switch.frr
        if frr and frr.router_id:
            first = seen.setdefault(frr.router_id, device.name)
            if first != device.name:
                yield Fault(
                    frr.file,
                    "bgp router-id",
                    f"{frr.router_id} is also that of {first}: they refuse each other's sessions or routes",
                    "the switch's own loopback address",
                )


@rule("mac-twice", Severity.ERROR)
def mac_twice(scene: Scene) -> Iterator[Fault]:
    """Two switches, or two NICs, have the same MAC address."""
    seen: dict[str, str] = {}
    for device in scene.devices:
        mac = device.switch.metadata.get("mac", "").lower()
        chassis = device.switch.file
        if mac and "/" not in device.name and seen.setdefault(mac, chassis) != chassis:
            yield Fault(
                device.switch.file_of("DEVICE_METADATA"),
                "DEVICE_METADATA|localhost mac",
                f"{mac} is also the MAC of {seen[mac]}: link-local addresses collide",
                "the switch's own MAC",
            )
    for host in scene.hosts:
        for port in host.ports.values():
            owner = f"{host.name} {port.name}"
            if port.mac and seen.setdefault(port.mac, owner) != owner:
                yield Fault(
                    port.file,
                    f"line {port.line} {port.name} macaddress",
                    f"{port.mac} is also the MAC of {seen[port.mac]}",
                    "the NIC's own MAC",
                )


@rule("name-twice", Severity.WARNING)
def name_twice(scene: Scene) -> Iterator[Fault]:
    """Two files are of devices with one hostname, so neighbours cannot be told apart."""
    seen: dict[str, str] = {}
    for device in scene.devices:
        name = device.switch.metadata.get("hostname", "")
        key = f"{name}{device.name.partition('/')[2]}".lower()
        if name and seen.setdefault(key, device.switch.file) != device.switch.file:
            yield Fault(
                device.switch.file_of("DEVICE_METADATA"),
                "DEVICE_METADATA|localhost hostname",
                f"{name} is also the hostname in {seen[key]}",
                "a name of its own; two copies of one device are to be checked apart",
            )


def _addresses(scene: Scene) -> Iterator[tuple[str, str, str, str, str]]:
    """Owner, file, key, interface and address of each address; what is none is left out."""
    for device in scene.devices:
        switch = device.switch
        told = set()
        for table, interface, address in switch.addresses():
            if _is_address(address) and table != "VLAN_INTERFACE":
                told.add((interface, address))
                yield device.name, switch.file_of(table), f"{table}|{interface}|{address}", interface, address
        for interface, address, line in switch.frr.addresses if switch.frr else ():
            if _is_address(address) and (interface, address) not in told and interface != "lo":
                yield device.name, switch.frr.file if switch.frr else "", f"line {line}", interface, address
    for host in scene.hosts:
        for port in host.ports.values():
            for address in port.addresses:
                yield host.name, port.file, f"line {port.line} {port.name}", port.name, address


def _is_address(written: str) -> bool:
    try:
        found = ipaddress.ip_interface(written)
    except ValueError:
        return False
    return not found.is_link_local
