"""BGP sessions by address: each is held against the one that answers it, not against one on a parallel link."""

from __future__ import annotations

import json
from pathlib import Path

from eastwest.checks import Severity, check


def router(folder: Path, name: str, asn: int, addresses: list[str], neighbours: list[tuple[str, int]]) -> None:
    """A switch with an address a port and sessions by address."""
    place = folder / name
    place.mkdir()
    ports = [f"Ethernet{4 * index}" for index in range(len(addresses))]
    config = {
        "DEVICE_METADATA": {"localhost": {"hostname": name, "docker_routing_config_mode": "split"}},
        "PORT": {port: {} for port in ports},
        "INTERFACE": {f"{port}|{address}": {} for port, address in zip(ports, addresses, strict=True)},
    }
    (place / "config_db.json").write_text(json.dumps(config))
    lines = [f" neighbor {address} remote-as {remote}" for address, remote in neighbours]
    (place / "frr.conf").write_text("\n".join(["frr version 8.4", f"router bgp {asn}", *lines]) + "\n")


def errors(folder: Path) -> list[tuple[str, str]]:
    """Rule and place of each error."""
    found = [each for each in check([folder]).findings if each.severity is Severity.ERROR]
    return [(each.rule, each.where.removeprefix(f"{folder}/")) for each in found]


def test_sessions_over_two_links_answer_each_other(tmp_path: Path) -> None:
    router(tmp_path, "a", 65001, ["10.0.0.0/31", "10.0.0.2/31"], [("10.0.0.1", 65002), ("10.0.0.3", 65002)])
    router(tmp_path, "b", 65002, ["10.0.0.1/31", "10.0.0.3/31"], [("10.0.0.0", 65001), ("10.0.0.2", 65001)])
    assert errors(tmp_path) == []


def test_a_session_missing_on_the_second_of_two_links(tmp_path: Path) -> None:
    router(tmp_path, "a", 65001, ["10.0.0.0/31", "10.0.0.2/31"], [("10.0.0.1", 65002), ("10.0.0.3", 65002)])
    router(tmp_path, "b", 65002, ["10.0.0.1/31", "10.0.0.3/31"], [("10.0.0.0", 65001)])
    assert errors(tmp_path) == [("bgp-one-sided", "a/frr.conf: line 4 neighbor 10.0.0.3")]


def test_an_as_of_someone_else_by_address(tmp_path: Path) -> None:
    router(tmp_path, "a", 65001, ["10.0.0.0/31"], [("10.0.0.1", 65009)])
    router(tmp_path, "b", 65002, ["10.0.0.1/31"], [("10.0.0.0", 65001)])
    assert errors(tmp_path) == [("bgp-asn-mismatch", "a/frr.conf: line 3 neighbor 10.0.0.1")]


def test_an_as_of_someone_else_in_config_db(tmp_path: Path) -> None:
    router(tmp_path, "a", 65001, ["10.0.0.0/31"], [])
    router(tmp_path, "b", 65002, ["10.0.0.1/31"], [])
    path = tmp_path / "a" / "config_db.json"
    rows = {"BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65009"}}}
    path.write_text(json.dumps(json.loads(path.read_text()) | rows))
    assert errors(tmp_path) == [("bgp-asn-mismatch", "a/config_db.json: BGP_NEIGHBOR|10.0.0.1 asn")]


def test_a_neighbour_whose_files_are_not_given_is_left_alone(tmp_path: Path) -> None:
    router(tmp_path, "a", 65001, ["10.0.0.0/31"], [("10.0.0.1", 65009)])
    assert errors(tmp_path) == []
