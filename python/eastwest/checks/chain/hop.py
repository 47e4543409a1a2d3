"""The table of hops: what each switch does with a packet of one DSCP, ports that do the same in one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from eastwest.checks.chain import need
from eastwest.checks.chain.device import Device
from eastwest.checks.read import spelling


@dataclass(frozen=True)
class Hop:
    """What a switch does with packets of one DSCP on ports that are alike; None is what its files leave open.

    Attributes:
        packet: `data`, or `cnp` for congestion notifications.
        ports: the ports, as first, last and how many.
        pfc: whether pause covers the priority group and the queue.
        buffer: profile of the priority group.
        headroom_bytes: room for bytes in flight; `need_bytes` what the standard asks at this speed and cable.
        cable_m: length that CABLE_LENGTH gives.
        pauses_at_bytes: fill of the group when it alone is congested and pauses.
        marks_from_bytes: queue length from which packets are marked, and `marks_all_bytes` from which the most are.
        watchdog: what the PFC watchdog does in a storm.
    """

    switch: str
    packet: str
    dscp: int
    ports: str
    tc: int | None
    queue: int | None
    group: int | None
    pfc: bool | None
    buffer: str
    lossless_buffer: bool | None
    headroom_bytes: int | None
    need_bytes: int | None
    cable_m: int | None
    pauses_at_bytes: int | None
    ecn: bool | None
    marks_from_bytes: int | None
    marks_all_bytes: int | None
    scheduler: str
    watchdog: str

    def as_json(self) -> dict[str, object]:
        """The fields as they are."""
        return asdict(self)


def hops(device: Device, packet: str, dscps: Iterable[int]) -> Iterator[Hop]:
    """The rows of one switch."""
    for dscp in dscps:
        alike: dict[Hop, list[str]] = {}
        for port in device.qos_ports:
            alike.setdefault(_hop(device, packet, port, dscp), []).append(port)
        for hop, ports in alike.items():
            fields = {**asdict(hop), "ports": _ports(ports)}
            yield Hop(**fields)


def _ports(ports: list[str]) -> str:
    """Ports in a word: the one, or first to last and how many."""
    return ports[0] if len(ports) == 1 else f"{ports[0]} .. {ports[-1]} ({len(ports)})"


def _hop(device: Device, packet: str, port: str, dscp: int) -> Hop:
    path = device.path(port, dscp)
    group, marking = device.group(path), device.marking(path)
    speed, (_, cable) = device.speed_bps(port), device.cable_lengths.get(port, ("", None))
    wanted = None
    if path.lossless and speed and cable is not None:
        wanted = need.by_standard_bytes(speed, cable, device.mtu(port))
    served = " ".join(str(each) for each in (marking.kind or marking.scheduler or "", marking.weight or "") if each)
    return Hop(
        device.name,
        packet,
        dscp,
        "",
        path.tc,
        path.queue,
        path.group,
        path.lossless,
        group.profile,
        group.lossless,
        group.headroom,
        wanted,
        cable,
        group.pauses_at() if path.lossless else None,
        marking.ecn,
        marking.least,
        marking.most,
        served if marking.kind != "STRICT" else "STRICT",
        _watchdog(device, port, path.queue),
    )


def _watchdog(device: Device, port: str, queue: int | None) -> str:
    """What the watchdog does on a port's queue, in a word; empty where no row is there."""
    if port not in device.watchdogs:
        return ""
    watched = device.maps[port].watched
    row = device.watchdogs[port][1]
    if watched is not None and queue not in watched:
        return "off"
    return f"{row.get('action', 'drop')} after {spelling.number(row.get('detection_time')) or '?'} ms"
