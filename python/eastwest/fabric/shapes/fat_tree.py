"""Fat tree: three tiers in pods, servers filling leaves in order, each with all its NICs on one leaf where they fit."""

from __future__ import annotations

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.shapes.clos import clos
from eastwest.fabric.shapes.leaf_spine import whole_servers
from eastwest.fabric.shapes.wiring import Wiring


def fat_tree(
    servers: int,
    nics: int,
    leaf: Faceplate,
    spine: Faceplate,
    core: Faceplate,
    ratios: tuple[float, float] = (1.0, 1.0),
    servers_per_leaf: int | None = None,
    servers_per_pod: int | None = None,
) -> Wiring:
    """`servers` of `nics` NICs in as few pods as hold them; `ratios` of leaf and spine; errors as `clos`."""
    unit = whole_servers(nics, leaf, ratios[0], servers_per_leaf)
    return clos(servers, unit, leaf, spine, core, ratios, servers_per_pod)
