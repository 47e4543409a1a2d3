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
clusters:
  pod: {{ server: hgx-h100, servers: 4 }}
fabrics:
  rails: {{ shape: rail-optimized, technology: rocev2, link: 400 Gb/s, switch: sn5400, balancing: spray }}
workloads:
  given:
    kind: operations
    operations:
{operations}
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
    "experts": [
        "{ name: dispatch, collective: all-to-all, bytes: 64 MB, group: 16 }",
        "{ name: mlp, compute: 2 ms, after: [dispatch] }",
        "{ name: combine, collective: all-to-all, bytes: 64 MB, group: 16, after: [mlp] }",
    ],
}


def saved(folder, operations, more=None):
    text = STUDY.format(operations="\n".join(f"      - {each}" for each in operations))
    path = folder / "s.yaml"
    path.write_text(text + (IMPORTED.format(more=more) if more is not None else ""))
    return spec.load(str(path))


def there_and_back(folder, operations, more=""):
    """Step times of a workload, and of what is imported from its traces."""
    write(export(saved(folder, operations), "chakra", "rails", "given"), folder / "traces")
    files = sorted((folder / "traces").iterdir())  # export.json too, as `traces/*` names it
    write_imported(import_files(files), files, folder / "back.step.jsonl")
    rows = study.run(saved(folder, operations, more)).rows
    return {row.workload: row.step_s for row in rows}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_takes_as_long_once_it_is_read_back(name, tmp_path):
    times = there_and_back(tmp_path, STEPS[name])
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


def test_messages_of_the_same_pairs_in_several_queues_are_told(tmp_path):
    def told(queue):
        operations = [
            "{ name: first, send_recv: { shift: 8 }, bytes: 64 MB, queue: one }",
            f"{{ name: second, send_recv: {{ shift: 8 }}, bytes: 64 MB, queue: {queue} }}",
        ]
        return export(saved(tmp_path, operations), "chakra", "rails", "given").told

    assert any("messages of the same pairs have several queues" in each for each in told("other"))
    assert not any("queues" in each for each in told("one"))


def test_messages_that_an_import_by_auto_makes_dearer_are_told(tmp_path):
    def told(more):
        operations = [
            "{ name: sum, collective: all-reduce, bytes: 64 MB, algorithm: auto }",
            f"{{ name: talk, send_recv: {{ shift: 8 }}, bytes: 64 MB{more} }}",
        ]
        return export(saved(tmp_path, operations), "chakra", "rails", "given").told

    assert any("messages are without NCCL's costs here" in each for each in told(""))
    assert not any("NCCL's costs" in each for each in told(", protocol: auto"))


def test_an_uneven_all_to_all_is_refused(tmp_path):
    operations = ["{ name: dispatch, collective: all-to-all, bytes: 64 MB, group: 16, skew: { zipf: 1.2 } }"]
    with pytest.raises(InputError, match="'given': operation 'dispatch' is an uneven all-to-all"):
        export(saved(tmp_path, operations), "chakra", "rails", "given")


def test_a_workload_has_to_be_named(tmp_path):
    with pytest.raises(InputError, match="name it with --workload"):
        export(saved(tmp_path, STEPS["all-reduce"]), "chakra", "rails")
