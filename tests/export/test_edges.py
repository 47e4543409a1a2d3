"""Messages of collectives between ranks: bytes by closed form, whatever the groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload import Collective
from eastwest.workload.edges import Places, edges

SERVERS, GPUS = 4, 4
RANKS = SERVERS * GPUS
PLACES = Places(np.arange(RANKS) // GPUS, np.arange(RANKS) % GPUS)
RING_FACTOR = {"all-reduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0}


def made(kind, algorithm, group, channels=1, size=1e6, matrix=None):
    members = (np.array(group, dtype=np.uint32),)
    return edges(Collective("sum", kind, size, members, algorithm, channels, matrix), PLACES)


groups = st.permutations(range(RANKS)).flatmap(lambda order: st.integers(2, RANKS).map(lambda size: order[:size]))


@given(groups, st.sampled_from(sorted(RING_FACTOR)), st.sampled_from(["ring", "rail-ring"]), st.integers(1, 8))
def test_every_rank_of_a_ring_sends_and_receives_the_same(group, kind, algorithm, channels):
    found, n = made(kind, algorithm, group, channels), len(group)
    for ends in (found.sender, found.receiver):
        moved = np.bincount(ends, weights=found.bytes, minlength=RANKS)[group]
        assert moved == pytest.approx(np.full(n, RING_FACTOR[kind] * (n - 1) / n * 1e6))


@given(groups, st.sampled_from(["broadcast", "reduce"]), st.sampled_from(["ring", "rail-ring"]))
def test_a_chain_reaches_all_from_its_root_or_ends_there(group, kind, algorithm):
    found = made(kind, algorithm, group)
    others, end = (found.receiver, found.sender) if kind == "broadcast" else (found.sender, found.receiver)
    assert sorted(others.tolist()) == sorted(group[1:])
    assert group[0] in end
    assert found.bytes.tolist() == [1e6] * (len(group) - 1)


@given(groups, st.sampled_from(["direct", "pxn"]))
def test_an_all_to_all_delivers_each_part_once_whatever_way_it_goes(group, algorithm):
    found, n = made("all-to-all", algorithm, group), len(group)
    received = np.bincount(found.receiver, weights=found.bytes, minlength=RANKS)
    sent = np.bincount(found.sender, weights=found.bytes, minlength=RANKS)
    # what a rank relays it receives and sends, so the difference is what it has for itself: nothing, all being alike
    assert received[group] == pytest.approx(sent[group])
    crossing = PLACES.domain[found.sender] != PLACES.domain[found.receiver]
    apart = sum(a // GPUS != b // GPUS for a in group for b in group)
    assert found.bytes[crossing].sum() == pytest.approx(apart * 1e6 / n)


def test_by_pxn_data_between_servers_stays_on_a_rail():
    found = made("all-to-all", "pxn", range(RANKS))
    crossing = PLACES.domain[found.sender] != PLACES.domain[found.receiver]
    assert (PLACES.position[found.sender[crossing]] == PLACES.position[found.receiver[crossing]]).all()


def test_a_matrix_says_what_each_pair_sends():
    matrix = np.arange(16.0).reshape(4, 4)
    found = made("all-to-all", "direct", [0, 5, 10, 15], matrix=matrix)
    sent = dict(
        zip(zip(found.sender.tolist(), found.receiver.tolist(), strict=True), found.bytes.tolist(), strict=True)
    )
    assert sent == {(a * 5, b * 5): matrix[a, b] for a in range(4) for b in range(4) if a != b}


@given(st.integers(1, 3))
def test_hops_between_servers_of_a_rail_ring_stay_on_a_rail_and_every_nic_has_as_many(turns):
    found = made("all-reduce", "rail-ring", range(RANKS), channels=GPUS * turns)
    crossing = found.where(PLACES.domain[found.sender] != PLACES.domain[found.receiver])
    assert (PLACES.position[crossing.sender] == PLACES.position[crossing.receiver]).all()  # servers are even in number
    assert np.bincount(crossing.sender).tolist() == [turns] * RANKS
    assert np.bincount(crossing.receiver).tolist() == [turns] * RANKS
