"""Shapes of fabrics: functions of plain values that say how many switches there are and what joins what."""

from eastwest.fabric.shapes.dragonfly_plus import dragonfly_plus
from eastwest.fabric.shapes.fat_tree import fat_tree
from eastwest.fabric.shapes.leaf_spine import leaf_spine
from eastwest.fabric.shapes.mesh import mesh
from eastwest.fabric.shapes.planes import in_planes
from eastwest.fabric.shapes.rail_only import rail_only
from eastwest.fabric.shapes.rail_optimized import rail_optimized
from eastwest.fabric.shapes.single_switch import single_switch
from eastwest.fabric.shapes.sites import in_sites, ports_for_borders
from eastwest.fabric.shapes.torus import torus
from eastwest.fabric.shapes.wiring import Cables, Details, Hosts, Indices, Switches, Wiring, pair_of, switches

__all__ = [
    "Cables",
    "Details",
    "Hosts",
    "Indices",
    "Switches",
    "Wiring",
    "dragonfly_plus",
    "fat_tree",
    "in_planes",
    "in_sites",
    "leaf_spine",
    "mesh",
    "pair_of",
    "ports_for_borders",
    "rail_only",
    "rail_optimized",
    "single_switch",
    "switches",
    "torus",
]
