"""What scattering costs a ring under oversubscription, against its edges counted by hand.

With a rank a server, a ring's edge is one flow at its port's rate; of the edges that leave a leaf, x share its u
uplinks, and the whole ring goes at the rate of its slowest edge: it takes max(1, x / u) times as long as packed.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eastwest.catalog import Catalog
from eastwest.engine import Carriage, Network
from eastwest.fabric import FabricPlan, build, packed, scattered
from eastwest.workload import Collective, Step, all_ranks

CATALOG = Catalog.bundled()
SERVERS, PER_LEAF = 32, 8
BUFFER_BYTES = 64e9
PORT_BYTES_S = 400e9 / 8 * 4096 / 4178
RING_S = 2 * (SERVERS - 1) / SERVERS * BUFFER_BYTES / PORT_BYTES_S


def network(oversubscription: float) -> Network:
    plan = FabricPlan(
        name="pod",
        shape="leaf-spine",
        servers=SERVERS,
        server=replace(CATALOG.server("hgx-h100"), gpus=1, nics=1),
        nic=CATALOG.nic("connectx-7"),
        link_layer=CATALOG.link_layer("rocev2"),
        link_bps=400e9,
        switches={"leaf": CATALOG.switch("sn5400")},
        servers_per_unit=PER_LEAF,
        oversubscription={"leaf": oversubscription},
    )
    return Network(build(plan))


NETWORKS = {ratio: network(ratio) for ratio in (1.0, 2.0, 4.0)}


def ring_s(on: Network, gpus: npt.NDArray[np.uint32]) -> float:
    ring = Collective("ring", "all-reduce", BUFFER_BYTES, all_ranks(SERVERS), "ring", channels=1)
    return float(on.run(Step(SERVERS, (ring,)), gpus, Carriage("spray"), tolerance=0.0).step_s[0])


def leaf_of(on: Network, gpus: npt.NDArray[np.uint32]) -> list[int]:
    server = on.fabric.nodes["server"].to_numpy()[gpus]
    return [int(each) // PER_LEAF for each in server]


def longer(leaves: list[int], uplinks: float) -> float:
    """Times as long as packed: the most edges that leave or enter one leaf over its uplinks."""
    edges = list(zip(leaves, [*leaves[1:], leaves[0]], strict=True))
    out, into = (Counter(edge[end] for edge in edges if edge[0] != edge[1]) for end in (0, 1))
    return max(1.0, max((out | into).values(), default=0) / uplinks)


@pytest.mark.parametrize("ratio", NETWORKS)
def test_packed_a_ring_crosses_the_spine_once_a_leaf_and_loses_nothing(ratio: float) -> None:
    on = NETWORKS[ratio]
    assert ring_s(on, packed(on.fabric)) == pytest.approx(RING_S, rel=1e-3)


@pytest.mark.parametrize("ratio", NETWORKS)
def test_where_every_edge_crosses_the_spine_a_ring_loses_the_oversubscription(ratio: float) -> None:
    """Ranks dealt out to leaves in turn: 8 edges leave each leaf, over 8 uplinks, 4 or 2."""
    on = NETWORKS[ratio]
    dealt = packed(on.fabric).reshape(-1, PER_LEAF).T.reshape(-1)
    assert ring_s(on, dealt) == pytest.approx(RING_S * ratio, rel=1e-3)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(sorted(NETWORKS)), st.integers(0, 10_000))
def test_scattered_a_ring_loses_what_its_crossing_edges_say(ratio: float, seed: int) -> None:
    on = NETWORKS[ratio]
    gpus = scattered(on.fabric, seed)
    assert ring_s(on, gpus) == pytest.approx(RING_S * longer(leaf_of(on, gpus), PER_LEAF / ratio), rel=1e-3)
