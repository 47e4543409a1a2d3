"""The pace of a pipeline, against batches followed one by one."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload.loading import copying_s, pace_s, preparing_s

BATCHES = 600


def followed(loading: Sequence[float], step: float, prefetch: int) -> float:
    """Mean time from one step to the next, each batch followed through each stage, one batch in a stage at a time.

    A batch is asked for when the step `prefetch` before its own begins.
    """
    free = [0.0] * len(loading)
    begins: list[float] = []
    ends = 0.0
    for number in range(BATCHES):
        asked = begins[number - prefetch] if prefetch and number >= prefetch else (0.0 if prefetch else ends)
        for place, seconds in enumerate(loading):
            asked = free[place] = max(asked, free[place]) + seconds
        begins.append(max(asked, ends))
        ends = begins[-1] + step
    half = BATCHES // 2
    return (begins[-1] - begins[half]) / (BATCHES - 1 - half)


TIMES = st.floats(0.01, 10.0)


@given(st.lists(TIMES, min_size=1, max_size=3), TIMES, st.integers(0, 6))
def test_the_pace_is_that_of_batches_followed_one_by_one(loading, step, prefetch):
    # a pipeline's mean over a span that is no multiple of its period is off by a batch's way through at most
    slack = (sum(loading) + step) / (BATCHES // 2)
    assert pace_s(loading, step, prefetch) == pytest.approx(followed(loading, step, prefetch), abs=slack, rel=1e-9)


@given(st.lists(TIMES, min_size=1, max_size=3), TIMES)
def test_as_many_batches_as_stages_are_always_enough(loading, step):
    assert pace_s(loading, step, len(loading)) == pytest.approx(pace_s(loading, step), rel=1e-12)


def test_without_prefetching_loading_and_step_follow_each_other():
    assert pace_s([1.0, 2.0, 0.5], 4.0, 0) == 7.5


def test_a_server_prepares_on_all_its_workers():
    """256 images of 20 ms each on 64 cores."""
    assert preparing_s(256, 0.020, 64) == pytest.approx(0.08)


def test_a_gpu_s_batch_crosses_its_pcie():
    assert copying_s(1e9, 400e9) == pytest.approx(0.02)
