"""The address plan: every switch, host, port and cable of a fabric with its name, addresses, ASN, MAC and GUID.

All of it is a function of where a thing stands (`coordinates`, `fabric.addressing`), so that a fabric that grows
changes nothing that is there. Routed everywhere, with no VLAN: a NIC's port and the leaf's port at its cable's other
end share an IPv4 /31; links between switches have IPv6 link-local addresses alone (RFC 5549, now 8950), or where
addressing is "numbered" a /31 and a /127 (RFC 6164) besides. Not here: any file's format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address, collapse_addresses
from typing import Literal

import numpy as np

from eastwest.artifacts.coordinates import TIER_CODES, Coordinates, PlanError, coordinates
from eastwest.artifacts.interfaces import nic_name, sonic_name
from eastwest.catalog import Catalog
from eastwest.fabric import Fabric
from eastwest.fabric.addressing import port_addresses

Addressing = Literal["unnumbered", "numbered"]
HostKind = Literal["server", "storage"]
Network = Literal["gpus", "frontend"]

LOOPBACKS = IPv4Network("100.64.0.0/10")
"""Shared address space (RFC 6598), which neither hosts nor the outside use: 22 bits of switches' numbers."""
LINKS = IPv4Network("10.128.0.0/9")
"""The upper half of 10.0.0.0/8, whose lower half NICs have: links between switches, where they are numbered."""
SITE_PREFIX = int(IPv6Address("fd65:6173:7477::"))
"""A /48 of unique local addresses (RFC 4193); its global identifier spells "eastw"."""
LINK_ROOM, PORT_BITS = 12, 8
"""Bits of LINKS for a switch's place in its tier, and for the port from which a link leaves it."""

SWITCH_MAC, NIC_MAC = 0x0200 << 32, 0x0201 << 32
"""Locally administered, unicast: before the four bytes of the loopback's or the NIC port's IPv4 address."""
GUID_OUI = 0x026577
"""A locally administered OUI, before a byte that says what the GUID is of and the four of an IPv4 address."""
_GUID_KIND = {"switch": 0, "nic": 1, "port": 2}


@dataclass(frozen=True)
class Cable:
    """A cable: both ends as host name and interface, `a` nearer to the servers. Rate bit/s, length metres.

    `pfc` says whether RoCE is paused on it rather than dropped, which both ends must be set to.
    """

    number: int
    tiers: str
    a: str
    a_interface: str
    b: str
    b_interface: str
    rate_bps: float
    length_m: float
    pfc: bool


@dataclass(frozen=True)
class Port:
    """A port of a switch; `peer` is None where it is spare. `address` and `address6` are None where unnumbered.

    `number` counts from 0 over the switch, `cage` too; `place` says which of the `breakout` ports of its cage it is.
    `peer` is a host name, `peer_interface` the interface there, `is_to_host` says that it is no switch.
    """

    name: str
    number: int
    cage: int
    place: int
    breakout: int
    rate_bps: float
    cable: int | None = None
    peer: str | None = None
    peer_interface: str | None = None
    is_to_host: bool = False
    address: IPv4Address | None = None
    address6: IPv6Address | None = None


@dataclass(frozen=True)
class Switch:
    """A switch. `plane`, `site`, `pod`, `unit` and `rail` are -1 where it has none; `node` is the fabric's."""

    name: str
    node: int
    fabric_name: str
    tier: str
    device: str
    site: int
    plane: int
    pod: int
    unit: int
    rail: int
    id: int
    asn: int
    loopback: IPv4Address
    loopback6: IPv6Address
    mac: str
    guid: int
    ports: tuple[Port, ...]

    @property
    def host_subnets(self) -> tuple[IPv4Network, ...]:
        """The fewest networks that hold the /31s of the switch's ports to hosts, and nothing else."""
        pairs = (IPv4Network((int(p.address), 31)) for p in self.ports if p.is_to_host and p.address is not None)
        return tuple(collapse_addresses(pairs))


@dataclass(frozen=True)
class NicPort:
    """One port of a host's NIC, with the switch port at its cable's other end, whose address is its gateway.

    `nic` counts the NICs of its tier in the host ("server": those of the GPUs), `port` the NIC's ports, one a plane.
    `guid` is the port's, `nic_guid` that of the whole NIC.
    """

    name: str
    node: int
    tier: str
    nic: int
    port: int
    device: str
    rate_bps: float
    address: IPv4Address
    gateway: IPv4Address
    mac: str
    guid: int
    nic_guid: int
    cable: int | None = None
    peer: str | None = None
    peer_interface: str | None = None


@dataclass(frozen=True)
class Host:
    """A server or storage server: its NICs' ports, those of the GPUs first. `number` counts it as the fabric does."""

    name: str
    fabric_name: str
    kind: HostKind
    number: int
    site: int
    pod: int
    unit: int
    ports: tuple[NicPort, ...]


@dataclass(frozen=True)
class Plan:
    """The plan of one fabric. `fabric` is what it is the plan of, `technology` that of the GPUs' network."""

    fabric: Fabric
    technology: str
    addressing: Addressing
    mtu_bytes: int
    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    cables: tuple[Cable, ...]

    @property
    def name(self) -> str:
        """The fabric's name."""
        return self.fabric.name

    @cached_property
    def by_name(self) -> Mapping[str, Switch | Host]:
        """Switches and hosts by their host names."""
        nodes: tuple[Switch | Host, ...] = (*self.switches, *self.hosts)
        return {each.name: each for each in nodes}

    def switch(self, name: str) -> Switch:
        """The switch of that name; KeyError where there is none."""
        found = self.by_name[name]
        if not isinstance(found, Switch):
            raise KeyError(name)
        return found


def make_plan(
    fabric: Fabric,
    catalog: Catalog,
    addressing: Addressing = "unnumbered",
    lossless: Mapping[Network, bool] | None = None,
) -> Plan:
    """The plan of a fabric, whose switches the catalogue knows.

    `lossless` says of the GPUs' network and of a separate front-end network whether they pause RoCE; where left out
    neither does. Cables between sites never do: over 80 km a port at 400 Gb/s would need 120 MB of headroom.

    Raises:
        PlanError: something has no number or no usable name; says what, and what mends it.
        FabricError: there are more NICs than addresses.
    """
    stands = {each.node: each for each in coordinates(fabric)}
    ends = _Ends(fabric, catalog, stands)
    addresses = port_addresses(fabric)
    switches = tuple(_switches(fabric, stands, ends, addresses, addressing))
    hosts = tuple(_hosts(fabric, ends, addresses))
    plan = Plan(
        fabric=fabric,
        technology=fabric.plan["link_layer"]["technology"],
        addressing=addressing,
        mtu_bytes=fabric.plan["link_layer"]["mtu_bytes"],
        switches=switches,
        hosts=hosts,
        cables=tuple(_cables(fabric, ends, lossless or {})),
    )
    _check_names(plan)
    return plan


def mac_text(number: int) -> str:
    """A MAC as written: 02:00:64:40:00:01."""
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6))


def link_local(mac: str) -> IPv6Address:
    """The IPv6 link-local address that an interface of this MAC makes for itself (RFC 4291, appendix A)."""
    octets = bytes.fromhex(mac.replace(":", ""))
    return IPv6Address(b"\xfe\x80" + bytes(6) + bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:])


def _guid(kind: str, address: int) -> int:
    return GUID_OUI << 40 | _GUID_KIND[kind] << 32 | address


class _Ends:
    """Host name and interface of every port, and the port at the other end of its cable (-1: none)."""

    def __init__(self, fabric: Fabric, catalog: Catalog, stands: Mapping[int, Coordinates]) -> None:
        self.node = fabric.ports["node"].to_list()
        self.number = fabric.ports["number"].to_list()
        self.rate_bps = fabric.ports["rate_bps"].to_list()
        self.cable = fabric.ports["cable"].to_list()
        self.peer = _peers(fabric).tolist()
        cage_of_port = fabric.ports["cage"].to_numpy().astype(np.int64)
        self.cage = fabric.cages["number"].to_numpy()[cage_of_port].tolist()
        self.breakout = fabric.cages["breakout"].to_numpy()[cage_of_port].tolist()
        first = np.r_[True, cage_of_port[1:] != cage_of_port[:-1]] if len(cage_of_port) else np.zeros(0, dtype=bool)
        starts = np.flatnonzero(first)
        self.place = (np.arange(len(first)) - starts[np.cumsum(first) - 1]).tolist()
        self.ports_of: dict[int, list[int]] = {}
        for port, node in enumerate(self.node):
            self.ports_of.setdefault(node, []).append(port)
        self.kind, self.tier = fabric.nodes["kind"].to_list(), fabric.nodes["tier"].to_list()
        self.index, self.device = fabric.nodes["index"].to_list(), fabric.nodes["device"].to_list()
        self.name, self.site = fabric.nodes["name"].to_list(), fabric.nodes["site"].to_list()
        self.server = fabric.nodes["server"].to_list()
        self.asked = fabric.plan
        self.host = [
            stands[node].name if kind == "switch" else self._host(node) if kind == "nic" else ""
            for node, kind in enumerate(self.kind)
        ]
        lanes = {
            device: catalog.switch(device).cage_lanes
            for device in {self.device[node] for node in stands}
            if device in catalog.names("switches")
        }
        self.interface = [self._interface(port, lanes) for port in range(len(self.node))]

    def _host(self, node: int) -> str:
        """The host name of the server that a NIC is in."""
        asked, sites = self.asked, self.asked.get("sites")
        if self.tier[node] == "storage":
            return f"storage-{self.server[node] - asked['servers']:02}"
        if asked["shape"] == "custom":
            return str(self.name[node]).rsplit("/", 1)[0].replace("/", "-")
        if sites is None:
            return f"server-{self.server[node]:03}"
        site, at_each = self.site[node], asked["servers"] // sites["count"]
        return f"site-{site}-server-{self.server[node] - site * at_each:03}"

    def _interface(self, port: int, lanes: Mapping[str, int]) -> str:
        node = self.node[port]
        if self.kind[node] == "nic":
            return nic_name(self.tier[node], self.index[node], self.number[port], self.breakout[port])
        if self._technology(node) == "infiniband":
            return str(self.number[port] + 1)
        try:
            return sonic_name(self.cage[port], self.place[port], self.breakout[port], lanes.get(self.device[node], 8))
        except PlanError as error:
            raise PlanError(f"{self.host[node]} ({self.device[node]}): {error}") from None

    def _technology(self, node: int) -> str:
        layer = self.asked["link_layer"]
        if self.tier[node] in ("access", "aggregation"):
            layer = self.asked["frontend"]["link_layer"]
        return str(layer["technology"])


def _peers(fabric: Fabric) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    peer = np.full(len(fabric.ports), -1, dtype=np.int64)
    a, b = (fabric.cables[end].to_numpy().astype(np.int64) for end in ("port_a", "port_b"))
    peer[a], peer[b] = b, a
    return peer


def _switches(
    fabric: Fabric,
    stands: Mapping[int, Coordinates],
    ends: _Ends,
    addresses: np.ndarray[tuple[int], np.dtype[np.uint32]],
    addressing: Addressing,
) -> Iterator[Switch]:
    for row in fabric.nodes.filter(kind="switch").iter_rows(named=True):
        here = stands[row["node"]]
        loopback = LOOPBACKS[here.id + 1]
        yield Switch(
            name=here.name,
            node=row["node"],
            fabric_name=row["name"],
            **{key: row[key] for key in ("tier", "device", "site", "plane", "pod", "unit", "rail")},
            id=here.id,
            asn=here.asn,
            loopback=loopback,
            loopback6=IPv6Address(SITE_PREFIX + here.id + 1),
            mac=mac_text(SWITCH_MAC | int(loopback)),
            guid=_guid("switch", int(loopback)),
            ports=tuple(
                _port(ends, port, stands, addresses, addressing) for port in ends.ports_of.get(row["node"], ())
            ),
        )


def _port(
    ends: _Ends,
    port: int,
    stands: Mapping[int, Coordinates],
    addresses: np.ndarray[tuple[int], np.dtype[np.uint32]],
    addressing: Addressing,
) -> Port:
    other = ends.peer[port]
    spare = Port(
        name=ends.interface[port],
        number=ends.number[port],
        cage=ends.cage[port],
        place=ends.place[port],
        breakout=ends.breakout[port],
        rate_bps=ends.rate_bps[port],
    )
    if other < 0:
        return spare
    peer = ends.node[other]
    is_to_host = ends.kind[peer] == "nic"
    address, address6 = None, None
    if is_to_host:
        address = IPv4Address(int(addresses[other]) - 1)
    elif addressing == "numbered":
        address, address6 = _link_addresses(ends, port, other, stands)
    return Port(
        **{key: getattr(spare, key) for key in ("name", "number", "cage", "place", "breakout", "rate_bps")},
        cable=ends.cable[port],
        peer=ends.host[peer],
        peer_interface=ends.interface[other],
        is_to_host=is_to_host,
        address=address,
        address6=address6,
    )


def _link_addresses(
    ends: _Ends, port: int, other: int, stands: Mapping[int, Coordinates]
) -> tuple[IPv4Address, IPv6Address]:
    """Addresses of one end of a link between switches, named after the port of its lower end.

    The lower end is that of the lower tier; within a tier, that of the lower number. It has the even address.
    """
    ids = [stands[ends.node[end]].id for end in (port, other)]
    is_upper = (ids[0], ends.number[port]) > (ids[1], ends.number[other])
    lower = other if is_upper else port
    here = stands[ends.node[lower]]
    number = ends.number[lower]
    if number >= 1 << PORT_BITS:
        raise PlanError(
            f"{here.name}: numbered links have addresses for {1 << PORT_BITS} ports of a switch, and this is port "
            f"{number}: leave addressing unnumbered, which needs none"
        )
    try:
        place = TIER_CODES[here.tier] << LINK_ROOM | here.number(LINK_ROOM)
    except PlanError:
        raise PlanError(
            f"{here.name}: its place has no room in the addresses of numbered links ({LINKS}): leave addressing "
            "unnumbered, which needs none"
        ) from None
    link = (place << PORT_BITS | number) << 1 | is_upper
    return LINKS[link], IPv6Address(SITE_PREFIX | 1 << 64 | link)


def _hosts(fabric: Fabric, ends: _Ends, addresses: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> Iterator[Host]:
    ports: dict[str, list[NicPort]] = {}
    rows: dict[str, dict[str, int | str]] = {}
    for row in fabric.nodes.filter(kind="nic").iter_rows(named=True):
        name = ends.host[row["node"]]
        rows.setdefault(name, row)
        ports.setdefault(name, []).extend(_nic_ports(ends, row["node"], addresses))
    for name, row in rows.items():
        yield Host(
            name=name,
            fabric_name=str(row["name"]).rsplit("/", 1)[0],
            kind="storage" if row["tier"] == "storage" else "server",
            **{
                key: int(row[of])
                for key, of in (("number", "server"), ("site", "site"), ("pod", "pod"), ("unit", "unit"))
            },
            ports=tuple(ports[name]),
        )


def _nic_ports(ends: _Ends, node: int, addresses: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> Iterator[NicPort]:
    first = int(addresses[ends.ports_of[node][0]])
    for port in ends.ports_of[node]:
        address, other = int(addresses[port]), ends.peer[port]
        is_joined = other >= 0
        yield NicPort(
            name=ends.interface[port],
            node=node,
            tier=ends.tier[node],
            nic=ends.index[node],
            port=ends.number[port],
            device=ends.device[node],
            rate_bps=ends.rate_bps[port],
            address=IPv4Address(address),
            gateway=IPv4Address(address - 1),
            mac=mac_text(NIC_MAC | address),
            guid=_guid("port", address),
            nic_guid=_guid("nic", first),
            cable=ends.cable[port] if is_joined else None,
            peer=ends.host[ends.node[other]] if is_joined else None,
            peer_interface=ends.interface[other] if is_joined else None,
        )


def _cables(fabric: Fabric, ends: _Ends, lossless: Mapping[Network, bool]) -> Iterator[Cable]:
    for row in fabric.cables.iter_rows(named=True):
        a, b = row["port_a"], row["port_b"]
        yield Cable(
            number=row["cable"],
            tiers=row["tiers"],
            a=ends.host[ends.node[a]],
            a_interface=ends.interface[a],
            b=ends.host[ends.node[b]],
            b_interface=ends.interface[b],
            rate_bps=row["rate_bps"],
            length_m=row["length_m"],
            pfc=row["tiers"] != "border-border" and lossless.get(_network(row["tiers"]), False),
        )


def _network(tiers: str) -> Network:
    """The network that a cable between two tiers is of."""
    return "frontend" if tiers.endswith("-access") or tiers.startswith("access-") else "gpus"


def _check_names(plan: Plan) -> None:
    """Names of a custom network are its file's: they must be host names, and differ."""
    seen: dict[str, str] = {}
    nodes: tuple[Switch | Host, ...] = (*plan.switches, *plan.hosts)
    for each in nodes:
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", each.name, re.IGNORECASE):
            raise PlanError(
                f"{each.fabric_name!r} cannot be a host name: use letters, digits and hyphens, at most 63 (RFC 1123)"
            )
        if each.name.lower() in seen:
            raise PlanError(f"{each.fabric_name!r} and {seen[each.name.lower()]!r} would be one host name: rename one")
        seen[each.name.lower()] = each.fabric_name
