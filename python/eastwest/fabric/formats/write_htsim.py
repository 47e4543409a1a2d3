"""Writes a fabric as a topology of htsim (`.topo`), where it is wired as htsim wires its fat trees.

The reader's other half: `read_htsim_topology` gives back the same links at the same rates. A host is a NIC, numbered so
that those of one leaf follow one another, as htsim takes for granted. Not here: NVLink and PCIe, which htsim has not,
and queues, which are the simulation's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.plan import FRONTEND_TIERS, FabricError
from eastwest.fabric.tables import Fabric

Numbers = NDArray[np.int64]

LEVELS = ("leaf", "spine", "core")
"""Tiers of switches that htsim has, which numbers them 0 to 2."""


@dataclass(frozen=True)
class HtsimTopology:
    """The file's text, the NIC node that each of its hosts is, and what the file leaves out or says otherwise."""

    text: str
    nic_of_host: NDArray[np.uint32]
    told: tuple[str, ...]


@dataclass(frozen=True)
class _Cables:
    """The cables between two tiers, all alike: places of their ends within each tier, rate, and latency each way."""

    lower: Numbers
    upper: Numbers
    rate_bps: float
    up_s: float
    down_s: float

    def joined(self, lower: int, upper: int) -> Numbers:
        """The cables between each node below and each above, shape (lower, upper)."""
        count = np.zeros((lower, upper), dtype=np.int64)
        np.add.at(count, (self.lower, self.upper), 1)
        return count


def write_htsim_topology(fabric: Fabric) -> HtsimTopology:
    """The fabric as htsim's text.

    Raises:
        FabricError: on "shape", where htsim has no such network: one or more than three tiers, NICs of several ports,
            links of a tier that differ, or another wiring than a fat tree's; says which.
    """
    levels = _levels(fabric)
    cables = [_cables(fabric, *pair) for pair in pairwise(levels)]
    leaf_of_nic = _leaf_of_nic(cables[0], len(levels[0]))
    pod_of_leaf, bundles = _pods_and_bundles(cables, [len(nodes) for nodes in levels])
    pods = int(pod_of_leaf.max()) + 1
    downs = [_same(np.bincount(each.upper), "cables down of a switch") for each in cables]
    ups = [_same(np.bincount(each.lower), "cables up of a switch") for each in cables[1:]]
    ratios = _oversubscription(cables, downs, ups)
    latencies, is_exact = _latencies(cables)
    lines = [f"Nodes {len(levels[0])}", f"Tiers {len(cables)}", f"Podsize {len(levels[0]) // pods}"]
    for tier, each in enumerate(cables):
        entries: dict[str, int | None] = {
            "Tier": tier,
            "Downlink_speed_Gbps": _whole(each.rate_bps),
            "Radix_Down": downs[tier],
            "Radix_Up": ups[tier] if tier < len(ups) else None,
            "Downlink_Latency_ns": latencies[tier][0],
            "Switch_Latency_ns": latencies[tier][1],
            "Oversubscribed": ratios[tier] if tier < len(ups) else None,
            "Bundle": bundles[tier - 1] if tier else None,
        }
        lines += ["", *(f"{key} {value}" for key, value in entries.items() if value is not None)]
    told = ["a host is a NIC: NVLink and PCIe inside servers are left out"]
    if not is_exact:
        told.append("latencies are rounded to whole nanoseconds")
    if fabric.plan.get("frontend"):
        told.append("the front-end network and its storage are left out")
    hosts = np.lexsort((leaf_of_nic, pod_of_leaf[leaf_of_nic]))
    return HtsimTopology("\n".join([*lines, ""]), levels[0][hosts].astype(np.uint32), tuple(told))


def _refused(why: str) -> FabricError:
    return FabricError("shape", f"htsim has no such network: {why}")


def _levels(fabric: Fabric) -> list[Numbers]:
    """The nodes of each tier: NICs, leaves, spines and, of three tiers, cores."""
    if (fabric.plan.get("frontend") or {}).get("network") == "shared":
        raise _refused("storage and front-end NICs share the GPUs' leaves, and its hosts are all alike")
    switches = fabric.nodes.filter(pl.col("kind") == "switch", ~pl.col("tier").is_in(FRONTEND_TIERS))
    tiers = set(switches["tier"])
    if len(tiers) < 2 or tiers != set(LEVELS[: len(tiers)]):
        found = ", ".join(sorted(tiers)) or "none"
        raise _refused(f"it has 2 or 3 tiers of switches, leaf, spine and core; the tiers here are: {found}")
    nics = fabric.nodes.filter(pl.col("kind") == "nic", pl.col("tier") == "server")
    of_tier = [switches.filter(pl.col("tier") == tier) for tier in LEVELS[: len(tiers)]]
    return [each["node"].sort().to_numpy().astype(np.int64) for each in (nics, *of_tier)]


def _cables(fabric: Fabric, lower: Numbers, upper: Numbers) -> _Cables:
    cabled = fabric.links.filter(pl.col("cable") >= 0)
    ends = {name: pl.Series(nodes).implode() for name, nodes in (("lower", lower), ("upper", upper))}
    up = cabled.filter(pl.col("src").is_in(ends["lower"]), pl.col("dst").is_in(ends["upper"]))
    down = cabled.filter(pl.col("src").is_in(ends["upper"]), pl.col("dst").is_in(ends["lower"]))
    if up.is_empty():
        raise _refused("two neighbouring tiers are not joined")
    return _Cables(
        np.searchsorted(lower, up["src"].to_numpy()),
        np.searchsorted(upper, up["dst"].to_numpy()),
        _alike(pl.concat([up["rate_bps"], down["rate_bps"]]), "rate", 1.0),
        _alike(up["latency_s"], "latency", 1e-12),
        _alike(down["latency_s"], "latency", 1e-12),
    )


def _alike(values: pl.Series, what: str, within: float) -> float:
    found = values.to_numpy()
    if np.ptp(found) > within:
        raise _refused(f"cables between the same two tiers differ in {what}")
    return float(found[0])


def _same(values: Numbers, what: str) -> int:
    found = np.unique(values)
    if len(found) != 1:
        raise _refused(f"the number of {what} is not the same everywhere: {', '.join(map(str, found[:4].tolist()))}")
    return int(found[0])


def _leaf_of_nic(cables: _Cables, nics: int) -> Numbers:
    ports = _same(np.bincount(cables.lower, minlength=nics), "ports of a NIC")
    if ports != 1:
        raise _refused(f"its hosts have one port, and a NIC here has {ports}")
    return cables.upper[np.argsort(cables.lower)]


def _pods_and_bundles(cables: Sequence[_Cables], sizes: Sequence[int]) -> tuple[Numbers, list[int]]:
    """The pod of each leaf, and the cables between two switches that are joined, tier by tier.

    Leaves of a pod are joined to the same spines. htsim joins spine j of every pod to cores j, j + s, j + 2s and so on,
    s being the spines of a pod: each core has one spine of every pod, and the spines with one core have all.
    """
    joined = cables[1].joined(sizes[1], sizes[2])
    bundles = [_same(joined[joined > 0], "cables between a leaf and a spine")]
    spines_of, pod_of_leaf = np.unique(joined > 0, axis=0, return_inverse=True)
    if (spines_of.sum(axis=0) != 1).any():
        raise _refused("leaves share some of their spines and not all")
    pod_of_leaf = _in_turn(pod_of_leaf.reshape(-1))
    _same(np.bincount(pod_of_leaf), "leaves in a pod")
    spines = _same(spines_of.sum(axis=1), "spines in a pod")
    if len(cables) == 2:
        if len(spines_of) > 1:
            raise _refused(f"its {len(spines_of)} parts are joined by no switch")
        return pod_of_leaf, bundles
    joined = cables[2].joined(sizes[2], sizes[3])
    bundles.append(_same(joined[joined > 0], "cables between a spine and a core"))
    cores_of, alike = np.unique(joined > 0, axis=0, return_inverse=True)
    pod_of_spine = spines_of.argmax(axis=0)
    if (cores_of.sum(axis=0) != 1).any() or len(cores_of) != spines:
        raise _refused("a core joins one spine of each pod, and always those of the same place; here it does not")
    if any(len(set(alike.reshape(-1)[pod_of_spine == pod].tolist())) != spines for pod in range(len(spines_of))):
        raise _refused("two spines of a pod are joined to the same cores")
    return pod_of_leaf, bundles


def _in_turn(labels: Numbers) -> Numbers:
    """The labels numbered in the order in which they come first."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place.reshape(-1)]


def _oversubscription(cables: Sequence[_Cables], downs: Sequence[int], ups: Sequence[int]) -> list[int]:
    """Capacity down over capacity up of leaves and spines, which htsim wants whole, and of a leaf's ports the same."""
    found = []
    for tier, up in enumerate(ups):
        ratio = downs[tier] * cables[tier].rate_bps / (up * cables[tier + 1].rate_bps)
        if ratio < 1 or ratio != round(ratio):
            raise _refused(f"it wants a whole oversubscription, and the {LEVELS[tier]} tier here has {ratio:.3g}:1")
        if tier == 0 and downs[0] // up != round(ratio):
            raise _refused(f"a leaf has {downs[0]} ports down and {up} up of another rate, which it cannot say")
        found.append(round(ratio))
    return found


def _latencies(cables: Sequence[_Cables]) -> tuple[list[tuple[int, int]], bool]:
    """Nanoseconds of each tier's links below it and of its switches, and whether those were whole already.

    A link's latency counts the node that it enters: up, this tier's switch; down, the lower tier's switch or a NIC. In
    htsim a host takes no time, so a NIC's counts half with its link and half less with the leaf; the way up and down
    through any tiers takes as long as here.
    """
    found: list[tuple[float, float]] = []
    for each in cables:
        link = max(each.down_s - found[-1][1], 0.0) if found else min(each.down_s, (each.up_s + each.down_s) / 2)
        switch = each.up_s + each.down_s - 2 * link - (found[-1][1] if found else 0.0)
        found.append((link, max(switch, 0.0)))
    whole = [(round(link * 1e9), round(switch * 1e9)) for link, switch in found]
    is_exact = all(
        abs(seconds * 1e9 - ns) < 1e-3
        for both, rounded in zip(found, whole, strict=True)
        for seconds, ns in zip(both, rounded, strict=True)
    )
    return whole, is_exact


def _whole(rate_bps: float) -> int:
    if rate_bps % 1e9:
        raise _refused(f"its rates are whole Gb/s, and a link here has {rate_bps / 1e9:g}")
    return round(rate_bps / 1e9)
