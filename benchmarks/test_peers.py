"""The jobs that other simulators were timed on (docs/performance.md): all-reduces of 1 GB on one switch.

512 and 1,024 ranks with a NIC each, and 128 servers of 8. Nobody sells a switch of 1,024 ports; the peers' topologies
have such. The engine alone: the network has been read before.
"""

from dataclasses import replace

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from eastwest import fabric
from eastwest.catalog import Catalog
from eastwest.engine import Balancing, Carriage, Network
from eastwest.workload import Algorithm, Collective, Step, all_ranks

GB = 1e9
RATE = 400e9 * 4096 / 4178 / 8
"""Payload bytes a second of a RoCEv2 port of 400 Gb/s."""


def network(servers: int, gpus: int) -> Network:
    parts = Catalog.bundled()
    plan = fabric.FabricPlan(
        name="one-switch",
        shape="single-switch",
        servers=servers,
        server=replace(parts.server("hgx-h100"), gpus=gpus, nics=gpus),
        nic=parts.nic("connectx-7"),
        link_layer=parts.link_layer("rocev2"),
        link_bps=400e9,
        switches={"leaf": replace(parts.switch("sn5600"), cages=1024, max_ports=1024)},
    )
    return Network(fabric.build(plan))


def run(built: Network, algorithm: Algorithm, balancing: Balancing, channels: int) -> float:
    gpus = fabric.packed(built.fabric)
    operation = Collective("gradients", "all-reduce", GB, all_ranks(len(gpus)), algorithm, channels=channels)
    return float(built.run(Step(len(gpus), (operation,)), gpus, Carriage(balancing)).step_s[0])


@pytest.mark.parametrize("balancing", ["ecmp", "spray"])
@pytest.mark.parametrize("ranks", [512, 1024])
def test_ring_all_reduce(benchmark: BenchmarkFixture, ranks: int, balancing: Balancing) -> None:
    step_s = benchmark(run, network(ranks, 1), "ring", balancing, 1)
    assert step_s == pytest.approx(2 * (ranks - 1) / ranks * GB / RATE, rel=0.2)  # latency comes on top


@pytest.mark.parametrize("balancing", ["ecmp", "spray"])
def test_all_reduce_inside_servers_of_8_and_between_128(benchmark: BenchmarkFixture, balancing: Balancing) -> None:
    step_s = benchmark(run, network(128, 8), "hierarchical-pipelined", balancing, 1)
    assert step_s == pytest.approx(2 * 127 / 128 * GB / (8 * RATE), rel=0.2)
