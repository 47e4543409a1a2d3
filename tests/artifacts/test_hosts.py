"""What servers are set up with: read back by netplan and shellcheck, and by parsers of the tests' own."""

import configparser
import re
import subprocess
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from xml.etree import ElementTree

import pytest

from eastwest import artifacts, spec
from eastwest.artifacts import marking

RAILS = "shape: rail-optimized, servers_per_unit: 2, link: 400 Gb/s, switch: sn5400"
FRONT = (
    "frontend: { network: separate, nics: 2, nic: connectx-6, link: 200 Gb/s, switch: sn5400, "
    "storage: { servers: 2, nics: 1 } }"
)


@pytest.fixture(scope="module")
def written(pune):
    """The hosts' files of the bundled study, by path."""
    return {file.path: file for file in artifacts.build(pune, ["hosts"])}


def settings(text: str) -> dict[str, str]:
    """Lines KEY=VALUE, as NCCL reads them: nothing else but comments."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def networkd(generated, name):
    """A .network file of systemd, its repeated sections numbered: {section: [options]}."""
    text = (generated / f"run/systemd/network/10-netplan-{name}.network").read_text()
    found = {}
    for block in text.split("\n\n"):
        parser = configparser.ConfigParser(strict=False)
        parser.optionxform = str
        parser.read_string(block)
        for section in parser.sections():
            found.setdefault(section, []).append(dict(parser[section]))
    return found


@pytest.fixture
def generated(program, tmp_path):
    """Has netplan make networkd's files of a host, and gives their root."""

    def made(text):
        path = tmp_path / "etc/netplan/60-rails.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o600)
        ran = subprocess.run(
            [program("netplan", "netplan.io"), "generate", "--root-dir", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        return tmp_path

    return made


def test_every_server_has_its_files(written):
    each = {"netplan.yaml", "sysctl.conf", "lldpd.conf", "nic.sh", "nccl.conf", "nccl-topology.xml", "topology.sh"}
    names = [f"server-{number:03}" for number in range(128)]
    assert {path for path in written if path.startswith("hosts/")} == {f"hosts/{n}/{e}" for n in names for e in each}


def test_netplan_takes_the_file_and_gives_each_nic_its_plan(pune, written, generated):
    root = generated(written["hosts/server-037/netplan.yaml"].text)
    for port in pune.plan.by_name["server-037"].ports:
        file = networkd(root, port.name)
        assert file["Match"][0]["PermanentMACAddress"] == port.mac
        assert file["Network"][0]["Address"] == f"{port.address}/31"
        assert {route["Gateway"] for route in file["Route"]} == {str(port.gateway)}


def test_a_packet_leaves_by_the_nic_whose_address_it_has_or_not_at_all(written, generated):
    """Linux's rules in order, then the longest match in the table that the source's rule names."""
    root = generated(written["hosts/server-037/netplan.yaml"].text)
    host = networkd(root, "lo")
    rules = {IPv4Network(rule["From"]): rule["Table"] for rule in host["RoutingPolicyRule"]}
    nics = {f"rail{number}": networkd(root, f"rail{number}") for number in range(8)}
    for name, nic in nics.items():
        source = IPv4Interface(nic["Network"][0]["Address"]).ip
        table = rules[IPv4Network(source)]
        ways = [(each, route) for each, of in nics.items() for route in of["Route"] if route.get("Table") == table]
        assert {each for each, _ in ways} == {name}
        assert any(IPv4Address("10.112.0.1") in IPv4Network(route["Destination"]) for _, route in ways)
        # With the NIC down its routes are gone, and this is what is left.
        left = [route for route in host["Route"] if route["Table"] == table]
        assert [(route["Destination"], route["Type"]) for route in left] == [("0.0.0.0/0", "unreachable")]


def test_an_unbound_packet_takes_the_rail_that_its_destination_is_on(pune, written, generated):
    root = generated(written["hosts/server-000/netplan.yaml"].text)
    main = {
        IPv4Network(route["Destination"]): f"rail{number}"
        for number in range(8)
        for route in networkd(root, f"rail{number}")["Route"]
        if "Table" not in route
    }
    for port in pune.plan.by_name["server-127"].ports:
        assert [rail for network, rail in main.items() if port.address in network] == [port.name]


def test_front_end_nics_and_storage_have_addresses_and_ways_to_each_other(built, a_study, generated):
    files = built(a_study(f"technology: rocev2, {RAILS}, {FRONT}"), "f", "hosts")
    assert {path for path in files if "/storage-" in path} == {
        f"hosts/storage-0{number}/{each}"
        for number in range(2)
        for each in ("netplan.yaml", "sysctl.conf", "lldpd.conf")
    }
    front = networkd(generated(files["hosts/server-000/netplan.yaml"].text), "front0")
    assert any(IPv4Address("172.24.0.1") in IPv4Network(route["Destination"]) for route in front["Route"])


def test_planes_are_interfaces_of_their_own(built, a_study, generated):
    two = "shape: rail-optimized, servers_per_unit: 2, planes: 2, link: 400 Gb/s, switch: sn5400, technology: rocev2"
    text = built(a_study(two), "f", "hosts")["hosts/server-000/netplan.yaml"].text
    root = generated(text)
    for name in ("rail0p0", "rail0p1", "rail7p1"):
        assert networkd(root, name)["Network"]
    own = [
        IPv4Network(route["Destination"])
        for number in range(8)
        for plane in range(2)
        for route in networkd(root, f"rail{number}p{plane}")["Route"]
        if "Table" not in route
    ]
    assert not any(a.overlaps(b) for place, a in enumerate(own) for b in own[place + 1 :])


SCRIPTED = [
    (f"technology: rocev2, {RAILS}", "hgx-h100"),
    (f"technology: rocev2, {RAILS}, balancing: spray", "hgx-h100"),
    (f"technology: infiniband, {RAILS.replace('sn5400', 'qm9700')}", "hgx-h100"),
    (f"technology: rocev2, {RAILS}", "hgx-mi300x"),
    (f"technology: rocev2, {RAILS}", "hgx-mi355x"),
    (f"technology: ultra-ethernet, {RAILS}", "hgx-mi355x"),
    ("technology: mrc, shape: leaf-spine, link: 800 Gb/s, switch: mrc-64x800g, planes: 2", "hgx-b300"),
]


@pytest.mark.parametrize(("fabric", "server"), SCRIPTED)
def test_scripts_pass_shellcheck(built, a_study, program, tmp_path, fabric, server):
    files = built(a_study(fabric, server=server), "f", "hosts")
    folders = ("hosts/server-000/", "acceptance/")
    scripts = [file for path, file in files.items() if path.startswith(folders) and path.endswith(".sh")]
    assert len(scripts) == 4
    for number, file in enumerate(scripts):
        assert file.is_executable
        path = tmp_path / f"{number}.sh"
        path.write_text(file.text)
        ran = subprocess.run([program("shellcheck", "shellcheck"), path], capture_output=True, text=True, timeout=60)
        assert (ran.returncode, ran.stdout) == (0, ""), file.path


@pytest.mark.parametrize(
    ("server", "commands"),
    [
        (
            "hgx-h100",
            [
                'mlnx_qos -i "$interface" --trust dscp',
                'mlnx_qos -i "$interface" --dscp2prio set,26,3',
                'mlnx_qos -i "$interface" --pfc 0,0,0,1,0,0,0,0',
                'cma_roce_tos -d "$device" -t 106',
                'echo 48 >"/sys/class/net/$interface/ecn/roce_np/cnp_dscp"',
            ],
        ),
        (
            "hgx-mi300x",
            [
                'dcb app add dev "$interface" dscp-prio 26:3',
                'dcb pfc set dev "$interface" prio-pfc all:off 3:on',
                'echo -n 48 >"$cc/cnp_dscp"',
                'echo -n 106 >"$settings/ports/1/default_roce_tos"',
            ],
        ),
        (
            "hgx-mi355x",
            [
                "nicctl update qos dscp-to-priority --dscp 26 --priority 3",
                "nicctl update qos pfc --priority 3 --no-drop enable",
                'nicctl update dcqcn --roce-device "$device" --profile-id 1 --cnp-dscp 48',
            ],
        ),
    ],
)
def test_each_makers_nic_is_told_the_same_classes(built, a_study, server, commands):
    script = built(a_study(f"technology: rocev2, {RAILS}", server=server), "f", "hosts")["hosts/server-000/nic.sh"].text
    lines = [line.strip() for line in script.splitlines()]
    assert [command for command in commands if command not in lines] == []


def test_a_lossy_transport_pauses_nothing(built, a_study):
    script = built(a_study(f"technology: ultra-ethernet, {RAILS}", server="hgx-mi355x"), "f", "hosts")
    text = script["hosts/server-000/nic.sh"].text
    assert "--no-drop enable" not in text
    assert "--pause-type" not in text
    assert "dcqcn" not in text


def test_mrc_leaves_paths_and_classes_to_the_nic(built, a_study, generated):
    """Its leaves have no routes for IPv4, and DCQCN is not its congestion control."""
    fabric = "technology: mrc, shape: leaf-spine, link: 800 Gb/s, switch: mrc-64x800g, planes: 2"
    files = built(a_study(fabric, server="hgx-b300"), "f", "hosts")
    nic = networkd(generated(files["hosts/server-000/netplan.yaml"].text), "rail0p0")
    assert "Route" not in nic
    assert nic["Network"][0]["Address"] == "10.0.0.1/31"
    script = files["hosts/server-000/nic.sh"].text
    assert not any(word in script for word in ("mlnx_qos", "roce_np", "pfc"))
    assert "NCCL_IB_TC" not in settings(files["hosts/server-000/nccl.conf"].text)
    assert "rails," not in files["acceptance/expected.csv"].text


def test_infiniband_names_devices_by_guid_and_marks_nothing(built, a_study):
    fabric = f"technology: infiniband, {RAILS.replace('sn5400', 'qm9700')}"
    files = built(a_study(fabric), "f", "hosts")
    assert "hosts/server-000/netplan.yaml" not in files
    plan = artifacts.subject(spec.loads(a_study(fabric)), "f").plan
    script = files["hosts/server-001/nic.sh"].text
    for port in plan.by_name["server-001"].ports:
        digits = f"{port.guid:016x}"
        assert f"[{digits[:4]}:{digits[4:8]}:{digits[8:12]}:{digits[12:]}]={port.name}" in script
    conf = settings(files["hosts/server-001/nccl.conf"].text)
    assert not {"NCCL_IB_TC", "NCCL_IB_GID_INDEX"} & set(conf)


def test_nccl_is_told_what_the_study_has(written, built, a_study):
    conf = settings(written["hosts/server-000/nccl.conf"].text)
    assert conf["NCCL_IB_QPS_PER_CONNECTION"] == "4"  # pune-1024 has qps: 4
    assert conf["NCCL_IB_SPLIT_DATA_ON_QPS"] == "0"
    assert conf["NCCL_IB_TC"] == str(26 * 4 + 2)
    assert conf["NCCL_IB_HCA"] == "=" + ",".join(f"rail{number}" for number in range(8))
    assert conf["NCCL_CROSS_NIC"] == "0"
    assert conf["NCCL_IB_ADAPTIVE_ROUTING"] == "0"
    other = a_study(f"technology: rocev2, {RAILS}, qps: 8, qp_use: split, balancing: spray")
    conf = settings(built(other, "f", "hosts")["hosts/server-000/nccl.conf"].text)
    assert conf["NCCL_IB_QPS_PER_CONNECTION"] == "8"
    assert conf["NCCL_IB_SPLIT_DATA_ON_QPS"] == "1"
    assert conf["NCCL_IB_ADAPTIVE_ROUTING"] == "1"


def test_bootstrap_takes_the_front_end_where_there_is_one(built, a_study):
    conf = settings(
        built(a_study(f"technology: rocev2, {RAILS}, {FRONT}"), "f", "hosts")["hosts/server-000/nccl.conf"].text
    )
    assert conf["NCCL_SOCKET_IFNAME"] == "front"
    assert "front" not in conf["NCCL_IB_HCA"]


def test_marking_is_that_of_the_switches(written):
    """One module says it; here it is held against what the field uses (DSCP 26 and 48)."""
    assert (marking.ROCE_DSCP, marking.CNP_DSCP, marking.TRAFFIC_CLASS) == (26, 48, 106)
    assert f"NCCL_IB_TC={marking.TRAFFIC_CLASS}" in written["hosts/server-000/nccl.conf"].text


@pytest.mark.parametrize(
    ("server", "gpus", "nics", "cpus"), [("hgx-h100", 8, 8, 2), ("aws-p4de", 8, 4, 2), ("gb200-nvl72", 4, 4, 2)]
)
def test_the_topology_file_is_the_catalogues_server(built, a_study, server, gpus, nics, cpus):
    link = "100 Gb/s" if server == "aws-p4de" else "400 Gb/s"
    fabric = f"technology: rocev2, {RAILS.replace('400 Gb/s', link)}"
    files = built(a_study(fabric, server=server), "f", "hosts")
    root = ElementTree.fromstring(files["hosts/server-000/nccl-topology.xml"].text)
    assert (root.tag, root.get("version")) == ("system", "1")
    assert len(root.findall("cpu")) == cpus
    for cpu in root.findall("cpu"):
        wanted = {"arch"} if server.startswith("gb") else {"arch", "vendor", "familyid", "modelid"}
        assert wanted <= set(cpu.keys())
    devices = [device for bridge in root.findall("cpu/pci") for device in bridge]
    kinds = [device.get("class")[:4] for device in devices]
    assert (kinds.count("0x03"), kinds.count("0x02")) == (gpus, nics)
    for bridge in root.findall("cpu/pci"):  # GPUs share a NIC evenly
        of = [device.get("class")[:4] for device in bridge]
        assert (of.count("0x03"), of.count("0x02")) == (gpus // nics, 1)
    addresses = [device.get("busid") for device in root.iter("pci")]
    assert len(set(addresses)) == len(addresses)


def test_a_machines_own_addresses_take_the_place_of_the_planned_ones(written, tmp_path):
    """A machine like a DGX H100, whose GPUs and NICs count from other buses."""
    sys = tmp_path / "sys"
    gpus = ["1b", "43", "52", "61", "9d", "c3", "d1", "df"]
    nics = ["18", "40", "4f", "5e", "9a", "c0", "ce", "dc"]
    for bus, vendor, kind in [(b, "0x10de", "0x030200") for b in gpus] + [(b, "0x15b3", "0x020000") for b in nics]:
        device = sys / f"bus/pci/devices/0000:{bus}:00.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text(vendor + "\n")
        (device / "class").write_text(kind + "\n")
    for rail, bus in enumerate(nics):
        of = sys / f"class/infiniband/rail{rail}"
        of.mkdir(parents=True)
        (of / "device").symlink_to(sys / f"bus/pci/devices/0000:{bus}:00.0")
    for name in ("topology.sh", "nccl-topology.xml"):
        (tmp_path / name).write_text(written[f"hosts/server-000/{name}"].text)
    ran = subprocess.run(
        ["bash", tmp_path / "topology.sh"],
        env={"SYS": str(sys), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert ran.stderr == ""
    root = ElementTree.fromstring(ran.stdout)
    pairs = [[device.get("busid")[5:7] for device in bridge] for bridge in root.findall("cpu/pci")]
    assert pairs == [list(pair) for pair in zip(gpus, nics, strict=True)]


def test_files_are_the_same_each_time():
    def texts():
        subject = artifacts.subject(spec.load("pune-1024"), "roce-400g")
        return [(file.path, file.text) for file in artifacts.build(subject, ["hosts", "inventory"])]

    assert texts() == texts()


def test_each_port_of_a_nic_on_infiniband_has_a_name_of_its_own(built, a_study):
    fabric = f"technology: infiniband, planes: 2, {RAILS.replace('sn5400', 'qm9700')}"
    script = built(a_study(fabric), "f", "hosts")["hosts/server-000/nic.sh"].text
    named = re.findall(r"^  \[([0-9a-f:]{19})\]=(\S+)$", script, re.MULTILINE)
    assert len({guid for guid, _ in named}) == len(named) == 16
