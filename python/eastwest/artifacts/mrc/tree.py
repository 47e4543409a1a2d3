"""The tree that an MRC network is: which switches stand above which, by which cables, and where NICs plug in.

A source route climbs from the sender's leaf as far as it must and descends to the receiver's. That needs a folded Clos,
each plane one: switches alike in what stands above them, or with nothing in common; what is no such tree is refused.
Not here: numbers (`numbering`) and which of the paths an entropy value takes (`paths`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from eastwest.artifacts.coordinates import PlanError
from eastwest.artifacts.plan import Plan, Port, Switch

TIERS = ("leaf", "spine", "core")

Bundle = tuple[tuple[Port, Port], ...]
"""The cables between two switches, a lane each: the port of the lower and that of the upper switch."""


@dataclass(frozen=True)
class Nic:
    """A NIC by its host's name, and the interface's without the plane: "server-003/rail0"."""

    host: str
    interface: str

    @property
    def name(self) -> str:
        """Host and interface."""
        return f"{self.host}/{self.interface}"


@dataclass(frozen=True)
class Tree:
    """Switches by name, in the plan's order, and for each the bundles to those above and below it.

    `uppers` names the switches above each and counts the cables to them. `leaf_of` is by NIC and plane: the leaf and
    its port there; `rank` too: how many ports to NICs the leaf has before that one.
    """

    switches: Mapping[str, Switch]
    above: Mapping[str, Mapping[str, Bundle]]
    below: Mapping[str, Mapping[str, Bundle]]
    uppers: Mapping[str, tuple[tuple[str, int], ...]]
    leaf_of: Mapping[Nic, Mapping[int, tuple[str, Port]]]
    rank: Mapping[Nic, Mapping[int, int]]

    def lanes(self, switch: str) -> int:
        """Cables of the widest bundle that ends at a switch: the locators that it needs. One at least."""
        joined = [*self.above[switch].values(), *self.below[switch].values()]
        return max((len(bundle) for bundle in joined), default=1)


def plane_of(switch: Switch) -> int:
    """The plane of a switch, from 0; 0 where there is but one network."""
    return max(switch.plane, 0)


def tree(plan: Plan) -> Tree:
    """The tree of a plan's leaves, spines and cores. Front-end networks of their own stay out.

    Raises `PlanError` where cables run within a tier or pass one over, where switches share some of those above them
    and not others, and where there are several sites.
    """
    switches = {switch.name: switch for switch in plan.switches if switch.tier in TIERS}
    if any(switch.site >= 0 for switch in switches.values()):
        raise PlanError("MRC's addresses carry six uSIDs, too few for a path between sites: build each site alone")
    above: dict[str, dict[str, Bundle]] = {name: {} for name in switches}
    below: dict[str, dict[str, Bundle]] = {name: {} for name in switches}
    for (lower, upper), cables in _bundles(switches).items():
        above[lower][upper] = below[upper][lower] = tuple(cables)
    _refuse_uneven(above)
    leaf_of, rank = _plugs(plan, switches)
    uppers = {name: tuple((upper, len(bundle)) for upper, bundle in of.items()) for name, of in above.items()}
    return Tree(switches, above, below, uppers, leaf_of, rank)


def _bundles(switches: Mapping[str, Switch]) -> dict[tuple[str, str], list[tuple[Port, Port]]]:
    """Cables by the lower and the upper switch that they join, in the order of the switches and the lower's ports."""
    ports = {(switch.name, port.name): port for switch in switches.values() for port in switch.ports}
    bundles: dict[tuple[str, str], list[tuple[Port, Port]]] = defaultdict(list)
    for lower in switches.values():
        for port in lower.ports:
            upper = switches.get(port.peer or "")
            if upper is None or port.peer_interface is None:
                continue
            height = TIERS.index(upper.tier) - TIERS.index(lower.tier)
            if abs(height) != 1:
                raise PlanError(
                    f"MRC's paths climb tier by tier and descend again, and {lower.name} is joined with {upper.name}: "
                    "try leaf-spine, fat-tree or rail-optimized"
                )
            if height == 1:
                bundles[lower.name, upper.name].append((port, ports[upper.name, port.peer_interface]))
    order = {name: turn for turn, name in enumerate(switches)}
    return dict(sorted(bundles.items(), key=lambda item: (order[item[0][0]], order[item[0][1]])))


def _plugs(
    plan: Plan, switches: Mapping[str, Switch]
) -> tuple[dict[Nic, dict[int, tuple[str, Port]]], dict[Nic, dict[int, int]]]:
    """Where NICs plug in: leaf and port by NIC and plane, and how many NICs' ports stand before it on the leaf."""
    nic_at = {
        (host.name, port.name): (Nic(host.name, _without_plane(port.name, port.port)), port.port)
        for host in plan.hosts
        for port in host.ports
    }
    leaf_of: dict[Nic, dict[int, tuple[str, Port]]] = {nic: {} for nic, _ in nic_at.values()}
    rank: dict[Nic, dict[int, int]] = {nic: {} for nic in leaf_of}
    for switch in switches.values():
        to_hosts = [port for port in switch.ports if port.is_to_host]
        if to_hosts and switch.tier != "leaf":
            raise PlanError(f"NICs of an MRC network plug into leaves, and {switch.name} is none: move them to leaves")
        for turn, port in enumerate(to_hosts):
            nic, plane = nic_at[port.peer or "", port.peer_interface or ""]
            leaf_of[nic][plane] = (switch.name, port)
            rank[nic][plane] = turn
    return {nic: places for nic, places in leaf_of.items() if places}, rank


def _without_plane(interface: str, plane: int) -> str:
    return interface.removesuffix(f"p{plane}")


def _refuse_uneven(above: Mapping[str, Mapping[str, Bundle]]) -> None:
    """Switches that share one switch above share all, so that a climb serves all that are beyond it."""
    first: dict[str, str] = {}
    for name, uppers in above.items():
        for upper in uppers:
            other = first.setdefault(upper, name)
            if above[other].keys() != uppers.keys():
                only = min(above[other].keys() ^ uppers.keys())
                raise PlanError(
                    f"{other} and {name} are both under {upper}, but only one of them under {only}: MRC's lists of "
                    "paths are written for networks whose switches share all that is above them or nothing; cable "
                    "them alike"
                )
