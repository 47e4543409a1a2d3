"""FRR's configuration of each Ethernet switch: eBGP on every link to another switch, ECMP over all that are equal.

Sessions run over IPv6 link-local addresses and carry IPv4 routes with IPv6 next hops (RFC 8950), or over a link's /31
where links are numbered. A switch brings in its loopback and its hosts' subnets, and passes on nothing but what others
bring in. As spines of a group share an ASN (RFC 7938, 5.2.1), no route goes down and up again. BFD finds a link that is
dead with its light on. A drained switch is one whose routes others take last (RFC 8326).

Interfaces' addresses are not here: on a SONiC switch they stand in config_db.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Network

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from eastwest.artifacts.file import File
from eastwest.artifacts.plan import LOOPBACKS, SITE_PREFIX, Plan, Port, Switch
from eastwest.artifacts.subject import Subject
from eastwest.fabric.addressing import networks

FILE = "frr.conf"

MOST_PATHS = 256
"""What maximum-paths takes in FRR as Debian and SONiC build it (--enable-multipath)."""


@dataclass(frozen=True)
class Bfd:
    """A link is taken for dead when so many packets in a row are missing, one being due every interval.

    FRR's own defaults, three of 300 ms: 0.9 s, which a switch's CPU keeps up with on every port.
    """

    multiplier: int = 3
    interval_ms: int = 300


@dataclass(frozen=True)
class Pool:
    """Prefixes of one length out of a network."""

    network: IPv4Network
    length: int


@dataclass(frozen=True)
class Neighbor:
    """The other switch on a link: our interface, its address where links are numbered, its name and interface."""

    interface: str
    address: IPv4Address | None
    peer: str
    peer_interface: str


def frr(subject: Subject) -> Iterator[File]:
    """One frr.conf for each switch that routes: those of RoCEv2 and Ultra Ethernet, and of an Ethernet front end."""
    plan = subject.plan
    switches = {switch.name: switch for switch in plan.switches}
    for switch in plan.switches:
        if runs_bgp(plan, switch):
            yield File(f"switches/{switch.name}/{FILE}", frr_conf(plan.name, switch, switches))


def runs_bgp(plan: Plan, switch: Switch) -> bool:
    """Whether a switch finds its routes by BGP: not InfiniBand's, nor MRC's, whose routes are static."""
    asked = plan.fabric.plan
    layer = asked["frontend"]["link_layer"] if switch.tier in ("access", "aggregation") else asked["link_layer"]
    return layer["technology"] in ("rocev2", "ultra-ethernet")


def frr_conf(fabric: str, switch: Switch, switches: dict[str, Switch]) -> str:
    """The text of one switch's frr.conf."""
    neighbors = [_neighbor(port, switches) for port in switch.ports if port.peer in switches]
    return _template().render(
        fabric=fabric,
        switch=switch,
        neighbors=neighbors,
        pools=(*(Pool(network, 31) for network in networks()), Pool(LOOPBACKS, 32)),
        loopbacks6=IPv6Network((SITE_PREFIX, 64)),
        paths=max(1, min(len(neighbors), MOST_PATHS)),
        bfd=Bfd(),
    )


def _neighbor(port: Port, switches: dict[str, Switch]) -> Neighbor:
    assert port.peer is not None
    assert port.peer_interface is not None
    address = None
    if port.address is not None:
        (address,) = (other.address for other in switches[port.peer].ports if other.name == port.peer_interface)
    return Neighbor(port.name, address, port.peer, port.peer_interface)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("eastwest.artifacts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template("frr.conf.j2")
