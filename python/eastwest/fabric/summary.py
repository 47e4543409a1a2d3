"""What a fabric amounts to, counted from its tables: switches, cables, ports, bisection, oversubscription as built.

Works on any fabric, planned or read from a running network. Not here: prices, or what traffic makes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from eastwest.fabric.bisection import bisection_bps, capacity_bps
from eastwest.fabric.plan import FRONTEND_TIERS, TIER_PAIRS, TIERS
from eastwest.fabric.reach import parts
from eastwest.fabric.tables import HOST_TIERS, Fabric

CLOS_TIERS = ("leaf", "spine", "core")
CLOS_PAIRS = ("server-leaf", "leaf-spine", "spine-core")
"""Tiers, and pairs of them, that are counted even where there are none."""


def summary(fabric: Fabric) -> dict[str, Any]:
    """Counts and capacities as plain JSON values.

    `switches` by tier and `cables` by pair of tiers, with `switches_total` and `cables_total`; `ports` of the switches
    by tier: {"total", "used", "spare"}; `gpus`, `servers`, `nics` (the GPUs'); `frontend_nics` of the servers and
    `storage_servers`; `units` and `pods`, 0 where the shape has none; `nvlink_domains`, groups of GPUs that reach each
    other over NVLink; `planes`, 1 where NICs have one port; `sites`; `networks`, groups of switches that no cable joins
    with each other, such as the rails of a rail-only fabric. Units, pods, networks, bisection and oversubscription are
    those of the GPUs' network alone.

    `bisection_bps` is the capacity, one direction, of the worst cut that leaves half of the NICs on either side, by the
    rule of the shape (`bisection`); None for a custom network, which has none.

    `oversubscription` is capacity down over capacity up, counting links that are cabled: of the "leaf", of the
    "spine" (None where there is nothing above; a dragonfly-plus' global links count as up) and "overall", all NICs over
    twice the bisection, 1 at the least, None where that is not known.
    Spare ports make a ratio below that which was asked for.
    """
    switches = _count(fabric.nodes.filter(pl.col("kind") == "switch"), "tier", (*TIERS, *FRONTEND_TIERS), CLOS_TIERS)
    cables = _count(fabric.cables, "tiers", TIER_PAIRS, CLOS_PAIRS)
    rate_bps = capacity_bps(fabric)
    nic_bps, leaf_up_bps = rate_bps.get("server-leaf", 0.0), rate_bps.get("leaf-spine", 0.0)
    spine_up_bps = rate_bps.get("spine-core", 0.0) or 2 * rate_bps.get("spine-spine", 0.0)
    pods, networks, sites = _places(fabric, "pod"), _networks(fabric), max(_places(fabric, "site"), 1)
    cut_bps = bisection_bps(fabric, rate_bps, switches["leaf"], pods, networks, sites)
    is_host = pl.col("tier").is_in(HOST_TIERS)
    kinds = _count(fabric.nodes.filter(~is_host), "kind", ("gpu", "nvswitch", "nic"))
    hosts = fabric.nodes.filter(is_host & (pl.col("kind") == "host"))
    return {
        "name": fabric.name,
        "servers": fabric.nodes.filter((pl.col("server") >= 0) & ~is_host)["server"].n_unique(),
        "gpus": kinds["gpu"],
        "nics": kinds["nic"],
        "frontend_nics": hosts.filter(tier="frontend").height,
        "storage_servers": hosts.filter(tier="storage")["server"].n_unique(),
        "nvlink_domains": kinds["nvswitch"],
        "units": _places(fabric, "unit"),
        "pods": pods,
        "planes": max(_places(fabric, "plane"), 1),
        "networks": networks,
        "sites": sites,
        "switches": switches,
        "switches_total": sum(switches.values()),
        "cables": cables,
        "cables_total": sum(cables.values()),
        "ports": _ports(fabric),
        "bisection_bps": cut_bps,
        "oversubscription": {
            "leaf": nic_bps / leaf_up_bps if leaf_up_bps else None,
            "spine": leaf_up_bps / spine_up_bps if spine_up_bps else None,
            "overall": nic_bps / (2 * cut_bps) if cut_bps else None,
        },
    }


def _count(
    table: pl.DataFrame, column: str, words: tuple[str, ...], always: tuple[str, ...] | None = None
) -> dict[str, int]:
    """Rows by word, in order; of words that are not `always` told (all are, where None), those that occur."""
    found = dict(table.group_by(pl.col(column).cast(pl.String)).len().rows())
    return {word: int(found.get(word, 0)) for word in words if word in found or always is None or word in always}


def _networks(fabric: Fabric) -> int:
    of_gpus = (pl.col("kind") == "switch") & ~pl.col("tier").is_in(FRONTEND_TIERS)
    is_switch = fabric.nodes.select(of_gpus).to_series().to_numpy()
    src, dst = (fabric.links[end].to_numpy().astype(np.int64) for end in ("src", "dst"))
    between = is_switch[src] & is_switch[dst]
    return len(np.unique(parts(len(fabric.nodes), src[between], dst[between])[is_switch]))


def _places(fabric: Fabric, column: str) -> int:
    return fabric.nodes.filter(pl.col(column) >= 0)[column].n_unique()


def _ports(fabric: Fabric) -> dict[str, dict[str, int]]:
    of_switches = fabric.nodes.filter(pl.col("kind") == "switch").select("node", "tier")
    ports = fabric.ports.join(of_switches, on="node")
    tiers = (*TIERS, *FRONTEND_TIERS)
    total = _count(ports, "tier", tiers, CLOS_TIERS)
    used = _count(ports.filter(pl.col("cable") >= 0), "tier", tiers)
    return {tier: {"total": of, "used": used[tier], "spare": of - used[tier]} for tier, of in total.items()}
