import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Command

KEYS = {
    "fabric",
    "workload",
    "placement",
    "fidelity",
    "step_s",
    "communication_s",
    "exposed_s",
    "exposed_share",
    "gpu_idle_share",
    "ideal_communication_s",
    "bottleneck",
    "tiers",
    "cost",
}


def test_a_study_prints_its_table_and_where_to_go_on(eastwest: Command) -> None:
    said = eastwest("study", "small.yaml")
    assert said.code == 0
    assert "job, packed" in said.out
    assert "--out DIR" in said.err


def test_json_holds_a_result_for_each_combination(eastwest: Command) -> None:
    said = eastwest("study", "small.yaml", "--json")
    results = json.loads(said.out)["results"]
    assert [(each["fabric"], each["workload"], each["placement"]) for each in results] == [
        ("one", "job", "packed"),
        ("two", "job", "packed"),
    ]
    assert all(set(each) >= KEYS for each in results)
    assert said.err == ""


def test_the_report_the_json_and_the_table_are_written_to_a_folder(eastwest: Command, tmp_path: Path) -> None:
    said = eastwest("study", "small.yaml", "--out", "found/here")
    folder = tmp_path / "found" / "here"
    assert sorted(each.name for each in folder.iterdir()) == ["report.html", "results.json", "results.parquet"]
    assert pl.read_parquet(folder / "results.parquet").height == 2
    assert "report.html" in said.err


def test_the_fidelity_can_be_overridden(eastwest: Command) -> None:
    results = json.loads(eastwest("study", "small.yaml", "--json", "--fidelity", "ideal").out)["results"]
    assert {each["fidelity"] for each in results} == {"ideal"}


def test_a_fabric_is_counted(eastwest: Command) -> None:
    said = eastwest("fabric", "small.yaml", "--fabric", "two", "--json")
    counted = json.loads(said.out)
    # 4 servers of 8 ports, one a leaf: 8 uplinks a leaf, 32 in all, one spine of 64 ports takes them
    assert counted["switches"] == {"leaf": 4, "spine": 1, "core": 0}
    assert counted["cables"] == {"server-leaf": 32, "leaf-spine": 32, "spine-core": 0}


def test_a_fabric_is_written_as_tables(eastwest: Command, tmp_path: Path) -> None:
    from eastwest import fabric

    eastwest("fabric", "small.yaml", "--fabric", "one", "--out", "tables")
    assert fabric.read(tmp_path / "tables").cables.height == 32


def test_a_fabric_s_forwarding_tables_are_written(eastwest: Command, tmp_path: Path) -> None:
    said = eastwest("fabric", "small.yaml", "--fabric", "two", "--routes", "routes.csv")
    assert "routes: routes.csv" in said.err
    lines = (tmp_path / "routes.csv").read_text().splitlines()
    # 4 leaves to 3 others over 8 cables each, and the spine's 8 cables to each of 4 leaves.
    assert len(lines) == 1 + 4 * 3 * 8 + 4 * 8


def test_the_starting_file_runs(eastwest: Command) -> None:
    assert eastwest("init").code == 0
    assert eastwest("study", "study.yaml", "--fidelity", "ideal").code == 0


def test_a_file_that_is_there_is_not_overwritten(eastwest: Command, tmp_path: Path) -> None:
    said = eastwest("init", "small.yaml")
    assert said.code == 2
    assert "--force" in said.err
    assert (tmp_path / "small.yaml").read_text().startswith("name: small")


def test_the_schema_is_json(eastwest: Command) -> None:
    assert json.loads(eastwest("schema").out)["properties"]["fabrics"]


@pytest.mark.parametrize("kind", ["gpus", "nics", "switches", "servers"])
def test_the_catalogue_lists_parts_with_sources(eastwest: Command, kind: str) -> None:
    listed = json.loads(eastwest("catalog", "--kind", kind, "--json").out)
    assert listed
    assert all(figure["source"] for part in listed for figure in part["figures"])


def test_one_part_is_shown_with_the_source_of_each_figure(eastwest: Command) -> None:
    assert "source" in eastwest("catalog", "connectx-7").out
