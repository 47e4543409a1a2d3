"""Devices and plans for the tests of fabrics, as round as real ones."""

from collections.abc import Callable
from typing import Any

import pytest

from eastwest.catalog.entries import Gpu, LinkLayer, Nic, Server, Switch
from eastwest.fabric import FabricPlan

G = 1e9
SPEEDS = (100 * G, 200 * G, 400 * G, 800 * G)


def nic(**changes: Any) -> Nic:
    values: dict[str, Any] = {
        "name": "nic",
        "technologies": ("rocev2", "infiniband"),
        "port_bps": 800 * G,
        "port_speeds_bps": SPEEDS,
        "pcie_bps": 512 * G,
        "latency_s": 1e-6,
        "places_out_of_order": False,
        "retransmission": "go-back-n",
        "power_w": 25.0,
    }
    return Nic(**(values | changes))


def server(gpus: int = 8, nics: int = 8, **gpu: Any) -> Server:
    values: dict[str, Any] = {
        "name": "gpu",
        "memory_bytes": 80e9,
        "memory_bps": 26.8e12,
        "bf16_flops": 989e12,
        "nvlink_bps": 3600 * G,
        "nvlink_efficiency": 0.8,
        "nvlink_latency_s": 2e-6,
        "pcie_bps": 512 * G,
        "pcie_efficiency": 0.9,
        "pcie_latency_s": 0.6e-6,
        "power_w": 700.0,
    }
    return Server(name="server", gpu=Gpu(**(values | gpu)), gpus=gpus, nics=nics, nic=nic(), power_w=10200.0)


def switch(cages: int = 64, cage_bps: float = 400 * G, **changes: Any) -> Switch:
    values: dict[str, Any] = {
        "name": f"switch-{cages}",
        "technologies": ("rocev2",),
        "port_speeds_bps": SPEEDS,
        "default_breakout": 1,
        "max_breakout": 8,
        "max_ports": 1024,
        "latency_s": 0.5e-6,
        "power_w": 1000.0,
    }
    return Switch(**({"cages": cages, "cage_bps": cage_bps} | values | changes))


def make_plan(**changes: Any) -> FabricPlan:
    """128 servers of 8 GPUs and 8 ports of 400G, rail-optimized over 64-port switches, but for `changes`."""
    values: dict[str, Any] = {
        "name": "test",
        "shape": "rail-optimized",
        "servers": 128,
        "server": server(),
        "nic": nic(),
        "link_layer": LinkLayer(technology="rocev2", mtu_bytes=4096, efficiency=0.96, fibre_s_per_m=5e-9),
        "link_bps": 400 * G,
        "switches": {"leaf": switch()},
    }
    return FabricPlan(**(values | changes))


@pytest.fixture
def plan() -> Callable[..., FabricPlan]:
    return make_plan


@pytest.fixture
def a_switch() -> Callable[..., Switch]:
    return switch


@pytest.fixture
def a_server() -> Callable[..., Server]:
    return server


@pytest.fixture
def a_nic() -> Callable[..., Nic]:
    return nic
