"""Bisection: what the worst even cut of a fabric leaves, by the rule of its shape.

Finding the worst cut of any graph is too hard to compute; each shape has a closed form. Not here: what traffic makes of
it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from eastwest.fabric.tables import Fabric


def bisection_bps(
    fabric: Fabric, rate_bps: Mapping[str, float], leaves: int, pods: int, networks: int, sites: int
) -> float | None:
    """Line-rate capacity, one direction, of the worst cut that leaves half of the NICs on either side.

    Half of the narrowest stage, the stages being the NICs, the links up from leaves and those up from spines: a stage
    counts only where an even cut has to cross it, leaf uplinks with more leaves than networks, spine uplinks with more
    than one pod. Where switches of a tier are joined with each other, also what crosses between halves of the leaves of
    a mesh, of the groups of a dragonfly-plus, of the sites, or of a torus along its longest dimension; an odd number of
    these is cut as evenly as it can be.

    `rate_bps` is the capacity of all cables by pair of tiers. Networks that are apart are cut each for itself, and the
    sum counts. A custom network has no rule: None.
    """
    stages = [rate_bps.get("server-leaf", 0.0)]
    shape = fabric.plan.get("shape")
    if shape == "custom":
        return None
    if "leaf-spine" in rate_bps and leaves > networks:
        stages.append(rate_bps["leaf-spine"])
    if shape == "dragonfly-plus":
        stages.append(2 * _between_halves(rate_bps["spine-spine"], pods))
    elif pods > 1:
        stages.append(rate_bps.get("spine-core", 0.0))
    if "border-border" in rate_bps:
        stages.append(2 * _between_halves(rate_bps["border-border"], sites))
    planes = fabric.plan.get("planes", 1)
    if shape == "mesh":
        stages.append(2 * _between_halves(rate_bps.get("leaf-leaf", 0.0), leaves // planes))
    elif shape == "torus":
        stages.append(2 * _across_rings(rate_bps["leaf-leaf"], fabric.plan["dims"]))
    return min(stages) / 2


def _between_halves(rate_bps: float, members: int) -> float:
    """Of the capacity that joins every two of so many, what joins those of one half with those of the other."""
    pairs = members * (members - 1) // 2
    return rate_bps * (members // 2) * (members - members // 2) / pairs if pairs else rate_bps


def _across_rings(rate_bps: float, dims: list[int]) -> float:
    """Of a torus' capacity, what crosses a cut through the rings of its longest dimension, each in two places."""
    longest = max(dims)
    cables = sum(1 if size > 2 else 0.5 for size in dims)  # a switch, of each dimension
    return rate_bps / cables / longest * (2 if longest > 2 else 1)


def capacity_bps(fabric: Fabric) -> dict[str, float]:
    """Line rate of all cables of each pair of tiers."""
    return {str(tiers): float(rate) for tiers, rate in fabric.cables.group_by("tiers").agg(pl.sum("rate_bps")).rows()}
