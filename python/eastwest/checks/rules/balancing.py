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
    """Packets of a flow are sprayed over paths, and a NIC receives them that goes back to the first gap."""
    sprayed = _spraying(scene)
    if not sprayed:
        return
    parts, plan = Catalog.bundled(), scene.evidence.plan
    cure = "flowlets (assign_mode per_flowlet_quality) or plain ECMP, or NICs that place packets out of order"
    told = any(host.places_out_of_order for host in scene.hosts)
    for host in scene.hosts:
        models = {model for (owner, _), model in plan.devices.items() if owner == host.name} if plan else set()
        for model in sorted(models & set(parts.names("nics"))):
            if not parts.nic(model).places_out_of_order:
                yield Fault(
                    host.file,
                    model,
                    f"{sprayed}, and this NIC does not place packets out of order: it goes back to the first gap and "
                    "sends everything again",
                    cure,
                )
        if told and host.nics and host.places_out_of_order is None:
            yield Fault(
                host.file,
                "ROCE_ACCL",
                f"{sprayed}, and this server's NICs are not told to take them out of order, as others are",
                "mlxreg --reg_name ROCE_ACCL --set adaptive_routing_forced_en=0x1",
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


def _spraying(scene: Scene) -> str:
    """What says that packets of one flow take several paths; empty where nothing does."""
    for device in scene.devices:
        if table := _sprays(device):
            return f"{device.name} sprays packets ({table})"
    for host in scene.hosts:
        at = host.nccl.get("NCCL_IB_ADAPTIVE_ROUTING")
        if at is not None and at.value == "1":
            return f"the fabric reorders packets (NCCL_IB_ADAPTIVE_ROUTING=1 on {host.name})"
    return ""


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
