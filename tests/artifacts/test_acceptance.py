"""The acceptance script, run against a cluster that stand-ins for ssh and mpirun play: healthy, then each fault."""

import csv
import io
import os
import subprocess

import pytest

from eastwest import expect, spec

RAILS = "technology: rocev2, shape: rail-optimized, servers_per_unit: 2, link: 400 Gb/s, switch: sn5400"

SSH = r"""#!/bin/bash
# A server: says of its interfaces what the list has, and carries what the figures expect, but for the faults asked for.
server=$1
shift
if [[ $1 == bash ]]; then
  shift 3
  while [[ $# -gt 0 ]]; do
    state=$(awk -F, -v s="$server" -v i="$1" '$1 == s && $2 == i { print $5 }' links.csv)
    [[ "$server $1" == "${DOWN:-}" ]] && state="down -1 9000 no"
    echo "$1 $state"
    shift 2
  done
  exit
fi
last=${1##* }
[[ $last == server-* ]] || exit 0
gbps=390.1
interface=$(sed 's/.* -d \([^ ]*\) .*/\1/' <<<"$1")
for end in "$server" "$last"; do [[ "$end $interface" != "${SLOW_RAIL:-}" ]] || gbps=195.2; done
echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
echo " 1048576    229600           0.00               $gbps     		     0.046512"
"""
MPIRUN = r"""#!/bin/bash
# nccl-tests: rows as expected of so many servers, half where a slow one is among them.
ranks=$2 hosts=$4 program=${5##*/}
part=1
[[ -z ${SLOW_SERVER:-} || ",$hosts" != *",$SLOW_SERVER:"* ]] || part=0.5
[[ -z ${TOGETHER:-} || $ranks -le 16 ]] || part=0.5
echo "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw"
awk -F, -v n="$((ranks / 8))" -v program="$program" -v part="$part" '
  $3 == n && $2 == program { print $5, $5 / 4, "float", "sum", -1, 1, 1, $6 * part, 0, 1, 1, $6 * part, 0 }
' expected.csv
"""


@pytest.fixture
def cluster(built, a_study, tmp_path):
    """Runs the script of six servers with faults (variables of the stand-ins) and the tests that are named."""
    files = built(a_study(RAILS, servers=6), "f", "hosts")
    for path, file in files.items():
        if path.startswith("acceptance/"):
            (tmp_path / path.removeprefix("acceptance/")).write_text(file.text)
    for name, text in (("ssh", SSH), ("mpirun", MPIRUN)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def run(*tests: str, **faults: str):
        stand_ins = {"SSH": str(tmp_path / "ssh"), "MPIRUN": str(tmp_path / "mpirun"), "SETTLE": "0", "RESULTS": "out"}
        return subprocess.run(
            ["bash", tmp_path / "acceptance.sh", *tests],
            env={**os.environ, **stand_ins, **faults},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def faults(ran) -> list[str]:
    return [line for line in ran.stdout.splitlines() if line.startswith("FAULT")]


def test_a_healthy_cluster_passes_every_test(cluster):
    ran = cluster()
    assert (ran.returncode, faults(ran), ran.stderr) == (0, [], "")
    assert "passed: links rails servers pairs all" in ran.stdout


def test_a_link_that_is_down_is_named_with_its_leaf(cluster):
    ran = cluster("links", DOWN="server-003 rail5")
    assert ran.returncode == 1
    (fault,) = faults(ran)
    assert "server-003 rail5 to leaf-u1-r5 " in fault
    assert "found 'down -1 9000 no', planned 'up 400000 9100 yes'" in fault


def test_a_slow_rail_is_named_with_the_server_that_is_slow_with_others_too(cluster):
    ran = cluster("rails", SLOW_RAIL="server-004 rail2")
    assert ran.returncode == 1
    (fault,) = faults(ran)
    assert "rail2 195.2 Gb/s" in fault
    assert "look at server-004, slow with server-000 too" in fault
    assert "rail3" not in fault


def test_a_server_whose_gpus_are_slow_alone_is_named(cluster):
    ran = cluster("servers", SLOW_SERVER="server-002")
    assert ran.returncode == 1
    (fault,) = faults(ran)
    assert fault.startswith("FAULT servers server-002: ")


def test_of_a_slow_pair_the_slow_server_is_named(cluster):
    ran = cluster("pairs", SLOW_SERVER="server-001")
    assert ran.returncode == 1
    (fault,) = faults(ran)
    assert fault.startswith("FAULT pairs server-001 server-004: ")
    assert "look at server-001, slow with server-000 too" in fault


def test_what_is_slow_only_together_points_to_what_all_share(cluster):
    ran = cluster("pairs", "all", TOGETHER="yes")
    assert ran.returncode == 1
    (fault,) = faults(ran)
    assert fault.startswith("FAULT all: all_reduce_perf of 1073741824 B")
    assert "eastwest expect STUDY --fabric f --measured out/all." in fault


def test_a_program_that_fails_is_a_fault_and_its_log_is_named(cluster):
    ran = cluster("servers", MPIRUN="false")
    assert ran.returncode == 1
    assert len(faults(ran)) == 6
    assert "all_reduce_perf failed: out/servers.all_reduce_perf.server-000.log" in faults(ran)[0]


def test_an_unknown_test_is_refused_before_anything_runs(cluster):
    ran = cluster("link")
    assert ran.returncode == 2
    assert "there are links, rails, servers, pairs, all" in ran.stderr


def test_figures_are_the_studys_own_predictions(built, a_study):
    text = a_study(RAILS, servers=6)
    rows = list(csv.DictReader(io.StringIO(built(text, "f", "hosts")["acceptance/expected.csv"].text)))
    (rail,) = [row for row in rows if row["test"] == "rails"]
    # Full packets of 4,096 B with 82 B around each, on 400 Gb/s.
    assert float(rail["expected"]) == pytest.approx(400 * 4096 / 4178, abs=0.01)
    scene = expect.scene(spec.loads(text), "f", expect.program("all_reduce"))
    for row in rows:
        if row["test"] == "all":
            predicted = scene.row(int(row["bytes"]), 4).busbw / 1e9
            assert float(row["expected"]) == pytest.approx(predicted, abs=0.01)
            assert float(row["least"]) == pytest.approx(predicted * (1 - expect.TOLERANCE), abs=0.01)


def test_one_server_alone_is_held_against_itself(built, a_study):
    single = "technology: rocev2, shape: single-switch, link: 400 Gb/s, switch: sn5400"
    text = built(a_study(single, servers=1), "f", "hosts")["acceptance/expected.csv"].text
    assert {row["test"] for row in csv.DictReader(io.StringIO(text))} == {"servers"}


def test_rails_are_left_out_where_hashing_decides_what_they_carry(built, a_study):
    """A NIC of 400 Gb/s over uplinks of 200: two queue pairs on one uplink halve what they would have on two."""
    slow = (
        "technology: rocev2, shape: leaf-spine, servers_per_unit: 2, link: 400 Gb/s, uplink: 200 Gb/s, switch: sn5600"
    )
    files = built(a_study(slow), "f", "hosts")
    assert "rails" not in files["acceptance/expected.csv"].text
    assert "tests=(links servers pairs all)" in files["acceptance/acceptance.sh"].text
