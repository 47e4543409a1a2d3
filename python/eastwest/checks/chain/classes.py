"""From a packet's DSCP to its traffic class, queue and priority group on one port, and whether pause covers both.

A map that a port names and no file holds leaves its step unknown. A DSCP that a map leaves out gets class 0
(SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP's default); pause priorities that no map moves stand for the queue and group of their
own number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eastwest.checks.read import Switch, spelling

_FIELDS = {
    "dscp_to_tc_map": "DSCP_TO_TC_MAP",
    "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
    "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
}
"""Field of PORT_QOS_MAP, and the table that it names a row of (sonic-port-qos-map YANG)."""


@dataclass(frozen=True)
class PortMaps:
    """What PORT_QOS_MAP says of one port.

    Attributes:
        key: the row as written.
        names: map by field; a port without a DSCP map of its own takes the switch's (`global`).
        pfc: priorities for which pause is on; None where the row does not say.
        watched: priorities that the software watchdog looks after; None where the row does not say.
    """

    key: str
    names: Mapping[str, str]
    pfc: frozenset[int] | None
    watched: frozenset[int] | None


@dataclass(frozen=True)
class Path:
    """Where a packet of one DSCP goes on one port.

    Attributes:
        tc: its traffic class.
        queue: the queue it leaves by, where this is the port it leaves by.
        group: the priority group it is counted in, where this is the port it comes in by.
        group_paused: whether pause is on for its group, so that a full group stops the neighbour.
        queue_paused: whether the neighbour's pause stops its queue.
    """

    port: str
    dscp: int
    tc: int | None
    queue: int | None
    group: int | None
    group_paused: bool | None
    queue_paused: bool | None

    @property
    def lossless(self) -> bool | None:
        """Whether pause covers both directions."""
        if self.group_paused is False or self.queue_paused is False:
            return False
        return None if self.group_paused is None or self.queue_paused is None else True


def port_maps(switch: Switch) -> dict[str, PortMaps]:
    """What PORT_QOS_MAP says of each port that it names."""
    rows = switch.by_port("PORT_QOS_MAP")
    common = rows.get("global", ("global", {}))[1]
    out = {}
    for port, (key, row) in rows.items():
        named = {field: spelling.reference(row[field]) for field in _FIELDS if row.get(field)}
        if "dscp_to_tc_map" not in named and "dot1p_to_tc_map" not in row and common.get("dscp_to_tc_map"):
            named["dscp_to_tc_map"] = spelling.reference(common["dscp_to_tc_map"])
        watched = row.get("pfcwd_sw_enable", row.get("pfc_wd_sw_enable"))
        if port != "global":
            out[port] = PortMaps(
                key,
                named,
                frozenset(spelling.numbers(row["pfc_enable"])) if "pfc_enable" in row else None,
                frozenset(spelling.numbers(watched)) if watched is not None else None,
            )
    return out


def dangling(switch: Switch, maps: PortMaps) -> list[tuple[str, str, str]]:
    """Field, table and name of each map that a port names while the table is there and lacks it."""
    return [
        (field, _FIELDS[field], name)
        for field, name in maps.names.items()
        if _FIELDS[field] in switch.tables and name not in switch.table(_FIELDS[field])
    ]


def unbound(switch: Switch, all_maps: Mapping[str, PortMaps], port: str) -> list[tuple[str, str, str | None]]:
    """Field, table and the name most other ports give of each map that a port lacks.

    The name is None where every port lacks one that is needed: SAI then sends all classes to queue 0 or group 0.
    """
    out: list[tuple[str, str, str | None]] = []
    for field, table in _FIELDS.items():
        by_vlan = field == "dscp_to_tc_map" and "dot1p_to_tc_map" in switch.by_port("PORT_QOS_MAP")[port][1]
        if field in all_maps[port].names or by_vlan:
            continue
        named = [maps.names[field] for maps in all_maps.values() if field in maps.names]
        if 2 * len(named) >= len(all_maps):
            out.append((field, table, max(sorted(set(named)), key=named.count)))
        elif not named and field in ("tc_to_queue_map", "tc_to_pg_map") and switch.table(table):
            out.append((field, table, None))
    return out


def priority_of(switch: Switch, maps: PortMaps, found: Path) -> int | None:
    """The pause priority, on or off, that stands for both the group and the queue of a path."""
    groups, queues = (_map(switch, maps, field) or {} for field in ("pfc_to_pg_map", "pfc_to_queue_map"))
    both = (each for each in range(8) if (groups.get(each, each), queues.get(each, each)) == (found.group, found.queue))
    return next(both, None)


def path(switch: Switch, port: str, maps: PortMaps, dscp: int) -> Path:
    """Follows one DSCP through the maps of one port."""
    classes = _map(switch, maps, "dscp_to_tc_map")
    tc = None if classes is None else classes.get(dscp, 0)
    queue, group = (_step(_map(switch, maps, field), tc) for field in ("tc_to_queue_map", "tc_to_pg_map"))
    paused = maps.pfc or frozenset()
    return Path(
        port,
        dscp,
        tc,
        queue,
        group,
        _covered(paused, _map(switch, maps, "pfc_to_pg_map"), "pfc_to_pg_map" in maps.names, group),
        _covered(paused, _map(switch, maps, "pfc_to_queue_map"), "pfc_to_queue_map" in maps.names, queue),
    )


def priorities(switch: Switch, maps: PortMaps, field: str, target: int | None) -> frozenset[int]:
    """The enabled pause priorities that stand for a queue or a group on one port."""
    moved = _map(switch, maps, field)
    return frozenset(each for each in maps.pfc or () if (moved.get(each, each) if moved else each) == target)


def _map(switch: Switch, maps: PortMaps, field: str) -> Mapping[int, int] | None:
    """A map's entries as numbers; None where the port names none, or no file holds it."""
    rows = switch.table(_FIELDS[field]).get(maps.names.get(field, ""))
    if rows is None:
        return None
    found = ((spelling.number(key), spelling.number(value)) for key, value in rows.items())
    return {key: value for key, value in found if key is not None and value is not None}


def _step(entries: Mapping[int, int] | None, tc: int | None) -> int | None:
    return None if entries is None or tc is None else entries.get(tc)


def _covered(paused: frozenset[int], moved: Mapping[int, int] | None, named: bool, target: int | None) -> bool | None:
    """Whether an enabled priority stands for a queue or a group; open where a map that is named is not there."""
    if target is None or (named and moved is None):
        return None
    return any((moved.get(each) if moved is not None else each) == target for each in paused)
