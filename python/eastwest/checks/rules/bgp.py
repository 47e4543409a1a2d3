"""BGP sessions: both ends configured, alike and with the right AS; ASNs that must differ; paths used together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from eastwest.checks.chain import Device
from eastwest.checks.finding import Fault, Severity
from eastwest.checks.read import spelling
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene
from eastwest.checks.sessions import address_owners

SPLIT_UNIFIED = '"docker_routing_config_mode": "split-unified"'


@rule("bgp-asn-mismatch", Severity.ERROR)
def bgp_asn_mismatch(scene: Scene) -> Iterator[Fault]:
    """A neighbour's remote-as is not the AS that it has."""
    for each in scene.sessions:
        mine, theirs = each.frr.asn, each.far.switch.frr.asn if each.far.switch.frr else None
        said = each.neighbour.remote_as
        if mine is None or theirs is None or not said:
            continue
        wanted = {"external": theirs != mine, "internal": theirs == mine}.get(said, each.neighbour.asn == theirs)
        if not wanted:
            yield Fault(
                each.frr.file,
                each.key,
                f"remote-as {said}, but {each.far.name} has AS {theirs}"
                + (f" like this switch ({mine})" if said == "external" else "")
                + ": the session stays down",
                f"neighbor {each.neighbour.name} remote-as {theirs}" if theirs != mine else "ASNs that differ",
            )
    yield from _rows(scene)


def _rows(scene: Scene) -> Iterator[Fault]:
    """The same for sessions that config_db holds (BGP_NEIGHBOR)."""
    owners = address_owners(scene.devices)
    for device in scene.devices:
        for key, row in device.switch.table("BGP_NEIGHBOR").items():
            far = owners.get(key.split("|")[-1])
            theirs = _asn_of(far) if far else None
            said = spelling.number(row.get("asn"))
            if far and far is not device and said is not None and theirs is not None and said != theirs:
                yield Fault(
                    device.switch.file_of("BGP_NEIGHBOR"),
                    f"BGP_NEIGHBOR|{key} asn",
                    f"{said}, but {far.name} has AS {theirs}: the session stays down",
                    f'"asn": "{theirs}"',
                )


@rule("bgp-one-sided", Severity.ERROR)
def bgp_one_sided(scene: Scene) -> Iterator[Fault]:
    """A session is configured at one end of a link and not at the other."""
    for each in scene.sessions:
        frr = each.far.switch.frr
        if each.back is None and frr is not None and not frr.listens:
            yield Fault(
                each.frr.file,
                each.key,
                f"{each.far.name} ({frr.file}) has no neighbour that answers it",
                f"add the session on {each.far.name}, or take it away here",
            )


@rule("bgp-unnumbered-one-side", Severity.ERROR)
def bgp_unnumbered_one_side(scene: Scene) -> Iterator[Fault]:
    """A session is unnumbered (by interface) at one end of a link and by address at the other."""
    for each in scene.sessions:
        if each.back is not None and each.neighbour.unnumbered and not each.back.unnumbered:
            yield Fault(
                each.frr.file,
                each.key,
                f"unnumbered here, and by address ({each.back.name}) on {each.far.name}",
                f"`neighbor PORT interface` on {each.far.name} too, or addresses at both ends",
            )


@rule("bgp-bfd-one-side", Severity.WARNING)
def bgp_bfd_one_side(scene: Scene) -> Iterator[Fault]:
    """BFD watches a session from one end only, so it never comes up."""
    for each in scene.sessions:
        if each.back is not None and each.neighbour.bfd and not each.back.bfd:
            frr = each.far.switch.frr
            yield Fault(
                frr.file if frr else each.frr.file,
                f"line {each.back.line} neighbor {each.back.name}",
                f"no BFD, while {each.device.name} has it on {each.neighbour.name}: only BGP's timers see failures",
                f"neighbor {each.back.name} bfd",
            )


@rule("bgp-neighbour-unknown", Severity.ERROR)
def bgp_neighbour_unknown(scene: Scene) -> Iterator[Fault]:
    """frr.conf has a session on an interface that the switch does not have."""
    for device in scene.devices:
        frr, known = device.switch.frr, device.switch.known_ports
        for neighbour in frr.neighbours.values() if frr and known else ():
            name = neighbour.name
            if neighbour.unnumbered and name.startswith("Ethernet") and name.split(".")[0] not in known:
                yield Fault(
                    frr.file if frr else "",
                    f"line {neighbour.line} neighbor {name}",
                    f"PORT in {device.switch.file_of('PORT')} has no {name}",
                    "the name of a port that is there",
                )


@rule("bgp-asn-twice", Severity.ERROR)
def bgp_asn_twice(scene: Scene) -> Iterator[Fault]:
    """Two leaves have one ASN: each refuses the other's routes, in whose AS path it finds its own."""
    seen: dict[int, str] = {}
    for device in scene.devices:
        asn, frr = _asn_of(device), device.switch.frr
        if asn is None or not _is_leaf(scene, device) or (frr and frr.allows_own_as):
            continue
        first = seen.setdefault(asn, device.name)
        if first.split("/")[0] != device.name.split("/")[0]:
            at = (frr.file, f"line {frr.asn_line} router bgp") if frr and frr.asn else None
            file, key = at or (device.switch.file_of("DEVICE_METADATA"), "DEVICE_METADATA|localhost bgp_asn")
            yield Fault(
                file, key, f"AS {asn} is also that of {first}: they refuse each other's routes", "an ASN of its own"
            )


@rule("bgp-asn-differs", Severity.WARNING)
def bgp_asn_differs(scene: Scene) -> Iterator[Fault]:
    """DEVICE_METADATA's bgp_asn is not the one in frr.conf."""
    for device in scene.devices:
        frr, said = device.switch.frr, spelling.number(device.switch.metadata.get("bgp_asn"))
        if frr and frr.asn is not None and said is not None and said != frr.asn:
            yield Fault(
                device.switch.file_of("DEVICE_METADATA"),
                "DEVICE_METADATA|localhost bgp_asn",
                f"{said}, while {frr.file} runs AS {frr.asn}",
                f'"bgp_asn": "{frr.asn}"',
            )


@rule("ecmp-narrow", Severity.WARNING)
def ecmp_narrow(scene: Scene) -> Iterator[Fault]:
    """BGP uses fewer equal paths than the switch has neighbours of one AS, or none across several ASNs."""
    for device in scene.devices:
        frr = device.switch.frr
        if frr is None or frr.asn is None:
            continue
        up = [each for each in scene.sessions if each.device is device and not each.neighbour.shutdown]
        asns = Counter(_asn_of(each.far) for each in up)
        # neighbours of one AS stand side by side, and lead to the same places
        most = max(asns.values(), default=0)
        if frr.maximum_paths is not None and frr.maximum_paths < most:
            yield Fault(
                frr.file,
                "maximum-paths",
                f"{frr.maximum_paths}, with {most} neighbours side by side: some of their links carry nothing",
                f"maximum-paths {most}",
            )
        if not frr.multipath_relax and len(asns) > 1:
            yield Fault(
                frr.file,
                "router bgp",
                "neighbours have several ASNs and `bestpath as-path multipath-relax` is not set: paths through "
                "different ones are not used together",
                "bgp bestpath as-path multipath-relax",
            )


@rule("link-local-off", Severity.WARNING)
def link_local_off(scene: Scene) -> Iterator[Fault]:
    """An unnumbered session's interface has no row in INTERFACE, so SONiC gives it no link-local address."""
    for device in scene.devices:
        frr, rows = device.switch.frr, device.switch.table("INTERFACE")
        unrouted = device.switch.known_ports - {key.split("|")[0] for key in rows}
        for neighbour in frr.neighbours.values() if frr and rows else ():
            if neighbour.unnumbered and neighbour.name in unrouted:
                yield Fault(
                    device.switch.file_of("INTERFACE"),
                    f"INTERFACE|{neighbour.name}",
                    "frr.conf has an unnumbered session here, and this interface is not routed",
                    '{"ipv6_use_link_local_only": "enable"}',
                )


@rule("routing-mode", Severity.ERROR)
def routing_mode(scene: Scene) -> Iterator[Fault]:
    """frr.conf is given, and SONiC will overwrite it: docker_routing_config_mode is neither split nor split-unified."""
    for device, mode in _modes_with_frr_conf(scene):
        if not (mode or "").startswith("split"):
            yield Fault(
                device.switch.file_of("DEVICE_METADATA"),
                "DEVICE_METADATA|localhost docker_routing_config_mode",
                f"{mode or 'not set, so separated'}: SONiC writes FRR's configuration from CONFIG_DB at each start, in "
                "place of the frr.conf that is given for this switch",
                SPLIT_UNIFIED,
            )


@rule("routing-mode-split", Severity.WARNING)
def routing_mode_split(scene: Scene) -> Iterator[Fault]:
    """One frr.conf is given in the mode that wants a file for each daemon, where newer SONiC deletes it at start."""
    for device, mode in _modes_with_frr_conf(scene):
        if mode == "split" and device.switch.frr and not Path(device.switch.frr.file).name.startswith("bgpd"):
            yield Fault(
                device.switch.file_of("DEVICE_METADATA"),
                "DEVICE_METADATA|localhost docker_routing_config_mode",
                "split: FRR reads bgpd.conf, zebra.conf and so on, and the frr.conf that is given is deleted when the "
                "container starts (docker-fpm-frr, docker_init.sh)",
                f"{SPLIT_UNIFIED}, or a file for each daemon",
            )


def _modes_with_frr_conf(scene: Scene) -> Iterator[tuple[Device, str | None]]:
    """Switches of which both frr.conf and DEVICE_METADATA are given, with the mode that this says."""
    for device in scene.devices:
        frr = device.switch.frr
        if frr is not None and "DEVICE_METADATA" in device.switch.tables:
            yield device, device.switch.metadata.get("docker_routing_config_mode")


def _asn_of(device: Device) -> int | None:
    frr = device.switch.frr
    return frr.asn if frr and frr.asn is not None else spelling.number(device.switch.metadata.get("bgp_asn"))


def _is_leaf(scene: Scene, device: Device) -> bool:
    """Whether servers hang on a switch: by the plan, its own type, or a link to one."""
    if scene.evidence.plan and device.name in scene.evidence.plan.tiers:
        return scene.evidence.plan.tiers[device.name] == "leaf"
    if device.switch.metadata.get("type") == "ToRRouter":
        return True
    return any(far.host is not None for link in scene.links for end, far in link.ends if end.device is device)
