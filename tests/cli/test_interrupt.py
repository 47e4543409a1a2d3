import signal
import subprocess
import sys
import time
from pathlib import Path

STUDY = """\
name: long
seeds: 4096
clusters: {many: {server: hgx-h100, servers: 64}}
fabrics: {one: {shape: rail-optimized, technology: rocev2, link: 400 Gb/s, switch: sn5400}}
workloads:
  job: {kind: operations, operations: [{name: experts, collective: all-to-all, bytes: 1 GB}]}
"""


def test_ctrl_c_ends_a_run_soon_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(STUDY)
    command = [sys.executable, "-c", "from eastwest.cli import main; main()", "study", "long.yaml", "--out", "out"]
    run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(4)  # long enough to be inside the engine, on a busy machine too
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=20)
    assert run.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert [each.name for each in tmp_path.iterdir()] == ["long.yaml"]
