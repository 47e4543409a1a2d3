"""Leaf-spine: two tiers, servers filling leaves in order, each with all its NICs on one leaf where they fit."""

from __future__ import annotations

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.clos import Unit, clos
from eastwest.fabric.shapes.wiring import Wiring


def leaf_spine(
    servers: int, nics: int, leaf: Faceplate, spine: Faceplate, ratio: float = 1.0, servers_per_leaf: int | None = None
) -> Wiring:
    """`servers` of `nics` NICs on as few leaves as hold them; errors as `clos`."""
    return clos(servers, whole_servers(nics, leaf, ratio, servers_per_leaf), leaf, spine, None, (ratio, 1.0))


def whole_servers(nics: int, leaf: Faceplate, ratio: float, servers_per_leaf: int | None) -> Unit:
    """As many servers as one leaf has ports for, or one server on as few leaves as hold its NICs."""
    room = leaf.most_down(ratio)
    if room == 0:
        raise FabricError("switch", f"a leaf needs a port down and one up; {leaf.has()}: try a switch with more ports")
    if servers_per_leaf is not None or nics <= room:
        return Unit(servers=servers_per_leaf or room // nics, leaf_of_nic=(0,) * nics, is_railed=False)
    leaves = -(-nics // room)
    return Unit(servers=1, leaf_of_nic=tuple(nic * leaves // nics for nic in range(nics)), is_railed=False)
