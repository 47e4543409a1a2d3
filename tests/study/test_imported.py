"""Steps from files in a study: as the same step listed there, and what is refused."""

import numpy as np
import pytest

import eastwest as ew
from eastwest import spec
from eastwest.study.importing import import_files, write_imported
from eastwest.workload import Collective, Compute, SendRecv, Step, all_ranks, shift, strided, write_step

STUDY = """\
name: imported
seeds: 2
clusters: {pod: {server: hgx-h100, servers: SERVERS}}
fabrics: {f: {shape: rail-optimized, technology: rocev2, link: 400 Gb/s, switch: sn5400}}
workloads:
  listed:
    kind: operations
    overlap_slowdown: 1.1
    operations:
      - { name: forward, compute: 2 ms }
      - { name: tensor, collective: all-gather, bytes: 10 MB, group: 8, queue: tp, after: [forward] }
      - { name: backward, compute: 4 ms, after: [tensor] }
      - { name: hand-on, send_recv: { shift: 8 }, bytes: 5 MB, after: [tensor] }
      - { name: experts, collective: all-to-all, bytes: 1 MB, queue: ep, after: [forward] }
      - { name: gradients, collective: all-reduce, bytes: 100 MB, queue: dp, after: [backward] }
  mine: { kind: imported, file: mine.step.jsonl, overlap_slowdown: 1.1 }
"""
STEP = Step(
    16,
    (
        Compute("forward", 2e-3),
        Collective("tensor", "all-gather", 10e6, strided(16, 8, 1), "direct", queue="tp", after=("forward",)),
        Compute("backward", 4e-3, ("tensor",)),
        SendRecv("hand-on", 5e6, shift(16, 8), after=("tensor",)),
        Collective("experts", "all-to-all", 1e6, all_ranks(16), "direct", queue="ep", after=("forward",)),
        Collective("gradients", "all-reduce", 100e6, all_ranks(16), "direct", queue="dp", after=("backward",)),
    ),
)


def study(folder, servers=2, **changes):
    write_step(STEP, folder / "mine.step.jsonl")
    text = STUDY.replace("SERVERS", str(servers))
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "s.yaml").write_text(text)
    return folder / "s.yaml"


def times(answer):
    return {row["workload"]: row["step_s"] for row in answer.json["results"]}


def test_an_imported_step_takes_as_long_as_the_same_operations_listed(tmp_path):
    found = times(ew.run(study(tmp_path)))
    assert found["mine"] == found["listed"]


def test_nccl_chooses_for_each_collective_of_a_file(tmp_path):
    path = study(tmp_path)
    text = path.read_text().replace("1.1 }", "1.1, algorithm: auto }")
    for kind in ("all-gather", "all-to-all", "all-reduce"):
        text = text.replace(f"collective: {kind}", f"algorithm: auto, collective: {kind}")
    text = text.replace("send_recv: { shift: 8 }", "send_recv: { shift: 8 }, protocol: auto")
    path.write_text(text)
    rows = {row["workload"]: row for row in ew.run(path).json["results"]}
    assert rows["mine"]["step_s"] == rows["listed"]["step_s"]
    assert rows["mine"]["choices"] == rows["listed"]["choices"]


def test_an_algorithm_is_for_the_collectives_that_it_can_carry_out(tmp_path):
    path = study(tmp_path)
    text = path.read_text().replace("1.1 }", "1.1, algorithm: tree, channels: 4 }")
    text = text.replace("collective: all-reduce", "algorithm: tree, collective: all-reduce")
    path.write_text(text.replace("collective:", "channels: 4, collective:"))
    found = times(ew.run(path))
    assert found["mine"] == found["listed"]


def test_compute_is_as_much_faster_as_the_factor_says(tmp_path):
    path = study(tmp_path)
    text = path.read_text().replace("1.1 }", "1.1, compute_factor: 0.5 }")
    path.write_text(text.replace("compute: 2 ms", "compute: 1 ms").replace("compute: 4 ms", "compute: 2 ms"))
    found = times(ew.run(path))
    assert found["mine"] == found["listed"]


def test_on_a_larger_cluster_the_first_gpus_run_it_and_the_others_stay_idle(tmp_path):
    small, large = (times(ew.run(study(tmp_path, servers)))["mine"] for servers in (2, 4))
    assert small == pytest.approx(large)


def test_a_mix_runs_an_imported_step_on_servers_of_its_own(tmp_path):
    path = study(tmp_path, servers=4)
    jobs = "mixes: {both: {jobs: [{workload: mine, servers: 2}, {workload: mine, name: again, servers: 2}]}}\n"
    path.write_text(path.read_text() + jobs)
    rows = ew.run(path).json["jobs"]
    assert [row["slowdown"] for row in rows] == pytest.approx([1.0, 1.0], rel=0.02)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("servers: 2", "servers: 1", "the file has 16 ranks and 'pod' has 8 GPUs"),
        ("file: mine.step.jsonl", "file: ../mine.step.jsonl", "is outside the study's folder"),
        ("file: mine.step.jsonl", "file: other.step.jsonl", "`eastwest import` writes one"),
        ("file: mine.step.jsonl", "file: 3", "name a file that `eastwest import` wrote"),
        ("file: mine.step.jsonl", 'file: "a\\0b"', "is no usable file name"),
        ("file: mine.step.jsonl", "file: s.yaml", "s.yaml:1: a step begins with"),
        ("1.1 }", "1.1, algorithm: bruk }", "did you mean 'bruck'"),
        ("1.1 }", "1.1, algorithm: sharp, operations: [] }", "unknown entry 'operations'"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_line(tmp_path, old, new, why):
    path = study(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(spec.StudyError) as refused:
        spec.load(path)
    assert why in str(refused.value)
    assert str(refused.value).startswith(f"{path}:")


def test_an_algorithm_for_none_of_the_file_s_collectives_is_refused(tmp_path):
    path = study(tmp_path)
    write_step(Step(16, STEP.operations[:2]), tmp_path / "mine.step.jsonl")
    path.write_text(path.read_text().replace("1.1 }", "1.1, algorithm: sharp }"))
    with pytest.raises(spec.StudyError, match="sharp carries out none of the file's all-gather"):
        spec.load(path)


def test_a_ring_of_msccl_takes_as_long_as_the_ring_algorithm(request, tmp_path):
    ring = request.config.rootpath / "tests/data/imports/msccl_ring_8.xml"
    write_imported(import_files([ring], size="64 MB"), [ring], tmp_path / "ring.step.jsonl")
    (tmp_path / "s.yaml").write_text(
        STUDY[: STUDY.index("workloads:")].replace("SERVERS", "1")
        + """\
workloads:
  mine: { kind: imported, file: ring.step.jsonl }
  listed:
    kind: operations
    operations: [{ name: a, collective: all-reduce, algorithm: ring, channels: 1, bytes: 64 MB }]
"""
    )
    found = times(ew.run(tmp_path / "s.yaml"))
    assert found["mine"] == pytest.approx(found["listed"], rel=1e-6)


@pytest.mark.parametrize("algorithm", ["direct", "auto"])
def test_an_uneven_all_to_all_takes_as_long_as_its_matrix_listed(tmp_path, algorithm):
    sizes = [80e6, 0.0, 8e6, 16e6, 0.0, 8e6, 8e6, 80e6] * 2
    matrix = np.repeat(np.array(sizes)[:, None] / 16, 16, axis=1)
    uneven = Collective("x", "all-to-all", 0.0, all_ranks(16), "direct", matrix=matrix)
    write_step(Step(16, (uneven,)), tmp_path / "x.step.jsonl")
    rows = ", ".join(f"[{', '.join(f'{size:.0f} B' for size in row)}]" for row in matrix.tolist())
    listed = f"{{ name: x, collective: all-to-all, algorithm: {algorithm}, matrix: [{rows}] }}"
    (tmp_path / "s.yaml").write_text(
        STUDY[: STUDY.index("workloads:")].replace("SERVERS", "2")
        + f"workloads:\n  mine: {{ kind: imported, file: x.step.jsonl, algorithm: {algorithm} }}\n"
        + f"  listed: {{ kind: operations, operations: [{listed}] }}\n"
    )
    found = times(ew.run(tmp_path / "s.yaml"))
    assert found["mine"] == found["listed"] > 0


def test_an_all_to_all_of_nothing_takes_no_time(tmp_path):
    nothing = Collective("x", "all-to-all", 0.0, all_ranks(16), "direct")
    write_step(Step(16, (nothing, Compute("c", 1e-3, ("x",)))), tmp_path / "mine.step.jsonl")
    path = tmp_path / "s.yaml"
    path.write_text(STUDY.replace("SERVERS", "2"))
    assert times(ew.run(path))["mine"] == pytest.approx(1e-3, rel=0.1)
