"""GOAL schedules: LogGOPSim's statements, and lines that are refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.formats.conftest import imported

from eastwest.errors import InputError
from eastwest.workload import Compute, SendRecv

TWO = "num_ranks 2\nrank 0 {\n%s\n}\nrank 1 {\n%s\n}\n"


def read(tmp_path, first, second="", **options):
    path = tmp_path / "a.goal"
    path.write_text(TWO % (first, second))
    return imported(path, **options)


def shown(found):
    return [(each.name, list(each.after)) for each in found.step.operations]


def test_statements_become_computes_of_nanoseconds_and_messages_by_tag(tmp_path):
    found = read(
        tmp_path,
        "l1: calc 1500 cpu 0\nl2: send 100000b to 1 tag 7 cpu 0 nic 0\nl2 requires l1 // done first",
        "calc 20\nrecv 100000b from 0 tag 7",
    )
    compute, message, alone = sorted(found.step.operations, key=lambda each: each.name != "l1")[:3]
    assert isinstance(compute, Compute)
    assert compute.seconds == pytest.approx(1.5e-6)
    by_type = {type(each): each for each in (message, alone)}
    assert by_type[SendRecv].pairs.tolist() == [[0, 1]]
    assert by_type[SendRecv].bytes == 100_000
    assert by_type[SendRecv].after == ("l1",)


@pytest.mark.parametrize(("size", "after"), [(65_535, ["first"]), (65_536, ["l1"])])
def test_what_requires_a_small_send_goes_on_once_it_begins_and_a_large_one_once_it_has_arrived(tmp_path, size, after):
    first = f"l0: recv 1b from 1\nl1: send {size}b to 1\nl2: send 5b to 1 tag 9\nl1 requires l0\nl2 requires l1"
    found = read(tmp_path, first, f"first: send 1b to 0\nrecv {size}b from 0\nrecv 5b from 0 tag 9")
    assert dict(shown(found))["l2"] == after


def test_a_start_that_is_required_waits_for_what_that_waits_for(tmp_path):
    first = "a: recv 1b from 1\nb: send 100000b to 1 tag 1\nc: calc 5\nb requires a\nc irequires b"
    found = read(tmp_path, first, "send 1b to 0\nrecv 100000b from 0 tag 1")
    waits = dict(shown(found))
    assert waits["c"] == waits["b"]


def test_comments_may_span_lines(tmp_path):
    found = read(tmp_path, "/* one\n calc 7\n two */ calc 5 // more\n", "calc 5")
    assert found.step.compute_s == pytest.approx(5e-9)


def test_other_cpus_are_told(tmp_path):
    found = read(tmp_path, "calc 5 cpu 1", "calc 5")
    assert found.unused == {"calcs of other CPUs than 0 run in turn with those of CPU 0": 1}


def test_the_example_that_was_cut_is_refused(request):
    path = request.config.rootpath / "tests/data/imports/binary_tree_32_cut.goal"
    with pytest.raises(InputError, match=r"cut\.goal:11: the brace of rank 1 is open at the end: the file was cut"):
        imported(path)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("clac 5", "':' is missing behind the label 'clac'"),
        ("l1: sendd 5b to 1", "'sendd' is no statement; there are calc, send, recv, requires and irequires"),
        ("calc -5", "the time is a whole number"),
        ("calc", "the time is missing"),
        ("calc 5 6", "'6' is one word too many"),
        ("send 5b from 1", "'to' is missing behind the size, where 'from' stands"),
        ("send 5b to 9999999999", "the other rank is a whole number up to"),
        ("recv 5b from -1", "messages from any source are not followed"),
        ("recv 5b from 1 tag -1", "messages of any tag are not followed"),
        ("l1: calc 5\nl1: calc 6", "label 'l1' is taken by line 3"),
        ("l1: calc 5\nl1 requires l2", "rank 0 has no label 'l2'"),
        ("l1: calc 5\nl2: calc 5\nl1 requires l2\nl2 requires l1", "line 3 ('l1') waits for itself"),
        ("send 5b to 1", "line 3 ('send') sends to rank 1 with tag 0, and no receive there is left"),
        ("send 5b to 0", "sends to its own rank 0"),
        ("send 5b to 7", "sends to rank 7, and there are traces of ranks 0 to 1"),
    ],
)
def test_a_statement_that_makes_no_sense_is_refused(tmp_path, statement, why):
    with pytest.raises(InputError, match=r"a\.goal") as refused:
        read(tmp_path, statement)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("num_ranks 0\n", "num_ranks is missing, or 0"),
        ("num_ranks 3\nrank 0 {\n}\n", "3 ranks are declared and 1 are described"),
        ("num_ranks 1\nrank 1 {\n}\n", "the rank is a whole number up to 0"),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", "rank 0 is described twice, first in line 2"),
        ("num_ranks 1\nnum_ranks 1\n", "num_ranks is given twice"),
        ("num_ranks 1\ncalc 5\n", "'calc' stands where num_ranks N"),
    ],
)
def test_a_schedule_that_is_put_together_wrongly_is_refused(tmp_path, text, why):
    (tmp_path / "a.goal").write_text(text)
    with pytest.raises(InputError) as refused:
        imported(tmp_path / "a.goal")
    assert why in str(refused.value)


def test_other_numbers_of_ranks_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"--ranks 4: .* has 2 ranks"):
        read(tmp_path, "calc 5", "calc 5", ranks=4)


@given(st.text(max_size=60), st.integers(0, 80))
def test_whatever_stands_in_a_schedule_it_is_read_or_refused(tmp_path_factory, noise, place):
    whole = TWO % ("l1: send 8b to 1", "l1: recv 8b from 0")
    path = tmp_path_factory.mktemp("fuzz") / "a.goal"
    path.write_text("num_ranks" + whole[9:place] + noise + whole[place:], encoding="utf-8", errors="replace")
    with contextlib.suppress(InputError):
        imported(path)
