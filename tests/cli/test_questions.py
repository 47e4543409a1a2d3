"""Sweeps, scaling, curves and sensitivity as a person types them."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import STUDY, Command

SWEPT = STUDY.replace("link: 400 Gb/s\n    switch: sn5400", "link: [100 Gb/s, 400 Gb/s]\n    switch: sn5400")


@pytest.fixture
def swept(eastwest: Command, tmp_path: Path) -> Command:
    (tmp_path / "swept.yaml").write_text(SWEPT)
    return eastwest


def test_a_sweep_has_a_table_with_what_varies_first(swept: Command) -> None:
    said = swept("study", "swept.yaml", "--where", "fabric=two")
    assert said.code == 0
    heads = next(line for line in said.out.splitlines() if "exposed" in line)
    assert heads.split()[:2] == ["link", "step"]
    assert "link 400 Gb/s" in said.out


def test_conditions_choose_what_is_run(swept: Command) -> None:
    results = json.loads(swept("study", "swept.yaml", "--json", "-w", "link>=200 Gb/s,fabric=two").out)["results"]
    assert [(each["fabric"], each["parameters"]) for each in results] == [("two", {"link": 400e9})]


def test_a_sweep_s_report_draws_its_lines(swept: Command, tmp_path: Path) -> None:
    swept("study", "swept.yaml", "--where", "fabric=two", "--out", "found")
    page = (tmp_path / "found" / "report.html").read_text()
    assert "job over link" in page
    assert "two, link 100 Gb/s" in page


def test_scaling_is_told_for_each_size(eastwest: Command) -> None:
    asked = ("scaling", "small.yaml", "--fabric", "two", "--workload", "job")
    assert "of linear" in eastwest(*asked).out or "scales linearly" in eastwest(*asked).out
    (curve,) = json.loads(eastwest(*asked, "--gpus", "8..32", "--json").out)["curves"]
    assert [size["gpus"] for size in curve["sizes"]] == [8, 16, 32]


def test_a_curve_has_nccl_tests_columns(eastwest: Command) -> None:
    asked = ("curve", "small.yaml", "--fabric", "one", "--sizes", "1MiB..4MiB")
    said = eastwest(*asked)
    assert said.code == 0
    assert {"size", "time", "algbw", "busbw"} <= set(said.out.split())
    points = json.loads(eastwest(*asked, "--json").out)["points"]
    assert [point["size_bytes"] for point in points] == [2**20, 2**21, 2**22]


def test_a_curve_that_is_left_to_nccl_names_what_ran(eastwest: Command) -> None:
    asked = ("curve", "small.yaml", "--fabric", "one", "--algorithm", "auto", "--sizes", "8B..16B")
    assert "tree ll" in eastwest(*asked).out
    points = json.loads(eastwest(*asked, "--json").out)["points"]
    assert {(point["algorithm"], point["protocol"]) for point in points} == {("tree", "ll")}


def test_sensitivity_is_a_table_of_resources(eastwest: Command) -> None:
    asked = ("sensitivity", "small.yaml", "--fabric", "two", "--workload", "job")
    assert "GPU compute" in eastwest(*asked).out
    gains = json.loads(eastwest(*asked, "--json").out)["gains"]
    assert [each["gain"] for each in gains] == sorted((each["gain"] for each in gains), reverse=True)


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("study", "swept.yaml", "--where", "lnk=3"), "did you mean 'link'?"),
        (("fabric", "swept.yaml", "--fabric", "two"), "name one of two.link-100Gbps, two.link-400Gbps"),
        (("scaling", "small.yaml", "-f", "two", "-w", "jbo"), "did you mean 'job'?"),
        (("scaling", "small.yaml", "-f", "two", "-w", "job", "--gpus", "64"), "as in 64..4096"),
        (("scaling", "small.yaml", "-f", "two", "-w", "job", "--gpus", "few..many"), "two whole numbers"),
        (("curve", "small.yaml", "-f", "one", "-c", "all-redcue"), "did you mean 'all-reduce'?"),
        (("curve", "small.yaml", "-f", "one", "--protocol", "ll256"), "'ll256' does not fit protocol"),
        (("curve", "small.yaml", "-f", "one", "--algorithm", "autom"), "did you mean 'auto'?"),
        (("curve", "small.yaml", "-f", "one", "--sizes", "4 GB..1 GB"), "from small to large"),
        (("curve", "small.yaml", "-f", "one", "--sizes", "1..2"), "has no unit"),
        (("curve", "swept.yaml", "-f", "two"), "choose one by link with --where"),
        (("sensitivity", "swept.yaml", "-f", "two", "-w", "job"), "choose one by link with --where"),
        (("sensitivity", "small.yaml", "-f", "tow", "-w", "job"), "did you mean 'two'?"),
    ],
)
def test_mistakes_are_told_with_their_remedy(swept: Command, arguments: tuple[str, ...], remedy: str) -> None:
    said = swept(*arguments)
    assert said.code == 2
    assert remedy in said.err
    assert said.out == ""


def test_strong_scaling_shares_the_work(eastwest: Command) -> None:
    asked = ("scaling", "small.yaml", "--fabric", "two", "--workload", "job", "--gpus", "8..32", "--strong")
    assert "strong scaling" in eastwest(*asked).out
    found = json.loads(eastwest(*asked, "--json").out)
    steps = [size["step_s"] for size in found["curves"][0]["sizes"]]
    assert found["is_strong"]
    assert steps == sorted(steps, reverse=True)


def test_a_mix_has_a_table_of_its_jobs(eastwest: Command, tmp_path: Path) -> None:
    mix = "mixes: {both: {jobs: [{workload: job, servers: 2}, {workload: job, servers: 2}]}}\n"
    (tmp_path / "mixed.yaml").write_text(STUDY + mix)
    said = eastwest("study", "mixed.yaml", "--where", "mix=both", "--out", "found")
    assert said.code == 0
    assert "job-2" in said.out
    assert sorted(each.name for each in (tmp_path / "found").iterdir()) == [
        "jobs.parquet",
        "report.html",
        "results.json",
    ]
    assert "Several jobs at once" in (tmp_path / "found" / "report.html").read_text()


def test_timelines_are_traces_in_a_folder_and_charts_in_the_report(eastwest: Command, tmp_path: Path) -> None:
    said = eastwest("study", "small.yaml", "--timeline", "traces", "--out", "found")
    assert said.code == 0
    assert "2 in traces" in said.err
    assert [each.suffix for each in (tmp_path / "traces").iterdir()] == [".perfetto-trace"] * 2
    assert "What happens when" in (tmp_path / "found" / "report.html").read_text()
    assert "is a file" in eastwest("study", "small.yaml", "--timeline", "small.yaml").err
