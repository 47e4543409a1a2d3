"""`eastwest simulate`, as a person types it."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command

DATA = Path(__file__).parents[1] / "data" / "htsim"
NETWORK = ("--topology", str(DATA / "ft3_128_400g.topo"))
FLOWS = ("--flows", str(DATA / "incast8_128.cm"))
KEYS = {
    "flows",
    "fct_s",
    "link_hops",
    "packets",
    "drops",
    "trims",
    "marks",
    "retransmits",
    "simulated_s",
    "wall_s",
    "peak_rss_bytes",
}


@pytest.mark.parametrize("transport", ["uet", "rocev2"])
def test_json_holds_completion_times_and_counts(eastwest: Command, transport: str) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--transport", transport, "--json")
    assert (said.code, said.err) == (0, "")
    result = json.loads(said.out)
    assert set(result) >= KEYS
    assert result["flows"] == 8
    fct = result["fct_s"]
    # eight times 2 MB into one port of 400 Gb/s, headers and the way besides
    assert 8 * 2e6 * 8 / 400e9 < fct["max"] < 1.15 * 8 * 2e6 * 8 / 400e9
    assert fct["min"] <= fct["median"] <= fct["p99"] <= fct["max"]


def test_a_table_is_for_people(eastwest: Command) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS)
    assert said.code == 0
    assert "completion time, median" in said.out
    assert "link-hops" in said.out


def test_a_seed_fixes_the_result_and_another_changes_it(eastwest: Command) -> None:
    def times(seed: str) -> object:
        return json.loads(eastwest("simulate", *NETWORK, *FLOWS, "--seed", seed, "--json").out)["fct_s"]

    assert times("1") == times("1") != times("2")


def test_flows_that_have_not_ended_are_told_with_exit_code_1(eastwest: Command) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--until", "100 us", "--json")
    assert said.code == 1
    assert "8 of 8 flows had not ended" in said.err
    result = json.loads(said.out)
    assert (result["unfinished"], result["fct_s"]["max"]) == (8, None)


def test_what_is_wrong_is_told_with_exit_code_2(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.cm").write_text("Nodes 128\nConnections 1\n1->500 start 0 size 10\n")
    for arguments, says in (
        ((*NETWORK, "--flows", "bad.cm"), "bad.cm:3: there is no host 500"),
        ((*NETWORK, "--flows", "none.cm"), "none.cm: there is no such file"),
        ((*NETWORK, *FLOWS, "--until", "5"), "--until: "),
    ):
        said = eastwest("simulate", *arguments)
        assert said.code == 2
        assert says in said.err
        assert "Traceback" not in said.err
