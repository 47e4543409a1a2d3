"""Groups of servers tier by tier, and what Slurm and Kubernetes are told of them."""

import re

import pytest

from eastwest.artifacts.inventory.hostlist import hostlist
from eastwest.artifacts.inventory.locality import groups
from eastwest.artifacts.inventory.schedulers import domains, labels, slurm_blocks, slurm_tree
from eastwest.fabric import Fabric
from eastwest.spec import loads
from eastwest.study.fabrics import build_fabric


def _fabric(entries: str, servers: int, server: str = "hgx-h100") -> Fabric:
    text = f"""
name: places
clusters: {{ c: {{ server: {server}, servers: {servers} }} }}
fabrics:
  f: {{ cluster: c, technology: rocev2, {entries} }}
workloads:
  w: {{ kind: measured, step: 1 s, exposed: 0.1 s, collective: {{ kind: all-reduce }}, measured_on: {{ fabric: f }} }}
"""
    return build_fabric(loads(text), "f")


RAILS = "shape: rail-optimized, servers_per_unit: 4, link: 400 Gb/s, switch: sn5400"


def test_servers_that_share_leaves_on_all_rails_are_one_group() -> None:
    units, whole = groups(_fabric(RAILS, 12))
    assert [(group.name, group.servers) for group in units] == [
        ("unit-0", (0, 1, 2, 3)),
        ("unit-1", (4, 5, 6, 7)),
        ("unit-2", (8, 9, 10, 11)),
    ]
    assert [group.servers for group in whole] == [tuple(range(12))]


def test_a_group_on_one_leaf_has_its_name() -> None:
    leaves, _ = groups(_fabric("shape: leaf-spine, servers_per_unit: 4, link: 400 Gb/s, switch: sn5400", 8))
    assert [group.name for group in leaves] == ["leaf-0", "leaf-1"]


def test_rails_that_nothing_joins_end_in_one_group_all_the_same() -> None:
    tiers = groups(_fabric("shape: rail-only, tiers: 1, link: 400 Gb/s, switch: sn5400", 8))
    assert [len(each) for each in tiers] == [1]


def test_pods_are_groups_between_units_and_the_whole() -> None:
    entries = RAILS + ", tiers: 3, servers_per_pod: 8"
    units, pods, whole = groups(_fabric(entries, 16))
    assert [group.servers for group in pods] == [tuple(range(8)), tuple(range(8, 16))]
    assert [group.parent for group in units] == [0, 0, 1, 1]
    assert len(whole) == 1


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["server-000", "server-001", "server-002"], "server-[000-002]"),
        (["server-000", "server-002", "server-003"], "server-[000,002-003]"),
        (["server-9", "server-10"], "server-9,server-10"),
        (["a", "b"], "a,b"),
        (["x1"], "x1"),
        ([], ""),
    ],
)
def test_names_in_short(names: list[str], short: str) -> None:
    assert hostlist(names) == short


def _expanded(text: str) -> list[str]:
    """Names of a hostlist, by its grammar alone."""
    found: list[str] = []
    for stem, ranges in re.findall(r"([^,\[]+)(?:\[([^\]]+)\])?", text):
        for part in ranges.split(",") if ranges else [""]:
            low, _, high = part.partition("-")
            found += [f"{stem}{n:0{len(low)}d}" for n in range(int(low), int(high or low) + 1)] if part else [stem]
    return found


def test_every_server_hangs_in_slurms_tree_once_and_all_under_one_switch() -> None:
    names = [f"server-{number:02d}" for number in range(16)]
    text = slurm_tree(groups(_fabric(RAILS + ", tiers: 3, servers_per_pod: 8", 16)), names)
    switches = {}
    for line in text.splitlines():
        if line.startswith("SwitchName="):
            found = re.fullmatch(r"SwitchName=(\S+) (?:Nodes|Switches)=(\S+)", line)
            assert found is not None, line
            name, children = found.groups()
            switches[name] = _expanded(children)
    below = [child for children in switches.values() for child in children]
    assert sorted(child for child in below if child in names) == names
    assert len(below) == len(set(below))
    assert set(switches) - set(below) == {"fabric"}


def test_nvlink_domains_are_slurms_blocks_with_sizes_that_double() -> None:
    names = [f"tray-{number:03d}" for number in range(18 * 5)]
    lines = slurm_blocks(domains(len(names), 18), names).splitlines()
    assert lines[1] == "BlockName=nvl-0 Nodes=tray-[000-017]"
    # topograph's rule: the smallest domain, doubled as long as so many domains are there; 5 domains make 1, 2 and 4.
    assert lines[-1] == "BlockSizes=18,36,72"


def test_servers_of_their_own_domain_make_no_blocks() -> None:
    assert domains(8, 1) == ()


def test_labels_name_the_groups_from_the_leaf_up_and_the_domain() -> None:
    found = labels(groups(_fabric(RAILS, 8)), domains(8, 4), 8)
    assert found[5] == {
        "network.topology.nvidia.com/leaf": "unit-1",
        "network.topology.nvidia.com/spine": "fabric",
        "network.topology.nvidia.com/accelerator": "nvl-1",
    }
