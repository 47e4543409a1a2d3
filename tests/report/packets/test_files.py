"""What a simulation leaves in a folder: tables that are the run's, and nothing of an earlier run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eastwest.report.packets import write_simulation
from eastwest.simulation import SimulationResult

ALL = {
    "report.html",
    "summary.json",
    "trace.perfetto",
    "flows.parquet",
    "ports.parquet",
    "series.parquet",
    "series_network.parquet",
    "series_flows.parquet",
}


@pytest.fixture(scope="module")
def folder(incast: SimulationResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("out") / "new" / "folder"
    assert write_simulation(incast, written, "incast") == written / "report.html"
    return written


def test_all_files_are_there_and_nothing_else(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == ALL


def test_the_completion_times_of_the_table_are_those_of_the_summary(folder: Path) -> None:
    told = json.loads((folder / "summary.json").read_text())["fct_s"]
    times = pl.read_parquet(folder / "flows.parquet")["fct_s"].to_numpy()
    found = dict(zip(("min", "median", "p99", "max"), np.percentile(times, [0, 50, 99, 100]).tolist(), strict=True))
    assert found == pytest.approx(told)


def test_bytes_over_time_by_port_and_by_hop_are_the_same(folder: Path, incast: SimulationResult) -> None:
    series, ports = (pl.read_parquet(folder / f"{name}.parquet") for name in ("series", "ports"))
    by_port = series.group_by("port").agg(pl.col("bytes").sum()).sort("port")
    assert by_port.equals(ports.filter(pl.col("bytes") > 0).select("port", "bytes").sort("port"))
    assert ports["packets"].sum() == incast.run.link_hops
    paused = series.group_by("port").agg(pl.col("paused_s").sum()).filter(pl.col("paused_s") > 0).sort("port")
    assert paused["paused_s"].to_list() == pytest.approx(
        ports.filter(pl.col("paused_s") > 0).sort("port")["paused_s"].to_list()
    )


def test_what_an_earlier_run_left_does_not_stay_beside_another(incast: SimulationResult, tmp_path: Path) -> None:
    write_simulation(incast, tmp_path, "sampled")
    write_simulation(replace(incast, run=replace(incast.run, series=None)), tmp_path, "not sampled")
    assert {path.name for path in tmp_path.iterdir()} == {name for name in ALL if not name.startswith("series")}


def test_the_same_run_writes_the_same_files(incast: SimulationResult, folder: Path, tmp_path: Path) -> None:
    write_simulation(incast, tmp_path, "incast")
    assert all((folder / name).read_bytes() == (tmp_path / name).read_bytes() for name in ALL)
