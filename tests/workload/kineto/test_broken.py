"""Profiles that cannot be used are refused with what to do; whatever a file holds, nothing else happens."""

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.workload.kineto.conftest import Trace

from eastwest.errors import InputError
from eastwest.workload.formats.kineto import is_profile, read_profile, stream
from eastwest.workload.trace import joined, replicated

REAL = Path(__file__).parents[3] / "examples" / "traces" / "ddp.pt.trace.json.gz"


def good() -> Trace:
    t = Trace()
    t.step(1, 0, 100)
    t.compute(0, 60)
    t.collective("allreduce", 60, 30)
    return t


def test_without_a_gpu_it_says_what_to_record(trace, saved):
    t = trace()
    t.add("cpu_op", "aten::add", 0, 10)
    with pytest.raises(InputError, match=r"no GPU ran anything.*ProfilerActivity\.CUDA"):
        read_profile(saved(t))


def test_without_collectives_it_says_so(trace, saved):
    t = trace()
    t.compute(0, 10)
    with pytest.raises(InputError, match="1 kernels and none of NCCL's"):
        read_profile(saved(t))


def test_without_sizes_it_says_which_pytorch_records_them(trace, saved):
    t = trace()
    t.add("kernel", "ncclKernel_AllReduce", 0, 10, device=0, stream=20, correlation=1)
    with pytest.raises(InputError, match=r"tells neither kind nor size\. Sizes and groups are recorded by PyTorch"):
        read_profile(saved(t))


def test_a_step_that_is_not_there_is_refused_with_those_that_are(saved):
    with pytest.raises(InputError, match="--step 7: the profile has no such step; it has 1"):
        read_profile(saved(good()), step=7)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is cut short"),
        ("hello", "is no JSON: '{' is expected after its beginning, not 'h'"),
        ('{"schemaVersion": 1}', "has no 'traceEvents'"),
        ('{"traceEvents": [{"ph": "X"', "is cut short after its beginning"),
        ('{"traceEvents": [{"ph": "X"}, {"ph" 3}]}', "is no JSON after event 1"),
        ('{"traceEvents": [{"ph": "X"} {"ph": "X"}]}', "',' is expected after event 1"),
        ('{"traceEvents": [{"ph": "X"}]} {', "goes on behind its end, with '{'"),
        ('[{"ph": "X"}]\nx', "goes on behind its end, with 'x'"),
        ('{"traceEvents": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_whole_json_is_refused_with_the_place(text, why, saved):
    with pytest.raises(InputError, match=why.replace("{", r"\{").replace("(", r"\(")):
        read_profile(saved(text))


def test_a_packed_profile_that_was_cut_is_refused(saved, tmp_path):
    path = saved(good(), "cut.json.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="is the file cut short"):
        read_profile(path)


def test_events_that_span_what_is_read_at_a_time_are_whole(saved, monkeypatch):
    path = saved(good())
    whole = read_profile(path)
    monkeypatch.setattr(stream, "CHUNK", 7)
    assert read_profile(path) == whole


def test_a_number_at_the_end_of_what_is_read_goes_on(saved, monkeypatch):
    monkeypatch.setattr(stream, "CHUNK", 1)
    found = stream.Stream(saved('{"schemaVersion": 12345, "traceEvents": []}'))
    assert list(found.events()) == []
    assert found.about == {"schemaVersion": 12345}


def test_packed_or_not_the_profile_is_the_same(saved):
    plain, packed = read_profile(saved(good())), read_profile(saved(good(), "rank0.json.gz"))
    assert (plain.step_s, len(plain.trace.nodes)) == (packed.step_s, len(packed.trace.nodes))


def test_a_real_profile_s_steps_add_up_and_run_on_more_ranks():
    profile = read_profile(REAL)
    assert (profile.rank, profile.world, profile.step) == (0, 2, 5)
    # ProfilerStep#5 takes 219.73 ms on the host
    assert profile.step_s == pytest.approx(0.2197, rel=2e-3)
    step = joined(replicated([lambda: profile.trace], 2, 16)).step
    assert step.ranks == 16
    assert step.compute_s == pytest.approx(profile.busy_s + profile.host_s + profile.idle_s)


def test_a_packed_profile_that_was_cut_is_still_known_as_one(saved):
    content = saved(good(), "rank0.json.gz").read_bytes()[:-30]
    assert is_profile(content, Path("rank0.json.gz"))


def test_a_profile_is_known_by_its_beginning(saved):
    plain, other = saved(good()), saved('{"eastwest": "step", "version": 1}', "step.jsonl")
    found = {path: is_profile(path.read_bytes()[:4096], path) for path in (REAL, plain, other)}
    assert found == {REAL: True, plain: True, other: False}


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_stands_in_an_event_it_is_read_or_refused(saved, data):
    t = good()
    event = data.draw(st.sampled_from(t.events))
    inside = event["args"] if event["args"] and data.draw(st.booleans()) else event
    key = data.draw(st.sampled_from(sorted(inside)))
    inside[key] = data.draw(values)
    t.head["distributedInfo"][data.draw(st.sampled_from(["rank", "world_size", "pg_config", "x"]))] = data.draw(values)
    with suppress(InputError):
        profile = read_profile(saved(t))
        if profile.world < 64:
            joined(replicated([lambda: profile.trace], profile.world, profile.world))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_whatever_bytes_are_changed_it_is_read_or_refused(saved, seed, changes):
    draw = random.Random(seed)
    content = bytearray(json.dumps({**good().head, "traceEvents": good().events}).encode())
    for _ in range(changes):
        content[draw.randrange(len(content))] = draw.randrange(256)
    with suppress(InputError):
        read_profile(saved(bytes(content[: draw.randrange(len(content))] if draw.random() < 0.3 else content)))
