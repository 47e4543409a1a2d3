"""The fabric that the benchmarks share: 1,024 H100 GPUs behind 32 rail leaves and 16 spines, non-blocking."""

import numpy as np
import numpy.typing as npt
import pytest

from eastwest import spec
from eastwest.engine import Network
from eastwest.fabric import packed
from eastwest.study import build_fabric


@pytest.fixture(scope="session")
def network() -> Network:
    return Network(build_fabric(spec.load("pune-1024"), "roce-400g"))


@pytest.fixture(scope="session")
def gpus(network: Network) -> npt.NDArray[np.uint32]:
    return packed(network.fabric)
