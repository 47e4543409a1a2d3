"""A fabric as simulators see it that know GPUs, switches and links alone: a GPU's NICs are links of its own.

GPUs come first, in the order of packed ranks, then NVLink switches, then switches. Not here: the text of any format.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.placement import packed
from eastwest.fabric.plan import FRONTEND_TIERS, FabricError
from eastwest.fabric.tables import Fabric


@dataclass(frozen=True)
class GpuGraph:
    """Nodes by number: `gpus`, then `nvswitches`, then `switches` of them; and a row a link, both ways alike.

    `a` and `b` are a link's ends, the lower first, `rate_bps` its line rate (of NVLink its payload: these simulators
    add no headers of NVLink) and `latency_s` the mean of both ways. `gpus_together` share an NVLink switch.
    """

    gpus: int
    gpus_together: int
    nvswitches: int
    switches: int
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    rate_bps: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    told: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self.gpus + self.nvswitches + self.switches


def gpu_graph(fabric: Fabric) -> GpuGraph:
    """The fabric without PCIe and NICs: what they add to a way counts with the link between a GPU and its leaf.

    Raises:
        FabricError: on "server", where GPUs share a NIC, or have none.
    """
    gpus = packed(fabric).astype(np.int64)
    kinds = {kind: fabric.nodes.filter(pl.col("kind") == kind) for kind in ("nvswitch", "switch")}
    switches = kinds["switch"].filter(~pl.col("tier").is_in(FRONTEND_TIERS))
    order = [gpus, *(each["node"].sort().to_numpy().astype(np.int64) for each in (kinds["nvswitch"], switches))]
    number = np.full(len(fabric.nodes), -1, dtype=np.int64)
    number[np.concatenate(order)] = np.arange(sum(map(len, order)))
    links = pl.concat([_nvlinks(fabric), _to_leaves(fabric), _between_switches(fabric)])
    ends = number[links.select("a", "b").to_numpy()]
    told = []
    if fabric.plan.get("frontend"):
        told.append("the front-end network and its storage are left out")
        links, ends = links.filter((ends >= 0).all(axis=1)), ends[(ends >= 0).all(axis=1)]
    slower = links.filter(pl.col("pcie_bps") < pl.col("rate_bps") * pl.col("efficiency"))
    if len(slower):
        told.append("PCIe, slower here than the NICs behind it, is left out: a GPU sends at its NICs' line rate")
    joined = np.bincount(links.filter(pl.col("nvlink"))["b"].to_numpy()) if len(order[1]) else np.array([], np.int64)
    return GpuGraph(
        len(gpus),
        int(joined.max(initial=1)),
        len(order[1]),
        len(order[2]),
        ends.min(axis=1),
        ends.max(axis=1),
        links["rate_bps"].to_numpy(),
        links["latency_s"].to_numpy(),
        tuple(told),
    )


_COLUMNS = ("a", "b", "rate_bps", "efficiency", "latency_s", "pcie_bps", "nvlink")


def _both_ways(fabric: Fabric, *of: pl.Expr) -> pl.DataFrame:
    """Links that lead away from GPUs, with the latency back; the two ways of a pair follow each other in the table."""
    way = pl.col("link") % 2 == 0
    away, back = fabric.links.filter(*of, way), fabric.links.filter(*of, ~way)
    return away.select("src", "dst", "rate_bps", "efficiency", "latency_s").with_columns(back_s=back["latency_s"])


def _nvlinks(fabric: Fabric) -> pl.DataFrame:
    links = _both_ways(fabric, pl.col("tier").is_in(["gpu-nvlink", "nvlink-gpu"]))
    return links.select(
        a="src",
        b="dst",
        rate_bps=pl.col("rate_bps") * pl.col("efficiency"),
        efficiency=1.0,
        latency_s=(pl.col("latency_s") + pl.col("back_s")) / 2,
        pcie_bps=np.inf,
        nvlink=True,
    ).select(_COLUMNS)


def _to_leaves(fabric: Fabric) -> pl.DataFrame:
    """A link from each GPU to the switch at the end of each cable of its NICs."""
    hop = _both_ways(fabric, pl.col("tier").is_in(["gpu-pcie", "pcie-gpu"]))
    nic = _both_ways(fabric, pl.col("tier").is_in(["pcie-nic", "nic-pcie"]))
    if len(hop) > hop["dst"].n_unique():
        raise FabricError("server", "GPUs here share a NIC, which the format cannot say: it gives each GPU links")
    nics = fabric.nodes.filter(pl.col("kind") == "nic", pl.col("tier") == "server")["node"]
    cable = _both_ways(fabric, pl.col("cable") >= 0).filter(pl.col("src").is_in(nics.implode()))
    ways = hop.join(nic, left_on="dst", right_on="src", suffix="_nic").rename({"dst_nic": "nic"})
    ways = ways.join(cable, left_on="nic", right_on="src", suffix="_cable")
    if not len(ways):
        raise FabricError("server", "no GPU has a NIC on the network")
    total = [pl.col(f"latency_s{part}") + pl.col(f"back_s{part}") for part in ("", "_nic", "_cable")]
    ports = pl.len().over("nic")
    return ways.select(
        a="src",
        b="dst_cable",
        rate_bps="rate_bps_cable",
        efficiency="efficiency_cable",
        latency_s=pl.sum_horizontal(total) / 2,
        pcie_bps=pl.col("rate_bps_nic") * pl.col("efficiency_nic") / ports,
        nvlink=False,
    ).select(_COLUMNS)


def _between_switches(fabric: Fabric) -> pl.DataFrame:
    kind = fabric.nodes["kind"].cast(pl.String).to_numpy()
    links = _both_ways(fabric, pl.col("cable") >= 0)
    is_between = (kind[links["src"].to_numpy()] == "switch") & (kind[links["dst"].to_numpy()] == "switch")
    return (
        links.filter(is_between)
        .select(
            a="src",
            b="dst",
            rate_bps="rate_bps",
            efficiency="efficiency",
            latency_s=(pl.col("latency_s") + pl.col("back_s")) / 2,
            pcie_bps=np.inf,
            nvlink=False,
        )
        .select(_COLUMNS)
    )
