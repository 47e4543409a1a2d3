"""The front-end network: which switches the servers' front-end NICs and those of storage servers join.

Separate, it is a leaf-spine of its own, of access and aggregation switches. Shared, its NICs stand on the GPUs' leaves,
which have that many more ports down. Either way storage NICs take places as servers' NICs would. Not here: the nodes
behind the NICs (`hosts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from eastwest.fabric.equipment import Equipment
from eastwest.fabric.faceplate import Faceplate, faceplate
from eastwest.fabric.plan import FabricError, FabricPlan, Frontend, Shape, Tier, in_gbps
from eastwest.fabric.shapes import Cables, Hosts, Indices, Wiring, leaf_spine, single_switch

SHAPES_THAT_SHARE: tuple[Shape, ...] = ("single-switch", "leaf-spine", "fat-tree", "rail-optimized")


def check(plan: FabricPlan) -> None:
    """Refuses what the NICs and the network cannot do; `FabricError` on "frontend"."""
    frontend = plan.frontend
    if frontend is None:
        return
    nic, technology = frontend.nic, frontend.link_layer.technology
    if frontend.nics < 1 or (frontend.storage is not None and min(frontend.storage.servers, frontend.storage.nics) < 1):
        raise FabricError("frontend", "a server, and one of storage, has at least one front-end NIC")
    if frontend.link_bps not in nic.port_speeds_bps:
        speeds = ", ".join(in_gbps(speed) for speed in sorted(nic.port_speeds_bps))
        shared = " that the leaves have" if frontend.network == "shared" else ""
        raise FabricError(
            "frontend",
            f"the NIC {nic.name} does not run at the {in_gbps(frontend.link_bps)}{shared}; it runs {speeds}: choose "
            f"one of these or another NIC",
        )
    if technology not in nic.technologies:
        raise FabricError("frontend", f"{nic.name} speaks {', '.join(nic.technologies)}; the network is {technology}")
    if frontend.network == "shared" and (
        plan.shape not in SHAPES_THAT_SHARE or plan.planes > 1 or plan.sites is not None
    ):
        raise FabricError(
            "frontend",
            f"{', '.join(SHAPES_THAT_SHARE[:-1])} and {SHAPES_THAT_SHARE[-1]} fabrics of one plane and one site share "
            "theirs with the front end: try network: separate",
        )
    for tier, switch in frontend.switches.items():
        if technology not in switch.technologies:
            speaks = ", ".join(switch.technologies)
            raise FabricError(
                "frontend", f"the {tier} switch {switch.name} speaks {speaks}; the network is {technology}"
            )


def places(plan: FabricPlan) -> tuple[int, int]:
    """Servers that the GPUs' leaves must have room for, and front-end NICs of each: more servers stand for storage."""
    frontend = plan.frontend
    if frontend is None or frontend.network == "separate":
        return plan.servers, 0
    return plan.servers + -(-frontend.storage_nics // (plan.server.nics + frontend.nics)), frontend.nics


def shared(plan: FabricPlan, wiring: Wiring) -> Wiring:
    """The wiring of `places`, of which front-end NICs have theirs: the last of each server, and those for storage."""
    servers, beside = places(plan)
    if not beside:
        return wiring
    leaf = wiring.leaf_of_port[:, :, 0]
    return replace(
        wiring,
        unit_of_server=wiring.unit_of_server[: plan.servers],
        pod_of_server=wiring.pod_of_server[: plan.servers],
        leaf_of_port=wiring.leaf_of_port[: plan.servers, : plan.server.nics],
        hosts=Hosts("leaf", leaf[: plan.servers, -beside:], _for_storage(plan.frontend, leaf[plan.servers : servers])),
    )


def separate(
    plan: FabricPlan, wiring: Wiring, equipment: Mapping[Tier, Equipment]
) -> tuple[Wiring, Mapping[Tier, Equipment]]:
    """The wiring and its devices with those of a separate front-end network, where the plan has one.

    Raises `FabricError` on "frontend" where the switches do not run its rates or cannot reach so many NICs.
    """
    frontend = plan.frontend
    if frontend is None or frontend.network != "separate":
        return wiring, equipment
    servers, nics = plan.servers + -(-frontend.storage_nics // frontend.nics), frontend.nics
    try:
        access, aggregation = _faceplates(frontend)
        if servers * nics <= access.most:
            alone = single_switch(servers, nics, access)
        else:
            _check_reach(servers * nics, access, aggregation, frontend.oversubscription)
            alone = leaf_spine(servers, nics, access, aggregation, frontend.oversubscription)
    except FabricError as error:
        raise FabricError("frontend", f"the front-end network: {error.message}") from None
    name: dict[Tier, Tier] = {"leaf": "access", "spine": "aggregation"}
    tiers = {name[tier]: of for tier, of in alone.tiers.items()}
    plates = {"access": access, "aggregation": aggregation}
    devices = {
        tier: Equipment.alike(plates[tier].switch, plates[tier].front(of.down, of.up), len(of))
        for tier, of in tiers.items()
    }
    leaf = alone.leaf_of_port[:, :, 0]
    return replace(
        wiring,
        tiers={**wiring.tiers, **tiers},
        cables=(*wiring.cables, *(Cables("access", "aggregation", each.ends) for each in alone.cables)),
        hosts=Hosts("access", leaf[: plan.servers], _for_storage(frontend, leaf[plan.servers :])),
    ), {**equipment, **devices}


def _for_storage(frontend: Frontend | None, leaf: Indices) -> Indices:
    """The places of servers that stand for storage, given to its NICs in order. Shape (storage servers, NICs)."""
    storage = None if frontend is None else frontend.storage
    if storage is None:
        return np.empty((0, 1), dtype=np.int32)
    return leaf.reshape(-1)[: storage.servers * storage.nics].reshape(storage.servers, storage.nics)


def _faceplates(frontend: Frontend) -> tuple[Faceplate, Faceplate]:
    if "access" not in frontend.switches:
        raise FabricError("frontend", "it needs a switch from the catalogue")
    switch = frontend.switches["access"]
    link_bps, up_bps = frontend.link_bps, frontend.between_switches_bps
    return (
        faceplate("access", switch, link_bps, up_bps, frontend.breakout),
        faceplate("aggregation", frontend.switches.get("aggregation", switch), up_bps, up_bps, frontend.breakout),
    )


def _check_reach(nics: int, access: Faceplate, aggregation: Faceplate, ratio: float) -> None:
    most = access.most_down(ratio) * aggregation.most
    if nics > most:
        raise FabricError(
            "frontend",
            f"{nics:,} NICs stand on it, and its two tiers reach {most:,} ({access.has()}): try switches with more "
            "ports, or a higher oversubscription",
        )
