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
