"""One switch with its tables opened out by port, so that rules ask by port and number."""

from __future__ import annotations

from functools import cached_property

from eastwest.checks.chain import buffers, classes
from eastwest.checks.chain.buffers import Group, Marking
from eastwest.checks.chain.classes import Path, PortMaps
from eastwest.checks.read import Switch, spelling
from eastwest.checks.read.switch import Row


class Device:
    """A switch, and what it does with packets."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.name = switch.name
        self._paths: dict[tuple[str, int], Path] = {}
        self._groups: dict[tuple[str, int], Group] = {}
        self._markings: dict[tuple[str, int], Marking] = {}

    @cached_property
    def maps(self) -> dict[str, PortMaps]:
        """What PORT_QOS_MAP says of each port."""
        return classes.port_maps(self.switch)

    @cached_property
    def qos_ports(self) -> list[str]:
        """Ports that are up and have classes, in the order of PORT_QOS_MAP; all it names where PORT is absent."""
        ports, known = self.switch.ports, self.switch.known_ports
        return [port for port in self.maps if port in ports or (not known and not port.startswith("CPU"))]

    @cached_property
    def used_ports(self) -> frozenset[str]:
        """Ports that are up and have a neighbour or an address."""
        used = {key.split("|")[0] for key in (*self.switch.table("DEVICE_NEIGHBOR"), *self.switch.table("INTERFACE"))}
        return frozenset(used & set(self.switch.ports))

    @cached_property
    def groups(self) -> dict[tuple[str, int], tuple[str, Row]]:
        """Rows of BUFFER_PG by port and priority group."""
        return self.switch.by_queue("BUFFER_PG")

    @cached_property
    def queues(self) -> dict[tuple[str, int], tuple[str, Row]]:
        """Rows of QUEUE by port and queue."""
        return self.switch.by_queue("QUEUE")

    @cached_property
    def queue_buffers(self) -> dict[tuple[str, int], tuple[str, Row]]:
        """Rows of BUFFER_QUEUE by port and queue."""
        return self.switch.by_queue("BUFFER_QUEUE")

    @cached_property
    def cable_lengths(self) -> dict[str, tuple[str, int]]:
        """Row of CABLE_LENGTH, and metres, by port."""
        out = {}
        for key, row in self.switch.table("CABLE_LENGTH").items():
            for port, written in row.items():
                length = spelling.metres(written)
                if length is not None:
                    out[port] = (key, length)
        return out

    @cached_property
    def watchdogs(self) -> dict[str, tuple[str, Row]]:
        """Rows of PFC_WD by port; `GLOBAL` is no port."""
        return {port: row for port, row in self.switch.by_port("PFC_WD").items() if port.upper() != "GLOBAL"}

    def path(self, port: str, dscp: int) -> Path:
        """Where a packet of a DSCP goes on a port."""
        key = port, dscp
        if key not in self._paths:
            self._paths[key] = classes.path(self.switch, port, self.maps[port], dscp)
        return self._paths[key]

    def pause_meant(self, port: str, dscp: int) -> int | None:
        """The priority that pause is meant for where it is on for others only: the group has a lossless buffer."""
        path, maps = self.path(port, dscp), self.maps[port]
        if not maps.pfc or path.group_paused is not False or path.queue_paused is not False:
            return None
        return classes.priority_of(self.switch, maps, path) if self.group(path).lossless else None

    def group(self, path: Path) -> Group:
        """The buffer that a packet is counted in where it comes in."""
        key = path.port, -1 if path.group is None else path.group
        if key not in self._groups:
            self._groups[key] = buffers.group(self.switch, self.groups, *key)
        return self._groups[key]

    def marking(self, path: Path) -> Marking:
        """How the queue by which a packet leaves marks and is served."""
        key = path.port, -1 if path.queue is None else path.queue
        if key not in self._markings:
            self._markings[key] = buffers.marking(self.switch, self.queues, *key)
        return self._markings[key]

    def speed_bps(self, port: str) -> float | None:
        """A port's rate: SONiC writes Mb/s."""
        speed = spelling.number(self.switch.table("PORT").get(port, {}).get("speed"))
        return None if not speed else speed * 1e6

    def mtu(self, port: str) -> int:
        """Largest packet of a port in bytes; 9100 where it is not set, as SONiC has it."""
        return spelling.number(self.switch.table("PORT").get(port, {}).get("mtu")) or 9100

    @cached_property
    def lossless_dscps(self) -> tuple[int, ...]:
        """DSCPs for which pause covers the group or the queue on some port: those that the switch means to be lossless.

        Either alone would do, so that a break of the other is still seen.
        """
        return tuple(
            dscp
            for dscp in range(64)
            if any((path := self.path(port, dscp)).group_paused or path.queue_paused for port in self.representatives)
        )

    @cached_property
    def has_dscp_map(self) -> bool:
        """Whether the files say into which class a DSCP goes."""
        return any(self.path(port, 0).tc is not None for port in self.representatives)

    def is_unmarked(self, dscp: int) -> bool:
        """Whether a DSCP goes into the class of unmarked packets (DSCP 0) on some port."""
        return any(self.path(port, dscp).tc == self.path(port, 0).tc is not None for port in self.representatives)

    @cached_property
    def representatives(self) -> list[str]:
        """One port for each way in which PORT_QOS_MAP treats ports."""
        alike: dict[tuple[object, ...], str] = {}
        for port in self.qos_ports:
            maps = self.maps[port]
            alike.setdefault((tuple(sorted(maps.names.items())), maps.pfc), port)
        return list(alike.values())
