"""Inside a server: GPUs, the NVLink switch that joins them, and the PCIe hops to the NICs.

Every server is the same block of nodes, repeated; numbers here count within that block. Where servers are trays that
share one NVLink domain, its switch stands outside the block. Not here: anything else outside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eastwest.catalog.entries import Nic, Server
from eastwest.fabric.tables import NODE_KINDS

KIND = {name: code for code, name in enumerate(NODE_KINDS)}


@dataclass(frozen=True)
class Inside:
    """The nodes of one server and the links between them.

    `kind` (codes of `NODE_KINDS`) and `index` (number among its kind) have one entry a node: GPUs, NVLink switch if
    any, PCIe hops, NICs. The others have one entry a pair of opposite links: its ends `a` and `b`, `away` and `back`
    (names of both directions), rate, efficiency, and the latency of each direction. An end `b` numbered `nodes` is the
    NVLink switch that the server shares with others.
    """

    kind: NDArray[np.uint32]
    index: NDArray[np.int32]
    a: NDArray[np.uint32]
    b: NDArray[np.uint32]
    away: list[str]
    back: list[str]
    rate_bps: NDArray[np.float64]
    efficiency: NDArray[np.float64]
    latency_away_s: NDArray[np.float64]
    latency_back_s: NDArray[np.float64]

    @property
    def nodes(self) -> int:
        """Nodes of one server."""
        return len(self.kind)

    @property
    def shares_nvswitch(self) -> bool:
        """Whether the NVLink switch stands outside the block."""
        return bool((self.b == self.nodes).any())

    @property
    def first_nic(self) -> int:
        """Number of the first NIC; the others follow."""
        return int(np.argmax(self.kind == KIND["nic"]))


def inside(server: Server, nic: Nic) -> Inside:
    """The block of one server with NICs of the given kind.

    GPUs and NICs meet at PCIe hops, as many as there are of the fewer of both; the more numerous are spread over them
    in order. A hop's links run at the slower of both sides, a side with several devices counting all of them.
    The catalogue's NVLink latency is that from GPU to GPU and PCIe's that from GPU to NIC: each of the two links
    on the way has half. A NIC's own latency belongs to the link that enters it.
    """
    gpu, gpus, nics = server.gpu, server.gpus, server.nics
    is_shared = server.nvlink_domain_servers > 1
    has_nvlink = (gpus > 1 or is_shared) and gpu.nvlink_bps > 0
    own_nvswitch = has_nvlink and not is_shared
    hops = min(gpus, nics)
    first_hop = gpus + own_nvswitch
    first_nic = first_hop + hops
    nvswitch = gpus if own_nvswitch else first_nic + nics
    counts = (("gpu", gpus), ("nvswitch", int(own_nvswitch)), ("pcie", hops), ("nic", nics))

    each_gpu, each_nic = np.arange(gpus), np.arange(nics)
    ends: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = [
        (each_gpu, first_hop + each_gpu * hops // gpus),
        (first_hop + each_nic * hops // nics, first_nic + each_nic),
    ]
    names = [("gpu-pcie", "pcie-gpu"), ("pcie-nic", "nic-pcie")]
    rates = [min(gpu.pcie_bps, nic.pcie_bps * nics / hops), min(nic.pcie_bps, gpu.pcie_bps * gpus / hops)]
    efficiencies = [gpu.pcie_efficiency] * 2
    pcie_s = gpu.pcie_latency_s / 2
    away_s, back_s = [pcie_s, pcie_s + nic.latency_s], [pcie_s, pcie_s]
    if has_nvlink:
        ends.insert(0, (each_gpu, np.full(gpus, nvswitch)))
        names.insert(0, ("gpu-nvlink", "nvlink-gpu"))
        rates.insert(0, gpu.nvlink_bps)
        efficiencies.insert(0, gpu.nvlink_efficiency)
        away_s.insert(0, gpu.nvlink_latency_s / 2)
        back_s.insert(0, gpu.nvlink_latency_s / 2)

    sizes = [len(a) for a, _ in ends]
    return Inside(
        kind=np.concatenate([np.full(count, KIND[kind], dtype=np.uint32) for kind, count in counts]),
        index=np.concatenate([np.arange(count, dtype=np.int32) for _, count in counts]),
        a=np.concatenate([a for a, _ in ends]).astype(np.uint32),
        b=np.concatenate([b for _, b in ends]).astype(np.uint32),
        away=[away for (away, _), size in zip(names, sizes, strict=True) for _ in range(size)],
        back=[back for (_, back), size in zip(names, sizes, strict=True) for _ in range(size)],
        rate_bps=np.repeat(np.array(rates, dtype=np.float64), sizes),
        efficiency=np.repeat(np.array(efficiencies, dtype=np.float64), sizes),
        latency_away_s=np.repeat(np.array(away_s, dtype=np.float64), sizes),
        latency_back_s=np.repeat(np.array(back_s, dtype=np.float64), sizes),
    )
