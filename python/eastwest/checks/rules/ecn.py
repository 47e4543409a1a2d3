"""ECN on lossless queues: marked at all, and before the group pauses."""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.checks.chain import Device, Marking, Path
from eastwest.checks.chain.need import ROCE_PACKET
from eastwest.checks.finding import Fault, Severity
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene


@rule("ecn-off", Severity.ERROR)
def ecn_off(scene: Scene) -> Iterator[Fault]:
    """A lossless queue marks nothing (no WRED profile, or ecn_none), while others do or hosts send RoCE."""
    for device in scene.devices:
        rows = list(_queues(scene, device))
        others = {marking.profile for _, _, marking in rows if marking.ecn}
        if "QUEUE" not in device.switch.tables and not others:
            continue
        for _, path, marking in rows:
            if marking.ecn is not False or not (scene.marks or others or marking.profile):
                continue
            if marking.profile and marking.profile in device.switch.table("WRED_PROFILE"):
                file, key = device.switch.file_of("WRED_PROFILE"), f"WRED_PROFILE|{marking.profile} ecn"
                what, fix = "marks no green packets (ecn), so it drops where it should mark", '"ecn": "ecn_all"'
            else:
                file, key = device.switch.file_of("QUEUE"), f"QUEUE|{marking.key or f'{path.port}|{path.queue}'}"
                what = f"queue {path.queue} carries a lossless class and has no WRED profile" + (
                    f" ({marking.profile} is not there)" if marking.profile else ""
                )
                what += ": senders learn of congestion only by being paused"
                there = sorted(others) or sorted(device.switch.table("WRED_PROFILE")) or ["AZURE_LOSSLESS"]
                fix = f'"wred_profile": "{there[0]}"'
            yield Fault(file, key, what, fix, None if scene.marks else Severity.WARNING)


@rule("ecn-after-pause", Severity.ERROR)
def ecn_after_pause(scene: Scene) -> Iterator[Fault]:
    """Marking begins only at a fill at which the priority group has paused already."""
    for device, path, marking, fill in _fills(scene):
        if marking.least is not None and marking.least >= fill:
            yield Fault(
                device.switch.file_of("WRED_PROFILE"),
                f"WRED_PROFILE|{marking.profile} green_min_threshold",
                f"marking begins at {marking.least} bytes; the group of class {path.tc} pauses at {fill} "
                f"({_why(device, path)}): PFC always fires first",
                f"minimum and maximum below {fill}",
            )


@rule("ecn-not-full-before-pause", Severity.WARNING)
def ecn_not_full_before_pause(scene: Scene) -> Iterator[Fault]:
    """Marking reaches its maximum only above the fill at which the priority group pauses."""
    for device, path, marking, fill in _fills(scene):
        if marking.least is not None and marking.least < fill and marking.most is not None and marking.most > fill:
            yield Fault(
                device.switch.file_of("WRED_PROFILE"),
                f"WRED_PROFILE|{marking.profile} green_max_threshold",
                f"marking is at its most from {marking.most} bytes; the group of class {path.tc} pauses at {fill} "
                f"({_why(device, path)})",
                f"a maximum below {fill}",
            )


@rule("ecn-late-when-all-pause", Severity.WARNING)
def ecn_late_when_all_pause(scene: Scene) -> Iterator[Fault]:
    """With all lossless groups congested at once, they pause before marking is at its most (a note without hosts)."""
    for device, path, marking, alone in _fills(scene):
        groups = sum(1 for port in device.qos_ports if device.maps[port].pfc)
        fill = device.group(path).pauses_at(groups)
        if fill is not None and marking.most is not None and fill < marking.most <= alone:
            yield Fault(
                device.switch.file_of("WRED_PROFILE"),
                f"WRED_PROFILE|{marking.profile} green_max_threshold",
                f"marking is at its most from {marking.most} bytes; with the groups of all {groups} ports congested at "
                f"once, that of class {path.tc} pauses at {fill} already ({alone} with one)",
                f"a maximum below {fill}",
                None if scene.marks else Severity.NOTE,
            )


@rule("ecn-thresholds-crossed", Severity.ERROR)
def ecn_thresholds_crossed(scene: Scene) -> Iterator[Fault]:
    """A WRED profile's minimum lies above its maximum, or its probability is 0."""
    for device in scene.devices:
        for _, _, marking in _queues(scene, device):
            if marking.least is not None and marking.most is not None and marking.least > marking.most:
                what, fix = f"minimum {marking.least} above maximum {marking.most}", "minimum below maximum"
            elif marking.ecn and marking.probability == 0:
                what, fix = "marks with probability 0, so nothing before the maximum", "a probability of 5 to 100"
            else:
                continue
            yield Fault(device.switch.file_of("WRED_PROFILE"), f"WRED_PROFILE|{marking.profile}", what, fix)


@rule("ecn-below-a-packet", Severity.ERROR)
def ecn_below_a_packet(scene: Scene) -> Iterator[Fault]:
    """Marking is at its most at a fill below one packet of RoCE: every packet that waits is marked."""
    for device in scene.devices:
        for _, _, marking in _queues(scene, device):
            if marking.ecn and marking.most is not None and marking.most < ROCE_PACKET:
                yield Fault(
                    device.switch.file_of("WRED_PROFILE"),
                    f"WRED_PROFILE|{marking.profile} green_max_threshold",
                    f"{marking.most} bytes are less than one packet ({ROCE_PACKET}): thresholds are in bytes, not KB",
                    "both thresholds in bytes",
                )


@rule("pause-fill-unknown", Severity.NOTE)
def pause_fill_unknown(scene: Scene) -> Iterator[Fault]:
    """The fill at which a group pauses is not in the files, so marking cannot be held against it."""
    for device in scene.devices:
        for _, path, marking in _queues(scene, device):
            group = device.group(path)
            if marking.ecn and path.lossless and group.pauses_at() is None:
                pool = f"size of BUFFER_POOL|{group.pool}" if group.pool else f"the profile of BUFFER_PG|{path.port}"
                yield Fault(
                    device.switch.file_of("WRED_PROFILE"),
                    f"WRED_PROFILE|{marking.profile}",
                    f"whether it marks before PFC fires cannot be judged: {pool if device.groups else 'BUFFER_PG'} is "
                    "not in these files",
                    "give the running configuration",
                )
                break


def _queues(scene: Scene, device: Device) -> Iterator[tuple[Device, Path, Marking]]:
    """The queue of each class that is followed, on each port where pause stops it."""
    for dscp in scene.followed(device):
        for port in device.qos_ports:
            path = device.path(port, dscp)
            if path.queue_paused:
                yield device, path, device.marking(path)


def _fills(scene: Scene) -> Iterator[tuple[Device, Path, Marking, int]]:
    """Queues that mark, with the fill at which the class's group alone would pause."""
    for device in scene.devices:
        for _, path, marking in _queues(scene, device):
            fill = device.group(path).pauses_at() if path.group_paused else None
            if marking.ecn and fill is not None:
                yield device, path, marking, fill


def _why(device: Device, path: Path) -> str:
    group = device.group(path)
    if group.fixed is not None:
        return f"static_th of {group.profile}"
    return f"alpha {group.alpha:g} of {group.shared} bytes in {group.pool}, one group congested"
