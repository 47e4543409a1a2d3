"""The two ends of a cable: speed, FEC, MTU, autonegotiation, pause priorities, and who each thinks its neighbour is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eastwest.checks.finding import Fault, Severity
from eastwest.checks.links import End, Link, by_name, port_of
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene


@rule("speed-mismatch", Severity.ERROR)
def speed_mismatch(scene: Scene) -> Iterator[Fault]:
    """The two ends of a cable have different speeds."""
    return _unequal(scene, "speed", lambda end: _field(end, "speed"), "the link does not come up")


@rule("fec-mismatch", Severity.ERROR)
def fec_mismatch(scene: Scene) -> Iterator[Fault]:
    """The two ends of a cable have different forward error correction."""
    return _unequal(scene, "fec", lambda end: _field(end, "fec"), "the link does not come up, or flaps")


@rule("autoneg-mismatch", Severity.WARNING)
def autoneg_mismatch(scene: Scene) -> Iterator[Fault]:
    """One end of a cable negotiates and the other does not."""
    return _unequal(scene, "autoneg", lambda end: _field(end, "autoneg"), "the link may not come up")


@rule("mtu-mismatch", Severity.ERROR)
def mtu_mismatch(scene: Scene) -> Iterator[Fault]:
    """The two ends of a cable have different MTUs: the larger end's packets are dropped."""
    return _unequal(scene, "mtu", lambda end: _field(end, "mtu"), "packets of the larger end are dropped")


@rule("host-mtu", Severity.ERROR)
def host_mtu(scene: Scene) -> Iterator[Fault]:
    """A server's MTU is above its switch port's, or (a warning) too small for RoCE's largest payload, 4096 bytes."""
    tallest = 4096 + 62
    for link in scene.links:
        for end, far in link.ends:
            port = end.host.ports.get(end.port) if end.host else None
            if port is None or port.mtu is None or far.device is None:
                continue
            limit = far.device.mtu(far.port)
            if port.mtu > limit:
                what, fix = (
                    f"{port.mtu}, above the {limit} of {far}: its largest packets are dropped",
                    f"at most {limit}",
                )
            elif port.mtu < tallest <= limit:
                what = f"{port.mtu}: RoCE falls back to a payload of {1024 if port.mtu < 2110 else 2048} bytes"
                fix = f"at least {tallest}, e.g. 9000"
            else:
                continue
            yield Fault(
                port.file,
                f"line {port.line} {port.name} mtu",
                what,
                fix,
                Severity.WARNING if port.mtu < tallest else None,
            )


@rule("pfc-mismatch", Severity.ERROR)
def pfc_mismatch(scene: Scene) -> Iterator[Fault]:
    """The two switches of a cable have PFC on for different priorities (both on for some)."""
    for link in scene.links:
        for end, far in link.ends:
            mine, theirs = _pfc(end), _pfc(far)
            if any(_is_other_priority(each, scene.marked) for each in link.ends[0]):
                continue
            if mine and theirs and mine < theirs | mine and not theirs <= mine:
                lacking = sorted(theirs - mine)
                yield Fault(
                    _file(end, "PORT_QOS_MAP"),
                    f"PORT_QOS_MAP|{end.port} pfc_enable",
                    f"PFC is off for priority {', '.join(map(str, lacking))}, which {far} pauses with and obeys",
                    f'pfc_enable: "{",".join(map(str, sorted(mine | theirs)))}" here, or fewer at {far.owner}',
                    None if scene.marks else Severity.WARNING,
                )


@rule("neighbour-differs", Severity.ERROR)
def neighbour_differs(scene: Scene) -> Iterator[Fault]:
    """DEVICE_NEIGHBOR names another neighbour than the plan, or one that names someone else in turn."""
    named = by_name(scene.devices)
    told_of = {*named, *(host.name.lower() for host in scene.hosts)}
    known = {(end.owner, end.port): (link, far) for link in scene.links for end, far in link.ends}
    for device in scene.devices:
        for key, row in device.switch.table("DEVICE_NEIGHBOR").items():
            port = port_of(device, row.get("local_port") or key) or key
            other = named.get(row.get("name", "").lower())
            told = f"{row.get('name', '?')} {row.get('port', '?')}"
            if (device.name, port) in known:
                link, far = known[device.name, port]
                same_port = far.device is None or port_of(far.device, row.get("port", "")) in (None, far.port)
                if far.owner.lower() == row.get("name", "").lower() and same_port:
                    continue
                if link.metres is None and row.get("name", "").lower() not in told_of:
                    continue  # a name that no file goes by here
                found = f"{link.by} say{'s' if link.by.endswith('json') else ''} that {far} is there"
            elif other and (back := port_of(other, row.get("port", ""))) and (other.name, back) in known:
                found = f"that port is cabled to {known[other.name, back][1]}"
            elif other and not port_of(other, row.get("port", "")) and other.switch.known_ports:
                found = f"{other.name} has no such port"
            else:
                continue
            yield Fault(
                device.switch.file_of("DEVICE_NEIGHBOR"),
                f"DEVICE_NEIGHBOR|{key}",
                f"names {told}, but {found}",
                "mend the row, or the cable",
            )


@rule("port-down", Severity.WARNING)
def port_down(scene: Scene) -> Iterator[Fault]:
    """One end of a cable is shut down and the other is not."""
    for link in scene.links:
        for end, far in link.ends:
            if link.switches and _field(end, "admin_status") == "down" and _field(far, "admin_status") == "up":
                yield Fault(
                    _file(end, "PORT"),
                    f"PORT|{end.port} admin_status",
                    f"down, while {far} is up",
                    '"admin_status": "up"',
                )


def _unequal(scene: Scene, field: str, value: Callable[[End], str | None], effect: str) -> Iterator[Fault]:
    """Links between switches whose ends both say something of a field, and not the same."""
    for link in scene.links:
        mine, theirs = value(link.a), value(link.b)
        if mine and theirs and mine != theirs:
            odd, other = _odd(link, field)
            yield Fault(
                _file(odd, "PORT"),
                f"PORT|{odd.port} {field}",
                f"{value(odd)} here, {value(other)} at {other}: {effect}",
                f'"{field}": "{value(other)}" as at the other end, or change both',
            )


def _odd(link: Link, field: str) -> tuple[End, End]:
    """The end that differs from most ports of its own switch, and the other; else the first."""
    for end, far in link.ends:
        if end.device is None:
            continue
        values = [row.get(field) for row in end.device.switch.ports.values()]
        if values.count(_field(end, field)) * 2 < len(values):
            return end, far
    return link.a, link.b


def _field(end: End, field: str) -> str | None:
    """A field of a port, as plain as it can be compared."""
    if end.device is None:
        return None
    row = end.device.switch.table("PORT").get(end.port, {})
    word = row.get(field, "").strip().lower()
    return {"1": "on", "0": "off"}.get(word, word) if field == "autoneg" else word or None


def _pfc(end: End) -> frozenset[int] | None:
    """The priorities for which pause is on at a switch's port."""
    maps = end.device.maps.get(end.port) if end.device else None
    return maps.pfc if maps else None


def _is_other_priority(end: End, marked: list[int]) -> bool:
    """Whether a port's PFC is on for others than RoCE's priority, which is a fault of its own."""
    device = end.device
    return device is not None and end.port in device.maps and any(device.pause_meant(end.port, d) for d in marked)


def _file(end: End, table: str) -> str:
    return end.device.switch.file_of(table) if end.device else (end.host.file if end.host else "")
