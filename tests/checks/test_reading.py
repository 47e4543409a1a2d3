"""Files of each kind are known by their content and read to plain facts; others are refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eastwest.checks.read import Evidence, Host, Switch, read
from eastwest.errors import InputError

AZURE = {str(dscp): {3: "3", 4: "4"}.get(dscp, "1") for dscp in range(64)}


def evidence(folder: Path, **files: str) -> Evidence:
    """Reads files given by name (`__` stands for a dot)."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return read([folder])


def host(folder: Path, **files: str) -> Host:
    return evidence(folder, **files).hosts[0]


def switch(folder: Path, document: object) -> Switch:
    return evidence(folder, config_db__json=json.dumps(document)).switches[0]


# ---------------------------------------------------------------------------------------------- SONiC


def test_rows_of_redis_dumps_and_of_config_db_are_the_same(tmp_path: Path) -> None:
    nested = {"PORT": {"Ethernet0": {"speed": "100000"}}, "BUFFER_PG": {"Ethernet0|3-4": {"profile": "x"}}}
    flat = {
        "PORT|Ethernet0": {"type": "hash", "value": {"speed": "100000"}},
        "BUFFER_PG|Ethernet0|3-4": {"profile": "x"},
    }
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert switch(tmp_path / "a", nested).tables == switch(tmp_path / "b", flat).tables


def test_numbers_booleans_and_lists_become_the_text_that_sonic_keeps(tmp_path: Path) -> None:
    row = switch(tmp_path, {"PORT": {"Ethernet0": {"speed": 100000, "up": True, "adv@": [1, 2]}}}).table("PORT")
    assert row["Ethernet0"] == {"speed": "100000", "up": "true", "adv": "1,2"}


def test_lists_and_ranges_of_ports_and_queues_are_opened(tmp_path: Path) -> None:
    ports = {f"Ethernet{number}": {} for number in (0, 4, 8, 12)}
    found = switch(tmp_path, {"PORT": ports, "QUEUE": {"Ethernet0-8|3-4": {}, "Ethernet12,Ethernet0|0": {}}})
    assert sorted(found.by_queue("QUEUE")) == [
        ("Ethernet0", 0),
        ("Ethernet0", 3),
        ("Ethernet0", 4),
        ("Ethernet12", 0),
        ("Ethernet4", 3),
        ("Ethernet4", 4),
        ("Ethernet8", 3),
        ("Ethernet8", 4),
    ]


def test_names_with_a_dash_are_no_ranges(tmp_path: Path) -> None:
    found = switch(tmp_path, {"PORT": {"Ethernet-BP256": {}}, "QUEUE": {"Ethernet-BP256|3": {}}})
    assert list(found.by_queue("QUEUE")) == [("Ethernet-BP256", 3)]


def test_queues_of_other_line_cards_are_left_out(tmp_path: Path) -> None:
    rows = {"lc1|asic0|Ethernet0|3": {}, "lc2|asic0|Ethernet0|4": {}}
    found = switch(tmp_path, {"DEVICE_METADATA": {"localhost": {"hostname": "lc1"}}, "QUEUE": rows})
    assert list(found.by_queue("QUEUE")) == [("Ethernet0", 3)]


def test_each_asic_of_one_file_is_a_switch(tmp_path: Path) -> None:
    each = {"DEVICE_METADATA": {"localhost": {"hostname": "sw"}}, "PORT": {}}
    found = evidence(tmp_path, config__json=json.dumps({"localhost": each, "asic0": each, "asic1": each}))
    assert [one.name for one in found.switches] == ["sw", "sw/asic0", "sw/asic1"]


def test_tables_apart_belong_to_the_one_device_of_their_folder(tmp_path: Path) -> None:
    found = evidence(
        tmp_path,
        config_db__json=json.dumps({"DEVICE_METADATA": {"localhost": {"hostname": "leaf"}}, "PORT": {}}),
        qos__json=json.dumps({"DSCP_TO_TC_MAP": {"AZURE": AZURE}}),
        switch__json=json.dumps([{"SWITCH_TABLE:switch": {"ecmp_hash_seed": "7"}, "OP": "SET"}]),
    )
    (leaf,) = found.switches
    assert leaf.file_of("DSCP_TO_TC_MAP") == str(tmp_path / "qos.json")
    assert leaf.table("SWITCH_TABLE")["switch"]["ecmp_hash_seed"] == "7"


def test_files_that_each_name_a_host_are_devices_of_their_own(tmp_path: Path) -> None:
    one, two = (json.dumps({"DEVICE_METADATA": {"localhost": {"hostname": name}}}) for name in ("one", "two"))
    assert [each.name for each in evidence(tmp_path, a__json=one, b__json=two).switches] == ["one", "two"]


# ---------------------------------------------------------------------------------------------- FRR


def test_frr_neighbours_take_what_their_group_says(tmp_path: Path) -> None:
    text = """frr version 8.4
hostname leaf
router bgp 65000.1
 neighbor UP peer-group
 neighbor UP remote-as external
 neighbor UP bfd
 neighbor Ethernet0 interface peer-group UP
 neighbor Ethernet4 interface v6only remote-as 65001
 neighbor 10.0.0.1 remote-as 65002
 address-family ipv4 unicast
  neighbor 10.0.0.1 activate
  maximum-paths 16
"""
    frr = evidence(tmp_path, frr__conf=text).switches[0].frr
    assert frr is not None
    assert frr.asn == (65000 << 16) + 1
    assert frr.maximum_paths == 16
    found = {name: (each.remote_as, each.unnumbered, each.bfd) for name, each in frr.neighbours.items()}
    assert found == {
        "Ethernet0": ("external", True, True),
        "Ethernet4": ("65001", True, False),
        "10.0.0.1": ("65002", False, False),
    }


# ---------------------------------------------------------------------------------------------- servers

SHOWN = """$ mlnx_qos -i eth2
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:5 dscp:26,
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   0   0   1   0   0
"""


def test_what_mlnx_qos_prints(tmp_path: Path) -> None:
    nic = host(tmp_path, qos__txt=SHOWN).nics["eth2"]
    assert nic.trust is not None
    assert nic.trust.value == "dscp"
    assert nic.pfc is not None
    assert nic.pfc[0] == {5}
    assert (nic.priority(26), nic.priority(7), nic.priority(40)) == (5, 0, 5)


@pytest.mark.parametrize(
    "script",
    [
        "mlnx_qos -i eth0 --trust dscp --pfc 0,0,0,1,0,0,0,0\nmlnx_qos -i eth0 --dscp2prio set,26,3",
        'NIC=eth0\nmlnx_qos -i "$NIC" --trust=dscp -f 0,0,0,1,0,0,0,0\nmlnx_qos -i ${NIC} --dscp2prio set,26,3',
        "for i in eth0 eth1; do mlnx_qos -i $i --trust dscp -f 0,0,0,1,0,0,0,0; done",
        "dcb app add dev eth0 dscp-prio 26:3 48:6\ndcb pfc set dev eth0 prio-pfc all:off 3:on",
        "bnxt_setupcc.sh -d bnxt_re0 -i eth0 -m 3 -s 26 -p 48 -r 3 -c 7",
    ],
    ids=["mlnx_qos", "a variable", "a loop", "dcb", "bnxt_setupcc"],
)
def test_scripts_that_set_trust_and_pause_of_priority_3(script: str, tmp_path: Path) -> None:
    nic = host(tmp_path, nic__sh=f"#!/bin/bash\n{script}\n").nics["eth0"]
    assert nic.trust is not None
    assert nic.trust.value == "dscp"
    assert nic.pfc is not None
    assert nic.pfc[0] == {3}
    assert nic.priority(26) == 3


def test_amds_tool_sets_all_nics(tmp_path: Path) -> None:
    script = """nicctl update qos --classification-type dscp
nicctl update qos dscp-to-priority --dscp 0-63 --priority 0
nicctl update qos dscp-to-priority --dscp 26 --priority 3
nicctl update qos pfc --priority 3 --no-drop enable
nicctl update dcqcn --roce-device x --profile-id 1 --cnp-dscp 48
"""
    found = host(tmp_path, nic__sh=script)
    nic = found.nics["*"]
    assert nic.pfc is not None
    assert nic.pfc[0] == {3}
    assert (nic.priority(26), nic.priority(46), found.has_nicctl) == (3, 0, True)
    assert nic.cnp_dscp is not None
    assert nic.cnp_dscp.value == "48"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nccl__conf", "NCCL_IB_TC=106\n"),
        ("env__sh", 'export NCCL_DEBUG=INFO NCCL_IB_TC="106"\n'),
        ("run__sh", "mpirun -x NCCL_IB_TC=106 -x NCCL_DEBUG=INFO ./all_reduce_perf\n"),
        ("Dockerfile", "ENV NCCL_IB_TC 106\n"),
        ("pod__yaml", "env:\n- name: NCCL_IB_TC\n  value: '106'\n"),
        ("values__yaml", "env:\n  NCCL_IB_TC: 106\n"),
    ],
)
def test_environment_of_nccl_wherever_it_is_set(name: str, text: str, tmp_path: Path) -> None:
    assert host(tmp_path, **{name: text}).nccl["NCCL_IB_TC"].value == "106"


def test_settings_in_comments_are_none(tmp_path: Path) -> None:
    found = host(tmp_path, nccl__conf="# NCCL_IB_TC=106\nNCCL_DEBUG=INFO # NCCL_IB_GID_INDEX=3\n")
    assert set(found.nccl) == {"NCCL_DEBUG"}


def test_netplan_gives_addresses_mtu_and_mac_by_the_name_that_it_sets(tmp_path: Path) -> None:
    text = """network:
  version: 2
  ethernets:
    a:
      match: {macaddress: "02:00:00:00:00:01"}
      set-name: rail0
      mtu: 9000
      addresses: [10.0.0.1/31, {fd00::1/64: {lifetime: 0}}]
    b: {dhcp4: true}
"""
    ports = host(tmp_path, netplan__yaml=text).ports
    assert ports["rail0"].addresses == ("10.0.0.1/31", "fd00::1/64")
    assert (ports["rail0"].mtu, ports["rail0"].mac, ports["b"].addresses) == (9000, "02:00:00:00:00:01", ())


def test_sysctl_files_and_commands(tmp_path: Path) -> None:
    found = host(
        tmp_path,
        a__conf="net.ipv4.conf.all.rp_filter = 1\n# net.core.x = 1\n",
        b__sh="sysctl -w net.ipv4.tcp_ecn=1\n",
    )
    assert {name: at.value for name, at in found.sysctl.items()} == {
        "net.ipv4.conf.all.rp_filter": "1",
        "net.ipv4.tcp_ecn": "1",
    }


# ---------------------------------------------------------------------------------------------- what is not read

FOREIGN = {
    "Junos": "system {\n    host-name leaf;\n}\nclass-of-service {\n}\n",
    "Junos ": "set system host-name leaf\nset class-of-service classifiers dscp roce\n",
    "Arista EOS": "! Command: show running-config\n! device: leaf (DCS-7060X6, EOS-4.32.1F)\nrouter bgp 65001\n",
    "NX-OS": "version 10.3(2) Bios:version\nfeature bgp\nclass-map type network-qos c-8q-nq3\n",
    "Cumulus Linux": "auto swp1\niface swp1\n    mtu 9216\n",
    "SR Linux": "set / interface ethernet-1/1 admin-state enable\n",
    "Cisco IOS": "version 15.2\nservice timestamps debug datetime msec\ninterface GigabitEthernet1/0/1\n",
}


@pytest.mark.parametrize("system", FOREIGN)
def test_other_systems_are_refused_by_name(system: str, tmp_path: Path) -> None:
    path = tmp_path / "running.cfg"
    path.write_text(FOREIGN[system])
    with pytest.raises(InputError, match=f"configuration of {system.strip()}"):
        read([path])


def test_a_folder_with_one_file_of_another_system_is_read_without_it(tmp_path: Path) -> None:
    found = evidence(tmp_path, border__cfg=FOREIGN["Junos"], nccl__conf="NCCL_IB_TC=106\n")
    assert [system for _, system in found.foreign] == ["Junos"]
    assert len(found.hosts) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "1:2: this is no JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"a": {"b": 1}}', "none of SONiC's tables"),
        ("hello", "nothing in this file says what it is"),
        ("", "nothing in this file says what it is"),
    ],
    ids=["broken", "deep", "other JSON", "prose", "empty"],
)
def test_what_cannot_be_read_is_refused_with_the_reason(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / ("x.json" if text[:1] in ("{", "[") else "x")
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read([path])


def test_a_missing_path_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        read([tmp_path / "x"])
    with pytest.raises(InputError, match="nothing here can be checked"):
        read([tmp_path])
