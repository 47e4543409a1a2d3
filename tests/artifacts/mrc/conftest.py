"""MRC networks for the tests, small and of each kind: one, two and three tiers, rails, rails apart, parallel cables."""

from collections.abc import Callable
from typing import Any

import pytest

from eastwest.artifacts import Plan, make_plan
from eastwest.catalog import Catalog
from eastwest.catalog.entries import Switch
from eastwest.fabric import FabricPlan, build

PARTS = Catalog.bundled()


def switch(cages: int) -> Switch:
    """So many cages of 400 Gb/s."""
    return Switch(
        name=f"switch-{cages}",
        technologies=("mrc",),
        cages=cages,
        cage_bps=400e9,
        max_ports=1024,
        port_speeds_bps=(100e9, 200e9, 400e9),
        default_breakout=1,
        max_breakout=8,
        latency_s=5e-7,
        power_w=1000.0,
    )


def mrc(servers: int = 8, **changes: Any) -> Plan:
    """Two planes of a leaf-spine, 2 servers of 4 NICs a leaf, switches of 16 ports; but for `changes`."""
    values: dict[str, Any] = {
        "name": "test",
        "shape": "leaf-spine",
        "servers": servers,
        "server": PARTS.server("gb200-nvl72"),
        "nic": PARTS.nic("connectx-8"),
        "link_layer": PARTS.link_layer("mrc"),
        "link_bps": 800e9,
        "planes": 2,
        "switches": {"leaf": switch(16)},
        "servers_per_unit": 2,
    }
    return make_plan(build(FabricPlan(**(values | changes))), PARTS)


KINDS: dict[str, dict[str, Any]] = {
    "one tier": {"shape": "single-switch", "servers": 4, "servers_per_unit": None},
    "two tiers": {},
    "parallel cables": {"servers": 4, "servers_per_unit": 1},
    "four planes": {"planes": 4, "switches": {"leaf": switch(8)}, "breakout": {"leaf": 2, "spine": 2}},
    "rails": {"shape": "rail-optimized"},
    "rails of three tiers": {"shape": "rail-optimized", "tiers": 3, "servers_per_pod": 4, "servers": 16},
    "rails apart": {"shape": "rail-only"},
    "three tiers": {"shape": "fat-tree", "servers_per_pod": 4, "servers": 16},
}


@pytest.fixture(params=KINDS)
def plan(request: pytest.FixtureRequest) -> Plan:
    return mrc(**KINDS[request.param])


@pytest.fixture
def build_mrc() -> Callable[..., Plan]:
    return mrc
