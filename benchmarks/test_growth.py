"""How time grows with the cluster: eight planes of two tiers, sprayed, from 1,024 to 131,072 NICs (arXiv 2605.04333).

Once each: what a person waits for who builds a fabric and runs one collective, or a step, on it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from eastwest.catalog import Catalog
from eastwest.engine import Carriage, Network
from eastwest.fabric import Fabric, FabricPlan, build, packed
from eastwest.workload import Collective, Compute, Operation, SendRecv, Step, all_ranks, consecutive, strided

SIZES = (1024, 16384, 131072)
SPRAYED = Carriage("spray")
STAGES = 8
LAYERS = 24


def eight_planes(nics: int) -> FabricPlan:
    """800G NICs of eight ports; leaves and spines of 512 ports of 100 Gb/s."""
    parts = Catalog.bundled()
    return FabricPlan(
        name="planes",
        shape="leaf-spine",
        servers=nics // 8,
        server=parts.server("hgx-h200"),
        nic=replace(parts.nic("connectx-8"), max_planes=8),
        link_layer=parts.link_layer("mrc"),
        link_bps=800e9,
        planes=8,
        switches={"leaf": replace(parts.switch("sn5600"), max_ports=512)},
        breakout={"leaf": 8, "spine": 8},
    )


@dataclass(frozen=True)
class Built:
    network: Network
    gpus: npt.NDArray[np.uint32]

    def run(self, *operations: Operation) -> float:
        return float(self.network.run(Step(len(self.gpus), operations), self.gpus, SPRAYED).step_s[0])


@pytest.fixture(scope="module", params=SIZES)
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return build(eight_planes(request.param))


@pytest.fixture(scope="module")
def built(fabric: Fabric) -> Built:
    return Built(Network(fabric), packed(fabric))


@pytest.mark.parametrize("nics", SIZES)
def test_build(benchmark: BenchmarkFixture, nics: int) -> None:
    assert benchmark.pedantic(build, args=(eight_planes(nics),), rounds=1).nodes.height > nics


def test_read(benchmark: BenchmarkFixture, fabric: Fabric) -> None:
    benchmark.pedantic(Network, args=(fabric,), rounds=1)


def test_hierarchical_all_reduce(benchmark: BenchmarkFixture, built: Built) -> None:
    everyone = all_ranks(len(built.gpus))
    operation = Collective("gradients", "all-reduce", 1e9, everyone, "hierarchical-pipelined")
    assert benchmark.pedantic(built.run, args=(operation,), rounds=1) > 0


@pytest.mark.parametrize("algorithm", ["direct", "pxn"])
def test_all_to_all(benchmark: BenchmarkFixture, built: Built, algorithm: str) -> None:
    everyone = all_ranks(len(built.gpus))
    operation = Collective("experts", "all-to-all", 1e9, everyone, "pxn" if algorithm == "pxn" else "direct")
    assert benchmark.pedantic(built.run, args=(operation,), rounds=1) > 0


def test_step(benchmark: BenchmarkFixture, built: Built) -> None:
    """24 layers of tensor parallelism in servers and experts over 64 ranks; 8 pipeline stages; gradients on rails."""
    assert benchmark.pedantic(built.run, args=tuple(step(len(built.gpus))), rounds=1) > 0


def step(ranks: int) -> Iterator[Operation]:
    tensor, experts, stage = consecutive(ranks, 8), strided(ranks, 64, 1), ranks // STAGES
    onward = np.arange(ranks - stage, dtype=np.uint32)
    pairs = np.stack([onward, onward + np.uint32(stage)], axis=1)
    before: tuple[str, ...] = ()
    for layer in range(LAYERS):
        compute, reduced, sent, combined = (f"{name}-{layer}" for name in ("compute", "tensor", "stage", "experts"))
        yield Compute(compute, 1e-3, after=before)
        yield Collective(reduced, "all-reduce", 64e6, tensor, "ring", 4, queue="tensor", after=(compute,))
        yield Collective(combined, "all-to-all", 64e6, experts, "direct", queue="experts", after=(reduced,))
        yield SendRecv(sent, 8e6, pairs, after=(compute,))
        before = (combined,)
    rails = [np.arange(first, first + stage, dtype=np.uint32).reshape(-1, 8).T for first in range(0, ranks, stage)]
    groups = tuple(np.ascontiguousarray(rail) for stages in rails for rail in stages)
    yield Collective("gradients", "all-reduce", 2e9, groups, "ring", queue="gradients", after=before)
