"""Traces read back by perfetto's own protobufs: the step's time, slices within slices, loads, and who is shown."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from eastwest import report, spec
from eastwest.study import StudyResult, run

PORT_BPS = 400e9 * 4096 / 4178
OPERATIONS = [
    {"name": "forward", "compute": "3 ms"},
    {"name": "hand-on", "send_recv": {"pairs": [[0, 8], [8, 16]]}, "bytes": "50 MB", "after": ["forward"]},
    {
        "name": "sync",
        "collective": "all-reduce",
        "algorithm": "direct",
        "bytes": "200 MB",
        "after": ["forward", "hand-on"],
    },
]


def study(**others: Any) -> spec.Study:
    fabric = {"shape": "single-switch", "technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400"}
    values = {
        "name": "traced",
        "seeds": 5,
        "clusters": {"pod": {"server": "hgx-h100", "servers": 4}},
        "fabrics": {
            "one": {**fabric, "shape": "leaf-spine", "servers_per_unit": 2},
            "sprayed": {**fabric, "balancing": "spray"},
        },
        "workloads": {"job": {"kind": "operations", "operations": OPERATIONS}},
    }
    return spec.from_mapping({**values, **others})


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return run(study(), is_timed=True)


@pytest.fixture(scope="module")
def traces(result: StudyResult, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return read(result, tmp_path_factory.mktemp("traces"))


def read(result: StudyResult, folder: Path) -> list[Any]:
    found = []
    for path in report.write_traces(result, folder / "new"):
        trace = Trace()
        trace.ParseFromString(path.read_bytes())
        found.append(trace)
    return found


def tracks(trace: Any) -> dict[int, Any]:
    return {
        each.track_descriptor.uuid: each.track_descriptor for each in trace.packet if each.HasField("track_descriptor")
    }


def path(described: dict[int, Any], uuid: int) -> str:
    """A track's name below those of its parents."""
    track = described[uuid]
    return f"{path(described, track.parent_uuid)} > {track.name}" if track.parent_uuid else track.name


def slices(trace: Any) -> Iterator[tuple[str, str, int, int, int]]:
    """Track, name, beginning, end (ns) and depth of each slice; fails where ends do not match beginnings."""
    described, stacks = tracks(trace), {}
    for packet in trace.packet:
        event = packet.track_event
        if not packet.HasField("track_event") or event.type == event.TYPE_COUNTER:
            continue
        stack = stacks.setdefault(event.track_uuid, [])
        if event.type == event.TYPE_SLICE_BEGIN:
            stack.append((event.name, packet.timestamp))
        else:
            name, start = stack.pop()
            yield path(described, event.track_uuid), name, start, packet.timestamp, len(stack)
    assert not any(stacks.values())


def test_the_trace_s_step_is_the_study_s_to_the_nanosecond(result: StudyResult, traces: list[Any]) -> None:
    for row, trace in zip(result.rows, traces, strict=True):
        (step,) = (each for each in slices(trace) if each[1] == "step")
        assert step[2:4] == (0, round(row.step_s * 1e9))
        assert max(packet.timestamp for packet in trace.packet) == step[3]


def test_operations_are_slices_with_what_they_consist_of_inside(result: StudyResult, traces: list[Any]) -> None:
    """Rank 0 sends to rank 8, which sends at once to rank 16. Rank 1 waits for both before the all-reduce."""
    step_ns = round(result.rows[1].step_s * 1e9)
    sent_ns = 3e6 + 50e6 * 8e9 / PORT_BPS
    of_rank = [each for each in slices(traces[1]) if each[0].startswith("rank 0") and each[4] == 0]
    found = {name: (track.rpartition(" > ")[2], start, end) for track, name, start, end, _ in of_rank}
    assert found["forward"] == ("compute", 0, 3_000_000)
    assert found["hand-on"][:2] == ("messages", 3_000_000)
    assert found["hand-on"][2] == pytest.approx(sent_ns, rel=1e-2)
    assert found["sync"][0] == "collectives"
    assert found["sync"][2] == step_ns
    inside = [each for each in slices(traces[1]) if each[0].startswith("rank 1,") and each[4] == 1]
    names = [name for _, name, *_ in inside]
    assert names[0].startswith("waits for rank ")
    assert names[1:] == ["phase 1 of 2", "phase 2 of 2"]
    assert inside[0][2:4] == (3_000_000, inside[1][2])
    assert inside[1][3] == inside[2][2]
    assert inside[2][3] == step_ns


def test_each_class_of_ranks_is_shown_and_says_for_how_many_it_stands(traces: list[Any]) -> None:
    """Ranks 0, 8 and 16 exchange messages; the other 29 are in the same groups as each other."""
    names = [track.name for track in tracks(traces[0]).values() if track.name.startswith("rank ")]
    assert sorted(name.replace(", most exposed", "") for name in names) == [
        "rank 0",
        "rank 1, one of 29 alike",
        "rank 16",
        "rank 8",
    ]
    top = next(track for track in tracks(traces[0]).values() if track.name.startswith("step of"))
    assert "4 tracks for 32 ranks" in top.description


def test_of_many_classes_some_are_shown_and_the_trace_says_so(tmp_path: Path) -> None:
    many = [{"name": "ring", "send_recv": {"shift": 1}, "bytes": "1 MB"}]
    found = run(study(workloads={"job": {"kind": "operations", "operations": many}}), where="fabric=one", is_timed=True)
    (trace,) = read(found, tmp_path)
    assert sum(track.name.startswith("rank ") for track in tracks(trace).values()) == 16
    top = next(track for track in tracks(trace).values() if track.name.startswith("step of"))
    assert "16 of 32 classes of ranks" in top.description


def test_loads_add_up_to_the_bytes_that_were_carried(traces: list[Any]) -> None:
    """What leaves NICs: 2 messages of 50 MB, and of the all-reduce twice 200 MB / 32 for each of 32 x 24 pairs."""
    trace, described = traces[1], tracks(traces[1])
    (mean,) = (uuid for uuid, track in described.items() if track.name == "nic-leaf, mean")
    points = [
        (p.timestamp, p.track_event.double_counter_value) for p in trace.packet if p.track_event.track_uuid == mean
    ]
    shares = sum(value * (after[0] - at) for (at, value), after in pairwise(points))
    carried = shares / 100 * 1e-9 * 32 * PORT_BPS / 8
    assert carried == pytest.approx(2 * 50e6 + 2 * 200e6 / 32 * 32 * 24, rel=1e-3)
    assert described[mean].counter.unit_name == "%"


def test_a_mix_has_a_trace_in_which_ranks_go_by_their_job(tmp_path: Path) -> None:
    jobs = [{"workload": "job", "servers": 3, "steps": 2}, {"workload": "small", "servers": 1}]
    small = {"kind": "operations", "operations": [{"name": "work", "compute": "1 ms"}]}
    asked = study(
        workloads={"job": {"kind": "operations", "operations": OPERATIONS}, "small": small},
        mixes={"both": {"jobs": jobs}},
    )
    found = run(asked, where="mix=both,fabric=sprayed", is_timed=True)
    (trace,) = read(found, tmp_path)
    ends = {name: end for _, name, _, end, _ in slices(trace)}
    assert ends["job/2/sync"] == ends["step"] == round(2 * found.jobs[0].step_s * 1e9)
    assert any(track.name.startswith("small rank 0") for track in tracks(trace).values())


def test_names_that_would_be_the_same_file_are_numbered(result: StudyResult, tmp_path: Path) -> None:
    from eastwest.report.perfetto import write_traces

    paths = write_traces([result.timelines[0]] * 3, tmp_path)
    assert [each.name for each in paths] == [
        f"job-packed-one-pod{number}.perfetto-trace" for number in ("", "-2", "-3")
    ]


def test_nothing_is_recorded_unless_asked_for() -> None:
    assert run(study(), where="fabric=sprayed").timelines == ()
