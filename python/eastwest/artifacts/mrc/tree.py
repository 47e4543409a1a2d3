"""The tree that an MRC network is: which switches stand above which, by which cables, and where NICs plug in.

A source route climbs from the sender's leaf as far as it must and descends to the receiver's. That needs a folded Clos,
each plane one: leaves alike in what stands above them, or with nothing in common; what is no such tree is refused. Not
here: numbers (`numbering`) and which of the paths an entropy value takes (`paths`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import polars as pl

from eastwest.fabric.plan import FabricError, Tier
from eastwest.fabric.tables import Fabric

TIERS: tuple[Tier, ...] = ("leaf", "spine", "core")

Bundle = tuple[tuple[int, int], ...]
"""Cables between two switches, a lane each: numbers of the port of the lower and of the upper switch."""


@dataclass(frozen=True)
class Switch:
    """A switch of the tree; `plane` is 0 where there is but one network."""

    node: int
    name: str
    tier: Tier
    plane: int


@dataclass(frozen=True)
class Tree:
    """Switches by node number; bundles above and below each; and what the ports of NICs and of leaves face.

    `uppers` are the switches above each, in order. `leaf_of` is by node of the NIC and plane: the leaf and the number of its port. `nic_at` is by leaf and number of
    the port: the NIC and the plane.
    """

    switches: dict[int, Switch]
    above: dict[int, dict[int, Bundle]]
    below: dict[int, dict[int, Bundle]]
    uppers: dict[int, tuple[int, ...]]
    leaf_of: dict[tuple[int, int], tuple[int, int]]
    nic_at: dict[int, dict[int, tuple[int, int]]]

    def lanes(self, switch: int) -> int:
        """Cables of the widest bundle that ends at a switch: the locators that it needs. One at least."""
        joined = [*self.above[switch].values(), *self.below[switch].values()]
        return max((len(bundle) for bundle in joined), default=1)


def tree(fabric: Fabric) -> Tree:
    """The tree of a fabric's leaves, spines and cores. Front-end networks of their own stay out.

    Raises `FabricError` on "shape" where cables run within a tier or pass one over, or where switches share some of
    those above them and not others; on "sites" where there are several.
    """
    switches = _switches(fabric)
    bundles, plugs = _cables(fabric, switches)
    above: dict[int, dict[int, Bundle]] = {node: {} for node in switches}
    below: dict[int, dict[int, Bundle]] = {node: {} for node in switches}
    for (lower, upper), cables in bundles.items():
        above[lower][upper] = below[upper][lower] = tuple(sorted(cables))
    _refuse_uneven(switches, above)
    leaf_of = {}
    nic_at: dict[int, dict[int, tuple[int, int]]] = {node: {} for node, at in switches.items() if at.tier == "leaf"}
    for nic, plane, leaf, number in plugs:
        leaf_of[nic, plane] = (leaf, number)
        nic_at[leaf][number] = (nic, plane)
    uppers = {node: tuple(sorted(joined)) for node, joined in above.items()}
    return Tree(switches, above, below, uppers, leaf_of, nic_at)


def _switches(fabric: Fabric) -> dict[int, Switch]:
    if (fabric.nodes["site"] >= 0).any():
        raise FabricError("sites", "an address carries six uSIDs, too few for a path between sites: build each alone")
    rows = fabric.nodes.filter((pl.col("kind") == "switch") & pl.col("tier").is_in(TIERS))
    named = rows.select("node", "name", "tier", "plane").iter_rows()
    return {node: Switch(node, name, tier, max(plane, 0)) for node, name, tier, plane in named}


def _cables(
    fabric: Fabric, switches: dict[int, Switch]
) -> tuple[dict[tuple[int, int], list[tuple[int, int]]], list[tuple[int, int, int, int]]]:
    """Bundles by lower and upper switch, and the NIC, plane, leaf and leaf's port of each cable to a NIC."""
    ports = fabric.ports.select(pl.col("port"), pl.col("node"), pl.col("number"))
    rows = (
        fabric.cables.join(ports, left_on="port_a", right_on="port")
        .join(ports, left_on="port_b", right_on="port", suffix="_b")
        .sort("cable")
        .select("node", "number", "node_b", "number_b")
        .iter_rows()
    )
    bundles: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    plugs = []
    for node, number, other, other_number in rows:
        upper, lower = switches.get(other), switches.get(node)
        if upper is None:
            continue  # of a front-end network
        if lower is None:
            if upper.tier != "leaf":
                raise FabricError("shape", f"NICs of an MRC network plug into leaves, and {upper.name} is none")
            plugs.append((node, number, other, other_number))
            continue
        if TIERS.index(upper.tier) != TIERS.index(lower.tier) + 1:
            raise FabricError(
                "shape",
                f"MRC's paths climb tier by tier and descend again, and {lower.name} ({lower.tier}) is joined with "
                f"{upper.name} ({upper.tier}): try leaf-spine, fat-tree or rail-optimized",
            )
        bundles[node, other].append((number, other_number))
    return bundles, plugs


def _refuse_uneven(switches: dict[int, Switch], above: dict[int, dict[int, Bundle]]) -> None:
    """Switches that share one switch above share all, so that a climb serves all that are beyond it."""
    first: dict[int, int] = {}
    for node, uppers in above.items():
        for upper in uppers:
            other = first.setdefault(upper, node)
            if above[other].keys() != uppers.keys():
                only = min(above[other].keys() ^ uppers.keys())
                raise FabricError(
                    "shape",
                    f"{switches[other].name} and {switches[node].name} are both under {switches[upper].name}, but only "
                    f"one of them under {switches[only].name}: lists of paths are written for networks where switches "
                    f"share all that is above them or nothing",
                )
