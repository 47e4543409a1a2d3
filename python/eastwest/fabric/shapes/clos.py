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
from eastwest.fabric.shapes.wiring import Indices, Switches, Wiring, switches


@dataclass(frozen=True)
class Unit:
    """Servers that share the same leaves, when full.

    `leaf_of_nic` says which of the unit's leaves each NIC of a server joins; `is_railed`, that these are rails.
    """

    servers: int
    leaf_of_nic: tuple[int, ...]
    is_railed: bool

    @property
    def leaves(self) -> int:
        """Leaves of a unit."""
        return max(self.leaf_of_nic) + 1

    @property
    def down(self) -> int:
        """Ports down that a leaf of a full unit needs."""
        return self.servers * max(self.leaf_of_nic.count(leaf) for leaf in range(self.leaves))


def clos(
    servers: int, unit: Unit, leaf: Faceplate, spine: Faceplate, core: Faceplate | None, ratios: tuple[float, float]
) -> Wiring:
    """Two tiers, or three with `core`: units of servers, all alike and filled as evenly as their number allows.

    Three tiers stand in pods, each of whole units and its own spines; spine j of every pod joins core group j.
    `ratios` are the oversubscription of leaf and spine.

    Raises `FabricError` on "servers_per_unit" where a leaf lacks ports, on "tiers" or "servers" where the tiers above
    cannot reach so many leaves.
    """
    up = leaf.uplinks(unit.down, ratios[0])
    if not leaf.fits(unit.down, up):
        raise FabricError("servers_per_unit", _unit_too_large(unit, up, leaf, ratios[0]))
    units = -(-servers // unit.servers)
    if core is None:
        pods, spine_down = 1, spine.most
        _refuse_beyond_two_tiers(units * unit.leaves, unit, leaf.most_down(ratios[0]), spine)
    else:
        spine_down = spine.most_down(ratios[1])
        if unit.leaves > spine_down:
            raise FabricError("switch", _unit_wider_than_spine(unit, spine, spine_down, ratios[1]))
        pods = -(-units // (spine_down // unit.leaves))
    pod_of_unit = _in_order(units, pods)
    leaves_of_pod = unit.leaves * int(np.bincount(pod_of_unit).max())
    spines = fewest_that_divide(up, leaves_of_pod * up, spine_down)
    spine_ports = leaves_of_pod * up // spines

    pod_of_leaf = np.repeat(pod_of_unit, unit.leaves)
    spine_up, cores, spine_core = 0, 0, np.empty((2, 0), dtype=np.int32)
    if core is not None:
        spine_up = spine.uplinks(spine_ports, ratios[1])
        if pods > core.most:
            raise FabricError("servers", _beyond_three_tiers(servers, pods, spine_down // unit.leaves, unit, core))
        cores = fewest_that_divide(spine_up, pods * spine_up, core.most)
        spine_core = _bundles(np.tile(np.arange(spines, dtype=np.int32), pods), cores, spine_up)
    unit_of_server = _in_order(servers, units)
    place = pod_of_unit if core is not None else np.full(units, -1, dtype=np.int32)
    tiers: dict[Tier, Switches] = {
        "leaf": _leaves(unit, place, up),
        "spine": _spines(pods, spines, spine_ports, spine_up, in_pods=core is not None),
    }
    if core is not None:
        tiers["core"] = _cores(spines, cores, pods * spine_up // cores)
    return Wiring(
        unit_of_server=unit_of_server if unit.is_railed else np.full(servers, -1, dtype=np.int32),
        pod_of_server=place[unit_of_server],
        leaf_of_nic=unit_of_server[:, None] * unit.leaves + np.array(unit.leaf_of_nic, dtype=np.int32),
        tiers=tiers,
        leaf_spine=_bundles(pod_of_leaf, spines, up),
        spine_core=spine_core,
    )


def fits_two_tiers(servers: int, unit: Unit, spine: Faceplate) -> bool:
    """Whether every leaf can reach every spine: a spine needs a port for each leaf."""
    return -(-servers // unit.servers) * unit.leaves <= spine.most


def fewest_that_divide(uplinks: int, cables: int, ports: int) -> int:
    """The fewest switches of `ports` ports that carry `cables` and over which a switch spreads its `uplinks` evenly.

    32 leaves with 72 uplinks each on spines of 144 ports: 16 would carry them, 18 is the next that divides 72.
    """
    return next(n for n in range(-(-cables // ports), uplinks + 1) if uplinks % n == 0)


def _in_order(items: int, groups: int) -> Indices:
    """Group of each item, in order, the first groups one larger where the items do not divide."""
    sizes = items // groups + (np.arange(groups) < items % groups)
    return np.repeat(np.arange(groups, dtype=np.int32), sizes)


def _bundles(block_of_lower: Indices, uppers: int, uplinks: int) -> Indices:
    """Cables from each lower switch to the `uppers` switches of its block, uplinks / uppers in parallel to each."""
    lower = np.repeat(np.arange(len(block_of_lower), dtype=np.int32), uplinks)
    within = np.tile(np.repeat(np.arange(uppers, dtype=np.int32), uplinks // uppers), len(block_of_lower))
    return np.stack([lower, block_of_lower[lower] * np.int32(uppers) + within])


def _leaves(unit: Unit, pod_of_unit: Indices, up: int) -> Switches:
    units = len(pod_of_unit)
    pod = np.repeat(pod_of_unit, unit.leaves)
    if not unit.is_railed:
        return switches(units * unit.leaves, unit.down, up, pod=pod)
    rail = np.tile(np.arange(unit.leaves, dtype=np.int32), units)
    of_unit = np.repeat(np.arange(units, dtype=np.int32), unit.leaves)
    return switches(units * unit.leaves, unit.down, up, unit=of_unit, pod=pod, rail=rail)


def _spines(pods: int, spines: int, down: int, up: int, *, in_pods: bool) -> Switches:
    if not in_pods:
        return switches(spines, down, up)
    pod = np.repeat(np.arange(pods, dtype=np.int32), spines)
    return switches(pods * spines, down, up, pod=pod, group=np.tile(np.arange(spines, dtype=np.int32), pods))


def _cores(groups: int, cores: int, down: int) -> Switches:
    return switches(groups * cores, down, 0, group=np.repeat(np.arange(groups, dtype=np.int32), cores))


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
        f"a pod of one unit has {unit.leaves} leaves and needs as many ports down on a spine; {spine.has()}, "
        f"{spine_down} of them down at {ratio:g}:1: {_any_of(ways)}"
    )


def _beyond_three_tiers(servers: int, pods: int, units: int, unit: Unit, core: Faceplate) -> str:
    ways = [core.wider() or "a core switch with more ports", f"at most {core.most * units * unit.servers} servers"]
    return f"{servers} servers make {pods} pods, and a core switch needs a port for each; {core.has()}: {_any_of(ways)}"


def _any_of(ways: list[str]) -> str:
    distinct = list(dict.fromkeys(ways))
    return "try " + ", or ".join(distinct)
