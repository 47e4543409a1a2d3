"""Rail-only: each rail a network of its own; GPUs of different rails meet over NVLink alone.

One tier joins the servers of a unit; two or three make each rail a Clos network, which is DeepSeek's multi-plane fat
tree (arXiv 2505.09343). The idea and the name: Wang et al., "Rail-only", arXiv 2307.12169.
"""

from __future__ import annotations

import numpy as np

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.clos import Unit, clos, fits_two_tiers, in_order, leaf_of_port, leaves_of_units
from eastwest.fabric.shapes.rail_optimized import thriftiest
from eastwest.fabric.shapes.wiring import Wiring


def rail_only(
    servers: int,
    nics: int,
    leaf: Faceplate,
    spine: Faceplate,
    core: Faceplate,
    ratios: tuple[float, float] = (1.0, 1.0),
    servers_per_unit: int | None = None,
    tiers: int | None = None,
    servers_per_pod: int | None = None,
) -> Wiring:
    """As few tiers as join all servers, or as many as `tiers` says; with one, nothing joins a unit with another.

    `ratios` are the oversubscription of leaf and spine; errors as `clos`, and on "servers_per_unit" where one tier's
    leaves have too few ports. Where no size of a unit is given, there are as few units as leaves have room for.
    """
    one_unit = servers_per_unit is None or servers_per_unit >= servers
    if tiers == 1 or (tiers is None and one_unit and leaf.fits(servers, 0)):
        return _one_tier(servers, nics, leaf, servers_per_unit)
    most = leaf.most_down(ratios[0])
    if servers_per_unit is None and most == 0:
        raise FabricError("switch", f"a leaf needs a port down and one up; {leaf.has()}: try a switch with more ports")
    size = servers_per_unit or thriftiest(servers, 1, most, leaf, spine, ratios[0])
    unit = Unit(servers=size, leaf_of_nic=tuple(range(nics)), is_railed=True, rails_are_apart=True)
    two = tiers == 2 or (tiers is None and fits_two_tiers(servers, unit, spine))
    return clos(servers, unit, leaf, spine, None if two else core, ratios, servers_per_pod)


def _one_tier(servers: int, nics: int, leaf: Faceplate, servers_per_unit: int | None) -> Wiring:
    size = servers_per_unit or min(servers, leaf.most)
    if not leaf.fits(size, 0):
        ways = [f"servers_per_unit of {leaf.most} or less", leaf.wider() or "a switch with more ports"]
        raise FabricError(
            "servers_per_unit",
            f"{size} servers in a unit need {size} ports on each rail's leaf; {leaf.has()}: try {', or '.join(ways)}",
        )
    units = -(-servers // size)
    unit = Unit(servers=size, leaf_of_nic=tuple(range(nics)), is_railed=True, rails_are_apart=True)
    unit_of_server = in_order(servers, units)
    nowhere = np.full(units, -1, dtype=np.int32)
    return Wiring(
        unit_of_server=unit_of_server,
        pod_of_server=nowhere[unit_of_server],
        leaf_of_port=leaf_of_port(unit_of_server, unit),
        tiers={"leaf": leaves_of_units(unit, nowhere, 0)},
    )
