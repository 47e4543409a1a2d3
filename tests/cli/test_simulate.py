"""`eastwest simulate`, as a person types it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
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
    "cpu_s",
    "peak_rss_bytes",
}


@pytest.mark.parametrize(
    ("transport", "most"), [("uet", 1.2), ("mrc", 1.2), ("rocev2", 1.2), ("infiniband", 1.2), ("dctcp", 1.5)]
)
def test_json_holds_completion_times_and_counts(eastwest: Command, transport: str, most: float) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--transport", transport, "--json")
    assert (said.code, said.err) == (0, "")
    result = json.loads(said.out)
    assert set(result) >= KEYS
    assert result["flows"] == 8
    fct = result["fct_s"]
    # eight times 2 MB into one port of 400 Gb/s, headers and the way besides; TCP overshoots in slow start
    assert 8 * 2e6 * 8 / 400e9 < fct["max"] < most * 8 * 2e6 * 8 / 400e9
    assert fct["min"] <= fct["median"] <= fct["p99"] <= fct["max"]


def test_a_table_is_for_people(eastwest: Command) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS)
    assert said.code == 0
    assert "completion time, median" in said.out
    assert "link-hops" in said.out


@pytest.mark.parametrize(
    "balancing",
    ["hash", "random", "shortest-queue", "shorter-of-two", "least-congested", "wcmp", "flowlet", "source"],
)
def test_every_balancing_brings_all_flows_to_their_end(eastwest: Command, balancing: str) -> None:
    permutation = ("--flows", str(DATA / "perm_128n_128c_2MB.cm"))
    said = eastwest("simulate", *NETWORK, *permutation, "--balancing", balancing, "--json")
    result = json.loads(said.out)
    assert (said.code, result["unfinished"], result["choice"]) == (0, 0, balancing)
    assert result["fct_s"]["min"] > 2e6 * 8 / 400e9
    if balancing != "flowlet":  # which keeps all packets of a flow together, the others spray them
        assert result["fct_s"]["max"] < 2 * 2e6 * 8 / 400e9


def test_a_way_to_be_adaptive_is_for_switches_that_are(eastwest: Command, tmp_path: Path) -> None:
    settings = tmp_path / "far.yaml"
    settings.write_text("switch: { adaptive: least-congested }\n")
    stated = (*NETWORK, *FLOWS, "--settings", str(settings), "--json")
    said = eastwest("simulate", *stated, "--balancing", "shortest-queue")
    assert json.loads(said.out)["choice"] == "least-congested"
    said = eastwest("simulate", *stated)
    assert said.code == 2
    assert f"{settings}: adaptive says by which queues switches choose" in said.err


def test_pcie_bounds_what_a_host_takes_in(eastwest: Command, tmp_path: Path) -> None:
    settings = tmp_path / "nic.yaml"
    settings.write_text("nic: { pcie: 100 Gb/s }\n")
    said = eastwest("simulate", *NETWORK, *FLOWS, "--settings", str(settings), "--json")
    # eight times 2 MB of payload into one host
    assert json.loads(said.out)["fct_s"]["max"] == pytest.approx(8 * 2e6 * 8 / 100e9, rel=0.1)


def test_what_messages_cost_adds_to_their_completion_times(eastwest: Command, tmp_path: Path) -> None:
    settings = tmp_path / "nic.yaml"
    settings.write_text("nic: { message_overhead: 30 us, completion_overhead: 20 us }\n")
    (tmp_path / "one.cm").write_text("Nodes 128\nConnections 1\n0->64 start 0 size 2000000\n")
    one = ("--flows", str(tmp_path / "one.cm"))
    plain = json.loads(eastwest("simulate", *NETWORK, *one, "--json").out)
    costly = json.loads(eastwest("simulate", *NETWORK, *one, "--settings", str(settings), "--json").out)
    assert costly["fct_s"]["max"] == pytest.approx(plain["fct_s"]["max"] + 50e-6, rel=1e-6)


def test_routes_come_after_what_a_control_plane_takes(eastwest: Command) -> None:
    lost = ("--transport", "rocev2", "--event", "down core-0 at 20 us", "--json")
    permutation = ("--flows", str(DATA / "perm_128n_128c_2MB.cm"))
    said = eastwest("simulate", *NETWORK, *permutation, *lost, "--routes-after", "bgp-bfd")
    result = json.loads(said.out)
    assert (said.code, result["unfinished"]) == (0, 0)
    assert 0.9 < result["fct_s"]["max"] < 1.1
    said = eastwest("simulate", *NETWORK, *permutation, *lost, "--routes-after", "ospf")
    assert said.code == 2
    assert "or name a control plane: bgp-bfd, bgp, opensm" in said.err


def test_flows_lost_with_a_nic_are_told(eastwest: Command) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--event", "lose host-0 at 10 us", "--json")
    result = json.loads(said.out)
    assert (said.code, result["lost_flows"], result["unfinished"]) == (1, 8, 8)


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


def test_settings_of_a_file_stand_in_place_of_the_defaults(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "marked.yaml").write_text("switch: { marks: { from: 50 kB, to: 100 kB } }\n")
    ends = ("--transport", "rocev2", "--json")
    plain, marked = (
        json.loads(eastwest("simulate", *NETWORK, *FLOWS, *ends, *settings).out)
        for settings in ((), ("--settings", "marked.yaml"))
    )
    assert plain["marks"] == 0 < marked["marks"]


def test_a_mistake_in_settings_is_told_with_its_line(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("switch:\n  rom: 1 MB\n")
    said = eastwest("simulate", *NETWORK, *FLOWS, "--settings", "wrong.yaml")
    assert (said.code, said.out) == (2, "")
    assert "wrong.yaml:2:3: unknown entry 'rom' in switch; did you mean 'room'?" in said.err


def test_an_event_in_settings_that_names_no_node_is_told_with_its_line(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("events:\n  - down spine-0 at 5 us\n  - down spine-999 at 5 us\n")
    said = eastwest("simulate", *NETWORK, *FLOWS, "--settings", "wrong.yaml")
    assert (said.code, said.out) == (2, "")
    assert "wrong.yaml:3:5: 'down spine-999 at 5 us': there is no node 'spine-999'" in said.err


def test_a_capture_takes_the_place_of_files_alone(eastwest: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    captured = ("--transport", "rocev2", "--capture", "leaf-0", "--pcap", "pipe")
    said = eastwest("simulate", *NETWORK, *FLOWS, *captured)
    assert (said.code, said.out) == (2, "")
    assert "--pcap: pipe cannot be written: it is there already, and no file" in said.err
    assert (tmp_path / "pipe").is_fifo()


def test_a_disk_without_room_for_tables_is_told(tmp_path: Path) -> None:
    command = (sys.executable, "-Bc", "from eastwest.cli import main; main()", "simulate", *NETWORK, *FLOWS)
    limited = ("bash", "-c", 'ulimit -f 2; exec "$@"', "bash", *command, "--out", "out")  # kB
    said = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 2
    assert "cannot be written" in said.stderr
    assert {path.suffix for path in (tmp_path / "out").iterdir()} <= {".parquet"}  # each is whole or not there


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


def test_a_capture_is_written_and_counted(eastwest: Command, tmp_path: Path) -> None:
    wanted = ("--transport", "rocev2", "--capture", "leaf-0 > host-0", "--capture", "host-5", "--pcap", "a.pcap")
    said = eastwest("simulate", *NETWORK, *FLOWS, *wanted, "--json")
    assert (said.code, said.err) == (0, "")
    result = json.loads(said.out)
    # 2 MB are 489 packets: of eight senders as they reach host 0; of host 5 once more, and the answers to them
    assert (result["captured"], result["not_captured"]) == (8 * 489 + 489 + 489, 0)
    assert (tmp_path / "a.pcap").read_bytes()[:4] == bytes.fromhex("4d3cb2a1")
    assert [path.name for path in tmp_path.glob("*.pcap*")] == ["a.pcap"]


def test_a_capture_that_is_full_says_how_much_it_lacks(eastwest: Command) -> None:
    wanted = ("--transport", "rocev2", "--capture", "leaf-0 > host-0", "--pcap", "a.pcap", "--capture-limit", "1000")
    said = eastwest("simulate", *NETWORK, *FLOWS, *wanted, "--json")
    result = json.loads(said.out)
    assert said.code == 0
    assert (result["captured"], result["not_captured"]) == (1000, result["packets"] - 1000)
    assert f"a.pcap holds the first 1,000 packets; {result['packets'] - 1000:,} more" in said.err


def test_a_capture_has_the_addresses_of_the_study_s_nics(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "one.cm").write_text("Nodes 32\nConnections 1\n0->9 start 0 size 100\n")
    wanted = ("--transport", "rocev2", "--capture", "server-0/nic-0", "--pcap", "a.pcap")
    said = eastwest("simulate", "--study", "small.yaml", "--fabric", "two", "--flows", "one.cm", *wanted)
    assert said.code == 0, said.err
    packet = (tmp_path / "a.pcap").read_bytes()[24 + 16 :]
    # of eight NICs a server the second of the second server: 10.16.0.3
    assert (packet[26:30], packet[30:34]) == (bytes([10, 0, 0, 1]), bytes([10, 16, 0, 3]))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--capture", "host-0"), "--capture LINK and --pcap FILE go together"),
        (("--pcap", "a.pcap"), "--capture LINK and --pcap FILE go together"),
        (("--capture", "host-0", "--pcap", "none/a.pcap"), "--pcap: there is no folder none"),
        (("--capture", "host-0", "--pcap", "a.pcap"), "choose the transport rocev2"),
        (("--capture", "host-0", "--pcap", "."), "cannot be written"),
    ],
)
def test_a_capture_that_cannot_be_is_refused(eastwest: Command, arguments: tuple[str, ...], says: str) -> None:
    transport = () if "rocev2" in says else ("--transport", "rocev2")
    said = eastwest("simulate", *NETWORK, *FLOWS, *arguments, *transport)
    assert said.code == 2
    assert says in said.err
    assert "Traceback" not in said.err


def test_a_seed_beyond_what_is_counted_is_refused(eastwest: Command) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--seed", str(2**64))
    assert said.code == 2
    assert "--seed" in said.err


def test_out_is_written_and_told_of(eastwest: Command, tmp_path: Path) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--out", str(tmp_path / "new"), "--json")
    assert (said.code, said.err) == (0, f"report: {tmp_path / 'new' / 'report.html'}\n")
    summary = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert summary["fct_s"] == json.loads(said.out)["fct_s"]
    assert "incast8_128 on ft3_128_400g" in (tmp_path / "new" / "report.html").read_text()


def test_out_changes_nothing_in_a_run(eastwest: Command, tmp_path: Path) -> None:
    without = json.loads(eastwest("simulate", *NETWORK, *FLOWS, "--json").out)
    sampled = json.loads(eastwest("simulate", *NETWORK, *FLOWS, "--out", str(tmp_path), "--json").out)
    told = {"wall_s", "cpu_s", "peak_rss_bytes", "engine_rss_bytes"}
    assert {k: v for k, v in sampled.items() if k not in told} == {k: v for k, v in without.items() if k not in told}


def test_sample_says_how_long_intervals_are(eastwest: Command, tmp_path: Path) -> None:
    assert eastwest("simulate", *NETWORK, *FLOWS, "--out", str(tmp_path), "--sample", "3 us").code == 0
    lengths = pl.read_parquet(tmp_path / "series_network.parquet")["length_s"]
    assert lengths[:-1].to_numpy() == pytest.approx(3e-6)


def test_sample_without_out_is_refused(eastwest: Command) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--sample", "1 us")
    assert said.code == 2
    assert "--out" in said.err


@pytest.mark.parametrize("every", ["0 us", "often", "-1 us"])
def test_a_sample_that_is_no_time_is_refused(eastwest: Command, tmp_path: Path, every: str) -> None:
    said = eastwest("simulate", *NETWORK, *FLOWS, "--out", str(tmp_path / "out"), "--sample", every)
    assert said.code == 2
    assert said.err.startswith("--sample: ")
    assert not (tmp_path / "out").exists()


def test_out_that_is_a_file_is_refused_before_the_run(eastwest: Command, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.write_text("mine")
    said = eastwest("simulate", *NETWORK, *FLOWS, "--out", str(place))
    assert said.code == 2
    assert "is a file, not a folder" in said.err
    assert place.read_text() == "mine"


def test_packets_take_the_tables_of_a_study_s_fabric(eastwest: Command, tmp_path: Path) -> None:
    fabric = "{shape: rail-optimized, technology: infiniband, link: 400 Gb/s, switch: qm9700, servers_per_unit: 2"
    study = "name: tables\nclusters:\n  pod: {server: hgx-h100, servers: 4}\nfabrics:\n"
    study += f"  pinned: {fabric}, balancing: pinned}}\n  given: {fabric}, balancing: ecmp, routes: routes.csv}}\n"
    study += "workloads:\n  job: {kind: operations, operations: [{name: it, compute: 1 ms}]}\n"
    (tmp_path / "ib.yaml").write_text(study)
    (tmp_path / "routes.csv").write_text("switch,destination,next\n")
    assert eastwest("fabric", "ib.yaml", "--fabric", "pinned", "--routes", "own.csv").code == 0
    (tmp_path / "own.csv").rename(tmp_path / "routes.csv")
    flows = [f"{host}->{host + 16} start 0 size 1000000" for host in range(16)]
    (tmp_path / "shift.cm").write_text(f"Nodes 32\nConnections {len(flows)}\n" + "\n".join(flows) + "\n")

    def times(fabric: str, balancing: str) -> dict[str, float]:
        wanted = ("--flows", "shift.cm", "--transport", "infiniband", "--balancing", balancing, "--json")
        said = eastwest("simulate", "--study", "ib.yaml", "--fabric", fabric, *wanted)
        assert said.code == 0, said.err
        found: dict[str, float] = json.loads(said.out)["fct_s"]
        return found

    assert times("given", "hash") == pytest.approx(times("pinned", "pinned"), rel=1e-6)
