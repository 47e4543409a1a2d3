"""From a plan to a fabric: checks what shapes cannot see, sizes the shape, and has its tables laid.

Not here: the sizing rules (`shapes`) and the laying of tables (`lay`).
"""

from __future__ import annotations

import math
from dataclasses import replace

from eastwest.fabric import frontend
from eastwest.fabric.equipment import Equipment
from eastwest.fabric.faceplate import Faceplate, faceplate
from eastwest.fabric.lay import lay
from eastwest.fabric.network import wire
from eastwest.fabric.plan import LONGEST_CABLE_M, TIERS, FabricError, FabricPlan, Shape, Sites, Tier, in_gbps
from eastwest.fabric.shapes import (
    Switches,
    Wiring,
    dragonfly_plus,
    fat_tree,
    in_planes,
    in_sites,
    leaf_spine,
    mesh,
    ports_for_borders,
    rail_only,
    rail_optimized,
    single_switch,
    torus,
)
from eastwest.fabric.tables import Fabric

SHAPE_TIERS: dict[Shape, tuple[int, ...]] = {
    "single-switch": (1,),
    "leaf-spine": (2,),
    "fat-tree": (2, 3),
    "rail-optimized": (2, 3),
    "rail-only": (1, 2, 3),
    "mesh": (1,),
    "torus": (1,),
    "dragonfly-plus": (2,),
    "scheduled": (2,),
    "custom": (),
}
"""Shapes by name, each with the numbers of tiers that it can have."""

SHAPES_WITH_SITES: tuple[Shape, ...] = ("single-switch", "leaf-spine", "fat-tree", "rail-optimized")


def build(plan: FabricPlan) -> Fabric:
    """The fabric that a plan asks for; `FabricError` names the entry at fault where it cannot be built.

    Raises `MistakesError` with what is wrong in the network file of a custom one.
    """
    _check_tiers(plan)
    _check_counts(plan)
    _check_server(plan)
    _check_planes(plan)
    _check_rates(plan)
    _check_technology(plan)
    _check_cells(plan)
    frontend.check(plan)
    if plan.network is not None:
        return lay(plan, *frontend.separate(plan, *wire(plan, plan.network)))
    plates = {tier: _faceplate(plan, tier) for tier in _tiers_that_may_be_needed(plan)}
    wiring = in_planes(frontend.shared(plan, _at_sites(plan, plates)), plan.planes)
    if plan.ratio("spine") != 1.0 and not any(cables.lower == "spine" for cables in wiring.cables):
        raise FabricError(
            "oversubscription",
            "the spines of this fabric have nothing above them: leave out their ratio, or ask for 3 tiers",
        )
    if plan.links_per_pair is not None and not any(cables.ends.size for cables in wiring.cables):
        alone = f"one leaf has room for all {plan.servers} servers, and no pair to join"
        raise FabricError("links_per_pair", f"{alone}: leave links_per_pair out, or set servers_per_unit")
    equipment = {tier: _equipment(plan, plates[tier], of) for tier, of in wiring.tiers.items()}
    return lay(plan, *frontend.separate(plan, wiring, equipment))


def _equipment(plan: FabricPlan, plate: Faceplate, switches: Switches) -> Equipment:
    return Equipment.alike(plan.switch(plate.tier), plate.front(switches.down, switches.up), len(switches))


def _at_sites(plan: FabricPlan, plates: dict[Tier, Faceplate]) -> Wiring:
    """The wiring of one plane, at all sites: its top tier as large as leaves it ports for the borders."""
    sites = plan.sites
    if sites is None:
        return _wire(plan, plates)
    of_site, reserving = replace(plan, servers=plan.servers // sites.count), dict(plates)
    while True:
        one = _wire(of_site, reserving)
        top = list(one.tiers)[-1]
        needed = ports_for_borders(one, sites.count, sites.links, plates["border"])
        if plates[top].fits(one.tiers[top].down, one.tiers[top].up + needed):
            return in_sites(one, sites.count, sites.links, plates["border"])
        if reserving[top].reserved >= needed:
            raise FabricError("sites", f"no {top} tier leaves ports for {needed} cables a switch to its borders")
        reserving[top] = replace(reserving[top], reserved=needed)


def _wire(plan: FabricPlan, plates: dict[Tier, Faceplate]) -> Wiring:
    nics, leaf = plan.server.nics, plates["leaf"]
    servers, beside = frontend.places(plan)
    ratios = (plan.ratio("leaf"), plan.ratio("spine"))
    if plan.shape == "single-switch":
        return single_switch(servers, nics + beside, leaf)
    if plan.shape == "mesh":
        return mesh(plan.servers, nics, leaf, plan.links_per_pair or 1, plan.servers_per_unit)
    if plan.shape == "torus":
        return torus(plan.servers, nics, leaf, plan.dims or (), plan.links_per_pair or 1)
    spine = plates.get("spine", leaf)
    if plan.shape == "dragonfly-plus":
        groups, links = plan.groups or 0, plan.links_per_pair
        return dragonfly_plus(plan.servers, nics, leaf, spine, groups, ratios, plan.servers_per_unit, links)
    if plan.shape in ("rail-optimized", "rail-only"):
        core = plates.get("core", spine)
        tiers = plan.tiers if plan.servers_per_pod is None else 3
        sizes = (ratios, plan.servers_per_unit, tiers, plan.servers_per_pod)
        if plan.shape == "rail-only":
            return rail_only(servers, nics, leaf, spine, core, *sizes)
        return rail_optimized(servers, nics, leaf, spine, core, *sizes, beside)
    if plan.shape in ("leaf-spine", "scheduled") or plan.tiers == 2:
        return leaf_spine(servers, nics + beside, leaf, spine, ratios[0], plan.servers_per_unit)
    return fat_tree(
        servers, nics + beside, leaf, spine, plates["core"], ratios, plan.servers_per_unit, plan.servers_per_pod
    )


def _tiers_that_may_be_needed(plan: FabricPlan) -> tuple[Tier, ...]:
    if plan.shape == "custom":
        return ()
    most = max(SHAPE_TIERS[plan.shape]) if plan.tiers is None else plan.tiers
    return (*TIERS[:most], "border") if plan.sites is not None else TIERS[:most]


def _faceplate(plan: FabricPlan, tier: Tier) -> Faceplate:
    up_bps = plan.between_switches_bps
    if tier == "leaf":
        down_bps = plan.port_bps
        up_bps = down_bps if _is_alone(plan) and plan.sites is None else up_bps
    else:
        down_bps = up_bps
        up_bps = plan.cable_bps("border-border") if tier == "border" else up_bps
    return faceplate(tier, plan.switch(tier), down_bps, up_bps, plan.breakout.get(tier))


def _check_sites(plan: FabricPlan, sites: Sites) -> None:
    if plan.shape not in SHAPES_WITH_SITES:
        raise FabricError("sites", f"sites are for {', '.join(SHAPES_WITH_SITES)}, not for {plan.shape}")
    if sites.count < 2 or sites.links < 1 or not 0 <= sites.distance_m <= LONGEST_CABLE_M:
        raise FabricError(
            "sites", "two sites or more are joined, each two by one link or more, at most 20,000 km apart"
        )
    if "border-border" in plan.cable_lengths_m:
        raise FabricError("cables", "how far apart sites are is told by their distance: leave out border-border")
    if plan.servers % sites.count:
        more = -(-plan.servers // sites.count) * sites.count
        raise FabricError("sites", f"{plan.servers} servers do not split evenly over {sites.count} sites: try {more}")


def _is_alone(plan: FabricPlan) -> bool:
    """Whether leaves are joined with no other switch."""
    return plan.shape == "single-switch" or (plan.shape == "rail-only" and plan.tiers == 1)


def _check_counts(plan: FabricPlan) -> None:
    if plan.servers < 1:
        raise FabricError("servers", f"a fabric joins at least one server, not {plan.servers}")
    if plan.servers_per_unit is not None and plan.servers_per_unit < 1:
        raise FabricError("servers_per_unit", f"a unit holds at least one server, not {plan.servers_per_unit}")
    if plan.servers_per_pod is not None and plan.servers_per_pod < 1:
        raise FabricError("servers_per_pod", f"a pod holds at least one server, not {plan.servers_per_pod}")
    if plan.shape == "torus" and (plan.dims is None or len(plan.dims) not in (2, 3) or min(plan.dims) < 2):
        raise FabricError("dims", "a torus has two or three dimensions, each of at least 2 switches, as in [4, 4, 2]")
    if plan.shape == "dragonfly-plus" and (plan.groups is None or plan.groups < 2):
        raise FabricError("groups", "a dragonfly-plus has at least 2 groups")
    if plan.sites is not None:
        _check_sites(plan, plan.sites)
    if plan.links_per_pair is not None and plan.links_per_pair < 1:
        raise FabricError("links_per_pair", f"at least one cable joins a pair, not {plan.links_per_pair}")
    for tier, ratio in plan.oversubscription.items():
        if not (math.isfinite(ratio) and ratio > 0):
            raise FabricError(
                "oversubscription", f"the {tier}'s is a ratio above 0, such as 4 (for 4:1), not {ratio:g}"
            )
    for tiers, length_m in plan.cable_lengths_m.items():
        if not 0 <= length_m <= LONGEST_CABLE_M:
            longest = f"{LONGEST_CABLE_M / 1e3:g} km (half around the world)"
            raise FabricError("cables", f"a {tiers} cable is from 0 m to {longest} long, not {length_m:g} m")


def _check_server(plan: FabricPlan) -> None:
    server = plan.server
    if server.gpus < 1 or server.nics < 1:
        raise FabricError(
            "server",
            f"{server.name} has {server.gpus} GPUs and {server.nics} NICs; a fabric needs at least one of each",
        )
    if server.gpus % server.nics and server.nics % server.gpus:
        raise FabricError(
            "server",
            f"{server.gpus} GPUs of {server.name} cannot share {server.nics} NICs evenly: one number must divide "
            f"the other",
        )


def _check_technology(plan: FabricPlan) -> None:
    technology = plan.link_layer.technology
    if technology not in plan.nic.technologies:
        raise FabricError(
            "nic", f"{plan.nic.name} speaks {', '.join(plan.nic.technologies)}; the fabric is {technology}"
        )
    for tier in _tiers_that_may_be_needed(plan):
        switch = plan.switch(tier)
        if technology not in switch.technologies:
            carried = ", ".join(switch.technologies)
            raise FabricError("switch", f"the {tier} switch {switch.name} speaks {carried}; the fabric is {technology}")


def _check_cells(plan: FabricPlan) -> None:
    """A scheduled fabric, and no other, is made of leaves and elements that speak cells."""
    for tier in _tiers_that_may_be_needed(plan):
        switch = plan.switch(tier)
        if plan.shape != "scheduled" and switch.cell_cages:
            raise FabricError(
                "switch", f"{switch.name} speaks cells on {switch.cell_cages} cages: try shape: scheduled"
            )
        if plan.shape == "scheduled" and not (switch.cell_cages and (switch.packet_cages == 0) == (tier == "spine")):
            wanted = "a leaf with cages for packets and for cells" if tier == "leaf" else "an element of cells alone"
            parts = "{ leaf: jericho3-ai-18x800g, spine: ramon3-64x800g }"
            raise FabricError("switch", f"the {tier} of a scheduled fabric is {wanted}, not {switch.name}: try {parts}")
    if plan.shape == "scheduled" and plan.planes > 1:
        raise FabricError("planes", "a scheduled fabric is one plane: its leaves spread cells over all elements")


def _check_rates(plan: FabricPlan) -> None:
    for name, rate_bps in (("link", plan.link_bps), ("uplink", plan.between_switches_bps)):
        if not (math.isfinite(rate_bps) and rate_bps > 0):
            raise FabricError(name, f"a rate is above 0, such as 400 Gb/s, not {in_gbps(rate_bps)}")
    nic, has_planes = plan.nic, plan.planes > 1
    speeds = ", ".join(in_gbps(speed) for speed in sorted(nic.port_speeds_bps))
    if plan.link_bps > nic.port_bps or (not has_planes and plan.link_bps not in nic.port_speeds_bps):
        raise FabricError(
            "link",
            f"the NIC {nic.name} does not run at {in_gbps(plan.link_bps)}; it runs {speeds}: choose one of these or "
            f"another NIC",
        )
    if plan.port_bps not in nic.port_speeds_bps:
        raise FabricError(
            "planes",
            f"{plan.planes} planes leave {in_gbps(plan.port_bps)} of {in_gbps(plan.link_bps)} for each port of the NIC "
            f"{nic.name}, which runs {speeds}",
        )


def _check_planes(plan: FabricPlan) -> None:
    most = plan.nic.max_planes
    if plan.planes < 1:
        raise FabricError("planes", f"a NIC has at least one port, on one plane, not {plan.planes}")
    if plan.planes > most:
        can = f"its port into {most} at most" if most > 1 else "no port"
        raise FabricError(
            "planes",
            f"the NIC {plan.nic.name} splits {can}, and {plan.planes} planes take a port each: try another NIC",
        )


def _check_tiers(plan: FabricPlan) -> None:
    if plan.shape not in SHAPE_TIERS:
        raise FabricError("shape", f"there is no shape {plan.shape!r}; there are {', '.join(SHAPE_TIERS)}")
    tiers = SHAPE_TIERS[plan.shape]
    if (plan.shape == "custom") != (plan.network is not None):
        raise FabricError("network", "a custom fabric, and no other, has a network file")
    if plan.tiers is not None and plan.tiers not in tiers:
        can = " or ".join(str(number) for number in tiers)
        others = " or ".join(shape for shape, has in SHAPE_TIERS.items() if plan.tiers in has)
        ways = f": try {others}" if others else ""
        raise FabricError("tiers", f"{plan.shape} has {can}, not {plan.tiers}{ways}")
    if plan.servers_per_pod is not None and (3 not in tiers or plan.tiers in (1, 2)):
        here = f"{plan.tiers} tiers have" if 3 in tiers else f"{plan.shape} has"
        raise FabricError("servers_per_pod", f"pods stand on three tiers, and {here} none: try fat-tree or tiers: 3")
