"""Simulations with something to see: an incast, and a spine that goes down under sprayed flows."""

import numpy as np
import pytest
from tests.simulation.conftest import RATE_BPS, star

from eastwest.engine.packets import PacketNetwork
from eastwest.engine.series import Sampling
from eastwest.fabric import Fabric
from eastwest.fabric.bare import Cabling, bare
from eastwest.simulation import SimulationResult, changes, settings_for, simulate
from eastwest.workload.flows import flows

HOSTS = 8


def two_tiers() -> Fabric:
    """Two leaves of four hosts, each joined to four spines."""
    hosts = np.arange(HOSTS)
    leaf = Cabling("host-leaf", hosts, HOSTS + hosts // 4, RATE_BPS, 1e-6)
    ups = np.arange(8)
    spine = Cabling("leaf-spine", HOSTS + ups // 4, HOSTS + 2 + ups % 4, RATE_BPS, 1e-6)
    return bare("two tiers", HOSTS, (("leaf", 2), ("spine", 4)), [leaf, spine])


@pytest.fixture(scope="session")
def incast() -> SimulationResult:
    """Seven hosts send to host 0, of two sizes, by RoCEv2 with pauses."""
    network = PacketNetwork(star(HOSTS))
    given = flows(range(1, HOSTS), [0] * 7, [100_000, 400_000, 400_000, 400_000, 100_000, 400_000, 400_000])
    return simulate(network, given, settings_for("rocev2", network, given), sampling=Sampling.of(16))


@pytest.fixture(scope="session")
def failure() -> SimulationResult:
    """Each host sends 4 MB to the other leaf by MRC; a spine goes down after 30 us, for 40."""
    network = PacketNetwork(two_tiers())
    hosts = np.arange(HOSTS)
    given = flows(hosts, (hosts + 4) % HOSTS, 4_000_000)
    wrong = changes(["down spine-2 at 30 us for 40 us"], network.fabric, None)
    settings = settings_for("mrc", network, given)
    return simulate(network, given, settings, changes=wrong, sampling=Sampling.of(len(network.fabric.links)))
