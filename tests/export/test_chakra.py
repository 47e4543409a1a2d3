"""Steps as Chakra traces: read back, they take the same time; what traces cannot say is told or refused."""

import json

import numpy as np
import pytest

from eastwest import spec, study
from eastwest.errors import InputError
from eastwest.export import export, write
from eastwest.study.importing import import_files, write_imported
from eastwest.workload import Collective, Compute, SendRecv, Step
from eastwest.workload.formats import chakra_schema as schema
from eastwest.workload.formats.write_chakra import chakra_traces

STUDY = """\
name: round-trip
seeds: 1
tolerance: 0
clusters:
  pod: { server: hgx-h100, servers: 4 }
fabrics:
  rails: { shape: rail-optimized, technology: rocev2, link: 400 Gb/s, switch: sn5400, balancing: spray }
workloads:
  given:
"""
JOB = """\
    kind: training
    model: {{ layers: 8, hidden: 2048, ffn: 8192, heads: 16, vocab: 32000 }}
    sequence: 2048
    global_batch: 64
    memory: ignore
    parallelism: {parallelism}
"""
IMPORTED = "  back: {{ kind: imported, file: back.step.jsonl{more} }}\n"
COMPUTE = "{ name: forward, compute: 1234567 ns }"
NEXT = "{ name: next, compute: 1 ms, after: [talk] }"
STEPS = {
    **{
        kind: [COMPUTE, f"{{ name: talk, collective: {kind}, bytes: 96 MB, after: [forward] }}"]
        for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce")
    },
    "root": [COMPUTE, "{ name: talk, collective: broadcast, root: 5, bytes: 96 MB, after: [forward] }"],
    "tensor-and-data": [
        "{ name: sum, collective: all-reduce, bytes: 8 MB, group: 8, queue: tp }",
        "{ name: more, compute: 3 ms, after: [sum] }",
        "{ name: talk, collective: all-reduce, bytes: 64 MB, group: { size: 4, stride: 8 }, queue: dp, after: [sum] }",
        NEXT,
    ],
    "one-queue": [
        "{ name: a, collective: all-reduce, bytes: 64 MB, group: 8 }",
        "{ name: b, collective: all-reduce, bytes: 64 MB, group: { size: 4, stride: 8 } }",
    ],
    "pipeline": [COMPUTE, "{ name: talk, send_recv: { shift: 8 }, bytes: 64 MB, after: [forward] }", NEXT],
    "pairs": ["{ name: talk, send_recv: { pairs: [[0, 8], [8, 16], [3, 0]] }, bytes: 64 MB }", NEXT],
    "queues-of-messages": [
        "{ name: first, send_recv: { shift: 8 }, bytes: 100 MB, queue: one }",
        "{ name: other, send_recv: { shift: 8 }, bytes: 100 MB, queue: two }",
        "{ name: last, send_recv: { shift: 8 }, bytes: 50 MB, queue: one }",
        "{ name: next, compute: 2 ms, after: [first] }",
    ],
    "experts": [
        "{ name: dispatch, collective: all-to-all, bytes: 64 MB, group: 16 }",
        "{ name: mlp, compute: 2 ms, after: [dispatch] }",
        "{ name: combine, collective: all-to-all, bytes: 64 MB, group: 16, after: [mlp] }",
    ],
}


def listed(operations):
    """A workload of operations."""
    return "    kind: operations\n    operations:\n" + "".join(f"      - {each}\n" for each in operations)


def saved(folder, workload, more=None):
    path = folder / "s.yaml"
    workload = workload if isinstance(workload, str) else listed(workload)
    path.write_text(STUDY + workload + (IMPORTED.format(more=more) if more is not None else ""))
    return spec.load(str(path))


def times_there_and_back(folder, workload, more=""):
    """Step times of a workload, and of what is imported from its traces."""
    write(export(saved(folder, workload), "chakra", "rails", "given"), folder / "traces")
    files = sorted((folder / "traces").iterdir())  # export.json too, as `traces/*` names it
    write_imported(import_files(files), files, folder / "back.step.jsonl")
    rows = study.run(saved(folder, workload, more)).rows
    return {row.workload: row.step_s for row in rows}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_takes_as_long_once_it_is_read_back(name, tmp_path):
    times = times_there_and_back(tmp_path, STEPS[name])
    assert times["back"] == pytest.approx(times["given"], rel=1e-9)


@pytest.mark.parametrize("protocol", ["", ", protocol: auto"])
def test_messages_have_nccl_s_costs_once_they_are_read_back_only_where_they_had_them(protocol, tmp_path):
    operations = [
        "{ name: sum, collective: all-reduce, bytes: 64 MB, algorithm: auto }",
        f"{{ name: talk, send_recv: {{ shift: 8 }}, bytes: 64 MB, after: [sum]{protocol} }}",
    ]
    times = times_there_and_back(tmp_path, operations, ", algorithm: auto")
    assert times["back"] == pytest.approx(times["given"], rel=1e-9)


def test_there_is_a_trace_a_rank_and_communicators_as_astra_sim_lists_them(tmp_path):
    found = export(saved(tmp_path, STEPS["tensor-and-data"]), "chakra", "rails", "given")
    assert sorted(found.files) == sorted([*(f"given.{rank}.et" for rank in range(32)), "given.groups.json"])
    groups = json.loads(found.files["given.groups.json"])
    assert sorted(groups.values()) == sorted(
        [[*range(first, first + 8)] for first in range(0, 32, 8)] + [[*range(first, 32, 8)] for first in range(8)]
    )


def test_what_waits_for_a_collective_of_one_rank_alone_waits_for_what_that_waited_for():
    alone = tuple(np.array([rank], dtype=np.uint32) for rank in range(2))
    talk = Collective("talk", "all-reduce", 1e6, alone, "ring", after=("first",))
    step = Step(2, (Compute("first", 1.0), talk, SendRecv("on", 8.0, np.array([[0, 1]]), after=("talk",))))
    first, *_, last = nodes(next(chakra_traces(step)[0]))
    assert list(last.data_deps) == [first.id]


def nodes(trace):
    """The nodes of a trace, behind its metadata; its messages are shorter than 128 bytes."""
    found = []
    while trace:
        found.append(trace[1 : trace[0] + 1])
        trace = trace[trace[0] + 1 :]
    return [schema.Node.FromString(each) for each in found[1:]]


def test_what_traces_cannot_say_is_told(tmp_path):
    operations = [COMPUTE, "{ name: talk, collective: all-gather, bytes: 100 B, after: [forward] }"]
    told = export(saved(tmp_path, operations), "chakra", "rails", "given").told
    assert told == (
        "algorithms and channels of collectives are left to the simulator",
        "sizes are rounded to whole bytes",
    )


@pytest.mark.parametrize(
    ("parallelism", "tolerance"),
    [
        ("{ tensor: 8, pipeline: 2 }", 1e-6),
        ("{ pipeline: 4, schedule: interleaved, virtual: 2 }", 1e-6),
        ("{ tensor: 2, sharding: none }", 1e-6),
        ("{ sharding: zero3 }", 1e-6),
        ("{ tensor: 4, pipeline: 2, sharding: zero1 }", 1e-4),  # layers' collectives as one, beside weights on NVLink
    ],
)
def test_a_training_job_takes_as_long_once_it_is_read_back(parallelism, tolerance, tmp_path):
    job = JOB.format(parallelism=parallelism)
    times = times_there_and_back(tmp_path, job, ", algorithm: auto")
    assert times["back"] == pytest.approx(times["given"], rel=tolerance)


def test_an_uneven_all_to_all_is_refused(tmp_path):
    operations = ["{ name: dispatch, collective: all-to-all, bytes: 64 MB, group: 16, skew: { zipf: 1.2 } }"]
    with pytest.raises(InputError, match="'given': operation 'dispatch' is an uneven all-to-all"):
        export(saved(tmp_path, operations), "chakra", "rails", "given")


def test_a_workload_has_to_be_named(tmp_path):
    with pytest.raises(InputError, match="name it with --workload"):
        export(saved(tmp_path, STEPS["all-reduce"]), "chakra", "rails")
