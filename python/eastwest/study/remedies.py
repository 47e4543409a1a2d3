"""What to write instead where the engine refuses a step on a fabric.

Not here: what is refused (the engine), or what is wrong whatever the fabric (`spec`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eastwest.engine import EngineError, UnreachableError
from eastwest.fabric import Fabric
from eastwest.study import tuning
from eastwest.workload import Collective, Step

Gpus = npt.NDArray[np.uint32]

_JOINING = {
    "rail-only": "; write shape: rail-optimized, whose spines join rails and units",
    "custom": "; cable these NICs to a common network in its file",
}
"""By shape, what would join ranks that have no path although nothing has failed."""


def remedy(step: Step, gpus: Gpus, fabric: Fabric, error: EngineError) -> str:
    """What to write instead where the engine refuses a step, in a few words; empty where nothing plain would help."""
    collectives = [each for each in step.operations if isinstance(each, Collective)]
    if isinstance(error, UnreachableError):
        is_direct = any((each.kind, each.algorithm) == ("all-to-all", "direct") for each in collectives)
        if is_direct and _has_whole_rails(fabric):
            return "; write algorithm: pxn, which passes data over NVLink to the GPU on the receiver's rail"
        return "" if fabric.plan.get("failures") else _JOINING.get(str(fabric.plan.get("shape")), "")
    node = tuning.node_of_rank(fabric, gpus)
    for each in collectives:
        counts = (np.unique(node[group], return_counts=True)[1] for group in each.groups)
        if each.algorithm.startswith("hierarchical") and any(np.ptp(count) for count in counts):
            return "; write algorithm: ring, which takes any number"
    return ""


def _has_whole_rails(fabric: Fabric) -> bool:
    """Whether a fabric is rail-only, and joins all NICs of a rail."""
    if fabric.plan.get("shape") != "rail-only":
        return False
    tiers = fabric.nodes["tier"]
    rails = int(fabric.plan["server"]["nics"]) * int(fabric.plan["planes"])
    return bool((tiers == "spine").any()) or int((tiers == "leaf").sum()) <= rails
