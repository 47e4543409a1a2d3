"""The fabric: one network as flat tables, built from a plan, written to a folder and read back unchanged."""

from eastwest.fabric.build import build
from eastwest.fabric.plan import CABLE_LENGTHS_M, FabricError, FabricPlan
from eastwest.fabric.tables import NODE_KINDS, Fabric

__all__ = ["CABLE_LENGTHS_M", "NODE_KINDS", "Fabric", "FabricError", "FabricPlan", "build"]
