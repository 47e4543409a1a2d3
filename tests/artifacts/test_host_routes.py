"""A server in a network namespace: by which NIC the kernel sends its packets, and what lldpd would tell its leaves."""

import json
import os
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from eastwest import artifacts

from .conftest import lacking


class Server:
    """A namespace with a server's interfaces, set up from its netplan file by iproute2."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ip(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["ip", "-n", self.name, *words], capture_output=True, text=True, timeout=30)

    def told(self, *words: str) -> None:
        ran = self.ip(*words)
        assert ran.returncode == 0, (words, ran.stderr)

    def set_up(self, text: str) -> None:
        interfaces = YAML(typ="safe").load(text)["network"]["ethernets"]
        self.told("link", "set", "lo", "up")
        for name, of in interfaces.items():
            if name != "lo":
                self.told("link", "add", name, "type", "veth", "peer", "name", f"x-{name}")
                self.told("address", "add", *of["addresses"], "dev", name)
                self.told("link", "set", f"x-{name}", "up")
                self.told("link", "set", name, "up")
        for name, of in interfaces.items():
            for route in of.get("routes", ()):
                kind = [route["type"]] if "type" in route else []
                way = ["via", route["via"], "dev", name] if "via" in route else []
                extra = [word for key in ("table", "metric") if key in route for word in (key, str(route[key]))]
                self.told("route", "add", *kind, str(route["to"]), *way, *extra)
            for rule in of.get("routing-policy", ()):
                self.told(
                    "rule", "add", "from", rule["from"], "table", str(rule["table"]), "pref", str(rule["priority"])
                )

    def leaves_by(self, to: str, source: str | None = None) -> str:
        """The interface of a packet's route; empty where there is none."""
        ran = self.ip("route", "get", to, *(["from", source] if source else []))
        words = ran.stdout.split()
        return words[words.index("dev") + 1] if ran.returncode == 0 else ""


@pytest.fixture(scope="module")
def files(pune):
    return {file.path: file.text for file in artifacts.build(pune, ["hosts"])}


@pytest.fixture
def server(files):
    if os.geteuid() != 0:
        lacking("network namespaces need root")
    one = Server(f"host-{uuid.uuid4().hex[:8]}")
    made = subprocess.run(["ip", "netns", "add", one.name], capture_output=True, text=True, timeout=30)
    if made.returncode:
        lacking(f"no network namespace can be made here: {made.stderr.strip()}")
    try:
        one.set_up(files["hosts/server-037/netplan.yaml"])
        yield one
    finally:
        subprocess.run(["ip", "netns", "delete", one.name], check=True, timeout=30)


def test_a_packet_leaves_by_the_nic_whose_address_it_has(server, pune):
    for port in pune.plan.by_name["server-037"].ports:
        for other in pune.plan.by_name["server-101"].ports:  # any rail's NIC of another unit
            assert server.leaves_by(str(other.address), str(port.address)) == port.name


def test_an_unbound_packet_leaves_by_the_rail_of_its_destination(server, pune):
    for other in pune.plan.by_name["server-101"].ports:
        assert server.leaves_by(str(other.address)) == other.name


def test_with_a_nic_down_its_packets_go_nowhere_and_others_as_before(server, pune):
    first, second = pune.plan.by_name["server-037"].ports[:2]
    other = pune.plan.by_name["server-101"].ports[0]
    server.told("link", "set", first.name, "down")
    assert server.leaves_by(str(other.address), str(first.address)) == ""
    assert server.leaves_by(str(other.address), str(second.address)) == second.name


@pytest.fixture
def open_folder():
    """A folder that a daemon without rights reaches too, as pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_lldpd_takes_the_file_and_tells_names_as_planned(server, files, program, open_folder):
    path, socket = open_folder / "rails.conf", open_folder / "socket"
    path.write_text(files["hosts/server-037/lldpd.conf"])
    within = ["ip", "netns", "exec", server.name]
    daemon = subprocess.Popen(
        [*within, program("lldpd", "lldpd"), "-d", "-u", socket, "-O", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        asked = [*within, program("lldpcli", "lldpd"), "-u", socket, "-f", "json", "show", "configuration"]
        config, wanted = {}, ",".join(f"rail{number}" for number in range(8))
        for _ in range(100):
            told = subprocess.run(asked, capture_output=True, text=True, timeout=30)
            config = json.loads(told.stdout or "{}").get("configuration", {}).get("config", {})
            if config.get("iface-pattern") == wanted:
                break
            time.sleep(0.1)
    finally:
        daemon.terminate()
        complaints = daemon.communicate(timeout=30)[1]
    assert config.get("iface-pattern") == wanted, complaints
    assert config["hostname"] == "server-037"
    assert config["lldp-portid-type"] == "ifname"
    # what reads the file may be asking to resume, its last line but one, when the daemon is told to end
    about_lines = [line for line in complaints.splitlines() if "WARN/lldpctl" in line and "to resume" not in line]
    assert about_lines == []
