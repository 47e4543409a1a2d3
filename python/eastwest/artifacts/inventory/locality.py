"""Which servers are near each other: groups of servers tier by tier, as schedulers want to know them.

A scheduler's tree gives a server one switch above it; a server here has one for each rail and plane. So a group is
what switches of a tier join with no help from higher ones: servers that share a leaf, over any number of steps, are one
group of that tier, and groups that share spines are one of the next. Of a rail-optimized fabric these are its units,
and its pods where it has three tiers; of one plane of leaves and spines its leaves. Not here: the files (`schedulers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric import TIERS, Fabric

WHOLE = "fabric"
"""What the group of all servers is called."""


@dataclass(frozen=True)
class Group:
    """Servers that a tier joins: its name, their numbers in order, and the number of the group of the next tier above.

    `parent` is -1 in the topmost tier, which has one group.
    """

    tier: str
    name: str
    servers: tuple[int, ...]
    parent: int


def groups(fabric: Fabric) -> list[list[Group]]:
    """The groups of each tier from the leaves up; the last holds one group of all servers.

    A tier whose groups are those of the tier below, or which no server reaches, is left out.
    """
    servers = int(fabric.plan["servers"])
    of_node = _server_labels(fabric, servers)
    tiers: list[tuple[str, NDArray[np.int64]]] = []
    for depth, tier in enumerate(TIERS):
        label = _joined(fabric, of_node, servers, TIERS[: depth + 1])
        if not tiers or len(np.unique(label)) < len(np.unique(tiers[-1][1])):
            tiers.append((tier, label))
    if len(np.unique(tiers[-1][1])) > 1:  # sites or rails that nothing joins
        tiers.append((WHOLE, np.zeros(servers, dtype=np.int64)))
    return [_named(fabric, place, tiers) for place in range(len(tiers))]


def _server_labels(fabric: Fabric, servers: int) -> NDArray[np.int64]:
    """A vertex of each node: its server's number for a GPU's NIC, a number of its own for others."""
    nodes = fabric.nodes
    is_nic = ((nodes["kind"] == "nic") & (nodes["tier"] == "server")).to_numpy()
    own = servers + np.arange(len(nodes), dtype=np.int64)
    return np.where(is_nic, nodes["server"].to_numpy(), own)


def _joined(fabric: Fabric, of_node: NDArray[np.int64], servers: int, tiers: tuple[str, ...]) -> NDArray[np.int64]:
    """The least server of the component of each server, over cables between servers and switches of these tiers."""
    nodes, ports = fabric.nodes, fabric.ports
    allowed = ((nodes["kind"] == "switch") & nodes["tier"].is_in(tiers)).to_numpy()
    allowed |= of_node < servers
    ends = [ports["node"].to_numpy()[fabric.cables[end].to_numpy()] for end in ("port_a", "port_b")]
    kept = allowed[ends[0]] & allowed[ends[1]]
    a, b = of_node[ends[0][kept]], of_node[ends[1][kept]]
    label = np.arange(servers + len(nodes), dtype=np.int64)
    while True:  # the least label spreads over cables, halving chains on the way
        least = np.minimum(label[a], label[b])
        found = label.copy()
        np.minimum.at(found, a, least)
        np.minimum.at(found, b, least)
        found = found[found]
        if np.array_equal(found, label):
            return label[:servers]
        label = found


def _named(fabric: Fabric, place: int, tiers: list[tuple[str, NDArray[np.int64]]]) -> list[Group]:
    tier, label = tiers[place]
    firsts = np.unique(label)
    above = tiers[place + 1][1] if place + 1 < len(tiers) else None
    parents = None if above is None else np.unique(above)
    nics = fabric.nodes.filter((pl.col("kind") == "nic") & (pl.col("tier") == "server") & (pl.col("index") == 0))
    places = {column: nics.sort("server")[column].to_numpy() for column in ("unit", "pod", "site")}
    only_leaf = _only_leaves(fabric, label)
    found = []
    for number, first in enumerate(firsts):
        members = np.flatnonzero(label == first)
        if len(firsts) == 1:
            name = WHOLE
        else:
            alone = only_leaf.get(int(first), "") if place == 0 else ""
            name = _shared(members, places) or alone or f"{tier}-group-{number}"
        parent = -1 if above is None or parents is None else int(np.searchsorted(parents, above[first]))
        found.append(Group(tier, name, tuple(members.tolist()), parent))
    return found


def _only_leaves(fabric: Fabric, label: NDArray[np.int64]) -> dict[int, str]:
    """By label, the leaf of a group whose servers join one alone."""
    node = fabric.ports["node"].to_numpy()
    cables = fabric.cables.filter(pl.col("tiers") == "server-leaf")
    server = fabric.nodes["server"].to_numpy()[node[cables["port_a"].to_numpy()]]
    leaf = node[cables["port_b"].to_numpy()]
    pairs = np.unique(np.stack([label[server], leaf], axis=1), axis=0)
    of_group, count = np.unique(pairs[:, 0], return_counts=True)
    names = fabric.nodes["name"]
    alone = set(of_group[count == 1].tolist())
    return {int(group): names[int(leaf)] for group, leaf in pairs if int(group) in alone}


def _shared(members: NDArray[np.int64], places: Mapping[str, NDArray[np.int32]]) -> str:
    """The unit, pod or site that is these servers and no others; empty where there is none."""
    for word, column in places.items():
        value = column[members[0]]
        if value >= 0 and np.array_equal(np.flatnonzero(column == value), members):
            return f"{word}-{value}"
    return ""
