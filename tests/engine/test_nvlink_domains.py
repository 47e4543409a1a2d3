"""Racks whose trays share an NVLink domain, held to closed forms."""

from dataclasses import replace

import pytest
from tests.engine.conftest import without_latency
from tests.fabric.conftest import G, make_plan, server

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.workload import Collective, Step, all_ranks

N = 3600 * G * 0.8 / 8
"""NVLink payload of a GPU, bytes a second."""
C = 400 * G * 0.96 / 8
"""NIC payload, bytes a second."""
B = 1e9


def racks(number: int) -> Network:
    """Racks of 18 trays of 4 GPUs and 4 NICs, each rack a unit of rail-optimized leaves."""
    tray = replace(server(gpus=4, nics=4), nvlink_domain_servers=18)
    plan = make_plan(servers=18 * number, server=tray, servers_per_unit=18)
    return Network(without_latency(build(plan)))


def step_s(network: Network, algorithm: str, channels: int, kind: str = "all-reduce") -> float:
    gpus = packed(network.fabric)
    work = Collective("it", kind, B, all_ranks(len(gpus)), algorithm, channels)
    return float(network.run(Step(len(gpus), (work,)), gpus, Carriage("spray"), tolerance=0.0).step_s[0])


def test_an_all_reduce_inside_a_rack_runs_at_nvlink_rate() -> None:
    """2(n-1)/n B / N, and no byte leaves the rack."""
    assert step_s(racks(1), "ring", 1) == pytest.approx(2 * 71 / 72 * B / N, rel=1e-6)


def test_an_all_to_all_inside_a_rack_runs_at_nvlink_rate() -> None:
    """(n-1)/n B / N."""
    assert step_s(racks(1), "direct", 1, "all-to-all") == pytest.approx(71 / 72 * B / N, rel=1e-6)


def test_two_racks_reduce_inside_then_between_over_all_their_nics() -> None:
    """2(g-1)/g B / N inside, 2(m-1)/m B / (gC) between, with g = 72 GPUs and m = 2 racks."""
    inside, between = 2 * 71 / 72 * B / N, 2 * 1 / 2 * B / (72 * C)
    assert step_s(racks(2), "hierarchical-staged", 1) == pytest.approx(inside + between, rel=1e-6)


def test_an_all_to_all_of_two_racks_is_bound_by_the_nics() -> None:
    """(n-g)/n B through each NIC."""
    assert step_s(racks(2), "direct", 1, "all-to-all") == pytest.approx(72 / 144 * B / C, rel=1e-6)
