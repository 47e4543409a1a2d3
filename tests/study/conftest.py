"""The bundled study, run once, and the independent solution of its cases."""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from ruamel.yaml import YAML
from tests.reference import (
    Crossing,
    Edges,
    Paths,
    Traffic,
    direct,
    pair_traffic,
    queue_pair_shares,
    rail_ring,
    ring_traffic,
)

from eastwest import spec
from eastwest.fabric import place
from eastwest.study import build_fabric, run, to_json

SEEDS = 3
"""Draws of the hash seeds: an odd number, so that the median is one of them."""
GPUS_PER_SERVER, CHANNELS, GROUP, QPS, MESSAGE_BYTES = 8, 16, 64, 4, 524288.0
"""As the study says, or leaves to the defaults that docs and `eastwest schema` give."""


def pune_values(**changes: Any) -> dict[str, Any]:
    """The bundled study's entries, but for `changes`."""
    text = (files("eastwest") / "studies" / "pune-1024.yaml").read_text()
    return {**YAML(typ="safe").load(text), **changes}


@dataclass(frozen=True)
class Solution:
    """One fabric of the study and one placement, solved without the engine from the fabric's tables."""

    fabric: Any
    paths: Paths
    placement: str

    @cached_property
    def gpus(self) -> NDArray[np.int64]:
        """GPU node of each rank."""
        return place(self.fabric, self.placement, 0).astype(np.int64)

    def rate(self, tier: str) -> float:
        """Payload of a link of the tier, bytes a second."""
        (rate,) = np.unique(self.paths.capacity[self.paths.tier == tier])
        return float(rate)

    def delay(self, *tiers: str) -> float:
        """Latency of a path over links of these tiers, seconds."""
        return sum(float(self.paths.latency_s[self.paths.tier == tier].max()) for tier in tiers)

    def ring(self, buffer_bytes: float) -> Edges:
        return rail_ring(self.gpus.reshape(-1, GPUS_PER_SERVER), buffer_bytes, CHANNELS)

    def all_to_all(self, buffer_bytes: float) -> Edges:
        return direct(self.gpus.reshape(-1, GROUP), buffer_bytes)

    def hashed(self, edges: Edges, seed: int) -> Crossing:
        return self.paths.ecmp(edges, queue_pair_shares(edges.bytes, QPS, MESSAGE_BYTES), seed)

    def hashed_ring(self, buffer_bytes: float, seed: int) -> Traffic:
        edges = self.ring(buffer_bytes)
        return ring_traffic(edges, self.hashed(edges, seed))

    def hashed_all_to_all(self, buffer_bytes: float, seed: int) -> Traffic:
        edges = self.all_to_all(buffer_bytes)
        return pair_traffic(edges, self.hashed(edges, seed))


@pytest.fixture(scope="session")
def pune() -> spec.Study:
    return spec.from_mapping(pune_values(seeds=SEEDS))


@pytest.fixture(scope="session")
def answer(pune):
    """The study's result as its JSON values."""
    return to_json(run(pune))


@pytest.fixture(scope="session")
def row(answer):
    """One result: row("roce-400g", "customer", "packed")."""
    rows = {(each["fabric"], each["workload"], each["placement"]): each for each in answer["results"]}
    return lambda fabric, workload="customer", placement="packed": rows[fabric, workload, placement]


@pytest.fixture(scope="session")
def solve(pune):
    """The independent solution of a fabric and placement: solve("roce-400g", "scattered")."""
    built = {}

    def solution(fabric: str, placement: str = "packed") -> Solution:
        if fabric not in built:
            tables = build_fabric(pune, fabric)
            built[fabric] = (tables, Paths(tables))
        return Solution(*built[fabric], placement)

    return solution
