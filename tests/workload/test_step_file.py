"""Steps written to a file and read back, and files that are refused with the line."""

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.errors import InputError
from eastwest.workload import (
    Collective,
    Compute,
    SendRecv,
    Step,
    Storage,
    Tuning,
    read_step,
    shift,
    strided,
    write_step,
)
from eastwest.workload.step_file import spans

HEAD = {"eastwest": "step", "version": 1, "ranks": 16, "operations": 1}


def ranks(*numbers):
    return np.array(numbers, dtype=np.uint32)


STEP = Step(
    16,
    (
        Compute("forward", 0.001),
        Compute("backward/0", 0.002, ("forward",), ranks(0)),
        Compute("backward/9", 0.003, ("forward",), ranks(9)),
        Collective("sum", "all-reduce", 1e8, strided(16, 8, 1), "direct", queue="tensor", after=("backward/0",)),
        Collective("x", "all-to-all", 0.0, strided(16, 2, 1), "direct", matrix=np.array([[1.0, 1.0], [4.0, 4.0]])),
        Collective("share", "broadcast", 1e6, (ranks(9, 3, 4),), "direct", queue="odd", repeats=3),
        Compute("update", 0.0, ("backward/0", "backward/9", "sum"), ranks(0, 1, 2, 9)),
        SendRecv("hand on", 5e5, shift(16, 8), after=("sum",)),
        SendRecv("plain", 5e5, shift(16, 8), tuning=Tuning(is_done=True)),
    ),
)


def same(one, other):
    """Whether two operations are equal, arrays included."""
    if type(one) is not type(other):
        return False
    return all(
        np.array_equal(np.concatenate(value), np.concatenate(vars(other)[key]))
        if key == "groups"
        else np.array_equal(value, vars(other)[key])
        for key, value in vars(one).items()
    )


def write(path, *lines):
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_a_step_is_read_back_as_it_was_written(tmp_path):
    write_step(STEP, tmp_path / "a", "by hand")
    read = read_step(tmp_path / "a")
    assert read.step.ranks == 16
    assert read.origin == "by hand"
    assert all(map(same, read.step.operations, STEP.operations))
    assert len(read.step.operations) == len(STEP.operations)


def test_what_ranks_compute_by_themselves_takes_one_line(tmp_path):
    write_step(STEP, tmp_path / "a")
    written = [json.loads(line) for line in (tmp_path / "a").read_text().splitlines()]
    assert {"name": "backward", "compute": [0.002, 0.003], "ranks": "0,9", "after": ["forward"]} in written
    assert ["backward", "sum"] in [each.get("after") for each in written]  # both ranks' parts
    assert ["backward/0"] in [each.get("after") for each in written]  # one of them alone


def test_collectives_of_a_group_share_its_ranks_in_memory(tmp_path):
    again = replace(STEP.operations[3], name="again")
    write_step(replace(STEP, operations=(*STEP.operations, again)), tmp_path / "a")
    read = read_step(tmp_path / "a").step.operations
    assert read[3].groups is read[-1].groups


@given(st.lists(st.integers(0, 200), unique=True, min_size=1, max_size=40), st.booleans())
def test_spans_hold_the_ranks_in_their_order(tmp_path_factory, numbers, in_order):
    listed = sorted(numbers) if in_order else numbers
    path = tmp_path_factory.mktemp("spans") / "a"
    write(path, {**HEAD, "ranks": 201}, {"name": "c", "compute": 1, "ranks": spans(listed)})
    assert read_step(path).step.operations[0].ranks.tolist() == listed


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [([0, 1, 2, 3], "0-3"), ([5], "5"), ([0, 8, 16, 17], "0-16:8,17"), ([0, 1], "0,1"), ([3, 1], [3, 1])],
)
def test_spans_are_short(numbers, shown):
    assert spans(numbers) == shown


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "is a JSON object, and this is none"),
        ("[1]", "each line is a JSON object"),
        ({"name": "c", "compte": 1}, "a line is a group or an operation"),
        ({"name": "c", "compute": 1, "byte": 2}, "an operation has no 'byte'"),
        ({"compute": 1}, "an operation has a name"),
        ({"name": "c", "compute": -1}, "compute is a number from 0"),
        ('{"name": "c", "compute": NaN}', "compute is a number from 0"),
        ({"name": "c", "compute": True}, "compute is a number from 0"),
        ({"name": "c", "compute": [1, 2], "ranks": "0-2"}, "one for each of 'ranks'"),
        ({"name": "c", "compute": 1, "ranks": "0-16"}, "ranks go from 0 to 15"),
        ({"name": "c", "compute": 1, "ranks": "0-8:0"}, "in steps of 1 or more"),
        ({"name": "c", "compute": 1, "ranks": "7-3"}, "ranks are a list of numbers, or spans"),
        ({"name": "c", "compute": 1, "ranks": [1, 1]}, "different numbers"),
        ({"name": "c", "compute": 1, "after": ["d"]}, "waits for 'd', which does not come before it"),
        ({"name": "x", "collective": "allreduce", "bytes": 1}, "'allreduce' is no collective"),
        ({"name": "x", "collective": "all-reduce"}, "bytes is a number"),
        ({"name": "x", "collective": "all-reduce", "bytes": 1, "group": "dp"}, "there is no group 'dp'"),
        ({"name": "x", "collective": "all-reduce", "bytes": 1e16}, "bytes is a number from 0 to 1e+15"),
        (
            {"name": "x", "collective": "all-to-all", "bytes": [1, 2]},
            "for each rank of every set of the group, not 2",
        ),
        ({"name": "x", "collective": "all-reduce", "bytes": [1] * 16}, "bytes is a number"),
        ({"name": "m", "send_recv": [[1, 1]], "bytes": 1}, "different numbers"),
        ({"name": "m", "send_recv": [[1]], "bytes": 1}, "a list of pairs"),
        ({"name": "m", "send_recv": [[0, 1]], "bytes": 1, "nccl": "no"}, "nccl is true or false, not 'no'"),
        ({"group": "all", "of": ["0-3"]}, "a name of its own"),
        ({"group": "g", "of": ["0-3", "3-5"]}, "a rank is in two"),
        ({"group": "g", "of": ["0-3", "5"]}, "a set of a single rank"),
        ({"group": "g", "of": {"size": 3}}, "16 is no multiple"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_by_its_number(tmp_path, line, why):
    path = write(tmp_path / "a", HEAD, line)
    with pytest.raises(InputError, match=r"a:2: ") as refused:
        read_step(path)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ({"eastwest": "fabric"}, "a step begins with"),
        ({**HEAD, "version": 2}, "of version 2, and this eastwest reads version 1"),
        ({**HEAD, "ranks": 0}, "ranks is a whole number from 1"),
        ({**HEAD, "rank": 0}, "the head has no 'rank'"),
    ],
)
def test_a_head_that_makes_no_sense_is_refused(tmp_path, head, why):
    with pytest.raises(InputError, match="a:1: ") as refused:
        read_step(write(tmp_path / "a", head))
    assert why in str(refused.value)


def test_two_operations_of_one_name_are_refused(tmp_path):
    operation = {"name": "c", "compute": 1}
    with pytest.raises(InputError, match="a:3: two operations are named 'c'"):
        read_step(write(tmp_path / "a", {**HEAD, "operations": 2}, operation, operation))


def test_a_file_that_was_cut_short_is_refused(tmp_path):
    with pytest.raises(InputError, match="1 operations are declared and 0 are there: the file is cut short"):
        read_step(write(tmp_path / "a", HEAD))


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"\x81\xff\x00")
    with pytest.raises(InputError, match="no text"):
        read_step(tmp_path / "a")


@pytest.mark.parametrize(
    "operation",
    [
        Storage("load", "read", 1e9),
        Collective("uneven", "all-to-all", 0.0, strided(16, 2, 1), "direct", matrix=np.array([[1.0, 2.0], [3.0, 4.0]])),
    ],
)
def test_what_the_format_cannot_say_is_not_written(tmp_path, operation):
    with pytest.raises(ValueError, match="cannot be written"):
        write_step(Step(16, (operation,)), tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_short_lines_that_ask_for_much_many_times_are_refused(tmp_path):
    head = {**HEAD, "ranks": 1 << 20}
    groups = [{"group": f"g{each}", "of": {"size": 1 << 19}} for each in range(100)]
    with pytest.raises(InputError, match="a:97: the sets of ranks have more than 100,000,000 members"):
        read_step(write(tmp_path / "a", head, *groups))


def test_equal_spans_are_one_set_in_memory(tmp_path):
    lines = [{"name": name, "compute": 1, "ranks": "0-3"} for name in "ab"]
    one, other = read_step(write(tmp_path / "a", {**HEAD, "operations": 2}, *lines)).step.operations
    assert one.ranks is other.ranks


@given(st.text(max_size=40), st.integers(0, 400))
def test_whatever_stands_in_a_file_it_is_read_or_refused_by_its_name(tmp_path_factory, noise, place):
    path = tmp_path_factory.mktemp("fuzz") / "a"
    write_step(STEP, path)
    whole = path.read_text()
    path.write_text(whole[:place] + noise + whole[place:], encoding="utf-8", errors="replace")
    with contextlib.suppress(InputError):
        assert read_step(path).step.ranks >= 1


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
JSON = st.recursive(LEAVES, st.lists, max_leaves=4)
KEYS = [
    "name",
    "compute",
    "collective",
    "send_recv",
    "bytes",
    "group",
    "of",
    "ranks",
    "queue",
    "after",
    "repeats",
    "nccl",
]


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_whatever_a_line_says_it_is_read_or_refused(tmp_path_factory, line):
    path = write(tmp_path_factory.mktemp("fuzz") / "a", HEAD, json.dumps(line))
    with contextlib.suppress(InputError):
        read_step(path)
