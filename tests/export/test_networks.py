"""Fabrics as SimAI's topologies and as ASTRA-sim's networks."""

import json

import pytest
from ruamel.yaml import YAML

from eastwest.errors import InputError
from eastwest.export import export
from eastwest.fabric.formats import read_ns3_topology


def lines(found, name):
    return found.files[name].decode().splitlines()


def test_simai_s_head_counts_what_follows(given):
    found = lines(export(given, "simai", "leaves"), "leaves.topo")
    # 128 GPUs, 16 NVLink switches, 8 leaves and 2 spines (8 leaves x 4 uplinks = 32 ports of 64 need 1)
    head = found[0].split()
    assert head[1:3] + head[5:] == ["8", "16", "H100"]
    nodes, switches = int(head[0]), int(head[3])
    assert nodes == 128 + 16 + switches
    assert found[1].split() == [str(node) for node in range(128, nodes)]
    assert len(found) - 2 == int(head[4])


def test_simai_s_gpus_of_a_server_share_the_nvlink_switch_of_their_number(given):
    found = [line.split() for line in lines(export(given, "simai", "leaves"), "leaves.topo")[2:]]
    nvlinks = {int(a): int(b) for a, b, *_ in found if 128 <= int(b) < 144 and int(a) < 128}
    assert nvlinks == {gpu: 128 + gpu // 8 for gpu in range(128)}


def test_parallel_cables_are_one_link_and_that_is_told(given):
    found = export(given, "simai", "half")
    assert any("parallel cables" in told for told in found.told)
    pairs = [tuple(line.split()[:2]) for line in lines(found, "half.topo")[2:]]
    assert len(set(pairs)) == len(pairs)


def test_the_ns3_topology_read_back_carries_as_much_between_tiers(given, fabric, file):
    found = export(given, "astra-sim", "half")
    back = read_ns3_topology(file("net.txt", found.files["half.ns3.txt"]))
    ours = fabric("half")
    between = ours.cables.filter(ours.cables["tiers"] == "leaf-spine")["rate_bps"].sum()
    gpus = 128 * (400e9 + 3600e9 * 0.824)  # a port, and NVLink at the payload of the catalogue's efficiency
    assert back.cables["rate_bps"].sum() == pytest.approx(between + gpus)


def test_astra_sim_s_dimensions_are_nvlink_and_the_servers(given):
    found = export(given, "astra-sim", "rails")
    network = YAML(typ="safe").load(found.files["rails.yml"])
    assert network["topology"] == ["Switch", "Switch"]
    assert network["npus_count"] == [8, 16]
    assert json.loads(found.files["rails.logical.json"]) == {"logical-dims": ["8", "16"]}


def test_astra_sim_s_gigabytes_are_2_to_the_30(given):
    network = YAML(typ="safe").load(export(given, "astra-sim", "rails").files["rails.yml"])
    expected = [3600e9 * 0.824 / 8 / 2**30, 400e9 * 4096 / 4178 / 8 / 2**30]
    assert network["bandwidth"] == pytest.approx(expected, rel=1e-5)


def test_what_the_analytical_network_has_not_is_told(given):
    assert any("no oversubscription" in told for told in export(given, "astra-sim", "half").told)


def test_formats_of_networks_take_no_workload(given):
    with pytest.raises(InputError, match="leave --workload out"):
        export(given, "simai", "rails", "step")
