"""Schedules of one's own: order, what is refused, and known algorithms written by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest import spec
from eastwest.study import run
from eastwest.workload import ScheduleError, ScheduleStep, in_turn, scheduled

FABRIC = {
    "shape": "rail-optimized",
    "technology": "rocev2",
    "link": "400 Gb/s",
    "switch": "sn5400",
    "balancing": "spray",
}
RANKS = 4
"""One rank a server, of the same rail."""
GROUP = {"size": RANKS, "stride": 8}
BUFFER = 1_000_000_000


def ring():
    """2(n-1) rounds in which each rank passes a part on to the next, once it has one from the rank before."""
    return [
        {
            "name": f"round-{turn}-from-{rank}",
            "from": rank,
            "to": (rank + 1) % RANKS,
            "bytes": f"{BUFFER // RANKS} B",
            "after": [f"round-{turn - 1}-from-{(rank - 1) % RANKS}"] if turn else [],
        }
        for turn in range(2 * (RANKS - 1))
        for rank in range(RANKS)
    ]


def halving_doubling():
    """Halves with partners ever further away, then back; each exchange waits for what came in the one before."""
    distances, steps = [1, 2, 2, 1], []
    sizes = [BUFFER // 2, BUFFER // 4, BUFFER // 4, BUFFER // 2]
    for turn, (distance, size) in enumerate(zip(distances, sizes, strict=True)):
        for rank in range(RANKS):
            after = [f"{turn - 1}-{rank ^ distances[turn - 1]}"] if turn else []
            steps.append(
                {
                    "name": f"{turn}-{rank}",
                    "from": rank,
                    "to": rank ^ distance,
                    "bytes": f"{size} B",
                    "after": after,
                }
            )
    return steps


def step_s(*operations, folder=None):
    study = spec.from_mapping(
        {
            "name": "own",
            "clusters": {"pod": {"server": "hgx-h100", "servers": RANKS}},
            "fabrics": {"rails": FABRIC},
            "workloads": {"job": {"kind": "operations", "operations": list(operations)}},
        },
        folder,
    )
    return run(study).rows[0].step_s


@pytest.mark.parametrize(("algorithm", "steps"), [("ring", ring()), ("halving-doubling", halving_doubling())])
def test_an_algorithm_written_as_steps_takes_as_long_as_the_engines_own(algorithm, steps):
    own = step_s({"name": "own", "schedule": {"steps": steps}, "group": GROUP})
    bytes_ = f"{BUFFER} B"
    engines = step_s(
        {
            "name": "its",
            "collective": "all-reduce",
            "bytes": bytes_,
            "algorithm": algorithm,
            "channels": 1,
            "group": GROUP,
        }
    )
    assert own == pytest.approx(engines, rel=1e-3)
    assert own == pytest.approx(2 * (RANKS - 1) / RANKS * BUFFER / (50e9 * 4096 / 4178), rel=1e-3)


def test_a_step_waits_only_for_what_it_names():
    """Two messages out of one NIC share it; one after the other they take as long, and three in a chain half more."""
    message = {"from": 0, "to": 1, "bytes": "1 GB"}
    one, other = ({**message, "to": to} for to in (1, 2))
    at_once = step_s({"name": "own", "schedule": {"steps": [one, other]}, "group": GROUP})
    in_turn_s = step_s({"name": "own", "schedule": {"steps": [one, {**other, "after": [1]}]}, "group": GROUP})
    apart = {"from": 2, "to": 3, "bytes": "1 GB"}
    beside = step_s({"name": "own", "schedule": {"steps": [one, apart]}, "group": GROUP})
    assert in_turn_s == pytest.approx(at_once, rel=1e-3)
    assert beside == pytest.approx(at_once / 2, rel=1e-3)


def test_what_comes_after_a_schedule_waits_for_its_steps_and_it_for_what_comes_before():
    compute = {"name": "compute", "compute": "10 ms"}
    own = {"name": "own", "schedule": {"steps": [{"from": 0, "to": 1, "bytes": "1 GB"}]}, "group": GROUP}
    alone = step_s(own)
    last = {"name": "last", "compute": "5 ms", "after": ["own"]}
    assert step_s(compute, {**own, "after": ["compute"]}, last) == pytest.approx(alone + 15e-3, rel=1e-6)


def test_every_group_runs_it():
    (message,) = scheduled("own", [ScheduleStep("1", 0, 2, 8.0)], (np.arange(4), np.arange(4, 8)))
    assert message.pairs.tolist() == [[0, 2], [4, 6]]


@given(st.permutations(range(8)), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_steps_come_behind_those_that_they_wait_for(order, waits):
    """Any order of any acyclic list: numbers wait for lower ones."""
    after = {step: tuple(str(low) for low, high in waits if low < high == step) for step in range(8)}
    turn = [each.name for each in in_turn([ScheduleStep(str(step), 0, 1, 1.0, after[step]) for step in order])]
    assert sorted(turn) == [str(step) for step in range(8)]
    for step in range(8):
        assert all(turn.index(before) < turn.index(str(step)) for before in after[step])


@pytest.mark.parametrize(
    ("waits", "step", "said"),
    [
        ({"a": ("a",)}, 0, "steps wait for each other: 'a' after 'a'"),
        ({"a": (), "b": ("d",), "c": ("b",), "d": ("c", "a")}, 1, "'b' after 'c' after 'd' after 'b'"),
        ({"a": ("x",)}, 0, "step 'a' waits for 'x', which is no step"),
    ],
)
def test_steps_that_cannot_be_ordered_are_refused(waits, step, said):
    with pytest.raises(ScheduleError, match=said) as caught:
        in_turn([ScheduleStep(name, 0, 1, 1.0, after) for name, after in waits.items()])
    assert caught.value.step == step


def test_a_step_cannot_wait_for_what_its_ranks_know_nothing_of():
    steps = [ScheduleStep("a", 0, 1, 1.0), ScheduleStep("b", 2, 3, 1.0, ("a",))]
    with pytest.raises(ScheduleError, match="step 'b' waits for 'a', in which neither of its ranks takes part"):
        in_turn(steps)


CSV = "name,from,to,bytes,after\na,0,1,500000000,\nb,1,2,500000000,a\nc,1,3,500000000,a b\n"
YAML = """\
steps:
  - { name: a, from: 0, to: 1, bytes: 500 MB }
  - { name: b, from: 1, to: 2, bytes: 500 MB, after: [a] }
  - { name: c, from: 1, to: 3, bytes: 500 MB, after: [a, b] }
"""


@pytest.mark.parametrize(("file", "text"), [("own.csv", CSV), ("own.yaml", YAML)])
def test_a_schedule_may_stand_in_a_file(tmp_path, file, text):
    (tmp_path / file).write_text(text)
    chain = step_s({"name": "own", "schedule": file, "group": GROUP}, folder=tmp_path)
    assert chain == pytest.approx(1.5e9 / (50e9 * 4096 / 4178), rel=1e-3)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("own.csv", CSV.replace("c,1,3", "c,1,1"), "'own.csv', line 4: step 'c' sends from rank 1 to itself"),
        ("own.csv", CSV.replace("c,1,3", "c,1,4"), "'own.csv', line 4: step 'c': rank 4 is not among the 4 of a group"),
        ("own.csv", CSV.replace("a b", "d"), "'own.csv', line 4: step 'c' waits for 'd', which is no step"),
        ("own.csv", CSV.replace("a,0,1", "a,0,x"), "'own.csv', line 2: to: "),
        ("own.csv", CSV.replace("b,1,2,500000000,a", "b,1,2,500 MB,a"), "'own.csv', line 3: bytes: "),
        ("own.csv", CSV.replace("b,1,2,500000000,a", "b,1,,500000000,a"), "'own.csv', line 3: the step lacks 'to'"),
        ("own.csv", CSV + "d,0,1,1,a,b\n", "'own.csv', line 5: it has more cells than the first line"),
        ("own.csv", "from,to\n", "'own.csv' has 0 steps"),
        ("own.csv", "\xff\xfe\x00", "cannot be read as CSV"),
        (
            "own.yaml",
            YAML.replace("after: [a]", "after: [c]"),
            "'own.yaml', line 3: steps wait for each other: 'b' after",
        ),
        ("own.yaml", YAML.replace("name: b", "nam: b"), "'own.yaml', line 3: a step has no entry 'nam'"),
        ("own.yaml", "steps: 3\n", "'own.yaml' has the key steps alone"),
        ("own.yaml", "steps: [\n", "'own.yaml', line"),
        ("../own.csv", None, "'../own.csv' is outside the study's folder"),
        ("none.csv", None, "there is no file 'none.csv' beside the study"),
    ],
)
def test_a_wrong_file_is_told_with_its_line(tmp_path, file, text, said):
    if text is not None:
        (tmp_path / file).write_text(text, encoding="latin-1")
    with pytest.raises(spec.StudyError) as caught:
        step_s({"name": "own", "schedule": file, "group": GROUP}, folder=tmp_path)
    assert said in str(caught.value)


TEXT = """\
name: own
clusters: {pod: {server: hgx-h100, servers: 4}}
fabrics: {one: {shape: single-switch, technology: rocev2, link: 400 Gb/s, switch: sn5400}}
workloads:
  job:
    kind: operations
    operations:
      - name: own
        group: 8
        schedule:
          steps:
            - { name: a, from: 0, to: 1, bytes: 1 MB }
            - { name: b, from: 1, to: 2, bytes: 1 MB, after: [a] }
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("to: 2", "to: 1", "study.yaml:13:15: step 'b' sends from rank 1 to itself (on 'pod')"),
        ("to: 2", "to: 8", "study.yaml:13:15: step 'b': rank 8 is not among the 8 of a group, from 0 (on 'pod')"),
        ("[a]", "[b]", "study.yaml:13:15: steps wait for each other: 'b' after 'b'"),
        ("[a]", "[c]", "study.yaml:13:15: step 'b' waits for 'c', which is no step"),
        ("name: b", "name: a", "study.yaml:13:15: two steps are named 'a'"),
        ("to: 2", "too: 2", "study.yaml:13:35: unknown entry 'too' in"),
        ("to: 2, ", "", "lacks 'to'"),
        ("to: 2", "to: -2", "study.yaml:13:39: to of an item of steps"),
        ("1 MB, after", "1, after", "study.yaml:13:49: 1 has no unit"),
        ("group: 8", "group: 7", "groups of 7 ranks do not fill the 32 GPUs of 'pod' evenly"),
    ],
)
def test_a_wrong_step_is_told_with_its_place(old, new, said):
    with pytest.raises(spec.StudyError) as caught:
        spec.loads(TEXT.replace(old, new), "study.yaml")
    assert said in str(caught.value)
