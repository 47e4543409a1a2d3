"""Dragonfly+: groups, each a leaf-spine, with the spines of every two groups joined by global links.

The shape of Shpiner et al., "Dragonfly+: Low cost topology for scaling datacenters" (HiPINEB 2017): with switches of k
ports, k/2 leaves and k/2 spines a group, (k/2)^2 hosts, and at most (k/2)^2 + 1 groups. Not here: routing. Traffic
takes shortest paths, over the global links between its two groups, and no detours over a third one.
"""

from __future__ import annotations

import numpy as np

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.clos import bundles, in_order
from eastwest.fabric.shapes.leaf_spine import whole_servers
from eastwest.fabric.shapes.wiring import Cables, Indices, Wiring, switches


def dragonfly_plus(
    servers: int,
    nics: int,
    leaf: Faceplate,
    spine: Faceplate,
    groups: int,
    ratios: tuple[float, float] = (1.0, 1.0),
    servers_per_leaf: int | None = None,
    links: int | None = None,
) -> Wiring:
    """`groups` of as even a number of servers, `links` global cables between every two, spread evenly over spines.

    `ratios` are the oversubscription of leaf and spine. Where `links` is None, there are as many as keep the spine's,
    its capacity down to that of its global links. A group has as few spines as have the ports and over which each leaf
    spreads its uplinks evenly.

    Raises `FabricError` on "servers_per_unit" where a leaf lacks ports, on "groups" where spines do.
    """
    if servers < groups:
        raise FabricError("groups", f"{servers} servers do not fill {groups} groups")
    unit = whole_servers(nics, leaf, ratios[0], servers_per_leaf)
    up = leaf.uplinks(unit.down, ratios[0])
    if not leaf.fits(unit.down, up):
        raise FabricError(
            "servers_per_unit",
            f"{unit.servers} servers on a leaf need {unit.down} ports down and {up} up; {leaf.has()}: try fewer",
        )
    most = max(np.bincount(in_order(servers, groups)).tolist())
    units = -(-most // unit.servers)
    leaves = units * unit.leaves
    links = links or max(1, spine.uplinks(-(-leaves * up // (groups - 1)), ratios[1]))
    spines = _spines(leaves, up, (groups - 1) * links, spine, groups)
    unit_of_server = _in_groups(servers, groups, units)
    leaf_of_nic = np.array(unit.leaf_of_nic, dtype=np.int32)
    group_of_leaf = np.repeat(np.arange(groups, dtype=np.int32), leaves)
    group_of_spine = np.repeat(np.arange(groups, dtype=np.int32), spines)
    return Wiring(
        unit_of_server=np.full(servers, -1, dtype=np.int32),
        pod_of_server=in_order(servers, groups),
        leaf_of_port=(unit_of_server[:, None] * np.int32(unit.leaves) + leaf_of_nic)[:, :, None],
        tiers={
            "leaf": switches(len(group_of_leaf), unit.down, up, pod=group_of_leaf),
            "spine": switches(
                len(group_of_spine),
                leaves * up // spines,
                -(-(groups - 1) * links // spines),
                pod=group_of_spine,
                group=np.tile(np.arange(spines, dtype=np.int32), groups),
            ),
        },
        cables=(
            Cables("leaf", "spine", bundles(group_of_leaf, spines, up)),
            Cables("spine", "spine", _global(groups, spines, links)),
        ),
    )


def _in_groups(servers: int, groups: int, units: int) -> Indices:
    """Unit of each server: units of a group filled evenly, each group having the same number of them."""
    of_group = np.bincount(in_order(servers, groups), minlength=groups)
    return np.concatenate(
        [np.int32(group * units) + in_order(int(size), units) for group, size in enumerate(of_group)]
    ).astype(np.int32)


def _spines(leaves: int, up: int, links: int, spine: Faceplate, groups: int) -> int:
    """The fewest spines that divide a leaf's uplinks and have the ports; `links` are the group's global ones."""
    for spines in range(1, up + 1):
        if up % spines == 0 and spine.fits(leaves * up // spines, -(-links // spines)):
            return spines
    raise FabricError(
        "groups",
        f"each of {groups} groups has {leaves} leaves with {up} uplinks and {links} global links, more than {up} "
        f"spines have ports for; {spine.has()}: try {spine.wider() or 'a spine with more ports'}, more groups, or "
        f"fewer links_per_pair",
    )


def _global(groups: int, spines: int, links: int) -> Indices:
    """Cables between the spines of every two groups.

    A group counts the others from the next one on, and deals the links to them out over its spines in turn, so that
    spines differ by one global link at most.
    """
    a, b = (end.repeat(links) for end in np.triu_indices(groups, 1))
    parallel = np.tile(np.arange(links), groups * (groups - 1) // 2)
    spine_a = ((b - a - 1) * links + parallel) % spines
    spine_b = ((a - b - 1) % groups * links + parallel) % spines
    return np.stack([a * spines + spine_a, b * spines + spine_b]).astype(np.int32)
