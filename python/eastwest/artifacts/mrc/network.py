"""An MRC network: a plan's tree with its uSIDs, and from these the routes of its switches and what senders must know.

Not here: the files that say so (`files`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address

from eastwest.artifacts.coordinates import coordinates
from eastwest.artifacts.mrc.directory import Directory
from eastwest.artifacts.mrc.numbering import locators, port, prefix
from eastwest.artifacts.mrc.tree import Nic, Tree, plane_of, tree
from eastwest.artifacts.plan import SITE_PREFIX, NicPort, Plan, Switch, link_local

NIC_PREFIX = SITE_PREFIX | 2 << 64
"""Before the IPv4 address of a NIC's first port: the IPv6 address that the whole NIC has, on all planes."""


@dataclass(frozen=True)
class Route:
    """A static route of a switch to one uSID, over one of its ports to one neighbour."""

    prefix: str
    neighbour: IPv6Address
    interface: str
    comment: str


@dataclass(frozen=True)
class Network:
    """An MRC network: its plan, its tree and the uSIDs of its switches, one a lane."""

    plan: Plan
    tree: Tree
    usids: Mapping[str, tuple[int, ...]]

    @cached_property
    def nic_ports(self) -> Mapping[tuple[str, str], NicPort]:
        """Ports of NICs by host and interface."""
        return {(host.name, port.name): port for host in self.plan.hosts for port in host.ports}

    def routes(self, switch: Switch) -> Iterator[Route]:
        """The routes of a switch: down to NICs and switches below it, then up, in the order of the ports."""
        plane, leads = plane_of(switch), {}
        for of, end in ((self.tree.below[switch.name], 1), (self.tree.above[switch.name], 0)):
            for name, bundle in of.items():
                for lane, ends in enumerate(bundle):
                    leads[ends[end].name] = (self.usids[name][lane], self.tree.switches[name].mac)
        for own in switch.ports:
            if own.is_to_host and switch.tier == "leaf":
                nic = self.nic_ports[own.peer or "", own.peer_interface or ""]
                usid, mac = port(switch.name, own.number), nic.mac
            elif own.name in leads:
                usid, mac = leads[own.name]
            else:
                continue
            yield Route(prefix(plane, usid), link_local(mac), own.name, f"{own.peer} {own.peer_interface}")

    def directory(self) -> Directory:
        """What every sender must know."""
        return Directory(
            self.usids,
            {name: dict(uppers) for name, uppers in self.tree.uppers.items()},
            {
                nic.name: {plane: (leaf, port(leaf, at.number)) for plane, (leaf, at) in sorted(places.items())}
                for nic, places in self.tree.leaf_of.items()
            },
            {nic.name: self.address(nic) for nic in self.tree.leaf_of},
        )

    def address(self, nic: Nic) -> IPv6Address:
        """The IPv6 address of a NIC, the same on all planes: packets inside those that carry the path are for it."""
        places = self.tree.leaf_of[nic]
        _, at = places[min(places)]
        first = self.nic_ports[nic.host, at.peer_interface or ""]
        return nic_address(first.address)


def nic_address(first: IPv4Address) -> IPv6Address:
    """The IPv6 address of the NIC whose first port has that IPv4 address."""
    return IPv6Address(NIC_PREFIX | int(first))


def network(plan: Plan) -> Network:
    """The MRC network of a plan; `PlanError` where it is no tree or a block has too few numbers."""
    grown = tree(plan)
    stands = {each.name: each for each in coordinates(plan.fabric)}
    return Network(
        plan,
        grown,
        {
            name: locators(switch.tier, name, stands[name].parts, grown.lanes(name))
            for name, switch in grown.switches.items()
        },
    )
