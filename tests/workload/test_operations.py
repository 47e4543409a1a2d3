import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload import Collective, Compute, Measured, all_ranks, consecutive, in_order, shift, strided


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4))
def test_strided_groups_partition_the_ranks(size: int, stride: int, blocks: int) -> None:
    ranks = size * stride * blocks
    groups = strided(ranks, size, stride)
    assert sorted(np.concatenate(groups).tolist()) == list(range(ranks))
    assert all((np.diff(group.astype(int)) == stride).all() for group in groups)
    assert {len(group) for group in groups} == {size}


def test_consecutive_groups_are_neighbours() -> None:
    assert [group.tolist() for group in consecutive(6, 3)] == [[0, 1, 2], [3, 4, 5]]


def test_groups_that_do_not_fill_the_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="fill 24 ranks; 100 is no multiple"):
        strided(100, 3, 8)


def test_a_shift_goes_around_the_end() -> None:
    assert shift(4, 1).tolist() == [[0, 1], [1, 2], [2, 3], [3, 0]]


def test_an_operation_may_wait_only_for_an_earlier_one() -> None:
    with pytest.raises(ValueError, match="'first' waits for 'second'"):
        in_order([Compute("first", 1.0, after=("second",)), Compute("second", 1.0)])


def test_two_operations_may_not_share_a_name() -> None:
    with pytest.raises(ValueError, match="two operations are named 'a'"):
        in_order([Compute("a", 1.0), Compute("a", 1.0)])


def test_a_measured_step_is_compute_then_its_exchange() -> None:
    measured = Measured(2.0, 0.4, 0.4, "all-reduce", "ring", 1, all_ranks(4), 4)
    compute, exchange = measured.step(1e9).operations
    assert isinstance(compute, Compute)
    assert isinstance(exchange, Collective)
    assert compute.seconds == pytest.approx(1.6)
    assert exchange.bytes == 1e9
    assert exchange.after == (compute.name,)


def test_the_hidden_part_of_an_exchange_runs_beside_the_end_of_the_compute() -> None:
    measured = Measured(2.0, 0.4, 0.6, "all-reduce", "ring", 1, all_ranks(4), 4)
    step = measured.step(1e9)
    assert step.compute_s == pytest.approx(1.6)
    first, beside, exchange = step.operations
    assert isinstance(beside, Compute)
    assert beside.seconds == pytest.approx(0.2)
    assert exchange.after == beside.after == (first.name,)


@pytest.mark.parametrize(("by", "as_if"), [(-8, 56), (-1, 63), (64 * 10**20 + 3, 3)])
def test_a_shift_may_go_backwards_and_any_number_of_times_around(by: int, as_if: int) -> None:
    np.testing.assert_array_equal(shift(64, by), shift(64, as_if))
    assert shift(64, -8)[0].tolist() == [0, 56]
