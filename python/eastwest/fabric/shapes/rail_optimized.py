"""Rail-optimized: NIC r of every server in a unit on the unit's leaf r, so GPUs of one rail are one switch apart."""

from __future__ import annotations

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.clos import Unit, clos, fits_two_tiers
from eastwest.fabric.shapes.wiring import Wiring


def rail_optimized(
    servers: int,
    nics: int,
    leaf: Faceplate,
    spine: Faceplate,
    core: Faceplate,
    ratios: tuple[float, float] = (1.0, 1.0),
    servers_per_unit: int | None = None,
    tiers: int | None = None,
) -> Wiring:
    """Units of servers with one leaf a rail, on two tiers where they fit (or `tiers` says so), else three in pods.

    `ratios` are the oversubscription of leaf and spine; errors as `clos`.
    """
    size = servers_per_unit or leaf.most_down(ratios[0])
    if size == 0:
        raise FabricError("switch", f"a leaf needs a port down and one up; {leaf.has()}: try a switch with more ports")
    unit = Unit(servers=size, leaf_of_nic=tuple(range(nics)), is_railed=True)
    two = tiers == 2 or (tiers is None and fits_two_tiers(servers, unit, spine))
    return clos(servers, unit, leaf, spine, None if two else core, ratios)
