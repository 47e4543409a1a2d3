import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from eastwest.cli import main

STUDY = """\
name: small
money: {gpu_hour: 2 USD}
seeds: 2
clusters:
  pod: {server: hgx-h100, servers: 4}
fabrics:
  one:
    shape: single-switch
    technology: rocev2
    link: 400 Gb/s
    switch: sn5600
  two:
    shape: leaf-spine
    technology: rocev2
    link: 400 Gb/s
    switch: sn5400
    servers_per_unit: 1
workloads:
  job:
    kind: operations
    operations:
      - {name: forward, compute: 10 ms}
      - {name: gradients, collective: all-reduce, bytes: 100 MB, after: [forward]}
"""


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def eastwest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Runs the command in a folder of its own that holds `small.yaml`."""
    (tmp_path / "small.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["eastwest", *arguments])
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        return Said(code, out.getvalue(), err.getvalue())

    return run
