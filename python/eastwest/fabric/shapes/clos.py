"""Folded Clos networks of two and three tiers: how many spines and cores units of servers need, and their wiring.

The rule for counts is the one that NVIDIA's DGX SuperPOD tables follow: a leaf has the uplinks of a full unit even
where its own is not full, and there are as few spines as carry all uplinks while each leaf spreads its own evenly.
Not here: what a unit is, which is all in which the shapes differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError, Tier
from eastwest.fabric.shapes.wiring import Cables, Indices, Switches, Wiring, switches


@dataclass(frozen=True)
class Unit:
    """Servers that share the same leaves, when full.

    `leaf_of_nic` says which of the unit's leaves each NIC of a server joins; `is_railed`, that these are rails;
    `rails_are_apart`, that each rail has switches of its own above its leaves too. `beside` NICs more of
    each server are dealt out over the unit's leaves.
    """

    servers: int
    leaf_of_nic: tuple[int, ...]
    is_railed: bool
    rails_are_apart: bool = False
    beside: int = 0

    @property
    def leaves(self) -> int:
        """Leaves of a unit."""
        return max(self.leaf_of_nic) + 1

    @property
    def networks(self) -> int:
        """Networks that no switch joins with each other: the rails where they are apart, else one."""
        return self.leaves if self.rails_are_apart else 1

    @property
    def leaves_to_join(self) -> int:
        """Leaves of a unit in each network."""
        return self.leaves // self.networks

    @property
    def down(self) -> int:
        """Ports down that a leaf of a full unit needs."""
        own = self.servers * max(self.leaf_of_nic.count(leaf) for leaf in range(self.leaves))
        return own + -(-self.servers * self.beside // self.leaves)


def clos(
    servers: int,
    unit: Unit,
    leaf: Faceplate,
    spine: Faceplate,
    core: Faceplate | None,
    ratios: tuple[float, float],
    servers_per_pod: int | None = None,
) -> Wiring:
    """Two tiers, or three with `core`: units of servers, all alike and filled as evenly as their number allows.

    Three tiers stand in pods, each of whole units and its own spines; spine j of every pod joins core group j.
    `ratios` are the oversubscription of leaf and spine. A pod holds as many units as its spines have ports for, or
    `servers_per_pod`. Where rails are apart, all this holds of each rail.

    Raises `FabricError` on "servers_per_unit" where a leaf lacks ports, on "servers_per_pod" where spines do or a unit
    would be cut, on "tiers" or "servers" where the tiers above cannot reach so many leaves.
    """
    up = leaf.uplinks(unit.down, ratios[0])
    if not leaf.fits(unit.down, up):
        raise FabricError("servers_per_unit", _unit_too_large(unit, up, leaf, ratios[0]))
    units = -(-servers // unit.servers)
    if core is None:
        pods, spine_down = 1, spine.most
        _refuse_beyond_two_tiers(units * unit.leaves_to_join, unit, leaf.most_down(ratios[0]), spine)
    else:
        spine_down = spine.most_down(ratios[1])
        if unit.leaves_to_join > spine_down:
            raise FabricError("switch", _unit_wider_than_spine(unit, spine, spine_down, ratios[1]))
        units_of_pod = _units_of_pod(servers_per_pod, unit, spine, spine_down)
        pods = -(-units // units_of_pod)
    pod_of_unit = in_order(units, pods)
    leaves_of_pod = unit.leaves_to_join * int(np.bincount(pod_of_unit).max())
    spines = fewest_that_divide(up, leaves_of_pod * up, spine_down)
    spine_ports = leaves_of_pod * up // spines

    network_of_leaf = np.tile(np.arange(unit.leaves, dtype=np.int32) // np.int32(unit.leaves_to_join), units)
    block_of_leaf = np.repeat(pod_of_unit, unit.leaves) * np.int32(unit.networks) + network_of_leaf
    spine_up, cores = 0, 0
    cables = [Cables("leaf", "spine", bundles(block_of_leaf, spines, up))]
    if core is not None:
        spine_up = spine.uplinks(spine_ports, ratios[1])
        if pods > core.most:
            raise FabricError("servers", _beyond_three_tiers(servers, pods, units_of_pod, unit, core))
        cores = fewest_that_divide(spine_up, pods * spine_up, core.most)
        group_of_spine = np.tile(np.arange(unit.networks * spines, dtype=np.int32), pods)
        cables.append(Cables("spine", "core", bundles(group_of_spine, cores, spine_up)))
    unit_of_server = in_order(servers, units)
    place = pod_of_unit if core is not None else np.full(units, -1, dtype=np.int32)
    tiers: dict[Tier, Switches] = {
        "leaf": leaves_of_units(unit, place, up),
        "spine": _spines(pods, unit, spines, spine_ports, spine_up, in_pods=core is not None),
    }
    if core is not None:
        tiers["core"] = _cores(unit, spines, cores, pods * spine_up // cores)
    return Wiring(
        unit_of_server=unit_of_server if unit.is_railed else np.full(servers, -1, dtype=np.int32),
        pod_of_server=place[unit_of_server],
        leaf_of_port=leaf_of_port(unit_of_server, unit),
        tiers=tiers,
        cables=tuple(cables),
    )


def _units_of_pod(servers_per_pod: int | None, unit: Unit, spine: Faceplate, spine_down: int) -> int:
    most = spine_down // unit.leaves_to_join
    if servers_per_pod is None:
        return most
    units, rest = divmod(servers_per_pod, unit.servers)
    if rest:
        raise FabricError(
            "servers_per_pod",
            f"a pod holds whole units, here of {unit.servers} servers, and {servers_per_pod} servers are none: try "
            f"{max(units, 1) * unit.servers}, or another servers_per_unit",
        )
    if units > most:
        raise FabricError(
            "servers_per_pod",
            f"{servers_per_pod} servers in a pod have {units * unit.leaves_to_join} leaves, and a spine needs a port "
            f"down for each; {spine.has()}, {spine_down} of them down: try {most * unit.servers} or less",
        )
    return units


def fits_two_tiers(servers: int, unit: Unit, spine: Faceplate) -> bool:
    """Whether every leaf can reach every spine: a spine needs a port for each leaf."""
    return -(-servers // unit.servers) * unit.leaves_to_join <= spine.most


def fewest_that_divide(uplinks: int, cables: int, ports: int) -> int:
    """The fewest switches of `ports` ports that carry `cables` and over which a switch spreads its `uplinks` evenly.

    32 leaves with 72 uplinks each on spines of 144 ports: 16 would carry them, 18 is the next that divides 72.
    """
    return next(n for n in range(-(-cables // ports), uplinks + 1) if uplinks % n == 0)


def in_order(items: int, groups: int) -> Indices:
    """Group of each item, in order, the first groups one larger where the items do not divide."""
    sizes = items // groups + (np.arange(groups) < items % groups)
    return np.repeat(np.arange(groups, dtype=np.int32), sizes)


def bundles(block_of_lower: Indices, uppers: int, uplinks: int) -> Indices:
    """Cables from each lower switch to the `uppers` switches of its block, uplinks / uppers in parallel to each."""
    lower = np.repeat(np.arange(len(block_of_lower), dtype=np.int32), uplinks)
    within = np.tile(np.repeat(np.arange(uppers, dtype=np.int32), uplinks // uppers), len(block_of_lower))
    return np.stack([lower, block_of_lower[lower] * np.int32(uppers) + within])


def leaf_of_port(unit_of_server: Indices, unit: Unit) -> Indices:
    """Leaf that each server's NICs join, those beside the others last. Shape (servers, NICs, 1)."""
    own = np.tile(np.array(unit.leaf_of_nic, dtype=np.int32), (len(unit_of_server), 1))
    first = np.searchsorted(unit_of_server, unit_of_server)  # of each one's unit: they stand in order
    turn = (np.arange(len(unit_of_server)) - first)[:, None] * unit.beside + np.arange(unit.beside)
    leaf = np.concatenate([own, turn % unit.leaves], axis=1).astype(np.int32)
    return (unit_of_server[:, None] * np.int32(unit.leaves) + leaf)[:, :, None]


def leaves_of_units(unit: Unit, pod_of_unit: Indices, up: int) -> Switches:
    """The leaves of all units, unit by unit, each with `up` ports up; `pod_of_unit` has one entry a unit."""
    units = len(pod_of_unit)
    pod = np.repeat(pod_of_unit, unit.leaves)
    if not unit.is_railed:
        return switches(units * unit.leaves, unit.down, up, pod=pod)
    rail = np.tile(np.arange(unit.leaves, dtype=np.int32), units)
    of_unit = np.repeat(np.arange(units, dtype=np.int32), unit.leaves)
    return switches(units * unit.leaves, unit.down, up, unit=of_unit, pod=pod, rail=rail)


def _spines(pods: int, unit: Unit, spines: int, down: int, up: int, *, in_pods: bool) -> Switches:
    in_all = pods * unit.networks * spines
    places = {"rail": np.tile(_rails(unit, spines), pods)} if unit.rails_are_apart else {}
    if in_pods:
        places["pod"] = np.repeat(np.arange(pods, dtype=np.int32), in_all // pods)
    if in_pods or unit.rails_are_apart:
        places["group"] = np.tile(np.arange(spines, dtype=np.int32), in_all // spines)
    return switches(in_all, down, up, **places)


def _cores(unit: Unit, groups: int, cores: int, down: int) -> Switches:
    places = {"rail": _rails(unit, groups * cores)} if unit.rails_are_apart else {}
    group = np.tile(np.repeat(np.arange(groups, dtype=np.int32), cores), unit.networks)
    return switches(len(group), down, 0, group=group, **places)


def _rails(unit: Unit, each: int) -> Indices:
    return np.repeat(np.arange(unit.leaves, dtype=np.int32), each)


def _unit_too_large(unit: Unit, up: int, leaf: Faceplate, ratio: float) -> str:
    room = leaf.most_down(ratio) * unit.servers // unit.down
    ways = [f"servers_per_unit of {room} or less"] if room else ["a switch with more ports"]
    ways += [leaf.wider() or "a switch with more ports", "a higher oversubscription"]
    servers = f"{unit.servers} server{'s' if unit.servers > 1 else ''}"
    return (
        f"{servers} in a unit need {unit.down} ports down and {up} up on each leaf, {unit.down + up} in all; "
        f"{leaf.has()}: {_any_of(ways)}"
    )


def _refuse_beyond_two_tiers(leaves: int, unit: Unit, most_down: int, spine: Faceplate) -> None:
    if leaves <= spine.most:
        return
    ways = ["three tiers (tiers: 3)" if unit.is_railed else "three tiers (shape: fat-tree)"]
    ways += [spine.wider() or "a spine with more ports"]
    if (room := most_down * unit.servers // unit.down) > unit.servers:
        ways += [f"up to {room} servers in a unit"]
    raise FabricError(
        "tiers",
        f"{leaves} leaves on two tiers need spines of as many ports, one for each leaf; {spine.has()}: {_any_of(ways)}",
    )


def _unit_wider_than_spine(unit: Unit, spine: Faceplate, spine_down: int, ratio: float) -> str:
    ways = [spine.wider() or "a spine with more ports", "a higher oversubscription of the spine"]
    return (
        f"a pod of one unit has {unit.leaves_to_join} leaves and needs as many ports down on a spine; {spine.has()}, "
        f"{spine_down} of them down at {ratio:g}:1: {_any_of(ways)}"
    )


def _beyond_three_tiers(servers: int, pods: int, units: int, unit: Unit, core: Faceplate) -> str:
    ways = [core.wider() or "a core switch with more ports", f"at most {core.most * units * unit.servers} servers"]
    return f"{servers} servers make {pods} pods, and a core switch needs a port for each; {core.has()}: {_any_of(ways)}"


def _any_of(ways: list[str]) -> str:
    distinct = list(dict.fromkeys(ways))
    return "try " + ", or ".join(distinct)
