"""`eastwest import` and what a study makes of its file."""

import json
import shutil

import pytest
from tests.cli.conftest import STUDY
from tests.workload.formats.conftest import framed, node

from eastwest.workload.formats.chakra_schema import COLLECTIVE, COMPUTE


@pytest.fixture
def traces(request, tmp_path):
    """ASTRA-sim's four ranks of an all-reduce, in the folder of the command."""
    for path in (request.config.rootpath / "tests" / "data" / "chakra").glob("*.et"):
        shutil.copy(path, tmp_path)
    return [f"all_reduce.{rank}.et" for rank in range(4)]


def test_it_says_what_the_files_are_and_hold(eastwest, traces):
    said = eastwest("import", *traces)
    assert said.code == 0
    assert "Chakra execution traces: 4 ranks, 1 operation" in said.out
    assert "all-reduce" in said.out
    assert "1.05 MB" in said.out


def test_json_has_the_same(eastwest, traces):
    told = json.loads(eastwest("import", *traces, "--json").out)
    assert (told["format"], told["ranks"], told["operations"]) == ("Chakra execution traces", 4, 1)
    assert told["kinds"] == [
        {
            "kind": "all-reduce",
            "per_rank": 1.0,
            "bytes_per_rank": 1048576.0,
            "seconds_per_rank": 0.0,
            "group_sizes": [4],
        }
    ]


def test_a_study_runs_what_it_writes_as_the_same_operation_listed(eastwest, traces, tmp_path):
    said = eastwest("import", traces[0], "--ranks", "32", "--out", "mine.step.jsonl")
    assert "{ kind: imported, file: mine.step.jsonl }" in said.err
    listed = "{name: sum, collective: all-reduce, bytes: 1 MiB}"
    text = STUDY.replace("      - {name: forward, compute: 10 ms}\n", "")
    text = text.replace("{name: gradients, collective: all-reduce, bytes: 100 MB, after: [forward]}", listed)
    (tmp_path / "s.yaml").write_text(text + "  mine: {kind: imported, file: mine.step.jsonl}\n")
    rows = json.loads(eastwest("study", "s.yaml", "--json").out)["results"]
    found = {(row["fabric"], row["workload"]): row["step_s"] for row in rows}
    assert found["one", "mine"] == found["one", "job"]
    assert found["two", "mine"] == found["two", "job"]


def test_a_gpu_of_the_catalogue_gives_times_to_computes_without(eastwest, tmp_path):
    (tmp_path / "t.0.et").write_bytes(framed(node(0, COMPUTE, "matmul", num_ops=9_894 * 10**11, tensor_size=1)))
    told = json.loads(eastwest("import", "t.0.et", "--ranks", "1", "--gpu", "h100-sxm", "--json").out)
    assert told["kinds"][0]["seconds_per_rank"] == pytest.approx(1.0)  # 989.4 TFLOP/s dense


@pytest.mark.parametrize("named", ["all_reduce", "all_reduce.0.et"])
def test_what_is_imported_is_not_overwritten(eastwest, traces, tmp_path, named):
    before = (tmp_path / traces[0]).read_bytes()
    said = eastwest("import", named, "--ranks", "4", "--out", f"./{traces[0]}")
    assert (said.code, (tmp_path / traces[0]).read_bytes()) == (2, before)
    assert "all_reduce.0.et is one of the files to import" in said.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere.et"], "nowhere.et: there is no such file"),
        (["hollow"], "hollow: this is a folder without Chakra traces (.et): name the files"),
        (["small.yaml"], "small.yaml: this is of no format that can be imported; there are: "),
        (["empty"], "empty: the file is empty"),
        (["flows.cm"], "flows.cm: this is a connection matrix of htsim: `eastwest simulate --flows` runs it"),
        (["all_reduce.0.et"], "give those of all ranks, or the number with --ranks"),
        (["all_reduce.0.et", "--ranks", "4", "--gpu", "h100-sxn"], "did you mean 'h100-sxm'?"),
        (["all_reduce.0.et", "--ranks", "9999999"], "--ranks 9999999: 1,048,576 at most"),
        (["all_reduce.0.et", "--ranks", "4", "--out", "no/where"], "--out: there is no folder no"),
        (["all_reduce.0.et", "--ranks", "4", "--out", "."], "--out: . cannot be written"),
        (["broken.0.et", "--ranks", "4"], "broken.0.et: node 7 ('sum') lacks comm_size"),
    ],
)
def test_what_cannot_be_imported_is_refused(eastwest, traces, tmp_path, arguments, why):
    (tmp_path / "empty").touch()
    (tmp_path / "hollow").mkdir()
    (tmp_path / "flows.cm").write_text("Nodes 8\nConnections 0\n")
    (tmp_path / "broken.0.et").write_bytes(framed(node(7, COLLECTIVE, "sum", comm_type=0)))
    out = () if "--out" in arguments else ("--out", "x.step.jsonl")
    said = eastwest("import", *arguments, *out)
    assert said.code == 2
    assert why in said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "x.step.jsonl").exists()
