"""Every mistake of a person ends in one clear message and exit code 2, never in a traceback."""

from pathlib import Path

import pytest
from tests.cli.conftest import STUDY, Command

WRONG = {
    "empty": ("", "is empty"),
    "not YAML": ("name: [1, 2\nclusters: {", "YAML"),
    "a list": ("- a\n- b\n", "mapping"),
    "negative speed": (STUDY.replace("link: 400 Gb/s", "link: -400 Gb/s", 1), "must be above zero"),
    "no unit": (STUDY.replace("link: 400 Gb/s", "link: 800G", 1), "800 Gb/s"),
    "a unit that does not fit": (STUDY.replace("link: 400 Gb/s", "link: 400 GHz", 1), "400 GHz"),
    "unknown device": (STUDY.replace("switch: sn5600", "switch: sn5601"), "did you mean 'sn5600'?"),
    "unknown entry": (STUDY.replace("switch: sn5600", "swich: sn5600"), "did you mean 'switch'?"),
    "unknown shape": (STUDY.replace("shape: leaf-spine", "shape: leaf-spin"), "did you mean 'leaf-spine'?"),
    "too few ports": (STUDY.replace("servers: 4", "servers: 128"), "cannot be built"),
    "an algorithm that switches cannot carry out": (
        STUDY.replace("all-reduce, bytes", "all-reduce, algorithm: sharp, bytes"),
        "operation 'gradients' by sharp needs switches that add up",
    ),
    "an algorithm that NVLink cannot carry out": (
        STUDY.replace("hgx-h100", "hgx-a100")
        .replace("400 Gb/s", "200 Gb/s")
        .replace("all-reduce, bytes", "all-reduce, algorithm: nvls, bytes"),
        "needs an NVLink switch that adds up (nvlink_sharp in the catalogue), which a100-sxm-80gb does not have",
    ),
    "a shape that cannot be built": (STUDY.replace("servers_per_unit: 1", "servers_per_unit: 64"), "cannot be built"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_study_is_refused_with_its_place_and_remedy(eastwest: Command, tmp_path: Path, name: str) -> None:
    text, remedy = WRONG[name]
    (tmp_path / "wrong.yaml").write_text(text)
    said = eastwest("study", "wrong.yaml", "--out", "nothing")
    assert said.code == 2
    assert said.err.startswith("wrong.yaml")
    assert remedy in said.err
    assert "Traceback" not in said.err
    assert said.out == ""
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("study", "nowhere.yaml"), "nowhere.yaml"),
        (("study", "pune-1042"), "did you mean 'pune-1024'?"),
        (("fabric", "small.yaml", "--fabric", "too"), "did you mean 'two'?"),
        (("fabric", "small.yaml", "--fabric", "two", "--cluster", "b"), "joins pod, not 'b'"),
        (("catalog", "connectx-77"), "did you mean 'connectx-7'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(eastwest: Command, arguments: tuple[str, ...], remedy: str) -> None:
    said = eastwest(*arguments)
    assert said.code == 2
    assert remedy in said.err


def test_an_output_folder_that_is_a_file_is_refused(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    said = eastwest("study", "small.yaml", "--out", "taken")
    assert said.code == 2
    assert "taken" in said.err
    assert (tmp_path / "taken").read_text() == "mine"


def test_an_unknown_verb_shows_how_to_get_help(eastwest: Command) -> None:
    said = eastwest("studdy")
    assert said.code == 2
    assert "Usage" in said.err


def test_a_fault_of_ours_says_so_without_a_traceback(eastwest: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(_name: str) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("eastwest.spec.load", fault)
    said = eastwest("study", "small.yaml")
    assert said.code == 70
    assert "internal error: RuntimeError: boom" in said.err
    assert "Traceback" not in said.err


def test_a_matrix_with_a_word_in_it_is_told_by_row_and_column(eastwest: Command, tmp_path: Path) -> None:
    operation = "{name: gradients, collective: all-reduce, bytes: 100 MB, after: [forward]}"
    uneven = "{name: experts, collective: all-to-all, matrix: bytes.csv, group: 2}"
    (tmp_path / "bytes.csv").write_text("0,100\nmany,0\n")
    (tmp_path / "uneven.yaml").write_text(STUDY.replace(operation, uneven))
    said = eastwest("study", "uneven.yaml")
    assert said.code == 2
    assert "'bytes.csv', row 2, column 1: 'many' is no number of bytes" in said.err


LARGE = """\
name: large
clusters: {all: {server: hgx-h100, servers: 512}}
fabrics: {tree: {shape: fat-tree, technology: infiniband, link: 400 Gb/s, switch: qm9700, balancing: pinned}}
workloads: {job: {kind: operations, operations: [{name: experts, collective: all-to-all, bytes: 1 GB}]}}
"""


def test_a_collective_that_memory_cannot_hold_is_refused_before_it_is_tried(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_text(LARGE)
    said = eastwest("study", "large.yaml")
    assert said.code == 2
    # 4,096 x 4,095 connections of 8 hops
    assert "workload 'job': operation 'experts': its connections have about 134 million hops" in said.err
    assert "take smaller groups" in said.err
    assert "or sprayed traffic" in said.err
