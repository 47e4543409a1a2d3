"""How queues are served: congestion notifications first and apart, RoCE not above them; and the PFC watchdog."""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.checks.chain import Device, Marking, Path
from eastwest.checks.finding import Fault, Severity
from eastwest.checks.read import spelling
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene

WATCHDOG_ACTIONS = ("drop", "forward", "alert")


@rule("cnp-with-data", Severity.WARNING)
def cnp_with_data(scene: Scene) -> Iterator[Fault]:
    """Congestion notifications share a queue with the data whose congestion they tell of."""
    for device, path, _ in _cnps(scene):
        shared = [dscp for dscp in scene.marked if device.path(path.port, dscp).queue == path.queue]
        if shared and path.dscp not in shared:
            yield _of_map(
                device,
                path,
                f"puts CNPs (DSCP {path.dscp}) into class {path.tc}, which leaves by the queue of RoCE data (DSCP "
                f"{shared[0]}): they wait behind it",
                f"map {path.dscp} to a class with a queue of its own, served first (class 6)",
            )


@rule("cnp-unclassified", Severity.WARNING)
def cnp_unclassified(scene: Scene) -> Iterator[Fault]:
    """A switch puts congestion notifications into the class of unmarked traffic, as others do not."""
    said = any(nic.cnp_dscp for host in scene.hosts for nic in host.nics.values())
    for device, path, _ in _cnps(scene):
        others = [each for each in scene.devices if each.has_dscp_map and not each.is_unmarked(path.dscp)]
        if device.is_unmarked(path.dscp) and (others or not said):
            yield _of_map(
                device,
                path,
                f"puts CNPs (DSCP {path.dscp}) into class {path.tc} with unmarked traffic: they wait behind it",
                f"map {path.dscp} to a class with a queue of its own, served first (class 6)",
            )


@rule("cnp-not-first", Severity.WARNING)
def cnp_not_first(scene: Scene) -> Iterator[Fault]:
    """The queue of congestion notifications is not served before all others (strict)."""
    for device, path, marking in _cnps(scene):
        if device.is_unmarked(path.dscp):
            continue
        if marking.kind not in (None, "STRICT") and not any(
            device.path(path.port, dscp).queue == path.queue for dscp in scene.marked
        ):
            yield Fault(
                device.switch.file_of("SCHEDULER"),
                f"SCHEDULER|{marking.scheduler}",
                f"serves queue {path.queue}, by which CNPs (DSCP {path.dscp}) leave, in turn with the others "
                f"({marking.kind}): they are late when they matter",
                '"type": "STRICT" in a scheduler of its own',
            )


@rule("cnp-paused", Severity.WARNING)
def cnp_paused(scene: Scene) -> Iterator[Fault]:
    """Congestion notifications travel in a class that PFC can stop."""
    for device, path, _ in _cnps(scene):
        data = {device.path(path.port, dscp).queue for dscp in scene.marked}
        if (path.queue_paused or path.group_paused) and path.queue not in data:
            yield _of_map(
                device,
                path,
                f"puts CNPs (DSCP {path.dscp}) into class {path.tc}, for which PFC is on: a pause stops them too",
                f"map {path.dscp} to a class without PFC",
            )


@rule("data-starves-others", Severity.WARNING)
def data_starves_others(scene: Scene) -> Iterator[Fault]:
    """The queue of RoCE data is served strictly first, so that everything below it, and CNPs, can starve."""
    for device in scene.devices:
        for dscp in scene.followed(device):
            for port in device.qos_ports:
                path = device.path(port, dscp)
                marking = device.marking(path)
                if path.lossless and marking.kind == "STRICT":
                    yield Fault(
                        device.switch.file_of("QUEUE"),
                        f"QUEUE|{marking.key}",
                        f"queue {path.queue} carries RoCE data and is served strictly first ({marking.scheduler})",
                        "a DWRR scheduler for data; strict only for CNPs",
                    )


@rule("scheduler-missing", Severity.ERROR)
def scheduler_missing(scene: Scene) -> Iterator[Fault]:
    """A queue names a scheduler or WRED profile that is not there."""
    for device in scene.devices:
        for key, row in device.switch.table("QUEUE").items():
            for field, table in (("scheduler", "SCHEDULER"), ("wred_profile", "WRED_PROFILE")):
                name = spelling.reference(row.get(field, ""))
                if name and table in device.switch.tables and name not in device.switch.table(table):
                    yield Fault(
                        device.switch.file_of("QUEUE"),
                        f"QUEUE|{key}",
                        f"names {table}|{name}, which is not there",
                        "name one that is there, or add it",
                    )


@rule("watchdog-action-unknown", Severity.ERROR)
def watchdog_action_unknown(scene: Scene) -> Iterator[Fault]:
    """A port's PFC watchdog is to do what SONiC does not know, so the row is refused and the port has none."""
    for device in scene.devices:
        for key, row in device.switch.table("PFC_WD").items():
            action = row.get("action", "")
            if action and action.lower() not in WATCHDOG_ACTIONS:
                yield Fault(
                    device.switch.file_of("PFC_WD"),
                    f"PFC_WD|{key} action",
                    f"{action}: SONiC refuses the row, so nothing ends a pause that lasts",
                    " or ".join(WATCHDOG_ACTIONS),
                )


@rule("watchdog-missing", Severity.WARNING)
def watchdog_missing(scene: Scene) -> Iterator[Fault]:
    """A lossless queue has no PFC watchdog while other ports have one: a stuck neighbour stops the fabric."""
    for device in scene.devices:
        if not device.watchdogs:
            continue
        for dscp in scene.followed(device):
            for port in device.qos_ports:
                path, watched = device.path(port, dscp), device.maps[port].watched
                if not path.queue_paused:
                    continue
                if port not in device.watchdogs and (not device.used_ports or port in device.used_ports):
                    yield Fault(
                        device.switch.file_of("PFC_WD"),
                        f"PFC_WD|{port}",
                        "PFC is on here and no watchdog is, as it is on other ports",
                        "add the row of the other ports",
                    )
                elif watched is not None and path.queue not in watched:
                    yield Fault(
                        device.switch.file_of("PORT_QOS_MAP"),
                        f"PORT_QOS_MAP|{device.maps[port].key} pfcwd_sw_enable",
                        f"the watchdog does not look after queue {path.queue}, which PFC can stop",
                        f'pfcwd_sw_enable: "{",".join(map(str, sorted(watched | {path.queue or 0})))}"',
                    )


@rule("watchdog-absent", Severity.NOTE)
def watchdog_absent(scene: Scene) -> Iterator[Fault]:
    """PFC is on and no port of the switch has a watchdog."""
    for device in scene.devices:
        if not device.watchdogs and device.lossless_dscps and device.switch.ports:
            started = device.switch.metadata.get("default_pfcwd_status") == "enable"
            yield Fault(
                device.switch.file_of("PFC_WD"),
                "PFC_WD",
                "PFC is on and no watchdog is in these files"
                + (", though the switch starts one with its defaults (default_pfcwd_status)" if started else ""),
                "`pfcwd start_default`, or rows with action, detection_time and restoration_time",
            )


@rule("watchdog-too-quick", Severity.WARNING)
def watchdog_too_quick(scene: Scene) -> Iterator[Fault]:
    """A watchdog's times are below the interval at which it looks."""
    for device in scene.devices:
        common = device.switch.table("PFC_WD").get("GLOBAL", {})
        poll = spelling.number(common.get("POLL_INTERVAL"))
        for key, row in device.watchdogs.values():
            for field in ("detection_time", "restoration_time"):
                value = spelling.number(row.get(field))
                if poll is not None and value is not None and value < poll:
                    yield Fault(
                        device.switch.file_of("PFC_WD"),
                        f"PFC_WD|{key} {field}",
                        f"{value} ms, below POLL_INTERVAL of {poll} ms",
                        f"at least {poll}",
                    )


def _cnps(scene: Scene) -> Iterator[tuple[Device, Path, Marking]]:
    """The path of congestion notifications on each port, where hosts are given."""
    for device in scene.devices:
        for dscp in scene.cnp_marked if scene.marks else ():
            for port in device.qos_ports:
                path = device.path(port, dscp)
                if path.queue is not None:
                    yield device, path, device.marking(path)


def _of_map(device: Device, path: Path, what: str, fix: str) -> Fault:
    """A fault of the DSCP map's entry for congestion notifications."""
    name = device.maps[path.port].names.get("dscp_to_tc_map", "")
    return Fault(device.switch.file_of("DSCP_TO_TC_MAP"), f"DSCP_TO_TC_MAP|{name} {path.dscp}", what, fix)
