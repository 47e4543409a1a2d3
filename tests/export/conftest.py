"""A study of small fabrics, as a file, for the tests of exports."""

from pathlib import Path

import pytest

from eastwest import spec, study
from eastwest.fabric import Fabric
from eastwest.spec import Study

TEXT = """\
name: exports
seeds: 1
clusters:
  pod: { server: hgx-h100, servers: 16 }
fabrics:
  rails: { shape: rail-optimized, technology: rocev2, link: 400 Gb/s, switch: sn5400, servers_per_unit: 4 }
  half: { like: rails, oversubscription: "2:1" }
  leaves: { like: rails, shape: leaf-spine, servers_per_unit: 2, oversubscription: "4:1" }
  tree: { like: rails, shape: fat-tree, servers_per_unit: 1, servers_per_pod: 4 }
  one: { shape: single-switch, technology: rocev2, link: 100 Gb/s, switch: sn5400, breakout: 4 }
  planes: { shape: leaf-spine, technology: rocev2, link: 400 Gb/s, switch: sn5400, planes: 2, servers_per_unit: 4 }
  torus: { shape: torus, dims: [4, 4], technology: rocev2, link: 400 Gb/s, switch: sn5400 }
  fast-up: { like: leaves, uplink: 200 Gb/s, oversubscription: "1:1" }
  worn: { like: leaves, failures: [{ link: [leaf-0, spine-0], rate: 100 Gb/s }] }
  broken: { like: leaves, failures: [{ link: [leaf-0, spine-0], count: 1 }] }
workloads:
  step:
    kind: operations
    operations:
      - { name: forward, compute: 10 ms }
      - { name: gradients, collective: all-reduce, bytes: 1 GB, channels: 8, after: [forward] }
      - { name: on, send_recv: { shift: 8 }, bytes: 64 MB, after: [forward] }
  tree:
    kind: operations
    operations: [{ name: sum, collective: all-reduce, algorithm: tree, bytes: 1 MB }]
  inside:
    kind: operations
    operations: [{ name: sum, collective: all-reduce, group: 8, bytes: 1 MB }]
"""


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Study:
    file = tmp_path_factory.mktemp("study") / "exports.yaml"
    file.write_text(TEXT)
    return spec.load(str(file))


@pytest.fixture
def fabric(given: Study):
    def build(name: str) -> Fabric:
        return study.build_fabric(given, name)

    return build


@pytest.fixture
def file(tmp_path: Path):
    def write(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
