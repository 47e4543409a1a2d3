"""What configurations from elsewhere look like: SONiC's defaults, old spellings, tables apart.

Written here after the public templates and tests of sonic-buildimage and sonic-utilities (Apache-2.0), in their
spellings and with their default values; no file of theirs is copied.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eastwest.checks import Report, Severity, check

PORTS = [f"Ethernet{4 * index}" for index in range(4)]


def azure(old: bool = False, **more: Any) -> dict[str, Any]:
    """A top-of-rack switch with SONiC's default QoS: DSCP 3 and 4 lossless, all else not, everything served in turn."""

    def named(table: str, name: str) -> str:
        return f"[{table}|{name}]" if old else name

    identity = {str(each): str(each) for each in range(8)}
    maps = {
        "dscp_to_tc_map": named("DSCP_TO_TC_MAP", "AZURE"),
        "tc_to_queue_map": named("TC_TO_QUEUE_MAP", "AZURE"),
        "tc_to_pg_map": named("TC_TO_PRIORITY_GROUP_MAP", "AZURE"),
        "pfc_to_queue_map": named("MAP_PFC_PRIORITY_TO_QUEUE", "AZURE"),
        "pfc_enable": "3,4",
    }
    row_of_ports = {",".join(PORTS): maps} if old else dict.fromkeys(PORTS, maps)
    lossless = {"scheduler": named("SCHEDULER", "scheduler.1"), "wred_profile": named("WRED_PROFILE", "AZURE_LOSSLESS")}
    every = [f"{','.join(PORTS)}|3-4"] if old else [f"{port}|{queue}" for port in PORTS for queue in (3, 4)]
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": "tor", "type": "ToRRouter"}},
        "PORT": {port: {"speed": "100000", "mtu": "9100", "admin_status": "up"} for port in PORTS},
        "DSCP_TO_TC_MAP": {"AZURE": {str(dscp): {3: "3", 4: "4", 48: "6"}.get(dscp, "1") for dscp in range(64)}},
        "TC_TO_QUEUE_MAP": {"AZURE": identity},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {**dict.fromkeys("01256", "0"), "3": "3", "4": "4", "7": "7"}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": identity},
        "PORT_QOS_MAP": row_of_ports,
        "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}},
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": {
                "ecn": "ecn_all",
                "green_min_threshold": "1048576",
                "green_max_threshold": "2097152",
                "green_drop_probability": "5",
            }
        },
        "QUEUE": dict.fromkeys(every, lossless),
        **more,
    }


def report(folder: Path, *configs: Any, **hosts: str) -> Report:
    """Checks configurations and texts of a host together."""
    for number, config in enumerate(configs):
        (folder / f"{number}.json").write_text(json.dumps(config))
    for name, text in hosts.items():
        (folder / "host").mkdir(exist_ok=True)
        (folder / "host" / name.replace("__", ".")).write_text(text)
    return check([folder])


def rules(found: Report, *severities: Severity) -> set[str]:
    """The rules of the findings of some severities; of errors and warnings where none is named."""
    wanted = severities or (Severity.ERROR, Severity.WARNING)
    return {finding.rule for finding in found.findings if finding.severity in wanted}


@pytest.mark.parametrize("old", [True, False], ids=["references in brackets and lists of ports", "plain names"])
def test_sonics_defaults_alone_are_no_fault_and_say_what_hosts_must_mark(old: bool, tmp_path: Path) -> None:
    found = report(tmp_path, azure(old))
    assert rules(found) == set()
    (note,) = (finding for finding in found.findings if finding.rule == "hosts-must-mark")
    assert "only DSCP 3, 4 are lossless" in note.what
    assert "NCCL_IB_TC=12" in note.fix
    assert {(hop.dscp, hop.tc, hop.queue, hop.group, hop.pfc) for hop in found.hops} == {
        (3, 3, 3, 3, True),
        (4, 4, 4, 4, True),
    }


def test_sonics_defaults_are_wrong_for_hosts_that_mark_dscp_26(tmp_path: Path) -> None:
    found = report(tmp_path, azure(), nccl__conf="NCCL_IB_TC=106\n")
    (error,) = (finding for finding in found.findings if finding.severity is Severity.ERROR)
    assert error.rule == "dscp-lossy"
    assert error.where.endswith("0.json: DSCP_TO_TC_MAP|AZURE 26")
    assert "nccl.conf line 1" in error.what
    assert "NCCL_IB_TC=12" in error.fix


@pytest.mark.parametrize("byte", [12, 13, 14, 15])
def test_sonics_defaults_are_right_for_hosts_that_mark_dscp_3_with_any_ecn_bits(byte: int, tmp_path: Path) -> None:
    found = report(tmp_path, azure(), nccl__conf=f"NCCL_IB_TC={byte}\n")
    assert "dscp-lossy" not in rules(found)


def test_ports_without_a_map_take_the_switchs_own(tmp_path: Path) -> None:
    config = azure()
    for row in config["PORT_QOS_MAP"].values():
        row.pop("dscp_to_tc_map", None)
    config["PORT_QOS_MAP"]["global"] = {"dscp_to_tc_map": "AZURE"}
    assert {hop.dscp for hop in report(tmp_path, config).hops} == {3, 4}


def test_absent_tables_are_unknown_and_not_wrong(tmp_path: Path) -> None:
    config = azure()
    for table in ("WRED_PROFILE", "SCHEDULER", "TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "QUEUE"):
        del config[table]
    assert rules(report(tmp_path, config, nccl__conf="NCCL_IB_TC=12\n")) == set()


def test_a_configuration_of_management_alone_is_no_fault(tmp_path: Path) -> None:
    found = report(tmp_path, {"MGMT_INTERFACE": {"eth0|192.0.2.1/24": {}}, "DEVICE_METADATA": {"localhost": {}}})
    assert found.findings == ()


def test_ports_between_which_only_service_traffic_runs_need_no_pfc(tmp_path: Path) -> None:
    config = azure()
    config["PORT"]["Ethernet224"] = {"speed": "200000", "role": "Dpc"}
    config["PORT_QOS_MAP"]["Ethernet224"] = {"dscp_to_tc_map": "AZURE", "tc_to_pg_map": "AZURE"}
    config["PORT"]["Ethernet512"] = {"speed": "10000"}
    config["PORT_QOS_MAP"]["Ethernet512"] = {"dscp_to_tc_map": "AZURE", "tc_to_pg_map": "AZURE"}
    assert rules(report(tmp_path, config)) == set()


def test_dynamic_buffers_are_said_to_be_unknown(tmp_path: Path) -> None:
    config = azure(BUFFER_PG={f"{port}|3-4": {"profile": "NULL"} for port in PORTS})
    config["DEVICE_METADATA"]["localhost"]["buffer_model"] = "dynamic"
    found = report(tmp_path, config, nccl__conf="NCCL_IB_TC=12\n")
    assert rules(found, Severity.ERROR) == set()
    assert {"headroom-unknown", "pause-fill-unknown"} <= rules(found, Severity.NOTE)


def test_pause_fill_follows_alpha_and_pool(tmp_path: Path) -> None:
    # alpha 2^-3 of 18 MB: (1/8) x 18 MB / (1 + 1/8) = 2 MB, below the maximum of 2 MiB and above the minimum of 1 MiB
    profile = {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "xoff": "177632", "size": "1248", "dynamic_th": "-3"}
    found = report(
        tmp_path,
        azure(
            BUFFER_POOL={"ingress_lossless_pool": {"size": "18000000", "type": "ingress", "mode": "dynamic"}},
            BUFFER_PROFILE={"pg_lossless_100000_40m_profile": profile},
            BUFFER_PG={f"{port}|3-4": {"profile": "[BUFFER_PROFILE|pg_lossless_100000_40m_profile]"} for port in PORTS},
        ),
    )
    assert {hop.pauses_at_bytes for hop in found.hops} == {2_000_000}
    assert rules(found) == {"ecn-not-full-before-pause"}


def test_vendors_headroom_below_the_standards_is_a_warning_and_below_the_cable_an_error(tmp_path: Path) -> None:
    # 100 Gb/s over 40 m: 5 kB on the cable and 8.4 kB of packets; with 25 kB while a neighbour stops, 44 kB
    for xoff, expected in ((20_000, Severity.WARNING), (13_000, Severity.ERROR)):
        folder = tmp_path / str(xoff)
        folder.mkdir()
        profile = {"pool": "ingress_lossless_pool", "xoff": str(xoff), "size": "1248", "dynamic_th": "0"}
        found = report(
            folder,
            azure(
                BUFFER_PROFILE={"pg_lossless_100000_40m_profile": profile},
                BUFFER_PG={f"{port}|3-4": {"profile": "pg_lossless_100000_40m_profile"} for port in PORTS},
                CABLE_LENGTH={"AZURE": dict.fromkeys(PORTS, "40m")},
            ),
        )
        assert {finding.severity for finding in found.findings if finding.rule == "headroom-too-small"} == {expected}


def test_a_profile_made_elsewhere_is_held_against_speed_and_cable_by_its_name(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        azure(
            BUFFER_PG={f"{port}|3-4": {"profile": "pg_lossless_100000_40m_profile"} for port in PORTS},
            CABLE_LENGTH={"AZURE": dict.fromkeys(PORTS, "300m")},
        ),
    )
    assert rules(found) == {"headroom-for-other-cable"}


def test_ports_of_one_switch_that_classify_differently(tmp_path: Path) -> None:
    config = azure()
    config["DSCP_TO_TC_MAP"]["OTHER"] = config["DSCP_TO_TC_MAP"]["AZURE"] | {"3": "4"}
    config["PORT_QOS_MAP"][PORTS[0]] = config["PORT_QOS_MAP"][PORTS[0]] | {"dscp_to_tc_map": "OTHER"}
    assert "class-split" in rules(report(tmp_path, config, nccl__conf="NCCL_IB_TC=12\n"))


def test_a_key_given_twice(tmp_path: Path) -> None:
    (tmp_path / "config_db.json").write_text('{"PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet0": {"mtu": "1500"}}}')
    assert rules(check([tmp_path])) == {"key-twice"}


def test_two_files_of_one_name(tmp_path: Path) -> None:
    assert rules(report(tmp_path, azure(), azure())) == {"name-twice"}


def linked(name: str, peer: str, **port: str) -> dict[str, Any]:
    """A switch of one port, cabled to the same port of another."""
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": name}},
        "PORT": {"Ethernet0": {"speed": "400000", "autoneg": "off"} | port},
        "DEVICE_NEIGHBOR": {"Ethernet0": {"name": peer, "port": "Ethernet0"}},
    }


def test_links_are_paired_by_neighbours(tmp_path: Path) -> None:
    found = report(tmp_path, linked("a", "b"), linked("b", "a", autoneg="on"))
    assert (found.links, rules(found)) == (1, {"autoneg-mismatch"})


def test_links_are_paired_by_addresses_of_a_small_subnet(tmp_path: Path) -> None:
    one, two = linked("a", "?", speed="100000"), linked("b", "?")
    one["INTERFACE"], two["INTERFACE"] = {"Ethernet0|10.0.0.0/31": {}}, {"Ethernet0|10.0.0.1/31": {}}
    assert rules(report(tmp_path, one, two)) == {"speed-mismatch"}


def test_links_are_paired_by_descriptions(tmp_path: Path) -> None:
    one, two = linked("a", "?", description="to b:Ethernet0", fec="rs"), linked("b", "?", fec="none")
    assert rules(report(tmp_path, one, two)) == {"fec-mismatch"}


def test_many_congested_groups_pause_below_the_marks(tmp_path: Path) -> None:
    # alpha 1 of 9 MB: 4.5 MB for one group, 9 / 5 = 1.8 MB for four, below the maximum of 2 MiB
    profile = {"pool": "ingress_lossless_pool", "xoff": "177632", "size": "1248", "dynamic_th": "0"}
    tables = {
        "BUFFER_POOL": {"ingress_lossless_pool": {"size": "9000000", "type": "ingress", "mode": "dynamic"}},
        "BUFFER_PROFILE": {"lossless": profile},
        "BUFFER_PG": {f"{port}|3-4": {"profile": "lossless"} for port in PORTS},
    }
    (tmp_path / "alone").mkdir()
    alone = report(tmp_path / "alone", azure(**tables))
    assert "ecn-late-when-all-pause" in rules(alone, Severity.NOTE)
    with_hosts = report(tmp_path, azure(**tables), nccl__conf="NCCL_IB_TC=12\n")
    assert "ecn-late-when-all-pause" in rules(with_hosts, Severity.WARNING)


def test_buffers_of_unused_ports_taken_back_are_no_fault(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        azure(
            BUFFER_PROFILE={
                "egress_lossy_zero_profile": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "-8"}
            },
            BUFFER_QUEUE={f"{PORTS[0]}|0-7": {"profile": "egress_lossy_zero_profile"}},
        ),
    )
    assert rules(found) == set()
