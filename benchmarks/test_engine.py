"""The engine behind its Python door: one collective of 1,024 ranks, one draw of the hash seeds, one core."""

import numpy as np
import numpy.typing as npt
from pytest_benchmark.fixture import BenchmarkFixture

from eastwest.engine import Carriage, Network
from eastwest.workload import Collective, Step, all_ranks

RING = Collective("ring", "all-reduce", 1e9, all_ranks(1024), "rail-ring", channels=16)
ALL_TO_ALL = Collective("all-to-all", "all-to-all", 1e9, all_ranks(1024), "direct")
Gpus = npt.NDArray[np.uint32]


def run(network: Network, gpus: Gpus, collective: Collective, carriage: Carriage, tolerance: float) -> float:
    found = network.run(Step(1024, (collective,)), gpus, carriage, tolerance=tolerance)
    return float(found.step_s[0])


def test_ring_all_reduce_16_channels_4_qps_ecmp(benchmark: BenchmarkFixture, network: Network, gpus: Gpus) -> None:
    assert benchmark(run, network, gpus, RING, Carriage("ecmp", qps=4), 0.01) > 0


def test_all_to_all_sprayed_exact(benchmark: BenchmarkFixture, network: Network, gpus: Gpus) -> None:
    step_s = benchmark.pedantic(run, args=(network, gpus, ALL_TO_ALL, Carriage("spray"), 0.0), rounds=5)
    assert step_s > 0


def test_all_to_all_ecmp_batched_to_one_percent(benchmark: BenchmarkFixture, network: Network, gpus: Gpus) -> None:
    step_s = benchmark.pedantic(run, args=(network, gpus, ALL_TO_ALL, Carriage("ecmp"), 0.01), rounds=5)
    assert step_s > 0


def test_all_to_all_ecmp_exact(benchmark: BenchmarkFixture, network: Network, gpus: Gpus) -> None:
    step_s = benchmark.pedantic(run, args=(network, gpus, ALL_TO_ALL, Carriage("ecmp"), 0.0), rounds=3)
    assert step_s > 0
