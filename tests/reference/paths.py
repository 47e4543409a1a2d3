"""Paths over a fabric's tables: out through a GPU's own NIC, from switch to switch a hop nearer each time, and down.

For servers with a NIC for each GPU. Of the links that lead a hop nearer, ECMP lets a hash choose one for each queue
pair; spraying takes an equal part over each.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tests.reference import hashing
from tests.reference.collectives import Edges

from eastwest.fabric import Fabric, addresses

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Crossing:
    """What connections put on links: `share` of the bytes of connection `edge` crosses `link`.

    `latency_s`, of each connection, is that of its longest path; each consists of `flows` queue pairs.
    """

    edge: Integers
    link: Integers
    share: Floats
    latency_s: Floats
    flows: int


@dataclass(frozen=True)
class Nearer:
    """Links that lead a hop nearer to one leaf: `count[node]` of them from `first[node]` on in `links`."""

    links: Integers
    first: Integers
    count: Integers


class Paths:
    """Shortest paths of a fabric. `capacity` is the payload that each link carries, bytes a second."""

    def __init__(self, fabric: Fabric) -> None:
        nodes, links = fabric.nodes, fabric.links
        self.src, self.dst = (links[end].to_numpy().astype(np.int64) for end in ("src", "dst"))
        self.capacity: Floats = (links["rate_bps"] * links["efficiency"]).to_numpy() / 8
        self.latency_s: Floats = links["latency_s"].to_numpy()
        self.tier = links["tier"].to_numpy()
        self.server = nodes["server"].to_numpy().astype(np.int64)
        self.is_switch = (nodes["kind"] == "switch").to_numpy()
        self.address = addresses(fabric)
        self.nvlink = self._only_link("gpu-nvlink")
        pcie, nic, leaf = (self._only_link(tier) for tier in ("gpu-pcie", "pcie-nic", "nic-leaf"))
        nic, leaf = nic[self.dst[pcie]], leaf[self.dst[nic[self.dst[pcie]]]]
        self.up: Integers = np.stack([pcie, nic, leaf], axis=1)
        """Links from each GPU to its PCIe node, its NIC and its leaf; the way down are their reverses."""
        self.leaves = np.unique(self.dst[self.tier == "nic-leaf"])
        self.nearer = {int(leaf): self._nearer(int(leaf)) for leaf in self.leaves}

    def ecmp(self, edges: Edges, qp_shares: Floats, seed: int) -> Crossing:
        """Queue pair q of every connection carries `qp_shares[q]` of its bytes along the path that hashes give it."""
        nics = self.dst[self.up[:, 1]]
        ends = (self.address[nics[edges.sender]], self.address[nics[edges.receiver]])
        switch_seed = np.zeros(len(self.is_switch), dtype=np.uint64)
        switch_seed[self.is_switch] = hashing.switch_seeds(seed, int(self.is_switch.sum()))
        found = []
        for qp in np.flatnonzero(qp_shares):
            flow = hashing.flows(seed, (edges.sender, edges.receiver), ends, edges.channel, int(qp))
            for outside, leaf, nearer in self._by_destination(edges):
                at = self.dst[self.up[edges.sender[outside], 2]]
                while (moving := at != leaf).any():
                    outside, at = outside[moving], at[moving]
                    turn = hashing.choose(flow[outside], switch_seed[at], nearer.count[at])
                    link = nearer.links[nearer.first[at] + turn]
                    found.append((outside, link, np.full(len(link), qp_shares[qp])))
                    at = self.dst[link]
        return self._crossing(edges, found, flows=np.count_nonzero(qp_shares))

    def spray(self, edges: Edges, flows: int = 1) -> Crossing:
        """Every switch deals each connection's bytes evenly over the links that lead nearer."""
        found = []
        for outside, leaf, nearer in self._by_destination(edges):
            source = self.dst[self.up[edges.sender[outside], 2]]
            for start in np.unique(source[source != leaf]):
                connections = outside[source == start]
                arrived = {int(start): 1.0}
                while arrived.keys() != {leaf}:
                    onward: dict[int, float] = {}
                    for at, share in arrived.items():
                        links = nearer.links[nearer.first[at] :][: nearer.count[at]]
                        for link in links:
                            part = share / len(links)
                            onward[int(self.dst[link])] = onward.get(int(self.dst[link]), 0.0) + part
                            found.append(
                                (connections, np.full_like(connections, link), np.full(len(connections), part))
                            )
                    arrived = onward
        return self._crossing(edges, found, flows)

    def _by_destination(self, edges: Edges) -> Iterator[tuple[Integers, int, Nearer]]:
        """Connections that leave their server, by the leaf that they go to."""
        outside = np.flatnonzero(self.server[edges.sender] != self.server[edges.receiver])
        leaf = self.dst[self.up[edges.receiver[outside], 2]]
        for each in np.unique(leaf).tolist():
            yield outside[leaf == each], each, self.nearer[each]

    def _crossing(self, edges: Edges, found: list[tuple[Integers, Integers, Floats]], flows: int) -> Crossing:
        """Joins what was `found` between switches with the links from senders to leaves and from there to receivers."""
        latency_s = np.zeros(len(edges))
        is_inside = self.server[edges.sender] == self.server[edges.receiver]
        inside, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
        ways = [(inside, self.nvlink[edges.sender[inside]]), (inside, self.nvlink[edges.receiver[inside]] ^ 1)]
        ways += [(outside, self.up[edges.sender[outside], hop]) for hop in range(3)]
        ways += [(outside, self.up[edges.receiver[outside], hop] ^ 1) for hop in range(3)]
        for edge, link in ways:
            latency_s[edge] += self.latency_s[link]
        # Shortest paths between two leaves have equally many hops, and links of one tier are alike in latency: so the
        # longest is any, and the mean over a connection's paths is the longest.
        for edge, link, share in found:
            np.add.at(latency_s, edge, self.latency_s[link] * share)
        whole = [(edge, link, np.ones(len(edge))) for edge, link in ways]
        edge, link, share = (np.concatenate(parts) for parts in zip(*whole, *found, strict=True))
        return Crossing(edge, link, share, latency_s, flows)

    def _only_link(self, tier: str) -> Integers:
        """For each node the link of a tier that leaves it, of which there is one at most; else -1."""
        link_of = np.full(len(self.server), -1)
        link_of[self.src[self.tier == tier]] = np.flatnonzero(self.tier == tier)
        return link_of

    def _nearer(self, leaf: int) -> Nearer:
        between = np.flatnonzero(self.is_switch[self.src] & self.is_switch[self.dst])
        hops = np.full(len(self.server), np.inf)
        hops[leaf], distance = 0, 0
        while (hops == distance).any():  # breadth first, from the leaf backward
            distance += 1
            reached = self.src[between][hops[self.dst[between]] == distance - 1]
            hops[reached] = np.minimum(hops[reached], distance)
        links = between[hops[self.dst[between]] == hops[self.src[between]] - 1]
        links = links[np.argsort(self.src[links], kind="stable")]  # of one switch in link order
        count = np.bincount(self.src[links], minlength=len(self.server))
        return Nearer(links, np.cumsum(count) - count, count)
