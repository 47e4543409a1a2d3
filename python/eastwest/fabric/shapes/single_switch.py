"""Single switch: every NIC on one leaf, nothing above it."""

from __future__ import annotations

import numpy as np

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.wiring import Wiring, switches


def single_switch(servers: int, nics: int, leaf: Faceplate) -> Wiring:
    """`servers` of `nics` NICs on one switch; `FabricError` on "switch" where it has too few ports."""
    needed = servers * nics
    if not leaf.fits(needed, 0):
        ways = "two tiers (leaf-spine or rail-optimized)"
        ways += f", or {leaf.wider()}" if leaf.wider() else ""
        raise FabricError(
            "switch",
            f"{servers} servers with {nics} NICs each need {needed} ports on a single switch; {leaf.has()}: try {ways}",
        )
    none = np.full(servers, -1, dtype=np.int32)
    return Wiring(
        unit_of_server=none,
        pod_of_server=none,
        leaf_of_port=np.zeros((servers, nics, 1), dtype=np.int32),
        tiers={"leaf": switches(1, needed, 0)},
    )
