"""Background traffic: who sends to whom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload import background

SIZES = st.tuples(st.integers(2, 9), st.integers(1, 8))
SEEDS = st.integers(0, 99)


def nodes(servers: int, gpus: int) -> np.ndarray:
    """GPU nodes with numbers between them: 10 * server + GPU."""
    return (10 * np.arange(servers)[:, None] + np.arange(gpus)).astype(np.uint32)


@given(SIZES, SEEDS)
def test_a_permutation_has_every_gpu_send_and_receive_once_between_servers(size: tuple[int, int], seed: int) -> None:
    table = nodes(*size)
    found = background("permutation", table, 1e9, seed)
    assert found.senders.tolist() == table.reshape(-1).tolist()
    assert sorted(found.receivers.reshape(-1).tolist()) == table.reshape(-1).tolist()
    assert (found.senders // 10 != found.receivers[:, 0] // 10).all()


@given(SIZES)
def test_all_to_all_reaches_every_gpu_of_other_servers(size: tuple[int, int]) -> None:
    table = nodes(*size)
    found = background("all-to-all", table, 1e9)
    for sender, receivers in zip(found.senders, found.receivers, strict=True):
        assert sorted(receivers.tolist()) == [gpu for gpu in table.reshape(-1) if gpu // 10 != sender // 10]


@given(SIZES, SEEDS)
def test_incast_has_all_other_servers_send_to_one_gpu(size: tuple[int, int], seed: int) -> None:
    table = nodes(*size)
    found = background("incast", table, 1e9, seed)
    (receiver,) = set(found.receivers.reshape(-1).tolist())
    assert receiver in table
    assert found.senders.tolist() == [gpu for gpu in table.reshape(-1) if gpu // 10 != receiver // 10]


def test_another_seed_draws_another_traffic() -> None:
    one, other = (background("permutation", nodes(8, 8), 1e9, seed) for seed in (0, 1))
    assert not np.array_equal(one.receivers, other.receivers)


def test_one_server_has_nobody_to_send_to() -> None:
    with pytest.raises(ValueError, match="between servers, and there is one"):
        background("incast", nodes(1, 8), 1e9)
