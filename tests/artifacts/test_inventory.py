"""What other systems are told, read back as they would: NetBox's forms, Ansible, LLDP, DOT and Kubernetes."""

import csv
import io
import json
import re
from collections import Counter

import pytest
from ruamel.yaml import YAML

from eastwest import artifacts, spec
from eastwest.artifacts.inventory.media import medium, part

# Fields of NetBox's import forms, and those of them that it requires (netbox/dcim/forms/bulk_import.py and
# netbox/ipam/forms/bulk_import.py, main branch of 2025).
FORMS = {
    "1-sites": ({"name", "slug", "status", "region", "group", "tenant", "facility"}, {"name", "slug", "status"}),
    "2-manufacturers": ({"name", "slug", "description", "tags"}, {"name", "slug"}),
    "3-device-roles": (
        {"name", "slug", "color", "vm_role", "config_template", "description", "tags"},
        {"name", "slug"},
    ),
    "4-devices": (
        {"name", "role", "tenant", "manufacturer", "device_type", "platform", "serial", "asset_tag", "status", "site",
         "location", "rack", "position", "face", "airflow", "cluster", "description", "comments", "tags"},
        {"name", "role", "manufacturer", "device_type", "status", "site"},
    ),
    "5-interfaces": (
        {"device", "name", "label", "parent", "bridge", "lag", "type", "speed", "duplex", "enabled", "mark_connected",
         "wwn", "vdcs", "mtu", "mgmt_only", "description", "poe_mode", "poe_type", "mode", "vrf", "tags"},
        {"device", "name", "type"},
    ),
    "6-mac-addresses": (
        {"mac_address", "device", "virtual_machine", "interface", "is_primary", "description", "comments", "tags"},
        {"mac_address"},
    ),
    "7-ip-addresses": (
        {"address", "vrf", "tenant", "status", "role", "device", "virtual_machine", "interface", "fhrp_group",
         "is_primary", "is_oob", "dns_name", "description", "owner", "comments", "tags"},
        {"address", "status"},
    ),
    "8-cables": (
        {"side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "type", "status",
         "tenant", "label", "color", "length", "length_unit", "description", "comments", "tags"},
        {"side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name"},
    ),
}  # fmt: skip
# InterfaceTypeChoices, CableTypeChoices, LinkStatusChoices and so on (netbox/dcim/choices.py), those that can come.
INTERFACES = {
    "virtual", "other", "25gbase-x-sfp28", "50gbase-x-sfp56", "100gbase-x-qsfp28", "200gbase-x-qsfp56",
    "400gbase-x-qsfpdd", "800gbase-x-osfp", "1.6tbase-x-osfp1600", "infiniband-edr", "infiniband-hdr",
    "infiniband-ndr", "infiniband-xdr",
}  # fmt: skip
CABLES = {"dac-passive", "dac-active", "mmf-om4", "smf-os2"}

RAILS = "technology: rocev2, shape: rail-optimized, servers_per_unit: 2, link: 400 Gb/s, switch: sn5400"
FRONT = (
    "frontend: { network: separate, nics: 2, nic: connectx-6, link: 200 Gb/s, switch: sn5400, "
    "storage: { servers: 2, nics: 1 } }"
)
STUDIES = {
    "rails": (RAILS, "hgx-h100", 4),
    "front-end": (f"{RAILS}, {FRONT}", "hgx-h100", 4),
    "infiniband": (RAILS.replace("rocev2", "infiniband").replace("sn5400", "qm9700"), "hgx-h100", 4),
    "planes": (f"{RAILS}, planes: 2, breakout: 2", "hgx-b200", 4),
    "nvl72": (RAILS, "gb200-nvl72", 36),
}


def rows(files, name):
    return list(csv.DictReader(io.StringIO(files[f"inventory/{name}.csv"].text), strict=True))


def yaml(text):
    return YAML(typ="safe").load_all(text)


@pytest.fixture(params=STUDIES)
def case(request, built, a_study):
    """The plan of a study and the inventory's files by path."""
    fabric, server, servers = STUDIES[request.param]
    text = a_study(fabric, servers=servers, server=server)
    return artifacts.subject(spec.loads(text), "f").plan, built(text, "f", "inventory")


@pytest.mark.parametrize("name", FORMS)
def test_netbox_knows_the_columns_and_misses_none(case, name):
    known, required = FORMS[name]
    _, files = case
    (header, *rest) = csv.reader(io.StringIO(files[f"inventory/netbox/{name}.csv"].text), strict=True)
    assert set(header) <= known
    assert required <= set(header)
    for row in rest:
        cells = dict(zip(header, row, strict=True))
        assert all(cells[column] for column in required)


def test_netbox_finds_what_each_row_refers_to(case):
    plan, files = case
    names = [row["name"] for row in rows(files, "netbox/4-devices")]
    assert sorted(names) == sorted(plan.by_name)
    sites, roles = ({row["name"] for row in rows(files, f"netbox/{form}")} for form in ("1-sites", "3-device-roles"))
    types = {
        (read["manufacturer"], read["model"])
        for path, file in files.items()
        if "/device-types/" in path
        for read in yaml(file.text)
    }
    makers = {row["name"] for row in rows(files, "netbox/2-manufacturers")}
    for device in rows(files, "netbox/4-devices"):
        assert device["site"] in sites
        assert device["role"] in roles
        assert (device["manufacturer"], device["device_type"]) in types
        assert device["manufacturer"] in makers
    interfaces = Counter((row["device"], row["name"]) for row in rows(files, "netbox/5-interfaces"))
    assert set(interfaces.values()) == {1}
    for form in ("6-mac-addresses", "7-ip-addresses"):
        assert {(row["device"], row["interface"]) for row in rows(files, f"netbox/{form}")} <= set(interfaces)


def test_netbox_gets_each_cable_once_and_no_port_twice(case):
    plan, files = case
    cables = rows(files, "netbox/8-cables")
    interfaces = {(row["device"], row["name"]) for row in rows(files, "netbox/5-interfaces")}
    ends = [(row[f"side_{side}_device"], row[f"side_{side}_name"]) for row in cables for side in "ab"]
    assert len(ends) == len(set(ends)) == 2 * len(plan.cables)
    assert set(ends) <= interfaces
    assert {row["side_a_type"] for row in cables} == {"dcim.interface"}
    assert {row["type"] for row in cables} <= CABLES
    assert {row["length_unit"] for row in cables} <= {"m", "km"}
    assert len({row["label"] for row in cables}) == len(cables)


def test_netboxs_addresses_are_the_plans_and_none_is_there_twice(case):
    plan, files = case
    listed = [row["address"].split("/")[0] for row in rows(files, "netbox/7-ip-addresses")]
    assert len(listed) == len(set(listed))
    macs = [row["mac_address"] for row in rows(files, "netbox/6-mac-addresses")]
    assert len(macs) == len(set(macs))
    if plan.technology != "infiniband":
        assert {str(port.address) for host in plan.hosts for port in host.ports} <= set(listed)
        assert {str(switch.loopback) for switch in plan.switches} <= set(listed)


def test_interfaces_have_types_and_speeds_that_netbox_takes(case):
    _, files = case
    for row in rows(files, "netbox/5-interfaces"):
        assert row["type"] in INTERFACES
        assert row["type"] != "other"
        assert not row["speed"] or int(row["speed"]) < 2**31  # kbit/s in a PositiveIntegerField
        assert (row["enabled"] == "false") == (row["description"] == "spare")


def test_device_types_are_as_the_device_type_library_has_them(case):
    """Its schema (schema/devicetype.json): five required properties, slugs of a few characters."""
    _, files = case
    for path, file in files.items():
        if "/device-types/" not in path:
            continue
        (read,) = yaml(file.text)
        assert {"manufacturer", "model", "slug", "u_height", "is_full_depth"} <= set(read)
        assert re.fullmatch(r"[-a-z0-9_]+", read["slug"])
        assert path.endswith(f"/{read['slug']}.yaml")


def test_the_cable_list_has_both_ends_of_every_cable(case):
    plan, files = case
    listed = rows(files, "cables")
    assert [(row["a_device"], row["a_port"], row["b_device"], row["b_port"]) for row in listed] == [
        (cable.a, cable.a_interface, cable.b, cable.b_interface) for cable in plan.cables
    ]
    labels = [row[f"{end}_label"] for row in listed for end in "ab"]
    assert len(set(labels)) == len(labels)
    for row in listed:
        here, there = f"{row['a_device']}:{row['a_port']}", f"{row['b_device']}:{row['b_port']}"
        assert (row["a_label"], row["b_label"]) == (f"{here} > {there}", f"{there} > {here}")


@pytest.mark.parametrize(
    ("length_m", "name"),
    [(1, "DAC"), (3, "DAC"), (3.5, "ACC"), (5, "ACC"), (30, "SR"), (50, "SR"), (100, "DR"), (2000, "FR"), (8e4, "ZR")],
)
def test_a_cable_is_of_the_shortest_reach_that_spans_it(length_m, name):
    assert medium(length_m).name == name
    assert part(400e9, length_m) == f"400G-{name}-{length_m:g}m"


def test_growth_renames_no_cable_of_a_server(built, a_study):
    small, large = (rows(built(a_study(RAILS, servers=count), "f", "inventory"), "cables") for count in (4, 6))
    of_large = {row["cable"]: row for row in large}
    for row in small:
        if row["tiers"] == "server-leaf":
            assert of_large[row["cable"]] == row


def test_ansible_has_every_device_in_the_groups_of_its_place(case):
    plan, files = case
    (read,) = yaml(files["inventory/ansible.yaml"].text)
    groups = {name: of["hosts"] for name, of in read["all"]["children"].items()}
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in groups)
    assert {host for hosts in groups.values() for host in hosts} == set(plan.by_name)
    for switch in plan.switches:
        assert groups[f"{switch.tier}_switches"][switch.name]["asn"] == switch.asn
        assert (switch.rail < 0) or switch.name in groups[f"rail_{switch.rail}"]
    for host in plan.hosts:
        kind = "servers" if host.kind == "server" else "storage_servers"
        assert set(groups[kind][host.name]["interfaces"]) == {port.name for port in host.ports}
        assert host.unit < 0 or host.name in groups[f"unit_{host.unit}"]


def test_neighbours_see_each_other(case):
    plan, files = case
    seen = json.loads(files["inventory/lldp.json"].text)
    assert sum(len(ports) for ports in seen.values()) == 2 * len(plan.cables)
    for here, ports in seen.items():
        for port, other in ports.items():
            assert seen[other["chassis"]][other["port"]] == {"chassis": here, "port": port}


def test_the_graph_has_the_plans_cables(case):
    plan, files = case
    edges = re.findall(r'^  "([^"]+)":"([^"]+)" -- "([^"]+)":"([^"]+)"$', files["inventory/topology.dot"].text, re.M)
    assert edges == [(cable.a, cable.a_interface, cable.b, cable.b_interface) for cable in plan.cables]


def test_kubernetes_takes_the_labels(case):
    """Names and values as Kubernetes has them: 63 characters, alphanumeric at both ends."""
    plan, files = case
    nodes = list(yaml(files["inventory/kubernetes/node-labels.yaml"].text))
    servers = [host.name for host in plan.hosts if host.kind == "server"]
    assert [node["metadata"]["name"] for node in nodes if node is not None] == servers
    for node in nodes:
        for value in node["metadata"]["labels"].values():
            assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", value)


def test_topographs_model_has_each_server_in_one_block_under_a_switch_of_the_tree(case):
    plan, files = case
    (model,) = yaml(files["inventory/kubernetes/topograph.yaml"].text)
    servers = [host.name for host in plan.hosts if host.kind == "server"]
    assert sorted(node for block in model["blocks"] for node in block["nodes"]) == servers
    below = [child for switch in model["switches"].values() for child in (switch or {}).get("switches", [])]
    assert len(below) == len(set(below)) == len(model["switches"]) - 1
    assert {block["switch"] for block in model["blocks"]} <= set(model["switches"])


def test_racks_that_share_nvlink_are_blocks(built, a_study):
    files = built(a_study(RAILS, servers=36, server="gb200-nvl72"), "f", "inventory")
    lines = files["inventory/slurm/block/topology.conf"].text.splitlines()
    assert lines[1:] == [
        "BlockName=nvl-0 Nodes=server-[000-017]",
        "BlockName=nvl-1 Nodes=server-[018-035]",
        "BlockSizes=18,36",
    ]
