"""Algorithms of MSCCL: the messages that they are, and what is refused."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.errors import InputError
from eastwest.workload.formats import Asked, import_job

RING = "tests/data/imports/msccl_ring_8.xml"
MIB = 1 << 20


def read(path, size=MIB, ranks=None):
    return import_job(Asked((path,), ranks, None, size))


def algorithm(*gpus, count=2, chunks=2):
    listed = "".join(f'<gpu id="{number}">{blocks}</gpu>' for number, blocks in enumerate(gpus))
    return f'<algo name="x" coll="allgather" proto="Simple" nchunksperloop="{chunks}" ngpus="{count}">{listed}</algo>'


def block(number, send, receive, *steps):
    return f'<tb id="{number}" send="{send}" recv="{receive}" chan="0">{"".join(steps)}</tb>'


def step(kind, count=1, depid=-1, deps=-1):
    return f'<step type="{kind}" cnt="{count}" depid="{depid}" deps="{deps}"/>'


def test_a_ring_all_reduce_sends_as_much_as_a_ring_must(request):
    found = read(request.config.rootpath / RING)
    sent = np.zeros(8)
    for operation in found.step.operations:
        sent[operation.pairs[:, 0]] += operation.bytes
    assert found.step.ranks == 8
    assert sent == pytest.approx(np.full(8, 2 * 7 / 8 * MIB))  # 2 (n-1) / n of the buffer


def test_the_rounds_of_a_ring_follow_each_other(request):
    operations = read(request.config.rootpath / RING).step.operations
    assert len(operations) == 14  # 2 (n-1) rounds, all ranks at once
    assert [list(each.after) for each in operations] == [[], *([each.name] for each in operations[:-1])]


def test_a_step_that_receives_and_sends_on_is_both_in_turn(tmp_path):
    path = tmp_path / "a.xml"
    gpus = [block(0, 1, -1, step("s")), block(0, 2, 0, step("rcs")), block(0, -1, 1, step("r"))]
    path.write_text(algorithm(*gpus, count=3))
    first, second = read(path).step.operations
    assert (first.pairs.tolist(), second.pairs.tolist()) == ([[0, 1]], [[1, 2]])
    assert second.after == (first.name,)
    assert second.bytes == MIB / 2


def test_steps_wait_for_those_of_other_thread_blocks(tmp_path):
    path = tmp_path / "a.xml"
    sender = block(0, -1, 1, step("r", 2)) + block(1, 1, -1, step("nop", depid=0, deps=0), step("s"))
    receiver = block(0, 0, -1, step("s", 2)) + block(1, -1, 0, step("r"))
    path.write_text(algorithm(sender, receiver))
    first, second = read(path).step.operations
    assert (first.pairs.tolist(), second.pairs.tolist()) == ([[1, 0]], [[0, 1]])
    assert second.after == (first.name,)


REFUSED = {
    "no XML": ("<algo", "this is no XML, or the file was cut"),
    "something else": ('<?xml version="1.0"?><a><algo/></a>', "is an element 'algo', not 'a'"),
    "entities": ('<algo/><!DOCTYPE a [<!ENTITY b "c">]>', "has no document type of its own"),
    "no GPUs": (algorithm(count=2), "2 GPUs are declared, and 0 different ones from 0 on are described"),
    "a size in words": (algorithm("", "", chunks="two"), "nchunksperloop is a whole number from 1 on, not 'two'"),
    "an unknown step": (algorithm(block(0, 1, 1, step("x")), ""), "tb0 step 0: 'x' is no type of step"),
    "nobody to send to": (
        algorithm(block(0, -1, 1, step("s")), ""),
        "a step to send, and the thread block no peer",
    ),
    "a wait for nothing": (
        algorithm(block(0, 1, 1, step("s", depid=4, deps=2)), ""),
        "tb0 step 0 of GPU 0 waits for step 2 of tb 4: there is none",
    ),
    "a send without a receive": (algorithm(block(0, 1, 1, step("s")), ""), "and no receive there is left for it"),
    "a block twice": (algorithm(block(0, 1, 1) * 2, ""), "two thread blocks of GPU 0 have the same id"),
    "waits in a circle": (
        algorithm(block(0, 1, 1, step("s", depid=1, deps=0)) + block(1, 1, 1, step("s", depid=0, deps=0)), ""),
        "waits for itself",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_algorithm_is_refused(tmp_path, name):
    text, why = REFUSED[name]
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a\.xml: ") as refused:
        read(path)
    assert why in str(refused.value)


def test_the_size_of_the_buffer_is_asked_for(request):
    with pytest.raises(InputError, match="moves buffers of any size: say which with --bytes"):
        read(request.config.rootpath / RING, size=None)


def test_other_numbers_of_ranks_are_refused(request):
    with pytest.raises(InputError, match="--ranks 16: the algorithm is for 8 GPUs"):
        read(request.config.rootpath / RING, ranks=16)


@given(st.text(max_size=30), st.integers(0, 300))
def test_whatever_stands_in_an_algorithm_it_is_read_or_refused(tmp_path_factory, noise, place):
    whole = algorithm(block(0, 1, -1, step("s")), block(0, -1, 0, step("r")))
    path = tmp_path_factory.mktemp("fuzz") / "a.xml"
    path.write_text("<algo" + whole[5:place] + noise + whole[place:], encoding="utf-8", errors="replace")
    with contextlib.suppress(InputError):
        read(path)
