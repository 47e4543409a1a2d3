"""A study of eight servers, and logs of nccl-tests as its network would leave them if something were wrong with it."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from eastwest import expect, observe, spec
from eastwest.expect import Comparison, Fault

STUDY = """\
name: eight
clusters:
  pod: {server: hgx-h100, servers: 8}
fabrics:
  rails:
    shape: rail-optimized
    technology: rocev2
    link: 400 Gb/s
    switch: sn5600
    balancing: spray
  leaves:
    shape: leaf-spine
    technology: rocev2
    link: 400 Gb/s
    switch: sn5400
    servers_per_unit: 2
    balancing: ecmp
  thin:
    shape: rail-optimized
    technology: rocev2
    link: 400 Gb/s
    switch: sn5400
    servers_per_unit: 8
    oversubscription: "8:1"
    balancing: spray
workloads:
  job: {kind: operations, operations: [{name: forward, compute: 10 ms}]}
"""
WHOLE = Fault()
Log = Callable[..., str]


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> spec.Study:
    path = tmp_path_factory.mktemp("study") / "eight.yaml"
    path.write_text(STUDY)
    return spec.load(str(path))


def devices(nodes: int, per_node: int = 8, name: str = "NVIDIA H100 80GB HBM3") -> str:
    places = [(node, device) for node in range(nodes) for device in range(per_node)]
    return "".join(
        f"#  Rank {rank:2} Group  0 Pid {1000 + rank} on node-{node} device {device} [0000:1b:00] {name}\n"
        for rank, (node, device) in enumerate(places)
    )


@pytest.fixture(scope="session")
def log(study: spec.Study) -> Log:
    """Makes the log of a program on the study's network with a fault, each time off by up to `noise`."""

    def make(
        fault: Fault = WHOLE,
        program: str = "all_reduce",
        nodes: int = 2,
        fabric: str = "rails",
        noise: float = 0.05,
        said: str = "",
        last: str = "8G",
    ) -> str:
        scene = expect.scene(study, fabric, expect.program(program), nodes, 8)
        draw, rows = random.Random(f"{fault}{program}{nodes}"), []
        for row in scene.rows(expect.sizes("8", last, 4)):
            time_s = scene.ran(row.size_bytes, fault)[0] * (1 + draw.uniform(-noise, noise))
            faster = row.time_s / time_s
            rows.append(replace(row, time_s=time_s, algbw=row.algbw * faster, busbw=row.busbw * faster))
        return said + devices(nodes) + "\n".join(expect.lines(scene, rows)) + "\n"

    return make


@pytest.fixture(scope="session")
def compared(study: spec.Study) -> Callable[..., Comparison]:
    """Sets the text of a log beside what the study's network should show."""

    def compare(text: str, fabric: str = "rails", **asked: object) -> Comparison:
        (benchmark,) = observe.parse(text.encode(), "run.log")
        return expect.compare(study, fabric, benchmark, **asked)

    return compare
