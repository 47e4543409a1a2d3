"""`eastwest check config` as people and programs use it: exit codes, JSON, the table of hops."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from eastwest.cli.app import app
from eastwest.errors import InputError

from .site import LEAF, SERVER, Site


def ran(*words: str) -> Result:
    """Runs the command as typed after `eastwest check config`; wide enough for no line to break."""
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, ["check", "config", *words])


def told(result: Result) -> dict[str, Any]:
    """The JSON that it printed."""
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_right_files_end_with_0_and_show_the_way_of_the_packet(at: Site) -> None:
    result = ran(str(at.folder))
    assert result.exit_code == 0
    assert "data DSCP 26" in result.output
    assert "cnp DSCP 48" in result.output
    assert "0 errors, 0 warnings, 0 notes" in result.output


def test_an_error_ends_with_1_and_names_file_key_and_fix(at: Site) -> None:
    at.set(LEAF, "DSCP_TO_TC_MAP", "ROCE", **{"26": "0"})
    result = ran(str(at.folder))
    assert result.exit_code == 1
    assert f"error [dscp-lossy] {at.folder}/switches/{LEAF}/config_db.json: DSCP_TO_TC_MAP|ROCE 26" in result.output
    assert "fix: map 26 to a lossless class" in result.output


def test_warnings_alone_end_with_0(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/sysctl.conf", "net.ipv4.conf.all.rp_filter = 2", "net.ipv4.conf.all.rp_filter = 1")
    result = ran(str(at.folder), "--json")
    assert result.exit_code == 0
    assert [finding["severity"] for finding in told(result)["findings"]] == ["warning"]


def test_json_has_findings_of_five_fields_and_hops_in_bytes(at: Site) -> None:
    at.set(LEAF, "PORT_QOS_MAP", at.to_server, pfc_enable="")
    document = told(ran(str(at.folder), "--json"))
    (finding,) = document["findings"]
    assert set(finding) == {"severity", "rule", "where", "what", "fix"}
    assert document["read"]["switches"] == 4
    leaf = [hop for hop in document["hops"] if hop["switch"] == LEAF and hop["packet"] == "data"]
    assert {(hop["dscp"], hop["tc"], hop["queue"], hop["group"]) for hop in leaf} == {(26, 3, 3, 3)}
    assert [hop["ports"] for hop in leaf if hop["pfc"] is False] == [at.to_server]
    assert {hop["pauses_at_bytes"] for hop in leaf if hop["pfc"]} == {at.pause_fill}


def test_the_same_fault_of_many_files_is_told_once_to_people(at: Site) -> None:
    for file in at.folder.glob("switches/*/config_db.json"):
        at.set(file.parent.name, "DEVICE_METADATA", "localhost", docker_routing_config_mode="separated")
    result = ran(str(at.folder))
    assert result.output.count("[routing-mode]") == 1
    assert "and in 2 more files" in result.output


def test_a_file_that_cannot_be_read_is_a_mistake_of_the_input(at: Site) -> None:
    with pytest.raises(InputError, match="there is no such file or folder") as refused:
        CliRunner().invoke(app, ["check", "config", str(at.folder / "nowhere")], catch_exceptions=False)
    assert refused.value.exit_code == 2


def test_words_of_a_file_do_not_steer_the_terminal(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_GID_INDEX=3", "NCCL_IB_TC=\x1b[31m")
    assert "\x1b[31m" not in ran(str(at.folder)).output
