"""`nic.sh --verify`: what NICs tell of themselves is held against what the script would set; nothing is set.

The tools are stand-ins that print what the real ones do: mlnx_qos as in NVIDIA's manual of it, nicctl as in AMD's
collectors' samples, dcb as iproute2 writes it.
"""

import os
import subprocess

import pytest

RAILS = "technology: rocev2, shape: rail-optimized, servers_per_unit: 2, link: 400 Gb/s, switch: sn5400"

MLNX_QOS = """\
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
\tprio:6 dscp:55,54,53,52,51,50,49,48,
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,total_size=261888
Cable len: 5
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
tc: 0 ratelimit: unlimited, tsa: ets, bw: 10%
\tpriority:  0
tc: 1 ratelimit: unlimited, tsa: ets, bw: 0%
tc: 2 ratelimit: unlimited, tsa: ets, bw: 0%
tc: 3 ratelimit: unlimited, tsa: ets, bw: 90%
\tpriority:  3
tc: 4 ratelimit: unlimited, tsa: ets, bw: 0%
tc: 5 ratelimit: unlimited, tsa: ets, bw: 0%
tc: 6 ratelimit: unlimited, tsa: strict
\tpriority:  6
tc: 7 ratelimit: unlimited, tsa: ets, bw: 0%
"""
NICCTL = """\
NIC  : 42424650-4c32-3533-3330-323934000000  (0000:06:00.0)

Port : 0490814a-6c40-4242-4242-000011010000

  Classification type         : DSCP

  DSCP-to-priority :
    DSCP bitmap               : 0xfffefffffbffffff ==> priority : 0
    DSCP bitmap               : 0x0000000004000000 ==> priority : 3
    DSCP bitmap               : 0x0001000000000000 ==> priority : 6
    DSCP                      : 0-25, 27-47, 49-63 ==> priority : 0
    DSCP                      : 26 ==> priority : 3
    DSCP                      : 48 ==> priority : 6

  PFC :
    PFC priority bitmap       : 0x8
    PFC no-drop priorities    : 3

  Scheduling :
    --------------------------------------------
    Priority  Scheduling  Bandwidth Rate-limit
              Type        (in %age) (in Gbps)
    --------------------------------------------
    0         DWRR        10        N/A
    3         DWRR        90        N/A
    6         strict      N/A       10
"""
DCB = {
    "app dscp-prio": "dscp-prio 26:3 48:6",
    "pfc prio-pfc": "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off",
    "ets prio-tc": "prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:2 7:0",
    "ets tc-tsa": "tc-tsa 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict",
    "ets tc-bw": "tc-bw 0:10 1:90 2:0 3:0 4:0 5:0 6:0 7:0",
}


@pytest.fixture
def verify(tmp_path, built, a_study):
    """Runs a server's script with --verify on a machine of stand-ins; gives its exit code and what it prints."""
    tools, sysfs = tmp_path / "tools", tmp_path / "sys"

    def tool(name, body):
        tools.mkdir(exist_ok=True)
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)

    def file(path, text):
        (sysfs / path).parent.mkdir(parents=True, exist_ok=True)
        (sysfs / path).write_text(f"{text}\n")

    def run(server, says, cnp_dscp=48):
        for number in range(8):
            rail = f"rail{number}"
            (sysfs / f"class/net/{rail}/device/infiniband/{rail}").mkdir(parents=True)
            file(f"class/net/{rail}/ecn/roce_np/cnp_dscp", cnp_dscp)
            file(f"class/net/{rail}/ecn/roce_np/cnp_802p_prio", 6)
            for side in ("np", "rp"):
                file(f"class/net/{rail}/ecn/roce_{side}/enable/3", 1)
            file(f"class/infiniband/{rail}/tc/1/traffic_class", "Global tclass=106")
        for name in ("rdma", "mkdir", "rmdir"):  # configfs makes and removes what is in its folders itself
            tool(name, "exit 0")
        for number in range(8):
            file(f"kernel/config/rdma_cm/rail{number}/ports/1/default_roce_tos", 106)
        tool("mlnx_qos", f"[ $# = 2 ] || exit 9; cat <<'END'\n{says.get('mlnx_qos', '')}\nEND")
        tool("cma_roce_tos", "[ $# = 2 ] || exit 9; echo 106")
        tool("nicctl", f"[ \"$1\" = show ] || exit 9; cat <<'END'\n{says.get('nicctl', '')}\nEND")
        answers = "\n".join(f"'{asked}') echo '{told}' ;;" for asked, told in says.get("dcb", {}).items())
        tool("dcb", f'[ "$3" = show ] || exit 9; case "$2 $6" in\n{answers}\nesac')
        script = built(a_study(RAILS, server=server), "f", "hosts")["hosts/server-000/nic.sh"].text
        script = script.replace("readonly sysfs=/sys", f"readonly sysfs={sysfs}").replace("[[ $EUID -eq 0 ]]", "true")
        path = tmp_path / "nic.sh"
        path.write_text(script)
        env = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", path, "--verify"], capture_output=True, text=True, timeout=60, env=env)
        return done.returncode, done.stdout.splitlines(), done.stderr

    return run


RIGHT = {
    "hgx-h100": {"mlnx_qos": MLNX_QOS},
    "hgx-mi300x": {"dcb": DCB},
    "hgx-mi355x": {"nicctl": NICCTL},
}


@pytest.mark.parametrize("server", RIGHT)
def test_nics_that_are_set_as_the_script_sets_them_differ_in_nothing(verify, server):
    code, said, errors = verify(server, RIGHT[server])
    assert (code, said) == (0, ["server-000: nothing differs"]), errors


@pytest.mark.parametrize(
    ("server", "says", "told"),
    [
        ("hgx-h100", MLNX_QOS.replace("dscp\n", "pcp\n", 1), "rail0: what it trusts is pcp, should be dscp"),
        ("hgx-h100", MLNX_QOS.replace("27,26,25", "27,25"), "rail7: the priority of DSCP 26 is not set, should be 3"),
        (
            "hgx-h100",
            MLNX_QOS.replace("0   0   0   1   0", "0   0   0   0   0"),
            "rail0: PFC of priorities 0 to 7 is 0,0,0,0,0,0,0,0, should be 0,0,0,1,0,0,0,0",
        ),
        (
            "hgx-h100",
            MLNX_QOS.replace("tsa: strict", "tsa: vendor"),
            "rail3: how queues 0 to 7 are served is ets,ets,ets,ets,ets,ets,vendor,ets, "
            "should be ets,ets,ets,ets,ets,ets,strict,ets",
        ),
        (
            "hgx-mi300x",
            DCB | {"pfc prio-pfc": DCB["pfc prio-pfc"].replace("3:on", "3:off")},
            "rail0: PFC of priority 3 is off, should be on",
        ),
        (
            "hgx-mi300x",
            DCB | {"app dscp-prio": "dscp-prio 26:3"},
            "rail5: the priority of DSCP 48 is not set, should be 6",
        ),
        (
            "hgx-mi355x",
            NICCTL.replace(": 26 ==>", ": 24 ==>"),
            "port 0490814a-6c40-4242-4242-000011010000: dscp-26 is not set, should be 3",
        ),
        (
            "hgx-mi355x",
            NICCTL.replace("priorities    : 3", "priorities    :"),
            "port 0490814a-6c40-4242-4242-000011010000: no-drop is none, should be 3",
        ),
    ],
)
def test_what_differs_is_told_by_port(verify, server, says, told):
    (tool,) = RIGHT[server]
    code, said, _ = verify(server, {tool: says})
    assert code == 1
    assert told in said
    assert all(line.split(": ")[1].split(" is ")[0] == told.split(": ")[1].split(" is ")[0] for line in said)


def test_files_of_the_kernel_are_read_too(verify):
    code, said, _ = verify("hgx-h100", RIGHT["hgx-h100"], cnp_dscp=46)
    assert (code, len(said)) == (1, 8)
    assert said[0] == "rail0: the DSCP of CNPs is 46, should be 48"
