"""The fabric: one network as flat tables, built from a plan, written to a folder and read back unchanged.

from eastwest import fabric

built = fabric.build(fabric.FabricPlan(...))
fabric.summary(built)["switches"]        # {"leaf": 32, "spine": 16, "core": 0}
fabric.write(built, "fabrics/roce-400g")
"""

from eastwest.fabric.addressing import addresses
from eastwest.fabric.build import build
from eastwest.fabric.check import faults
from eastwest.fabric.export import to_networkx
from eastwest.fabric.failures import (
    Damage,
    Failure,
    FailureError,
    LinksDown,
    PartDown,
    PlaneDown,
    SomeLinksDown,
    cut_off,
    damage,
    fail,
    without,
)
from eastwest.fabric.network import read_network, write_network
from eastwest.fabric.placement import Part, Placement, by_rail, packed, parted, place, scattered, servers
from eastwest.fabric.plan import (
    CABLE_LENGTHS_M,
    FRONTEND_TIERS,
    TIERS,
    FabricError,
    FabricPlan,
    Frontend,
    FrontendNetwork,
    Shape,
    Sites,
    Storage,
    Tier,
    TierPair,
)
from eastwest.fabric.routes import Routes, read_routes, write_routes
from eastwest.fabric.store import read, write
from eastwest.fabric.summary import summary
from eastwest.fabric.tables import HOST_TIERS, NODE_KINDS, Fabric

__all__ = [
    "CABLE_LENGTHS_M",
    "FRONTEND_TIERS",
    "HOST_TIERS",
    "NODE_KINDS",
    "TIERS",
    "Damage",
    "Fabric",
    "FabricError",
    "FabricPlan",
    "Failure",
    "FailureError",
    "Frontend",
    "FrontendNetwork",
    "LinksDown",
    "Part",
    "PartDown",
    "Placement",
    "PlaneDown",
    "Routes",
    "Shape",
    "Sites",
    "SomeLinksDown",
    "Storage",
    "Tier",
    "TierPair",
    "addresses",
    "build",
    "by_rail",
    "cut_off",
    "damage",
    "fail",
    "faults",
    "packed",
    "parted",
    "place",
    "read",
    "read_network",
    "read_routes",
    "scattered",
    "servers",
    "summary",
    "to_networkx",
    "without",
    "write",
    "write_network",
    "write_routes",
]
