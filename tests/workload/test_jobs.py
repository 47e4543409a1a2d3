"""Several jobs as one program: names, ranks, queues, and the order of steps."""

import numpy as np
import pytest

from eastwest.workload import Collective, Compute, Job, SendRecv, Step, all_ranks, merged, shift

SMALL = Step(2, (Compute("work", 1.0), Collective("sync", "all-reduce", 1e6, all_ranks(2), "ring", after=("work",))))
LARGE = Step(3, (SendRecv("pass", 1e6, shift(3, 1)),), overlap_slowdown=1.5)


def test_jobs_have_ranks_and_queues_of_their_own() -> None:
    step = merged([Job("a", SMALL), Job("b", LARGE)], [1, 1])
    found = {operation.name: operation for operation in step.operations}
    assert list(found) == ["a/1/work", "a/1/sync", "a/1/ended", "b/1/pass", "b/1/ended"]
    assert found["a/1/work"].ranks.tolist() == [0, 1]
    assert found["a/1/sync"].groups[0].tolist() == [0, 1]
    assert found["b/1/pass"].pairs.tolist() == [[2, 3], [3, 4], [4, 2]]
    assert found["b/1/ended"].groups[0].tolist() == [2, 3, 4]
    assert len({found[name].queue for name in found if name != "a/1/work"}) == 4
    assert step.ranks == 5
    assert step.slowdown_of_rank == (1.0, 1.0, 1.5, 1.5, 1.5)


def test_a_step_begins_when_all_of_the_one_before_has_ended() -> None:
    step = merged([Job("a", SMALL, steps=1)], [2])
    found = {operation.name: operation for operation in step.operations}
    assert found["a/1/sync"].after == ("a/1/work",)
    assert found["a/1/ended"].after == ("a/1/work", "a/1/sync")
    assert found["a/2/work"].after == ("a/1/ended",)
    assert found["a/2/sync"].after == ("a/1/ended", "a/2/work")


def test_the_program_ends_with_the_steps_that_count() -> None:
    assert merged([Job("a", SMALL, steps=2), Job("b", LARGE)], [3, 5]).until == ("a/2/ended", "b/1/ended")


def test_every_job_needs_its_repeats() -> None:
    with pytest.raises(ValueError, match="shorter"):
        merged([Job("a", SMALL), Job("b", LARGE)], [1])


def test_ranks_named_by_a_computation_move_with_the_job() -> None:
    step = Step(2, (Compute("work", 1.0, ranks=np.array([1], dtype=np.uint32)),))
    last = merged([Job("a", SMALL), Job("b", step)], [1, 1]).operations[-2]
    assert isinstance(last, Compute)
    assert last.ranks is not None
    assert last.ranks.tolist() == [3]
