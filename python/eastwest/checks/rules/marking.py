"""Hosts' marks against switches' maps: which class RoCE lands in, and whether pause covers it."""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.checks.chain import Device, Path
from eastwest.checks.chain.classes import dangling, unbound
from eastwest.checks.finding import Fault, Severity
from eastwest.checks.read import spelling
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene


@rule("dscp-lossy", Severity.ERROR)
def dscp_lossy(scene: Scene) -> Iterator[Fault]:
    """A DSCP that hosts mark RoCE with lands in a class that no pause covers.

    Told of the switch's map, or of the hosts where several switches agree that another DSCP is lossless.
    """
    elsewhere = {dscp for dscp in scene.marked if _is_hosts(scene, dscp)}
    for mark in scene.marks:
        if mark.dscp in elsewhere:
            good = min(scene.lossless_somewhere)
            yield Fault(
                mark.at.file,
                f"{mark.at.where} {mark.setting}",
                f"marks RoCE with DSCP {mark.dscp}, which every switch here puts into a lossy class; lossless are "
                f"{', '.join(map(str, sorted(scene.lossless_somewhere)[:8]))}",
                f"DSCP {good} (NCCL_IB_TC={4 * good}), or map {mark.dscp} to a lossless class on every switch",
            )
    for device in scene.devices:
        for mark in {mark.dscp: mark for mark in scene.marks if mark.dscp not in elsewhere}.values():
            for path in _judged(device, mark.dscp):
                lossy = path.group_paused is False and path.queue_paused is False
                if lossy and device.maps[path.port].pfc and device.pause_meant(path.port, mark.dscp) is None:
                    good_here = list(device.lossless_dscps)
                    name = device.maps[path.port].names.get("dscp_to_tc_map", "")
                    yield Fault(
                        device.switch.file_of("DSCP_TO_TC_MAP"),
                        f"DSCP_TO_TC_MAP|{name} {mark.dscp}",
                        f"{mark.host} marks RoCE with DSCP {mark.dscp} ({mark.setting}, {mark.at.file} "
                        f"{mark.at.where}); this map "
                        + ("puts it" if _has_row(device, name, mark.dscp) else "has no row for it, which puts it")
                        + f" into class {path.tc}, which is lossy",
                        f"map {mark.dscp} to a lossless class"
                        + (
                            f", or let hosts mark DSCP {good_here[0]} (NCCL_IB_TC={4 * good_here[0]})"
                            if good_here
                            else ""
                        ),
                    )


@rule("pfc-other-priority", Severity.ERROR)
def pfc_other_priority(scene: Scene) -> Iterator[Fault]:
    """A port has PFC on for other priorities than that of RoCE, whose group has a lossless buffer."""
    for device in scene.devices:
        for dscp in scene.marked:
            for path in _judged(device, dscp):
                meant, maps = device.pause_meant(path.port, dscp), device.maps[path.port]
                if meant is not None and not scene.is_unpaused(device.name, path.port):
                    yield Fault(
                        device.switch.file_of("PORT_QOS_MAP"),
                        f"PORT_QOS_MAP|{maps.key} pfc_enable",
                        f"PFC is on for priority {_list(maps.pfc)} only, and RoCE (DSCP {dscp}) is in class {path.tc}, "
                        f"of priority {meant}: when its buffer fills, packets are lost",
                        f'pfc_enable: "{meant}"',
                    )


@rule("pfc-off", Severity.ERROR)
def pfc_off(scene: Scene) -> Iterator[Fault]:
    """A port has PFC on for no priority, while RoCE crosses it or its switch's other ports have it (then a warning)."""
    for device in scene.devices:
        on = [port for port in device.qos_ports if device.maps[port].pfc]
        served = {tuple(sorted(device.maps[port].names.items())) for port in on}
        for port in device.qos_ports:
            maps = device.maps[port]
            classified = "tc_to_pg_map" in maps.names or "tc_to_queue_map" in maps.names
            if maps.pfc or not classified or not (on or scene.marks) or scene.is_unpaused(device.name, port):
                continue
            # ports to DPUs and to service networks have maps of their own, and no PFC on purpose
            alike = tuple(sorted(maps.names.items())) in served
            unused = device.used_ports and port not in device.used_ports
            if not scene.marks and (unused or not alike):
                continue
            wanted = sorted(device.maps[on[0]].pfc or ()) if on else []
            yield Fault(
                device.switch.file_of("PORT_QOS_MAP"),
                f"PORT_QOS_MAP|{maps.key}",
                "PFC is on for no priority: when this port's buffers fill, packets are lost",
                f'pfc_enable: "{",".join(map(str, wanted)) or "3"}", as on the other ports',
                None if scene.marks else Severity.WARNING,
            )


@rule("group-not-paused", Severity.ERROR)
def group_not_paused(scene: Scene) -> Iterator[Fault]:
    """A lossless class is counted in a priority group that sends no pause."""
    for device in scene.devices:
        for dscp in scene.data_dscps(device):
            for path in _judged(device, dscp):
                if path.queue_paused and path.group_paused is False:
                    maps = device.maps[path.port]
                    name = maps.names.get("tc_to_pg_map", "")
                    if path.group in (maps.pfc or ()) and "pfc_to_pg_map" in maps.names:
                        yield _moved(device, path, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pfc_to_pg_map", "group")
                        continue
                    yield Fault(
                        device.switch.file_of("TC_TO_PRIORITY_GROUP_MAP"),
                        f"TC_TO_PRIORITY_GROUP_MAP|{name} {path.tc}",
                        f"class {path.tc} (DSCP {_classed(device, path, scene)}) is counted in priority group "
                        f"{path.group}, for which no PFC priority is on: its queue stops, but a full group does not "
                        "stop the neighbour",
                        f"map class {path.tc} to the group of an enabled priority "
                        f"({_list(device.maps[path.port].pfc)}), or enable the priority of group {path.group}",
                    )


@rule("queue-not-paused", Severity.ERROR)
def queue_not_paused(scene: Scene) -> Iterator[Fault]:
    """A lossless class leaves by a queue that the neighbour's pause does not stop."""
    for device in scene.devices:
        for dscp in scene.data_dscps(device):
            for path in _judged(device, dscp):
                if path.group_paused and path.queue_paused is False:
                    maps = device.maps[path.port]
                    name = maps.names.get("tc_to_queue_map", "")
                    if path.queue in (maps.pfc or ()) and "pfc_to_queue_map" in maps.names:
                        yield _moved(device, path, "MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_queue_map", "queue")
                        continue
                    yield Fault(
                        device.switch.file_of("TC_TO_QUEUE_MAP"),
                        f"TC_TO_QUEUE_MAP|{name} {path.tc}",
                        f"class {path.tc} (DSCP {_classed(device, path, scene)}) leaves by queue {path.queue}, which "
                        f"no enabled PFC priority ({_list(device.maps[path.port].pfc)}) stops: the neighbour's pause "
                        "has no effect on it",
                        f"map class {path.tc} to the queue of its priority here and in MAP_PFC_PRIORITY_TO_QUEUE",
                    )


@rule("class-split", Severity.ERROR)
def class_split(scene: Scene) -> Iterator[Fault]:
    """Ports of one switch put the DSCP of RoCE into different classes, queues or groups."""
    for device in scene.devices:
        for dscp in scene.marked:
            ways: dict[tuple[int | None, int | None, int | None], list[Path]] = {}
            for path in _judged(device, dscp):
                if path.lossless:
                    ways.setdefault((path.tc, path.queue, path.group), []).append(path)
            most = max(ways.values(), key=len, default=[])
            for paths in ways.values():
                for path in paths if paths is not most else []:
                    yield Fault(
                        device.switch.file_of("PORT_QOS_MAP"),
                        f"PORT_QOS_MAP|{device.maps[path.port].key}",
                        f"DSCP {dscp} goes to class {path.tc}, queue {path.queue}, group {path.group} here, and to "
                        f"class {most[0].tc}, queue {most[0].queue}, group {most[0].group} on {len(most)} other ports",
                        "name the same maps on every port",
                    )


@rule("port-without-classes", Severity.ERROR)
def port_without_classes(scene: Scene) -> Iterator[Fault]:
    """A port in use has no row in PORT_QOS_MAP while others have (a warning where no host is given)."""
    for device in scene.devices:
        for port in sorted(device.used_ports - set(device.maps)):
            if device.qos_ports:
                yield Fault(
                    device.switch.file_of("PORT_QOS_MAP"),
                    f"PORT_QOS_MAP|{port}",
                    "this port has a neighbour or an address and no row: all packets on it are lossy and in one class",
                    f"give it the row of {device.qos_ports[0]}",
                    None if scene.marks else Severity.WARNING,
                )


@rule("map-missing", Severity.ERROR)
def map_missing(scene: Scene) -> Iterator[Fault]:
    """A port names a map that its table does not hold."""
    for device in scene.devices:
        for maps in device.maps.values():
            for field, table, name in dangling(device.switch, maps):
                there = ", ".join(sorted(device.switch.table(table))) or "none"
                yield Fault(
                    device.switch.file_of("PORT_QOS_MAP"),
                    f"PORT_QOS_MAP|{maps.key} {field}",
                    f"names {table}|{name}, which is not there (there: {there}): the port is left without that map",
                    f"name one that is there, or add {table}|{name}",
                )


@rule("map-unbound", Severity.ERROR)
def map_unbound(scene: Scene) -> Iterator[Fault]:
    """A port that pauses names no map of a kind that its switch has (a warning where no host is given)."""
    for device in scene.devices:
        ports = {port: device.maps[port] for port in device.qos_ports if device.maps[port].pfc}
        for port, maps in ports.items():
            for field, table, name in unbound(device.switch, ports, port):
                yield Fault(
                    device.switch.file_of("PORT_QOS_MAP"),
                    f"PORT_QOS_MAP|{maps.key} {field}",
                    f"names no {table}"
                    + (f", as {'other ports do' if name else 'none of the ports does'}, ")
                    + "and what the switch does without one is not what the other maps count on: RoCE may be lossy",
                    f'{field}: "{name or next(iter(sorted(device.switch.table(table))))}"'
                    + (", as on the other ports" if name else ""),
                    None if scene.marks else Severity.WARNING,
                )


@rule("hosts-must-mark", Severity.NOTE)
def hosts_must_mark(scene: Scene) -> Iterator[Fault]:
    """With no host given: the DSCPs that RoCE must carry to be lossless here."""
    for device in scene.devices:
        good = device.lossless_dscps
        if not scene.marks and good:
            name = device.maps[device.qos_ports[0]].names.get("dscp_to_tc_map", "")
            yield Fault(
                device.switch.file_of("DSCP_TO_TC_MAP"),
                f"DSCP_TO_TC_MAP|{name}",
                f"only DSCP {', '.join(map(str, good[:8]))} {'is' if len(good) == 1 else 'are'} lossless here; whether "
                "that is right depends on what hosts mark, and no host's settings were given",
                f"let hosts mark one of them, e.g. NCCL_IB_TC={4 * good[0]}, or give their settings to this check",
            )


@rule("classes-unknown", Severity.NOTE)
def classes_unknown(scene: Scene) -> Iterator[Fault]:
    """A switch's files do not say how packets are classified, so the chain through it cannot be judged."""
    for device in scene.devices:
        switch = device.switch
        if not switch.ports or (device.qos_ports and device.path(device.qos_ports[0], 0).tc is not None):
            continue
        if any("dot1p_to_tc_map" in row for row in switch.table("PORT_QOS_MAP").values()):
            what = "packets are classified by VLAN priority (dot1p_to_tc_map), not by DSCP"
        else:
            lacking = [name for name in ("PORT_QOS_MAP", "DSCP_TO_TC_MAP") if not switch.table(name)]
            what = f"{' and '.join(lacking) or 'a DSCP map'} not given: SONiC takes them from its own qos.json"
        yield Fault(
            switch.file_of("PORT_QOS_MAP"),
            "PORT_QOS_MAP",
            f"{what}; what this switch does with RoCE cannot be judged",
            "give the running configuration (`show runningconfiguration all`, or config_db.json after `config save`)",
        )


def _is_hosts(scene: Scene, dscp: int) -> bool:
    """Whether several switches keep some DSCP lossless, and none of them this one: then the hosts are the odd ones."""
    paused = [device for device in scene.devices if device.lossless_dscps]
    return len(paused) > 1 and all(dscp not in device.lossless_dscps for device in paused)


def _judged(device: Device, dscp: int) -> Iterator[Path]:
    """The path of a DSCP on each port that has classes."""
    for port in device.qos_ports:
        yield device.path(port, dscp)


def _has_row(device: Device, name: str, dscp: int) -> bool:
    """Whether a DSCP map has a row for a DSCP."""
    return any(spelling.number(key) == dscp for key in device.switch.table("DSCP_TO_TC_MAP").get(name, {}))


def _moved(device: Device, path: Path, table: str, field: str, kind: str) -> Fault:
    """The map of pause priorities takes away the one whose number a class's group or queue has."""
    number = path.group if kind == "group" else path.queue
    return Fault(
        device.switch.file_of(table),
        f"{table}|{device.maps[path.port].names[field]} {number}",
        f"PFC is on for priority {number}, which this map does not give to {kind} {number}, where class {path.tc} is: "
        "pause covers one direction only",
        f'"{number}": "{number}"',
    )


def _classed(device: Device, path: Path, scene: Scene) -> str:
    """The DSCPs, of those that are followed, that share a path's class."""
    return ", ".join(str(dscp) for dscp in scene.data_dscps(device) if device.path(path.port, dscp).tc == path.tc)


def _list(priorities: frozenset[int] | None) -> str:
    return ", ".join(map(str, sorted(priorities or ()))) or "none"
