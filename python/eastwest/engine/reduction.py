"""What the switches of a fabric add up on the way: those of NVLink, and those of the scale-out network.

From the catalogue, by way of the plan that a fabric keeps. How such collectives are carried out is the engine's matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eastwest.workload import NVLINK_SHARP, SHARP, Collective

ABLE = "an InfiniBand switch such as qm9700 or q3400"
"""Where to find a scale-out switch that adds up, for messages."""


@dataclass(frozen=True)
class Reduction:
    """What a fabric's switches can add up.

    `nvlink_sharp` is the part of NVLink's rate that is reached where the NVLink switch of `gpu` adds up or copies; None
    where it does neither. `unable` names the scale-out switches that do not.
    """

    gpu: str
    nvlink_sharp: float | None
    unable: tuple[str, ...]

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> Reduction:
        """What a fabric with this plan has."""
        gpu = plan.get("server", {}).get("gpu", {})
        switches = plan.get("switches", {}).values()
        unable = tuple(dict.fromkeys(str(each["name"]) for each in switches if not each.get("in_network_reduction")))
        return cls(str(gpu.get("name", "?")), gpu.get("nvlink_sharp"), unable)

    def nvlink_part(self, collective: Collective) -> float:
        """The part of NVLink's rate that a collective reaches by way of the NVLink switch.

        Raises:
            ValueError: a switch that must add up cannot; names it and the operation.
        """
        by = f"operation '{collective.name}' by {collective.algorithm}"
        if collective.algorithm in SHARP and self.unable:
            raise ValueError(
                f"{by} needs switches that add up on the way (in_network_reduction in the catalogue), which "
                f"{' and '.join(self.unable)} cannot: try {ABLE}, or algorithm: rail-ring, which needs none"
            )
        if collective.algorithm not in NVLINK_SHARP:
            return 1.0
        if self.nvlink_sharp is None:
            raise ValueError(
                f"{by} needs an NVLink switch that adds up (nvlink_sharp in the catalogue), "
                f"which {self.gpu} does not have: try algorithm: rail-ring, which needs none"
            )
        return self.nvlink_sharp
