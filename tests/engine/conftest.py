"""Networks for the tests of the engine's door."""

from dataclasses import replace

import polars as pl
import pytest
from tests.fabric.conftest import make_plan, server, switch

from eastwest.engine import Network
from eastwest.fabric import Fabric, build


def without_latency(fabric: Fabric) -> Fabric:
    return replace(fabric, links=fabric.links.with_columns(latency_s=pl.lit(0.0)))


def hosts_on_two_tiers() -> Fabric:
    """1,024 hosts of one port: 32 leaves of 32, a link from each to each of 32 spines."""
    plates = {"leaf": switch(cages=64), "spine": switch(cages=32)}
    return build(make_plan(shape="leaf-spine", servers=1024, server=server(gpus=1, nics=1), switches=plates))


def hosts_on_three_tiers() -> Fabric:
    """1,024 hosts of one port on a fat tree of 16-port switches: k^3 / 4 (Al-Fares et al., SIGCOMM 2008)."""
    plates = {"leaf": switch(cages=16)}
    return build(make_plan(shape="fat-tree", servers=1024, server=server(gpus=1, nics=1), switches=plates))


@pytest.fixture(scope="session")
def small() -> Network:
    """Four servers of 8 GPUs in one unit."""
    return Network(build(make_plan(servers=4)))
