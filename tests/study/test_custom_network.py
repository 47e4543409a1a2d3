"""A network of one's own in a study: the same results as the shape it was written from, and mistakes at their lines."""

from pathlib import Path
from typing import Any

import pytest

from eastwest import spec
from eastwest.fabric import write_network
from eastwest.study import build_fabric, run

COMMON = {"technology": "rocev2", "link": "400 Gb/s"}
SHAPED = {**COMMON, "shape": "rail-optimized", "servers_per_unit": 8, "switch": "sn5400", "oversubscription": "2:1"}
CUSTOM = {**COMMON, "shape": "custom", "network": "net.yaml"}


def study(folder: Path, servers: int = 16, **fabrics: dict[str, Any]) -> spec.Study:
    work = {"kind": "operations", "operations": [{"name": "it", "collective": "all-to-all", "bytes": "100 MB"}]}
    return spec.from_mapping(
        {
            "name": "own",
            "clusters": {"pod": {"server": "hgx-h100", "servers": servers}},
            "fabrics": fabrics,
            "workloads": {"job": work},
            "seeds": 4,
        },
        folder,
    )


@pytest.mark.parametrize("name", ["net.yaml", "net"])
@pytest.mark.parametrize("balancing", ["ecmp", "spray"])
def test_a_fabric_written_and_read_back_gives_the_same_result(tmp_path: Path, name: str, balancing: str) -> None:
    shaped = {**SHAPED, "balancing": balancing}
    write_network(build_fabric(study(tmp_path, shaped=shaped), "shaped"), tmp_path / name)
    own = {**CUSTOM, "network": name, "balancing": balancing}
    one, other = run(study(tmp_path, shaped=shaped, own=own)).rows
    assert other.step_s == one.step_s
    assert other.step_p95_s == one.step_p95_s
    assert other.bottleneck == one.bottleneck


def test_ranks_that_no_cables_join_are_told_with_both_ends(tmp_path: Path) -> None:
    """One NIC of each server is cabled: GPU 1 of the left server has no way out."""
    (tmp_path / "net.yaml").write_text(
        "nodes: { left: server, right: server, leaf: sn5400 }\ncables: [[left/nic-0, leaf], [right/nic-0, leaf]]\n"
    )
    with pytest.raises(spec.StudyError) as caught:
        run(study(tmp_path, servers=2, own=CUSTOM))
    assert "workload 'job': fabric 'own' has no path from left/gpu-0 to right/gpu-1" in str(caught.value)
    assert "cable these NICs to a common network in its file" in str(caught.value)


@pytest.mark.parametrize(
    ("fabric", "told"),
    [
        ({**CUSTOM, "network": "none.yaml"}, "there is no file or folder 'none.yaml'"),
        ({**CUSTOM, "network": "../net.yaml"}, "'../net.yaml' is outside the study's folder"),
        ({**CUSTOM, "network": 3}, "3 is no name of a file"),
        ({**CUSTOM, "switch": "sn5400"}, "switch has no meaning for the shape custom"),
        ({**COMMON, "shape": "custom"}, "the shape custom needs 'network'"),
        ({**COMMON, "shape": "leaf-spine"}, "the shape leaf-spine needs 'switch'"),
        ({**SHAPED, "network": "net.yaml"}, "network has no meaning for the shape rail-optimized"),
        (CUSTOM, "net.yaml has 2 servers, the cluster has 16"),
    ],
)
def test_what_is_wrong_with_it_is_told(tmp_path: Path, fabric: dict[str, Any], told: str) -> None:
    (tmp_path / "net.yaml").write_text(
        "nodes: { left: server, right: server, leaf: sn5400 }\ncables: [[left, leaf], [right, leaf]]\n"
    )
    with pytest.raises(spec.StudyError) as caught:
        build_fabric(study(tmp_path, own=fabric), "own")
    assert told in str(caught.value)


def test_mistakes_in_the_file_are_told_at_its_lines(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text("nodes: { left: server, leaf: sn5400 }\ncables:\n  - [left, leaff]\n")
    with pytest.raises(spec.StudyError) as caught:
        build_fabric(study(tmp_path, servers=1, own=CUSTOM), "own")
    (mistake,) = caught.value.mistakes
    assert (Path(mistake.file).name, mistake.line, mistake.nearest) == ("net.yaml", 3, "leaf")
