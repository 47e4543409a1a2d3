"""How load is spread: hash seeds that polarise, spraying over NICs that cannot take it, rails that are crossed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from eastwest.catalog import Catalog
from eastwest.checks.chain import Device
from eastwest.checks.finding import Fault, Severity
from eastwest.checks.read import Host
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene

_PURE = 0.7
"""Where leaves have no rail in their names: part of the servers' links that must agree on the rail of their leaf for
the fabric to be built by rails."""


@rule("hash-seed-shared", Severity.WARNING)
def hash_seed_shared(scene: Scene) -> Iterator[Fault]:
    """Switches hash with one seed, so that flows which one put together stay together at the next."""
    seeds: dict[str, list[Device]] = {}
    for device in scene.devices:
        seed = device.switch.table("SWITCH_TABLE").get("switch", {}).get("ecmp_hash_seed")
        if seed is not None:
            seeds.setdefault(seed.strip().lower(), []).append(device)
    for seed, devices in seeds.items():
        for device in devices[1:]:
            yield Fault(
                device.switch.file_of("SWITCH_TABLE"),
                "SWITCH_TABLE:switch ecmp_hash_seed",
                f"{seed}, as {devices[0].name} has it too: both send the same flows the same way",
                "a seed of its own on every switch",
            )


@rule("hash-without-ports", Severity.WARNING)
def hash_without_ports(scene: Scene) -> Iterator[Fault]:
    """The ECMP hash leaves out the UDP source port, the only field in which RoCE flows of two hosts differ."""
    for device in scene.devices:
        fields = device.switch.table("SWITCH_HASH").get("GLOBAL", {}).get("ecmp_hash", "")
        if fields and "L4_SRC_PORT" not in fields.upper().split(","):
            yield Fault(
                device.switch.file_of("SWITCH_HASH"),
                "SWITCH_HASH|GLOBAL ecmp_hash",
                f"{fields}: all queue pairs of two hosts take one path",
                "add L4_SRC_PORT",
            )


@rule("spraying-reorders", Severity.ERROR)
def spraying_reorders(scene: Scene) -> Iterator[Fault]:
    """Switches spray packets, and NICs that go back to the first gap receive them."""
    sprayed = [(device, table) for device in scene.devices if (table := _sprays(device))]
    if not sprayed:
        return
    parts = Catalog.bundled()
    models: dict[str, str] = {}
    if scene.evidence.plan:
        models = {model: f"{host} {port}" for (host, port), model in scene.evidence.plan.devices.items()}
    for model, where in models.items():
        if model in parts.names("nics") and not parts.nic(model).places_out_of_order:
            for device, table in sprayed:
                yield Fault(
                    device.switch.file_of(table),
                    table,
                    f"packets of one flow take all paths, and {model} (of {where}) does not place packets out of "
                    "order: it goes back to the first gap and sends everything again",
                    "flowlets (assign_mode per_flowlet_quality) or plain ECMP, or NICs that place out of order",
                )


@rule("rails-crossed", Severity.ERROR)
def rails_crossed(scene: Scene) -> Iterator[Fault]:
    """A NIC of one rail is on the leaf of another."""
    yield from _swapped(scene)
    attached: dict[Device, list[tuple[int, Host, str]]] = {}
    for link in scene.links:
        for end, far in link.ends:
            rail = _rail(end.port)
            if end.host and far.device and rail is not None:
                attached.setdefault(far.device, []).append((rail, end.host, end.port))
    named = {device: found for device in attached if (found := _named(device)) is not None}
    usual = {device: named.get(device, _most(nics)) for device, nics in attached.items()}
    total = sum(len(nics) for nics in attached.values())
    agreeing = sum(rail == usual[device] for device, nics in attached.items() for rail, _, _ in nics)
    if len(named) < len(attached) and agreeing < _PURE * total:
        return
    for device, nics in attached.items():
        for rail, host, port in nics:
            if rail != usual[device]:
                yield Fault(
                    host.ports[port].file if port in host.ports else host.file,
                    f"{host.name} {port}",
                    f"is on {device.name}, the leaf of rail {usual[device]}: its traffic to the same rail of other "
                    "servers crosses the spines",
                    f"swap the cables, or the addresses, of rail {rail} and rail {usual[device]}",
                )


def _swapped(scene: Scene) -> Iterator[Fault]:
    """NICs whose address belongs to another port than the one that they are cabled to."""
    for link in scene.links:
        for end, far in link.ends:
            meant = scene.by_address.get((end.owner, end.port)) if end.host else None
            if end.host and meant and far.device and (meant.owner, meant.port) != (far.owner, far.port):
                yield Fault(
                    end.host.ports[end.port].file,
                    f"{end.host.name} {end.port}",
                    f"is cabled to {far}, and has an address of the subnet of {meant}",
                    "swap the addresses, or the cables",
                )


def _sprays(device: Device) -> str:
    """The table by which a switch spreads the packets of one flow; empty where it does not."""
    for table in ("ARS_PROFILE", "ARS_NEXTHOP_GROUP", "ARS_INTERFACE"):
        for row in device.switch.table(table).values():
            if row.get("assign_mode", "").startswith("per_packet"):
                return table
    return ""


def _rail(port: str) -> int | None:
    """The rail that a NIC's name gives: `rail3`, `rail3p1`."""
    found = re.match(r"rail(\d{1,3})", port)
    return int(found[1]) if found else None


def _named(device: Device) -> int | None:
    """The rail that a leaf's name gives: `leaf-u0-r3`."""
    found = re.search(r"-r(\d{1,3})\Z", device.name)
    return int(found[1]) if found else None


def _most(nics: list[tuple[int, Host, str]]) -> int:
    """The rail of most NICs on a leaf."""
    return Counter(rail for rail, _, _ in nics).most_common(1)[0][0]
