"""Buffers of lossless classes: a profile with room for bytes in flight, and enough of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eastwest.checks.chain import Device, Group, Path, need
from eastwest.checks.finding import Fault, Severity
from eastwest.checks.read import spelling
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene

_MADE = re.compile(r"pg_lossless_(\d+)_(\d+)m_")
_UNUSED = "_zero_profile"
"""End of the profiles by which SONiC takes the buffers of unused ports back (e.g. `egress_lossy_zero_profile`)."""


@rule("group-buffer-lossy", Severity.ERROR)
def group_buffer_lossy(scene: Scene) -> Iterator[Fault]:
    """A priority group that pauses has a buffer profile without headroom."""
    for device, path, group in _groups(scene):
        if group.lossless is False and not group.profile.endswith(_UNUSED):
            yield Fault(
                device.switch.file_of("BUFFER_PG"),
                f"BUFFER_PG|{group.key}",
                f"priority group {path.group} pauses, but its profile {group.profile} has no xoff: what arrives after "
                "the pause is lost",
                "name a lossless profile (one with xoff), or NULL where buffer_model is dynamic",
            )


@rule("group-buffer-missing", Severity.ERROR)
def group_buffer_missing(scene: Scene) -> Iterator[Fault]:
    """A port's lossless priority group has no row in BUFFER_PG while other ports have one (a warning without hosts)."""
    for device in scene.devices:
        found = [each for each in _groups_of(scene, device) if each[2].lossless]
        for _, path, group in _groups_of(scene, device):
            there = next((each for each in found if each[1].group == path.group), None)
            if there and not group.key:
                yield Fault(
                    device.switch.file_of("BUFFER_PG"),
                    f"BUFFER_PG|{path.port}|{path.group}",
                    f"priority group {path.group} pauses and has no buffer of its own, as it has on {there[1].port}",
                    f"add the row with profile {there[2].profile}",
                    None if scene.marks else Severity.WARNING,
                )


@rule("profile-missing", Severity.ERROR)
def profile_missing(scene: Scene) -> Iterator[Fault]:
    """A priority group or queue names a buffer profile that is not there."""
    for device in scene.devices:
        profiles = device.switch.table("BUFFER_PROFILE")
        for table in ("BUFFER_PG", "BUFFER_QUEUE"):
            for key, row in device.switch.table(table).items() if profiles else ():
                name = spelling.reference(row.get("profile", ""))
                if name and name not in profiles and name not in ("NULL", "0") and not _MADE.match(name):
                    yield Fault(
                        device.switch.file_of(table),
                        f"{table}|{key}",
                        f"names profile {name}, which BUFFER_PROFILE does not hold",
                        "name one that is there, or add it",
                    )


@rule("pool-wrong", Severity.ERROR)
def pool_wrong(scene: Scene) -> Iterator[Fault]:
    """A profile in use takes its memory from a pool that is not there, or from one of the other direction."""
    for device in scene.devices:
        pools, profiles = device.switch.table("BUFFER_POOL"), device.switch.table("BUFFER_PROFILE")
        told = set()
        for table, way in (("BUFFER_PG", "ingress"), ("BUFFER_QUEUE", "egress")):
            for row in device.switch.table(table).values() if pools else ():
                name = spelling.reference(row.get("profile", ""))
                pool = spelling.reference(profiles.get(name, {}).get("pool", ""))
                if (
                    not pool
                    or name in told
                    or (pools.get(pool, {}).get("type", way) in (way, "both") and pool in pools)
                ):
                    continue
                told.add(name)
                why = "of the other direction" if pool in pools else "not there"
                yield Fault(
                    device.switch.file_of("BUFFER_PROFILE"),
                    f"BUFFER_PROFILE|{name} pool",
                    f"{pool} is {why}, and {table} uses the profile",
                    f"a pool of type {way} in BUFFER_POOL",
                )


@rule("headroom-none", Severity.ERROR)
def headroom_none(scene: Scene) -> Iterator[Fault]:
    """A profile that is named as lossless is in the file, but its xoff is absent, 0 or no number of bytes."""
    for device, _, group in _groups(scene):
        profile = device.switch.table("BUFFER_PROFILE").get(group.profile)
        is_dynamic = device.switch.metadata.get("buffer_model") == "dynamic"
        if profile is None or is_dynamic or profile.get("headroom_type") == "dynamic":
            continue
        if group.headroom is None and group.lossless is not False:
            yield Fault(
                device.switch.file_of("BUFFER_PROFILE"),
                f"BUFFER_PROFILE|{group.profile} xoff",
                f"{profile.get('xoff') or 'not given'}: no bytes are kept for what arrives after the pause",
                "the headroom in bytes, as a plain number",
            )


@rule("headroom-beyond-size", Severity.ERROR)
def headroom_beyond_size(scene: Scene) -> Iterator[Fault]:
    """A lossless profile lets go of the pause only above its own size."""
    for device, _, group in _groups(scene):
        size = spelling.number(device.switch.table("BUFFER_PROFILE").get(group.profile, {}).get("size"))
        if group.headroom and size and group.xon is not None and group.xon > size:
            yield Fault(
                device.switch.file_of("BUFFER_PROFILE"),
                f"BUFFER_PROFILE|{group.profile} xon",
                f"xon {group.xon} is above size {size}: sizes of one profile that cannot be",
                "xon below size",
            )


@rule("queue-buffer-lossy", Severity.ERROR)
def queue_buffer_lossy(scene: Scene) -> Iterator[Fault]:
    """The queue of a lossless class takes its buffer from a profile or pool for lossy traffic, which drops."""
    for device in scene.devices:
        for dscp in scene.followed(device):
            for port in device.qos_ports:
                path = device.path(port, dscp)
                if not path.lossless or path.queue is None or (port, path.queue) not in device.queue_buffers:
                    continue
                key, row = device.queue_buffers[port, path.queue]
                name = spelling.reference(row.get("profile", ""))
                if name.endswith(_UNUSED):
                    continue
                profile = device.switch.table("BUFFER_PROFILE").get(name, {})
                if ("lossy" in name and "lossless" not in name) or "lossy" in profile.get("pool", ""):
                    yield Fault(
                        device.switch.file_of("BUFFER_QUEUE"),
                        f"BUFFER_QUEUE|{key}",
                        f"queue {path.queue} carries a lossless class on the lossy profile {name}: it drops before the "
                        "group can pause",
                        "name the profile of the lossless queues (egress_lossless_profile)",
                    )


@rule("queue-buffer-missing", Severity.ERROR)
def queue_buffer_missing(scene: Scene) -> Iterator[Fault]:
    """The queue of a lossless class has no row in BUFFER_QUEUE while other ports have one (a warning without hosts)."""
    for device in scene.devices:
        for dscp in scene.followed(device):
            # a port with no rows at all is unused, or takes its buffers from SONiC's own files
            served = {port for port, _ in device.queue_buffers}
            paths = [path for port in device.qos_ports if port in served and (path := device.path(port, dscp)).lossless]
            rows = [(path, device.queue_buffers.get((path.port, path.queue or 0))) for path in paths]
            there = next(
                ((path, row) for path, row in rows if row and not row[1].get("profile", _UNUSED).endswith(_UNUSED)),
                None,
            )
            for path, row in rows:
                if there and row is None and path.queue == there[0].queue:
                    yield Fault(
                        device.switch.file_of("BUFFER_QUEUE"),
                        f"BUFFER_QUEUE|{path.port}|{path.queue}",
                        f"queue {path.queue} carries a lossless class and has no buffer of its own, as it has on "
                        f"{there[0].port}",
                        f"add the row with profile {spelling.reference(there[1][1]['profile'])}" if there[1] else "",
                        None if scene.marks else Severity.WARNING,
                    )


@rule("headroom-too-small", Severity.ERROR)
def headroom_too_small(scene: Scene) -> Iterator[Fault]:
    """A lossless profile keeps less room than the cable, the frames and the neighbour's answer need.

    Less than cable and frames alone is an error; less than that and the time in which the standard lets a neighbour
    stop (and, with a plan that names the switch, what small packets waste) is one where hosts that send RoCE are given,
    else a warning, since vendors count on faster answers.
    """
    lengths = _planned(scene)
    for device, path, group in _groups(scene):
        need_here = _need(scene, device, path, lengths)
        if group.headroom is None or need_here is None or group.headroom >= need_here.wanted:
            continue
        below = group.headroom < need_here.least
        yield Fault(
            device.switch.file_of("BUFFER_PROFILE"),
            f"BUFFER_PROFILE|{group.profile} xoff",
            f"{group.headroom} bytes after the pause; {need_here.told} take {need_here.least} for the cable and a "
            f"packet at either end, and {need_here.wanted} with {need_here.why}: "
            + ("packets are lost while pausing" if below else "a slow neighbour makes it lose packets"),
            f"xoff of at least {need_here.wanted}, or a shorter cable",
            Severity.ERROR if below or scene.marks else Severity.WARNING,
        )


@rule("headroom-unknown", Severity.NOTE)
def headroom_unknown(scene: Scene) -> Iterator[Fault]:
    """The room that a lossless group keeps is not in the files."""
    for device in scene.devices:
        lacking = [
            each for each in _groups_of(scene, device) if each[2].headroom is None and each[2].lossless is not False
        ]
        for _, _, group in lacking[:1]:
            dynamic = device.switch.metadata.get("buffer_model") == "dynamic" or group.profile == "NULL"
            why = (
                "the dynamic buffer model computes it from speed, CABLE_LENGTH and MTU"
                if dynamic
                else "SONiC takes the profile from pg_profile_lookup.ini by speed and CABLE_LENGTH"
            )
            yield Fault(
                device.switch.file_of("BUFFER_PG"),
                "BUFFER_PROFILE" if not group.key else f"BUFFER_PG|{group.key}",
                f"headroom of lossless groups is not in these files ({why}), so it cannot be judged",
                "give the running configuration, or see `show buffer information` on the switch",
            )


@rule("headroom-for-other-cable", Severity.WARNING)
def headroom_for_other_cable(scene: Scene) -> Iterator[Fault]:
    """A profile made for one speed and cable length serves a port that is faster or whose cable is longer."""
    lengths = _planned(scene)
    for device, path, group in _groups(scene):
        made, need_here = _MADE.match(group.profile), _need(scene, device, path, lengths)
        if group.headroom is not None and need_here is not None and group.headroom < need_here.wanted:
            continue  # headroom-too-small tells of it
        speed, (_, cable) = device.speed_bps(path.port), device.cable_lengths.get(path.port, ("", None))
        if not made or not group.lossless:
            continue
        slower = speed is not None and int(made[1]) * 1e6 < speed
        shorter = cable is not None and int(made[2]) < cable
        if slower or shorter:
            yield Fault(
                device.switch.file_of("BUFFER_PG"),
                f"BUFFER_PG|{group.key}",
                f"profile {group.profile} is for {int(made[1]) / 1e3:g} Gb/s over {made[2]} m; this port has "
                + " and ".join(
                    each
                    for each in ((f"{speed / 1e9:g} Gb/s" if slower and speed else ""), f"{cable} m" if shorter else "")
                    if each
                ),
                "name the profile of this speed and length, or leave the row to SONiC's buffer manager",
            )


@rule("cable-length-zero", Severity.WARNING)
def cable_length_zero(scene: Scene) -> Iterator[Fault]:
    """A lossless port's cable length is 0 m, for which SONiC makes no lossless buffer."""
    for device, path, _ in _groups(scene):
        key, cable = device.cable_lengths.get(path.port, ("", None))
        if cable == 0 and path.port in device.used_ports:
            yield Fault(
                device.switch.file_of("CABLE_LENGTH"),
                f"CABLE_LENGTH|{key} {path.port}",
                "0 m stands for an unused port: SONiC makes no lossless buffer for it",
                "write the cable's length, e.g. 5m",
            )


@rule("cable-longer-than-told", Severity.ERROR)
def cable_longer_than_told(scene: Scene) -> Iterator[Fault]:
    """CABLE_LENGTH is shorter than the cable of the plan, so headroom is computed too small."""
    lengths = _planned(scene)
    for device in scene.devices:
        for port, (key, listed) in device.cable_lengths.items():
            planned = lengths.get((device.name, port))
            if planned is not None and 0 < listed < planned:
                yield Fault(
                    device.switch.file_of("CABLE_LENGTH"),
                    f"CABLE_LENGTH|{key} {port}",
                    f"{listed} m, but the plan's cable has {planned:g} m: what SONiC makes from it is too small",
                    f'"{int(-(-planned // 1))}m"',
                )


def _groups(scene: Scene) -> Iterator[tuple[Device, Path, Group]]:
    """Each priority group that pauses for a class which is followed."""
    for device in scene.devices:
        yield from _groups_of(scene, device)


def _groups_of(scene: Scene, device: Device) -> Iterator[tuple[Device, Path, Group]]:
    for dscp in scene.followed(device):
        for port in device.qos_ports:
            path = device.path(port, dscp)
            if path.group_paused and path.group is not None:
                yield device, path, device.group(path)


@dataclass(frozen=True)
class _Need:
    """What a port's cable needs: at `least`, and as `wanted` because of `why`; `told` is the cable and the speed."""

    least: int
    wanted: int
    why: str
    told: str


def _need(scene: Scene, device: Device, path: Path, lengths: dict[tuple[str, str], float]) -> _Need | None:
    """What a port needs by CABLE_LENGTH, else the plan's cable; None where speed or length are not told."""
    speed = device.speed_bps(path.port)
    key, listed = device.cable_lengths.get(path.port, ("", None))
    cable = lengths.get((device.name, path.port)) if listed is None else listed
    if not speed or cable is None:
        return None
    source = f"CABLE_LENGTH|{key}" if key else "the plan"
    told = f"{cable:g} m ({source}) at {speed / 1e9:g} Gb/s"
    least, cells = need.in_flight_bytes(speed, cable), scene.cells(device)
    standard = need.by_standard_bytes(speed, cable, device.mtu(path.port))
    if cells is not None and (small := need.with_small_packets_bytes(speed, cable, *cells)) > standard:
        return _Need(least, small, "a neighbour that stops late and small packets, which fill cells in part", told)
    return _Need(least, standard, "the time IEEE 802.3 gives a neighbour to stop", told)


def _planned(scene: Scene) -> dict[tuple[str, str], float]:
    """Cable lengths of a plan by switch and port."""
    return {
        (end.owner, end.port): link.metres
        for link in scene.links
        if link.metres is not None
        for end in (link.a, link.b)
        if end.device
    }
