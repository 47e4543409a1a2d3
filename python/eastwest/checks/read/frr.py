"""FRR's frr.conf (or bgpd.conf): who the neighbours are and how sessions to them are kept.

Not here: route maps, prefix lists and the other daemons, of which only the names of interfaces' addresses are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from eastwest.checks.read import spelling


@dataclass
class Neighbour:
    """A BGP session as one side configures it, peer groups already applied."""

    name: str
    line: int
    remote_as: str = ""
    unnumbered: bool = False
    bfd: bool = False
    shutdown: bool = False
    group: str = ""
    description: str = ""

    @property
    def asn(self) -> int | None:
        """The number that the other side must have, where it is given as one."""
        return _asn(self.remote_as)


@dataclass
class Frr:
    """What a switch's routing daemons were told."""

    file: str
    hostname: str = ""
    asn: int | None = None
    asn_line: int = 0
    router_id: str = ""
    multipath_relax: bool = False
    maximum_paths: int | None = None
    neighbours: dict[str, Neighbour] = field(default_factory=dict)
    listens: bool = False
    allows_own_as: bool = False
    addresses: list[tuple[str, str, int]] = field(default_factory=list)


def read_frr(text: str, file: str) -> Frr:
    """Reads frr.conf; lines of no interest here are passed over."""
    out = Frr(file)
    groups: dict[str, Neighbour] = {}
    interface = ""
    in_bgp = False
    for number, raw in enumerate(text.splitlines(), start=1):
        words = raw.split()
        if not words or words[0].startswith(("!", "#")):
            continue
        if not raw[0].isspace():
            in_bgp = words[:2] == ["router", "bgp"] and "vrf" not in words
            interface = words[1] if words[0] == "interface" and len(words) > 1 else ""
        if words[0] == "hostname" and len(words) > 1:
            out.hostname = words[1]
        elif in_bgp and words[0] == "router" and len(words) > 2:
            out.asn, out.asn_line = _asn(words[2]), number
        elif interface and words[:2] in (["ip", "address"], ["ipv6", "address"]) and len(words) > 2:
            out.addresses.append((interface, words[2], number))
        elif in_bgp:
            _bgp(out, groups, words, number)
    for each in out.neighbours.values():
        _inherit(each, groups.get(each.group))
    return out


def _bgp(out: Frr, groups: dict[str, Neighbour], words: list[str], number: int) -> None:
    """One line inside `router bgp`."""
    if words[:2] == ["bgp", "router-id"] and len(words) > 2:
        out.router_id = words[2]
    elif words[:3] == ["bgp", "bestpath", "as-path"] and "multipath-relax" in words:
        out.multipath_relax = True
    elif words[0] == "neighbor" and "allowas-in" in words:
        out.allows_own_as = True
    elif words[:2] == ["bgp", "listen"]:
        out.listens = True
    elif words[0] == "maximum-paths" and words[1:2] != ["ibgp"]:
        found = spelling.number(words[-1])
        out.maximum_paths = found if out.maximum_paths is None else min(found or 0, out.maximum_paths)
    elif words[0] == "neighbor" and len(words) > 2:
        _neighbour(out, groups, words[1], words[2:], number)


def _neighbour(out: Frr, groups: dict[str, Neighbour], name: str, words: list[str], number: int) -> None:
    """One `neighbor` line: of a peer, or of a peer group."""
    if words == ["peer-group"]:
        groups.setdefault(name, Neighbour(name, number))
        return
    each = groups.get(name) or out.neighbours.get(name)
    if each is None:
        if words[0] not in ("interface", "remote-as", "peer-group"):
            return
        each = out.neighbours[name] = Neighbour(name, number)
    if words[0] == "interface":
        each.unnumbered = True
        words = words[2:] if words[1:2] == ["v6only"] else words[1:]
    match words:
        case ["remote-as", asn, *_]:
            each.remote_as = asn
        case ["peer-group", group, *_]:
            each.group = group
        case ["bfd", *_]:
            each.bfd = True
        case ["shutdown", *_]:
            each.shutdown = True
        case ["description", *rest]:
            each.description = " ".join(rest)


def _inherit(each: Neighbour, group: Neighbour | None) -> None:
    """What a peer takes from its group where it says nothing itself."""
    if group is not None:
        each.remote_as = each.remote_as or group.remote_as
        each.bfd = each.bfd or group.bfd
        each.shutdown = each.shutdown or group.shutdown


def _asn(word: str) -> int | None:
    """An AS number, also in the notation with a dot (RFC 5396)."""
    dotted = re.fullmatch(r"(\d{1,5})\.(\d{1,5})", word)
    if dotted:
        return (int(dotted[1]) << 16) + int(dotted[2])
    return spelling.number(word) if word.isdigit() else None
