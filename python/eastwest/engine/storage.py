"""Who of a fabric reaches storage, and the flows that a storage operation puts on the network.

Each front-end NIC of a server exchanges an equal part with each NIC of each storage server. Not here: the operation
itself (`workload`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from eastwest.engine._native import UnreachableError
from eastwest.fabric import Fabric
from eastwest.workload import Storage

Nodes = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class StorageFlows:
    """A storage operation as flows: `ranks` server by server (`servers` counts those of each), and pairs of nodes.

    `ends` has shape (flows, 2), sender and receiver, and `flows_of` so many of each server.
    """

    ranks: Nodes
    servers: tuple[int, ...]
    ends: Nodes
    flows_of: tuple[int, ...]


class Hosts:
    """The hosts of a fabric: those of each server, and those of storage."""

    def __init__(self, fabric: Fabric) -> None:
        nodes, self._name = fabric.nodes, fabric.name
        self._has_storage = bool((fabric.plan.get("frontend") or {}).get("storage"))
        self._server = nodes["server"].to_numpy()
        hosts = nodes.filter(kind="host")
        if len(hosts):  # one whose NIC has no cable left takes no part
            leaving = fabric.links.filter(pl.col("cable") >= 0)
            plugged = nodes.filter(kind="nic").join(leaving, left_on="node", right_on="src", how="semi")
            hosts = hosts.join(plugged, on=["tier", "server", "index"], how="semi").sort("node")
        self._storage: Nodes = hosts.filter(tier="storage")["node"].to_numpy()
        of_servers = hosts.filter(tier="frontend").group_by("server").agg("node").rows()
        self._of_server = {server: np.array(sorted(found), dtype=np.uint32) for server, found in of_servers}

    def flows(self, operation: Storage, gpu_of_rank: Nodes) -> StorageFlows:
        """The flows of an operation whose ranks are on these GPU nodes.

        Raises:
            ValueError: the fabric has no storage; an `UnreachableError` where no NIC of it, or of a server, is left.
        """
        if not self._has_storage:
            raise ValueError(f"operation '{operation.name}' needs storage, and fabric '{self._name}' has none")
        ranks = np.arange(len(gpu_of_rank)) if operation.ranks is None else operation.ranks
        server = self._server[gpu_of_rank[ranks]]
        order = np.argsort(server, kind="stable")
        servers, counts = np.unique(server, return_counts=True)
        if not len(self._storage) or not self._of_server.keys() >= set(servers.tolist()):
            raise UnreachableError(f"operation '{operation.name}' has no path between servers and storage")
        ends = [self._ends(self._of_server[int(each)], operation) for each in servers]
        return StorageFlows(
            np.asarray(ranks[order], dtype=np.uint32),
            tuple(counts.tolist()),
            np.concatenate(ends) if ends else np.empty((0, 2), dtype=np.uint32),
            tuple(len(of) for of in ends),
        )

    def _ends(self, hosts: Nodes, operation: Storage) -> Nodes:
        """Sender and receiver of each flow of one server."""
        near, far = np.repeat(hosts, len(self._storage)), np.tile(self._storage, len(hosts))
        return np.stack([far, near] if operation.direction == "read" else [near, far], axis=1).astype(np.uint32)
