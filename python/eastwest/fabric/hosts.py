"""Hosts: what front-end NICs reach, the memory of a server's CPUs or of a storage server, NIC by NIC.

Each NIC stands with a PCIe hop and a host of its own, so that what a server sends is spread over its NICs by whoever
names them. Three nodes a NIC in this order: host, hop, NIC; first those of the servers, then those of storage. Not
here: what the NICs join (`frontend`), or GPUs, which reach none of this but over the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.plan import FabricPlan
from eastwest.fabric.shapes import Wiring
from eastwest.fabric.tables import HOST_TIERS

Numbers = NDArray[np.int64]

_PARTS = ("host", "pcie", "nic")
STORAGE = "storage"
"""What stands for the device of a storage server: the catalogue has none."""


@dataclass(frozen=True)
class PlacedHosts:
    """Every front-end NIC with its first numbers; arrays have one entry a NIC.

    `kind` is its tier, "frontend" of a server and "storage" of a storage server; `server` and `number` say whose it is
    and which there (storage servers are numbered on from the servers); `switch` is the one of `tier` that it joins.
    """

    tier: Literal["leaf", "access"]
    kind: NDArray[np.str_]
    server: Numbers
    number: Numbers
    switch: Numbers
    rate_bps: float
    latency_s: float
    first_node: int
    first_port: int
    first_cage: int

    @property
    def nodes(self) -> int:
        """Nodes of all."""
        return len(_PARTS) * len(self.server)

    @property
    def nic_nodes(self) -> Numbers:
        """Node of each NIC."""
        return self.first_node + np.arange(len(self.server)) * len(_PARTS) + _PARTS.index("nic")

    @property
    def enter_s(self) -> NDArray[np.float64]:
        """Latency of entering each node over a cable. Shape (nodes,)."""
        return np.tile([0.0, 0.0, self.latency_s], len(self.server))

    def table(self, plan: FabricPlan, wiring: Wiring, names: pl.Series) -> pl.DataFrame:
        """The nodes, where `names` are the servers': "server-003/frontend-nic-0", "storage-07/host-1"."""
        each, count = len(_PARTS), len(self.server)
        is_storage = self.kind == "storage"
        # A storage server stands in no unit or pod; the last entry is for them.
        home = np.where(is_storage, plan.servers, self.server)
        site = np.full(plan.servers, -1, dtype=np.int32) if wiring.site_of_server is None else wiring.site_of_server
        places = {"unit": wiring.unit_of_server, "pod": wiring.pod_of_server, "site": site}
        stored = pl.Series(np.maximum(self.server - plan.servers, 0)).cast(pl.String)
        width = len(str(max(0, int(self.server.max()) - plan.servers)))
        owner = pl.select(
            pl.when(pl.Series(is_storage))
            .then(pl.lit("storage-") + stored.str.zfill(width))
            .otherwise(pl.lit(names.gather(np.minimum(home, plan.servers - 1))))
        ).to_series()
        assert plan.frontend is not None
        device = {"nic": plan.frontend.nic.name}
        whose = np.where(is_storage, STORAGE, plan.server.name)
        frame = pl.DataFrame(
            {
                "kind": np.tile(_PARTS, count),
                "tier": np.repeat(self.kind, each),
                "owner": owner.gather(np.repeat(np.arange(count), each)),
                "device": np.repeat(whose, each),
                "server": np.repeat(self.server, each).astype(np.int32),
                "index": np.repeat(self.number, each).astype(np.int32),
                **{key: np.repeat(np.append(of, -1)[home], each).astype(np.int32) for key, of in places.items()},
                **dict.fromkeys(("rail", "plane"), np.full(each * count, -1, dtype=np.int32)),
            }
        )
        # The GPUs' NICs and hops in a server have their names already.
        is_told = (pl.col("tier") == "storage") | (pl.col("kind") == "host")
        what = pl.when(is_told).then(pl.col("kind")).otherwise(pl.lit("frontend-") + pl.col("kind"))
        return frame.with_columns(
            name=pl.format("{}/{}-{}", "owner", what, "index"),
            device=pl.col("kind").replace_strict(device, default=pl.col("device")),
        ).drop("owner")

    def ports(self) -> tuple[Numbers, Numbers, Numbers, NDArray[np.float64]]:
        """Node, number, cage and rate of each NIC's port."""
        count = len(self.server)
        cage = self.first_cage + np.arange(count)
        return self.nic_nodes, np.zeros(count, dtype=np.int64), cage, np.full(count, self.rate_bps)

    def cages(self) -> tuple[Numbers, Numbers, Numbers]:
        """Node, number and breakout of each NIC's cage."""
        count = len(self.server)
        return self.nic_nodes, np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)

    def inner_links(self, plan: FabricPlan) -> pl.DataFrame:
        """The links between host, hop and NIC, at the rate of the NIC's PCIe and otherwise as the GPUs' PCIe.

        Where a storage server's disks are said to be slower, theirs between host and hop leave so much less to payload.
        """
        assert plan.frontend is not None
        gpu, nic, count = plan.server.gpu, plan.frontend.nic, len(self.server)
        host = self.nic_nodes - 2
        src = np.stack([host, host + 1, host + 1, host + 2], axis=1).reshape(-1)
        dst = np.stack([host + 1, host, host + 2, host + 1], axis=1).reshape(-1)
        to_nic, from_nic = (np.char.add(np.char.add(a, "-"), b) for a, b in (("pcie", self.kind), (self.kind, "pcie")))
        storage = plan.frontend.storage
        has_disks = storage is not None and (storage.read_bps or storage.write_bps) is not None
        of_disks = (self.kind == "storage") & has_disks
        away, back = np.where(of_disks, "disk-storage", "host-pcie"), np.where(of_disks, "storage-disk", "pcie-host")
        most = np.full((count, 4), gpu.pcie_efficiency)
        if storage is not None:
            for place, rate_bps in enumerate((storage.read_bps, storage.write_bps)):
                if rate_bps is not None:
                    most[of_disks, place] = min(gpu.pcie_efficiency, rate_bps / storage.nics / nic.pcie_bps)
        half_s = gpu.pcie_latency_s / 2
        none = np.full(4 * count, -1, dtype=np.int64)
        return pl.DataFrame(
            {
                "src": src,
                "dst": dst,
                "src_port": none,
                "dst_port": none,
                "cable": none,
                "tier": np.stack([away, back, to_nic, from_nic], axis=1).reshape(-1),
                "rate_bps": np.full(4 * count, nic.pcie_bps),
                "efficiency": most.reshape(-1),
                "latency_s": np.tile([half_s, half_s, half_s + nic.latency_s, half_s], count),
            }
        )


def place_hosts(plan: FabricPlan, wiring: Wiring, first: tuple[int, int, int]) -> PlacedHosts | None:
    """The hosts of a wiring from the first free numbers of a node, a port and a cage on; None where there are none."""
    hosts, frontend = wiring.hosts, plan.frontend
    if hosts is None or frontend is None:
        return None
    sets = (hosts.of_servers, hosts.of_storage)
    firsts = (0, plan.servers)
    return PlacedHosts(
        tier=hosts.tier,
        kind=np.concatenate([np.full(of.size, kind) for kind, of in zip(HOST_TIERS, sets, strict=True)]),
        server=np.concatenate(
            [start + np.repeat(np.arange(len(of)), of.shape[1]) for start, of in zip(firsts, sets, strict=True)]
        ),
        number=np.concatenate([np.tile(np.arange(of.shape[1]), len(of)) for of in sets]),
        switch=np.concatenate([of.reshape(-1) for of in sets]).astype(np.int64),
        rate_bps=frontend.link_bps,
        latency_s=frontend.nic.latency_s,
        first_node=first[0],
        first_port=first[1],
        first_cage=first[2],
    )
