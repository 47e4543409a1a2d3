"""What waits for what in a step of a profile, and what became of its time."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.workload.kineto.conftest import NCCL, Trace

from eastwest.workload.formats.kineto import read_profile
from eastwest.workload.trace import CollectiveNode, ComputeNode

US = 1e-6


def told(profile):
    """Each stretch of compute with its length and what collectives it waits for; each collective with the compute that
    must have ended before it."""
    nodes = {node.id: node for node in profile.trace.nodes}
    done, found = 0.0, []
    ends = {}
    for node in profile.trace.nodes:
        names = [nodes[each].id for each in node.after if isinstance(nodes[each], CollectiveNode)]
        if isinstance(node, ComputeNode):
            found.append((round(node.seconds / US, 3), names))
            done += node.seconds / US
            ends[node.id] = done
        else:
            behind = max((ends[each] for each in node.after if each in ends), default=0.0)
            found.append((f"{node.kind} {node.id} at {behind:g}", names))
    return found


def test_what_is_exposed_is_waited_for_and_does_not_count_as_compute(trace, saved):
    t = trace()
    t.compute(0, 100, launch=-50)
    t.collective("allreduce", 100, 40, launch=-40)
    t.compute(140, 60, launch=-30)
    profile = read_profile(saved(t))
    assert told(profile) == [(100, []), ("all-reduce 0 at 100", []), (60, [0])]
    assert (profile.step_s, profile.busy_s, profile.exposed_s, profile.host_s) == pytest.approx(
        (200 * US, 160 * US, 40 * US, 0), abs=1e-12
    )


@pytest.mark.parametrize("late", [0.001, 0.123, 0.9])
def test_a_kernel_that_seems_to_begin_just_before_a_collective_ends_has_waited_for_it(trace, saved, late):
    t = trace()
    t.compute(0, 100, launch=-50)
    t.collective("allreduce", 100 + late, 40, launch=-40)
    t.compute(140, 60, launch=-30)
    profile = read_profile(saved(t))
    assert told(profile)[-1] == (60, [0])
    assert (profile.exposed_s, profile.host_s) == pytest.approx((40 * US, 0), abs=1e-12)


def test_a_reduction_that_hides_is_waited_for_by_the_optimizer(trace, saved):
    t = trace()
    t.compute(0, 100, launch=-50)
    t.collective("allreduce", 100, 40, launch=-40)
    t.compute(100, 80, launch=-30)
    t.add("user_annotation", "Optimizer.step#SGD.step", -20, 5)
    t.compute(180, 20, launch=-18)
    assert told(read_profile(saved(t))) == [(100, []), ("all-reduce 0 at 100", []), (80, []), (20, [0])]


def test_a_gather_that_hides_is_needed_by_the_compute_that_runs_when_it_ends(trace, saved):
    t = trace()
    t.collective("_allgather_base", 0, 40, elements=250, out=1000, launch=-40)
    t.compute(0, 100, launch=-50)
    assert told(read_profile(saved(t))) == [("all-gather 0 at 0", []), (40, []), (60, [0])]


def test_where_streams_say_what_they_wait_for_that_alone_counts(trace, saved):
    t = trace()
    gather = t.collective("_allgather_base", 0, 40, elements=250, out=1000)
    t.compute(0, 70)
    t.number += 1
    args = {"stream": 7, "wait_on_stream": NCCL, "wait_on_cuda_event_record_corr_id": gather, "correlation": t.number}
    t.add("cuda_sync", "Stream Wait Event", 60, 1, **args)
    t.compute(70, 30)
    profile = read_profile(saved(t))
    assert told(profile) == [("all-gather 0 at 0", []), (70, []), (30, [0])]
    assert profile.told == ("the profile marks no steps (profiler.step()): all of it is taken for one",)


def test_time_in_which_the_gpu_waits_for_the_host_is_kept(trace, saved):
    t = trace()
    t.compute(0, 50)
    t.compute(150, 50)
    t.collective("allreduce", 200, 10)
    profile = read_profile(saved(t))
    assert told(profile) == [(200, []), ("all-reduce 0 at 200", []), (0, [0])]
    assert profile.host_s == pytest.approx(100 * US)


def test_a_gap_before_what_was_launched_long_ago_is_not_the_hosts(trace, saved):
    t = trace()
    t.compute(0, 100, launch=-50)
    t.compute(180, 60, launch=-30)  # it may wait for a copy, or for another stream
    t.compute(250, 50, launch=243)  # launched 3 us after the GPU stood still
    t.collective("allreduce", 300, 40, launch=-20)
    profile = read_profile(saved(t))
    assert (profile.host_s, profile.idle_s) == pytest.approx((10 * US, 80 * US))


def test_what_the_host_launches_later_has_not_waited_for_a_collective_that_ended_meanwhile(trace, saved):
    t = trace()
    t.compute(0, 50, launch=-10)
    t.collective("allreduce", 50, 30, launch=-9)
    t.compute(200, 50, launch=195)
    assert told(read_profile(saved(t))) == [(50, []), ("all-reduce 0 at 50", []), (200, [])]


def test_what_the_host_launches_after_waiting_for_the_gpu_has_waited(trace, saved):
    t = trace()
    t.compute(0, 50, launch=-10)
    t.collective("allreduce", 50, 30, launch=-9)
    t.add("cuda_runtime", "cudaDeviceSynchronize", 60, 30)
    t.compute(200, 50, launch=195)
    # 120 us between the end of the collective and the next launch are the host's
    assert told(read_profile(saved(t))) == [(50, []), ("all-reduce 0 at 50", []), (170, [0])]


def test_a_collective_behind_another_waits_for_the_compute_that_was_launched_before_it(trace, saved):
    t = trace()
    t.compute(0, 100, launch=-50)
    t.collective("allreduce", 100, 300, launch=-40)
    t.compute(100, 50, launch=-30)
    t.collective("allreduce", 401, 20, launch=-20)  # the compute before it ended at 150
    t.compute(150, 400, launch=-10)
    found = told(read_profile(saved(t)))
    assert ("all-reduce 1 at 150", []) in found


def test_kernels_that_run_beside_each_other_count_once(trace, saved):
    t = trace()
    t.compute(0, 100)
    t.compute(50, 100, stream=9)
    t.collective("allreduce", 150, 10)
    assert read_profile(saved(t)).busy_s == pytest.approx(150 * US)


def test_copies_from_the_host_on_a_stream_of_their_own_are_no_compute(trace, saved):
    t = trace()
    t.compute(0, 100)
    t.add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 200, 500, device=0, stream=30, correlation=1)
    t.collective("allreduce", 100, 10)
    profile = read_profile(saved(t))
    assert profile.step_s == pytest.approx(110 * US)
    assert profile.trace.unused == {"copies between host and GPU on streams of their own, beside compute": 1}


def stepped(trace, lengths):
    t, at = trace(), 0.0
    for number, length in enumerate(lengths, start=3):
        t.step(number, at, length)
        t.compute(at, length / 2)
        t.collective("allreduce", at + length / 2, length / 4)
        at += length
    return t


def test_a_step_of_median_length_is_taken_but_not_the_last_of_which_the_end_is_missing(trace, saved):
    profile = read_profile(saved(stepped(trace, [900, 400, 500, 600, 10])))
    assert (profile.step, profile.step_s) == (5, pytest.approx(500 * US))


def test_a_step_can_be_chosen(trace, saved):
    profile = read_profile(saved(stepped(trace, [900, 400, 500])), step=3)
    assert (profile.step, profile.step_s) == (3, pytest.approx(900 * US))


def test_what_a_step_launched_is_its_own_whenever_it_ran(trace, saved):
    t = trace()
    t.step(1, 0, 100)
    t.step(2, 100, 100)
    t.compute(50, 100, launch=10)
    t.collective("allreduce", 150, 50, launch=20)
    t.compute(200, 100, launch=110)
    assert read_profile(saved(t), step=1).step_s == pytest.approx(150 * US)


@st.composite
def steps(draw):
    """A host that runs ahead of one compute stream and one of collectives; each kernel may wait for a collective."""
    t, ends, compute, queue = Trace(), [], 0, 0
    for turn in range(draw(st.integers(1, 12))):
        launch = -1000 + turn
        if draw(st.booleans()):
            waits = draw(st.integers(0, len(ends)))
            gap = draw(st.sampled_from([0, 0, 30]))
            begin = max([compute, *ends[:waits]]) + gap
            compute = begin + draw(st.integers(1, 10)) * 100
            t.compute(begin, compute - begin, launch=launch)
        else:
            begin = max(compute, queue)
            queue = begin + draw(st.integers(1, 10)) * 100
            t.collective("allreduce", begin, queue - begin, launch=launch)
            ends.append(queue)
    t.collective("allreduce", max(compute, queue), 100, launch=0)
    return t


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps())
def test_a_step_with_collectives_as_long_as_they_were_is_as_long_as_it_was(saved, t):
    profile = read_profile(saved(t))
    took = {}
    talks = [each for each in t.events if "nccl" in each["name"]]
    for number, each in enumerate(sorted(talks, key=lambda each: each["ts"])):
        took[number] = each["dur"] * US
    ended, gpu, queue = {}, 0.0, 0.0
    for node in profile.trace.nodes:
        begin = max((ended[each] for each in node.after), default=0.0)
        if isinstance(node, ComputeNode):
            gpu = ended[node.id] = max(begin, gpu) + node.seconds
        else:
            queue = ended[node.id] = max(begin, queue) + took[node.id]
    assert max(ended.values()) == pytest.approx(profile.step_s, abs=1e-9)
    told = profile.busy_s + profile.exposed_s + profile.host_s + profile.idle_s
    assert told == pytest.approx(profile.step_s)
