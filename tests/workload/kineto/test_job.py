"""Profiles of a job: one that stands for all ranks, or those of all; any other choice is refused with what to give."""

import numpy as np
import pytest
from tests.workload.kineto.conftest import Trace

from eastwest.errors import InputError
from eastwest.study.importing import import_files
from eastwest.workload import Collective, Compute, SendRecv


def profile(rank, compute=100.0, world=4):
    t = Trace(rank, world)
    t.step(1, 0, compute + 50)
    t.compute(0, compute)
    t.collective("allreduce", compute, 50)
    return t


@pytest.fixture
def profiles(saved):
    def save(ranks, **about):
        return [saved(profile(rank, 100.0 + rank, **about), f"rank{rank}.json") for rank in ranks]

    return save


def test_one_rank_stands_for_all_and_its_group_of_all_grows(profiles):
    step = import_files(profiles([2]), ranks=16).step
    assert step.ranks == 16
    talk = next(each for each in step.operations if isinstance(each, Collective))
    assert [group.tolist() for group in talk.groups] == [list(range(16))]


def test_a_group_within_the_job_is_there_as_often_as_it_fits(saved):
    t = profile(0)
    t.collective("allreduce", 200, 50, ranks="[0, 2]", **{"Group size": 2, "Process Group Name": "7"})
    step = import_files([saved(t)], ranks=8).step
    talk = [each for each in step.operations if isinstance(each, Collective)][-1]
    assert sorted(group.tolist() for group in talk.groups) == [[0, 2, 4, 6], [1, 3, 5, 7]]  # it spans the job


def test_the_profiles_of_all_ranks_keep_each_one_s_compute(profiles):
    step = import_files(profiles([1, 0, 3, 2])).step
    seconds = np.zeros(4)
    for each in step.operations:
        if isinstance(each, Compute):
            seconds[slice(None) if each.ranks is None else each.ranks] += each.seconds
    assert seconds == pytest.approx([100e-6, 101e-6, 102e-6, 103e-6])
    assert sum(isinstance(each, Collective) for each in step.operations) == 1


def test_stages_that_send_to_each_other_are_joined(saved):
    first, second = Trace(0, 2), Trace(1, 2)
    pair = {"ranks": "[0, 1]", "Group size": 2}
    first.compute(0, 100)
    first.collective("send", 100, 20, **{"Dst Rank": 1, **pair})
    second.collective("recv", 0, 120, launch=-1, **{"Src Rank": 0, **pair})
    second.compute(120, 50, launch=0)
    step = import_files([saved(first, "a.json"), saved(second, "b.json")]).step
    message = next(each for each in step.operations if isinstance(each, SendRecv))
    assert (message.pairs.tolist(), message.bytes) == ([[0, 1]], 4000)
    assert any(message.name in each.after for each in step.operations if isinstance(each, Compute))


def test_one_stage_cannot_stand_for_all(saved):
    t = profile(0)
    t.collective("send", 200, 20, **{"Dst Rank": 1})
    with pytest.raises(InputError, match="the traces of all 4 ranks"):
        import_files([saved(t)])


def test_ranks_whose_one_step_has_another_number_are_refused_without_naming_an_option(saved):
    other = Trace(1, 2)
    other.step(2, 0, 150)
    other.compute(0, 100)
    other.collective("allreduce", 100, 50, ranks="[0, 1]")
    paths = [saved(profile(0, world=2), "rank0.json"), saved(other, "rank1.json")]
    with pytest.raises(
        InputError, match=r"rank1\.json: step 1, as of rank0\.json: the profile has no such step; it has 2"
    ):
        import_files(paths)


def test_some_ranks_are_neither_one_nor_all(profiles):
    with pytest.raises(InputError, match="profiles of ranks 0, 2 of 4: give one, which then stands for all"):
        import_files(profiles([0, 2]))


def test_two_profiles_of_a_rank_are_refused(saved):
    paths = [saved(profile(1), name) for name in ("a.json", "b.json")]
    with pytest.raises(InputError, match=r"b\.json: .*a\.json is of rank 1 too"):
        import_files(paths)


def test_all_ranks_are_read_in_the_step_that_the_first_shows(saved):
    paths = []
    for rank in range(4):
        t = Trace(rank, 4)
        at = 0.0
        for number, length in enumerate([400, 300, 200, 100] if rank else [200, 300, 400, 100]):
            t.step(number, at, length)
            t.compute(at, length / 2)
            t.collective("allreduce", at + length / 2, length / 4)
            at += length
        paths.append(saved(t, f"rank{rank}.json"))
    found = import_files(paths)
    assert found.facts[0].startswith("step 1 of rank 0 took 300 us")


def test_what_the_step_took_is_told(profiles):
    found = import_files(profiles([0]))
    assert found.format == "PyTorch profile"
    assert found.facts[0] == (
        "step 1 of rank 0 took 150 us: 100 us of compute, 50 us of waiting for communication, 0 s of waiting for "
        "the host and 0 s of waiting for what the profile does not tell; both stay as they were"
    )
