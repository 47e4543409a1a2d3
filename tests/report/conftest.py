"""Made-up results in the shape of the bundled study: 9 fabrics, 2 workloads, 2 placements."""

from __future__ import annotations

from typing import Any

import pytest

from eastwest.study.result import Bottleneck, Cost, FabricFacts, JobRow, Row, StudyResult, TierLoad
from eastwest.study.timeline import Lane, Load, Slice, Timeline, Track

GPUS = 1024
PRICE = 2.5  # USD a GPU-hour
COMPUTE_S, OVERLAPPED_S = 1.6, 0.12
IDEAL_S = {"roce-200g": 0.78, "roce-100g": 1.56, "roce-800g": 0.26, "b200-800g": 0.195}
IDEAL_400G_S = 0.39
# Exposed exchange in seconds, (median, p95), by fabric: customer packed, customer scattered, moe packed, moe scattered.
EXPOSED_S = {
    "roce-400g": [(0.40, 0.40), (0.53, 0.61), (0.68, 0.74), (0.71, 0.79)],
    "roce-200g": [(0.80, 0.80), (1.06, 1.21), (1.36, 1.47), (1.42, 1.55)],
    "roce-100g": [(1.60, 1.60), (2.11, 2.43), (2.70, 2.95), (2.84, 3.11)],
    "roce-800g": [(0.28, 0.28), (0.34, 0.38), (0.37, 0.40), (0.40, 0.43)],
    "b200-800g": [(0.20, 0.20), (0.27, 0.31), (0.34, 0.37), (0.36, 0.39)],
    "roce-400g-4to1": [(0.41, 0.42), (1.31, 1.62), (1.92, 2.11), (2.02, 2.20)],
    "roce-400g-spray": [(0.40, 0.40), (0.40, 0.40), (0.50, 0.50), (0.52, 0.52)],
    "roce-400g-adaptive": [(0.40, 0.40), (0.43, 0.44), (0.54, 0.55), (0.56, 0.57)],
    "ib-400g": [(0.40, 0.40), (0.42, 0.43), (0.53, 0.54), (0.55, 0.56)],
}
CASES = [("customer", "packed"), ("customer", "scattered"), ("moe", "packed"), ("moe", "scattered")]
TIERS = [
    "gpu-nvlink", "nvlink-gpu", "gpu-pcie", "pcie-nic", "nic-leaf", "leaf-spine", "spine-leaf", "leaf-nic", "nic-pcie",
    "pcie-gpu",
]  # fmt: skip


def bottleneck(fabric: str, case: int) -> Bottleneck:
    if fabric == "roce-800g":
        return Bottleneck("PCIe Gen5 to the NIC", 0.99, "An 800G port is twice what a PCIe Gen5 x16 slot carries.")
    if case == 0 or "spray" in fabric:
        return Bottleneck("NIC ports", 0.97, "Every NIC sends the gradients of its rail at line rate.")
    if fabric == "roce-400g-4to1":
        return Bottleneck("leaf to spine links", 1.0, "Four servers' ports share one uplink.")
    return Bottleneck("leaf to spine links", 0.96, "ECMP put 4 flows on one link.")


def loads(fabric: str, case: int) -> tuple[TierLoad, ...]:
    crossing = (0.03, 0.62, 0.71, 0.78)[case] * (1.25 if fabric == "roce-400g-4to1" else 0.9)
    hot = crossing if "spray" in fabric else min(1.0, crossing * 1.6)
    port = IDEAL_S.get(fabric, IDEAL_400G_S) / EXPOSED_S[fabric][case][0]
    values = {"leaf-spine": (crossing, hot), "nic-leaf": (port, port)}
    values |= {"spine-leaf": values["leaf-spine"], "leaf-nic": values["nic-leaf"]}
    pcie = (port, port) if fabric != "roce-800g" else (0.99, 0.99)
    inside = {tier: pcie if "pcie" in tier else (0.21, 0.22) for tier in TIERS}
    pairs = [(tier, *(inside | values)[tier]) for tier in TIERS]
    return tuple(TierLoad(tier, mean, mean + 0.9 * (most - mean), most) for tier, mean, most in pairs)


def make_row(like: str, case: int, **other: Any) -> Row:
    (exposed, p95), (workload, placement) = EXPOSED_S[like][case], CASES[case]
    step, ideal = COMPUTE_S + exposed, IDEAL_S.get(like, IDEAL_400G_S)
    hours = GPUS * 24 * exposed / step
    values: dict[str, Any] = {
        "fabric": like,
        "cluster": "b200" if like.startswith("b200") else "h100",
        "workload": workload,
        "placement": placement,
        "fidelity": "fluid",
        "step_s": step,
        "step_p95_s": COMPUTE_S + p95,
        "compute_s": COMPUTE_S,
        "communication_s": exposed + OVERLAPPED_S,
        "communication_p95_s": p95 + OVERLAPPED_S,
        "overlapped_s": OVERLAPPED_S,
        "exposed_s": exposed,
        "exposed_p95_s": p95,
        "exposed_share": exposed / step,
        "gpu_idle_share": exposed / step,
        "ideal_communication_s": ideal + OVERLAPPED_S,
        "ideal_step_s": COMPUTE_S + ideal,
        "closeness": (ideal + OVERLAPPED_S) / (exposed + OVERLAPPED_S),
        "bottleneck": bottleneck(like, case),
        "tiers": loads(like, case),
        "cost": Cost("USD", hours, hours * PRICE),
        "draws": 1 if "spray" in like else 16,
    }
    return Row(**(values | other))


def two_tier_sketch(units: int = 4, leaves: int = 8, spines: int = 16, cables: int = 2) -> dict[str, Any]:
    boxes = [
        {"tier": "leaf", "name": f"leaf-u{u}-r{r}", "unit": u, "pod": -1, "count": 1, "gpus": 0}
        for u in range(units)
        for r in range(leaves)
    ]
    boxes += [
        {"tier": "server", "name": f"unit {u}", "unit": u, "pod": -1, "count": 32, "gpus": 256} for u in range(units)
    ]
    boxes += [
        {"tier": "spine", "name": f"spine-{s:02}", "unit": -1, "pod": -1, "count": 1, "gpus": 0} for s in range(spines)
    ]
    first_server, first_spine = units * leaves, units * leaves + units
    bundles = [
        {"a": first_server + leaf // leaves, "b": leaf, "tiers": "server-leaf", "cables": 32, "rate_bps": 4e11}
        for leaf in range(first_server)
    ]
    bundles += [
        {"a": leaf, "b": first_spine + s, "tiers": "leaf-spine", "cables": cables, "rate_bps": 4e11}
        for leaf in range(first_server)
        for s in range(spines)
    ]
    return {"boxes": boxes, "bundles": bundles}


def three_tier_sketch(pods: int = 64, radix: int = 64) -> dict[str, Any]:
    """A full fat tree of `radix`-port switches, in groups: 64 pods of 32 + 32, and 1,024 cores, 5,120 in all."""
    half = radix // 2
    boxes: list[dict[str, Any]] = []
    for tier, count, gpus in (("server", half * half // 8, half * half), ("leaf", half, 0), ("spine", half, 0)):
        boxes += [
            {"tier": tier, "name": f"pod {p}", "unit": -1, "pod": p, "count": count, "gpus": gpus} for p in range(pods)
        ]
    boxes.append({"tier": "core", "name": "", "unit": -1, "pod": -1, "count": half * half, "gpus": 0})
    bundles = [
        {"a": first + p, "b": first + pods + p, "tiers": tiers, "cables": half * half, "rate_bps": 4e11}
        for first, tiers in ((0, "server-leaf"), (pods, "leaf-spine"))
        for p in range(pods)
    ]
    bundles += [
        {"a": 2 * pods + p, "b": 3 * pods, "tiers": "spine-core", "cables": half * half, "rate_bps": 4e11}
        for p in range(pods)
    ]
    return {"boxes": boxes, "bundles": bundles}


def make_summary(name: str, spines: int = 16) -> dict[str, Any]:
    up = 64 * spines
    return {
        "name": name,
        "servers": 128,
        "gpus": 1024,
        "nics": 1024,
        "units": 4,
        "pods": 0,
        "frontend_nics": 0,
        "storage_servers": 0,
        "nvlink_domains": 128,
        "planes": 1,
        "sites": 1,
        "networks": 1,
        "switches": {"leaf": 32, "spine": spines, "core": 0},
        "switches_total": 32 + spines,
        "cables": {"server-leaf": 1024, "leaf-spine": up, "spine-core": 0},
        "cables_total": 1024 + up,
        "ports": {
            "leaf": {"total": 2048, "used": 1024 + up, "spare": 1024 - up},
            "spine": {"total": 64 * spines, "used": up, "spare": 0},
            "core": {"total": 0, "used": 0, "spare": 0},
        },
        "bisection_bps": up * 4e11 / 2,
        "oversubscription": {"leaf": 16 / spines, "spine": None, "overall": 16 / spines},
    }


def make_facts(fabric: str) -> FabricFacts:
    spines = 4 if fabric == "roce-400g-4to1" else 16
    cluster = "b200" if fabric.startswith("b200") else "h100"
    return FabricFacts(fabric, make_summary(fabric, spines), two_tier_sketch(spines=spines), cluster)


def make_timeline() -> Timeline:
    """Three ranks that compute for a quarter of a second, then exchange for three quarters."""
    ms = 10**9
    lanes = (
        Lane("compute", (Slice("forward", "compute", 0, 250 * ms),)),
        Lane(
            "collectives",
            (
                Slice("sync", "communication", 250 * ms, 1000 * ms),
                Slice("transfer", "transfer", 250 * ms, 1000 * ms),
            ),
        ),
    )
    tracks = tuple(Track(f"rank {rank}", 1, False, lanes) for rank in (0, 8, 9))
    load = Load("nic-leaf", (0.0, 0.5, 0.9, 0.9), (0.0, 0.5, 1.0, 1.0))
    return Timeline("customer, packed", 1000 * ms, 0, 1, 3, 3, tracks, 250 * ms, (load,))


def make_job() -> JobRow:
    """A job that others slow to half its speed."""
    why = Bottleneck("leaf to spine links", 1.0, "shared with moe, 100 % busy all through")
    return JobRow(
        "roce-400g", "h100", "busy-hour", "customer", "customer", "packed", 64, 512, "fluid", 0.2, 0.21, 0.1, 2.0, 4,
        why, ("moe",), 16,
    )  # fmt: skip


def make_result(**other: Any) -> StudyResult:
    values: dict[str, Any] = {
        "study": "pune-1024",
        "rows": tuple(make_row(fabric, case) for case in range(4) for fabric in EXPOSED_S),
        "fabrics": tuple(make_facts(fabric) for fabric in EXPOSED_S),
        "warnings": ("roce-400g-spray: ConnectX-7 does go-back-N over RoCE; sprayed packets arrive out of order.",),
        "seeds": tuple(range(1, 17)),
        "wall_s": 6.4,
        "engine_s": 3.1,
        "notes": (
            "For customer packed, balancing and oversubscription hardly matter: 3 % of the bytes cross the spine.",
            "For moe, 87 % of the bytes cross the spine, and 4:1 oversubscription more than doubles the exchange.",
        ),
        "sources": ("HGX H100: NVIDIA H100 datasheet", "ConnectX-7: NVIDIA ConnectX-7 datasheet, 400 Gb/s"),
        "tolerance": 0.01,
    }
    return StudyResult(**(values | other))


@pytest.fixture
def result() -> StudyResult:
    return make_result()
