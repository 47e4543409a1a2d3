"""What is built for fabrics of every kind gives no error and no warning, also where RoCE may be lost by intent."""

from pathlib import Path

import pytest

from eastwest import artifacts, spec
from eastwest.checks import Severity, check

ENTRIES = {
    "pool-of-headroom": "{shape: single-switch, technology: rocev2, link: 400 Gb/s, switch: tomahawk5-64x800g}",
    "numbered": "{shape: leaf-spine, technology: rocev2, link: 400 Gb/s, switch: sn5400, servers_per_unit: 1, "
    "build: {addressing: numbered}}",
    "lossy": "{shape: single-switch, technology: rocev2, link: 400 Gb/s, switch: sn5400, "
    "packets: {switch: {pauses: 'off'}}}",
    "ultra-ethernet": "{shape: single-switch, nic: pollara-400, technology: ultra-ethernet, link: 400 Gb/s, "
    "switch: sn5400}",
    "sites": "{shape: single-switch, technology: rocev2, link: 400 Gb/s, switch: sn5400, "
    "sites: {count: 2, distance: 80 km, links: 2, rate: 400 Gb/s}}",
    "front-end": "{shape: single-switch, technology: rocev2, link: 400 Gb/s, switch: sn5400, "
    "frontend: {link: 200 Gb/s, switch: sn5400, storage: {servers: 1}}}",
    "infiniband-with-a-front-end": "{shape: single-switch, technology: infiniband, link: 400 Gb/s, switch: qm9700, "
    "breakout: 2, frontend: {link: 200 Gb/s, switch: sn5400}}",
}
STUDY = """
name: kinds
clusters:
  pod: {{ server: hgx-h100, servers: 4 }}
fabrics:
  wanted: {entry}
workloads:
  job: {{ kind: operations, operations: [{{ name: a, compute: 1 ms }}] }}
"""


@pytest.mark.parametrize("kind", ENTRIES)
def test_gives_no_error_and_no_warning(kind: str, tmp_path: Path) -> None:
    study = spec.loads(STUDY.format(entry=ENTRIES[kind]), "kinds.yaml")
    artifacts.write(artifacts.build(artifacts.subject(study, "wanted")), {}, tmp_path / "built")
    report = check([tmp_path / "built"])
    assert [finding for finding in report.findings if finding.severity != Severity.NOTE] == []
