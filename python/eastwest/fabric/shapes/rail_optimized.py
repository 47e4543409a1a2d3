"""Rail-optimized: NIC r of every server in a unit on the unit's leaf r, so GPUs of one rail are one switch apart."""

from __future__ import annotations

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.clos import Unit, clos, fewest_that_divide, fits_two_tiers
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
    servers_per_pod: int | None = None,
    beside: int = 0,
) -> Wiring:
    """Units of servers with one leaf a rail, on two tiers where they fit (or `tiers` says so), else three in pods.

    `ratios` are the oversubscription of leaf and spine; errors as `clos`. Where no size of a unit is given, there are
    as few units as leaves have room for, of the size that needs the fewest spines. `beside` NICs more of each server
    are dealt out over the leaves of its unit.
    """
    most = leaf.most_down(ratios[0]) * nics // (nics + beside)
    if servers_per_unit is None and most == 0:
        raise FabricError("switch", f"a leaf needs a port down and one up; {leaf.has()}: try a switch with more ports")
    size = servers_per_unit or thriftiest(servers, nics, most, leaf, spine, ratios[0], beside)
    unit = Unit(servers=size, leaf_of_nic=tuple(range(nics)), is_railed=True, beside=beside)
    two = tiers == 2 or (tiers is None and fits_two_tiers(servers, unit, spine))
    return clos(servers, unit, leaf, spine, None if two else core, ratios, servers_per_pod)


def thriftiest(
    servers: int, nics: int, most: int, leaf: Faceplate, spine: Faceplate, ratio: float, beside: int = 0
) -> int:
    """Size of a unit, at most `most`, with the fewest units, then spines, then uplinks; `most` beyond two tiers.

    17 servers on 64 ports need 17 uplinks a leaf, which only 17 spines share evenly; a unit of 18 needs 3.
    """
    units = -(-servers // most)
    if units * nics > spine.most:
        return most

    def spines(size: int) -> int:
        up = leaf.uplinks(size + -(-size * beside // nics), ratio)
        return fewest_that_divide(up, units * nics * up, spine.most)

    return min(range(-(-servers // units), most + 1), key=lambda size: (spines(size), size))
