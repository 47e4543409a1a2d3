"""Whole commands, as a person types them, start of Python included."""

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

EASTWEST = Path(sys.executable).parent / "eastwest"


def run(*arguments: str) -> int:
    return subprocess.run([EASTWEST, *arguments], capture_output=True, check=True).returncode


def test_help(benchmark: BenchmarkFixture) -> None:
    assert benchmark(run, "--help") == 0


@pytest.mark.parametrize("arguments", [("--json",), ("--json", "--fidelity", "ideal")], ids=["fluid", "ideal"])
def test_bundled_study(benchmark: BenchmarkFixture, arguments: tuple[str, ...]) -> None:
    assert benchmark.pedantic(run, args=("study", "pune-1024", *arguments), rounds=3) == 0


THOUSAND = """\
name: thousand
clusters: {pod: {server: hgx-h100, servers: [2, 4, 8]}}
fabrics:
  one:
    shape: [leaf-spine, rail-optimized]
    technology: rocev2
    link: [100 Gb/s, 200 Gb/s, 400 Gb/s]
    switch: sn5400
    servers_per_unit: 2
    qps: [1, 4]
    oversubscription: ["1:1", "2:1"]
    balancing: [ecmp, spray]
workloads:
  job:
    kind: operations
    operations:
      - {name: forward, compute: 10 ms}
      - {name: experts, collective: all-to-all, bytes: [16 MB, 256 MB], after: [forward]}
      - {name: gradients, collective: all-reduce, bytes: [100 MB, 1 GB], after: [experts]}
placements: [packed, scattered]
"""


def test_sweep_of_a_thousand_small_studies(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """1,152 combinations of 16 to 64 GPUs."""
    (tmp_path / "thousand.yaml").write_text(THOUSAND)
    asked = ("study", str(tmp_path / "thousand.yaml"), "--json")
    assert benchmark.pedantic(run, args=asked, rounds=1) == 0


def test_files_of_the_bundled_network(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """48 switches and 128 servers; each round in place of the one before."""
    asked = ("build", "pune-1024", "--fabric", "roce-400g", "--out", str(tmp_path / "built"))
    assert benchmark.pedantic(run, args=asked, rounds=3) == 0


def test_check_of_the_bundled_networks_files(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    built = str(tmp_path / "built")
    run("build", "pune-1024", "--fabric", "roce-400g", "--out", built)
    assert benchmark.pedantic(run, args=("check", "config", built), rounds=3) == 0
