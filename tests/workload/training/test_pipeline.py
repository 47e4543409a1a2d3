"""Pipeline schedules against the closed forms of the papers that describe them, and random ones for deadlock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload.training.pipeline import Turn, in_order, orders, waits_for


def span(schedule, stages, virtual, microbatches, seconds) -> float:
    """Time of all turns without communication, each of `seconds` by what it is."""
    chunks, ended, free = stages * virtual, {}, [0.0] * stages
    for stage, turn in in_order(orders(schedule, stages, virtual, microbatches), chunks):
        awaited = waits_for(turn, chunks)
        start = max(free[stage], ended[awaited] if awaited else 0.0)
        ended[turn] = free[stage] = start + seconds[turn.what]
    return max(free)


sizes = st.integers(1, 8)


@given(st.integers(1, 9), st.integers(1, 40), st.floats(0.1, 1), st.floats(0.1, 3))
def test_1f1b_has_a_bubble_of_a_pass_for_each_stage_but_one(stages, microbatches, forward, backward):
    # arXiv 2104.04473, section 2.2.1: bubble (p-1)(tf+tb) beside m (tf+tb); exact for any tf, tb
    found = span("1f1b", stages, 1, microbatches, {"forward": forward, "backward": backward})
    assert found == pytest.approx((microbatches + stages - 1) * (forward + backward))


@given(st.integers(2, 6), st.integers(2, 4), st.integers(1, 6), st.floats(0.2, 1))
def test_interleaving_divides_the_bubble_by_the_chunks(stages, virtual, turns, forward):
    # arXiv 2104.04473, section 2.2.2: (p-1)(tf+tb)/v beside m (tf+tb), where microbatches fill whole groups of p
    microbatches = turns * stages
    seconds = {"forward": forward / virtual, "backward": 2 * forward / virtual}
    found = span("interleaved", stages, virtual, microbatches, seconds)
    assert found == pytest.approx(3 * forward * (microbatches + (stages - 1) / virtual))


@given(st.integers(1, 8), st.integers(0, 20), st.floats(0.2, 1))
def test_zero_bubble_leaves_a_third_of_the_bubble(stages, more, each):
    # arXiv 2401.10241, table 1: ZB-H1 (p-1)(TF+TB-TW), and section 2.1: a third of 1F1B's where all three are alike
    microbatches = 2 * stages + more
    found = span("zero-bubble", stages, 1, microbatches, dict.fromkeys(("forward", "backward", "weights"), each))
    assert found == pytest.approx(3 * each * microbatches + (stages - 1) * each)


@given(st.sampled_from(["1f1b", "interleaved", "zero-bubble"]), sizes, st.integers(1, 4), st.integers(1, 20))
def test_every_pass_comes_once_and_no_stage_waits_for_ever(schedule, stages, virtual, microbatches):
    virtual = virtual if schedule == "interleaved" and stages > 1 else 1
    chunks = stages * virtual
    turns = list(in_order(orders(schedule, stages, virtual, microbatches), chunks))
    passes = ["forward", "backward", *(["weights"] if schedule == "zero-bubble" else [])]
    expected = {
        (chunk % stages, Turn(what, chunk, microbatch))
        for what in passes
        for chunk in range(chunks)
        for microbatch in range(microbatches)
    }
    assert set(turns) == expected
    assert len(turns) == len(expected)


@given(sizes, st.integers(1, 30))
def test_no_stage_of_1f1b_holds_more_microbatches_than_stages_follow(stages, microbatches):
    for stage, turns in enumerate(orders("1f1b", stages, 1, microbatches)):
        held = most = 0
        for turn in turns:
            held += 1 if turn.what == "forward" else -1
            most = max(most, held)
        assert most == min(stages - stage, microbatches)


def test_the_order_of_a_small_interleaved_pipeline_is_megatrons():
    # arXiv 2104.04473, figure 4: four stages of two chunks; the first stage begins with 1 2 3 4 of either chunk
    first = orders("interleaved", 4, 2, 8)[0]
    shown = [(turn.what[0], turn.chunk // 4, turn.microbatch + 1) for turn in first[:12]]
    forward = [("f", chunk, microbatch) for chunk in (0, 1) for microbatch in (1, 2, 3, 4)]
    assert shown == [*forward, ("f", 0, 5), ("f", 0, 6), ("f", 0, 7), ("b", 1, 1)]


def test_stages_that_wait_for_each_other_are_told():
    with pytest.raises(ValueError, match="wait for each other"):
        list(in_order([[Turn("backward", 0, 0)], [Turn("backward", 1, 0)]], 2))
