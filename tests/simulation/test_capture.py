"""Captures, as other people's tools read them: tshark's dissector, and scapy for the invariant CRC.

Without tshark or scapy the tests that need them are skipped, saying so; where CI is set, they fail instead.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from eastwest.engine.defaults import EXACT_HEADERS
from eastwest.engine.packets import PacketNetwork, Transport
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.simulation import (
    SimulationResult,
    capturing,
    read_topology,
    settings_for,
    simulate,
    write_pcap,
)
from eastwest.workload.flows import flows

DATA = Path(__file__).parent.parent / "data" / "htsim"
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY, ACKNOWLEDGE, NOTIFICATION = 6, 7, 8, 10, 17, 129
NAK_SEQUENCE = 0x60


def lacking(what: str) -> NoReturn:
    reason = f"captures were not read by another tool: {what}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def dissect(path: Path, *fields: str) -> list[tuple[int, ...]]:
    """What tshark finds in each packet, as numbers; -1 where it finds none."""
    if shutil.which("tshark") is None:
        lacking("tshark is missing (apt-get install tshark)")
    wanted = [argument for field in fields for argument in ("-e", field)]
    read = subprocess.run(["tshark", "-r", path, "-T", "fields", *wanted], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in read.stdout.splitlines()]
    return [tuple(int(value, 0) if value else -1 for value in row) for row in rows]


def records(path: Path) -> Iterator[tuple[int, int, int, int]]:
    """Seconds, nanoseconds, bytes kept and length of each packet in a capture file."""
    file, at = path.read_bytes(), 24
    while at < len(file):
        record = struct.unpack_from("<IIII", file, at)
        yield record
        at += 16 + record[2]


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return read_topology(DATA / "ft3_128_400g.topo")


def run(fabric: Fabric, senders: list[int], size_bytes: int, places: list[str], **other: Any) -> SimulationResult:
    """Some hosts send to host 0; the first three others stand below its leaf."""
    network = PacketNetwork(fabric)
    given = flows(np.array(senders), np.zeros(len(senders), dtype=np.int64), size_bytes)
    settings = replace(settings_for("rocev2", network, given), **other)
    return simulate(network, given, settings, 0.01, (), capturing(places, fabric, "rocev2"))


@pytest.fixture(scope="module")
def busy(fabric: Fabric) -> SimulationResult:
    """Queues that mark and overflow, so that there are notifications and gaps."""
    figures = {"dcqcn": "paper", "mark_from": 40_000, "mark_to": 160_000, "pause_above": 0, "room": 100_000}
    return run(fabric, [1, 2, 3], 1_000_001, ["host-0"], **figures)


def test_a_message_has_the_opcodes_and_numbers_of_an_rdma_write(fabric: Fabric, tmp_path: Path) -> None:
    write_pcap(run(fabric, [1], 3 * 4096 + 1, ["host-1 > leaf-0"]), fabric, tmp_path / "a.pcap")
    fields = ("infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp", "infiniband.bth.padcnt")
    assert dissect(tmp_path / "a.pcap", *fields, "infiniband.reth.dmalen", "frame.len") == [
        # Ethernet, IPv4, UDP, BTH and ICRC are 58 bytes, RETH 16
        (WRITE_FIRST, 0, 2, 0, 3 * 4096 + 1, 58 + 16 + 4096),
        (WRITE_MIDDLE, 1, 2, 0, -1, 58 + 4096),
        (WRITE_MIDDLE, 2, 2, 0, -1, 58 + 4096),
        (WRITE_LAST, 3, 2, 3, -1, 58 + 4),
    ]


def test_acknowledgements_count_packets_and_messages(fabric: Fabric, tmp_path: Path) -> None:
    write_pcap(run(fabric, [1], 2 * 4096, ["host-0 > leaf-0"]), fabric, tmp_path / "a.pcap")
    fields = ("infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.aeth.syndrome", "infiniband.aeth.msn")
    assert dissect(tmp_path / "a.pcap", *fields) == [(ACKNOWLEDGE, 0, 31, 0), (ACKNOWLEDGE, 1, 31, 1)]


def test_times_are_those_of_departure_in_nanoseconds(fabric: Fabric, tmp_path: Path) -> None:
    write_pcap(run(fabric, [1], 3 * 4096, ["host-1 > leaf-0"]), fabric, tmp_path / "a.pcap")
    # 4,178 bytes at 400 Gb/s are 83.56 ns
    assert [record[:2] for record in records(tmp_path / "a.pcap")] == [(0, 0), (0, 83), (0, 167)]


def test_exact_headers_take_the_time_that_the_file_s_bytes_do(fabric: Fabric, tmp_path: Path) -> None:
    places = ["host-1 > leaf-0", "host-0 > leaf-0"]
    result = run(fabric, [1], 3 * 4096, places, **EXACT_HEADERS)
    write_pcap(result, fabric, tmp_path / "a.pcap")
    seen = [(ns, length + 24) for _, ns, _, length in records(tmp_path / "a.pcap")]  # preamble, gap and check sequence
    data, answers = seen[:3], seen[3:]
    assert [size for _, size in data] == [4194, 4178, 4178]
    assert [size for _, size in answers] == [EXACT_HEADERS["control"]] * 3
    assert data[1][0] == int(4194 * 8 / 400)  # 83.88 ns
    assert data[2][0] == int((4194 + 4178) * 8 / 400)
    # the way there and back over four cables of 1 us; the switch sends the first once it has all of it, then the others
    expected = 4e-6 + (2 * 4194 + 2 * 4178 + 2 * 86) * 8 / 400e9
    assert result.fct_s[0] == pytest.approx(expected, abs=1e-12)


def test_marks_and_notifications_are_all_there(fabric: Fabric, busy: SimulationResult, tmp_path: Path) -> None:
    write_pcap(busy, fabric, tmp_path / "a.pcap")
    seen = dissect(tmp_path / "a.pcap", "infiniband.bth.opcode", "ip.dsfield.ecn", "ip.dsfield.dscp", "udp.dstport")
    assert busy.run.marks > 0
    assert sum(ecn == 3 for _, ecn, _, _ in seen) == busy.run.marks
    assert sum(opcode == NOTIFICATION for opcode, *_ in seen) == busy.run.cnps > 0
    assert {(opcode == NOTIFICATION, dscp, port) for opcode, _, dscp, port in seen} == {
        (False, 26, 4791),
        (True, 48, 4791),
    }


def test_after_a_gap_the_packet_that_was_asked_for_comes_again(fabric: Fabric, tmp_path: Path) -> None:
    places = ["host-0 > leaf-0", "host-1 > leaf-0", "host-2 > leaf-0", "host-3 > leaf-0"]
    write_pcap(run(fabric, [1, 2, 3], 1_000_001, places, pause_above=0, room=100_000), fabric, tmp_path / "a.pcap")
    fields = ("infiniband.aeth.syndrome", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.bth.opcode")
    seen = dissect(tmp_path / "a.pcap", *fields)
    asked = [(at, qp, psn) for at, (syndrome, qp, psn, _) in enumerate(seen) if syndrome == NAK_SEQUENCE]
    assert asked
    for at, qp, psn in asked:
        data = [row[2] for row in seen[at:] if row[1] == qp and row[3] in (WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST)]
        assert psn in data


def test_no_packet_is_malformed(fabric: Fabric, busy: SimulationResult, tmp_path: Path) -> None:
    written = write_pcap(busy, fabric, tmp_path / "a.pcap")
    protocols = dissect(tmp_path / "a.pcap", "infiniband.bth.opcode", "_ws.malformed", "_ws.expert.severity")
    assert written == len(protocols) == len(busy.run.capture or ())
    known = {WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE, NOTIFICATION}
    assert set(protocols) == {(opcode, -1, -1) for opcode in known}


def test_the_invariant_crc_is_that_of_an_independent_implementation(
    fabric: Fabric, busy: SimulationResult, tmp_path: Path
) -> None:
    try:
        from scapy.contrib.roce import BTH
        from scapy.utils import PcapReader
    except ImportError:
        lacking("scapy is missing (pip install scapy)")
    write_pcap(busy, fabric, tmp_path / "a.pcap")
    with PcapReader(str(tmp_path / "a.pcap")) as packets:
        crcs = {(bytes(packet)[-4:] == packet[BTH].compute_icrc(b""), packet[BTH].opcode) for packet in packets}
    assert crcs == {(True, opcode) for opcode in (WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE, NOTIFICATION)}


def test_a_place_is_a_node_a_pair_or_a_direction(fabric: Fabric) -> None:
    def ends(place: str) -> set[tuple[str, str]]:
        chosen = fabric.links[capturing([place], fabric, "rocev2").links]
        name = fabric.nodes["name"]
        return set(zip(name.gather(chosen["src"]), name.gather(chosen["dst"]), strict=True))

    assert ends("host-0") == ends("leaf-0 host-0") == {("host-0", "leaf-0"), ("leaf-0", "host-0")}
    assert ends("leaf-0 > host-0") == ends("leaf-0>host-0") == {("leaf-0", "host-0")}


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("", "capture '' is no place; write one of: NODE, NODE NODE, NODE > NODE"),
        ("a b c", "is no place"),
        ("host-0 >", "is no place"),
        ("leaf-0 > hosst-0", "there is no node 'hosst-0'; did you mean 'host-0'?"),
        ("host-0 host-1", "capture 'host-0 host-1': no cable joins host-0 with host-1"),
    ],
)
def test_a_place_that_there_is_not_is_refused(fabric: Fabric, place: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        capturing([place], fabric, "rocev2")
    assert says in str(refused.value)


def test_other_transports_are_refused(fabric: Fabric) -> None:
    others: tuple[Transport, ...] = ("uet", "mrc", "dctcp")
    for transport in others:
        with pytest.raises(InputError, match=f"the transport is {transport}.*choose the transport rocev2"):
            capturing(["host-0"], fabric, transport)


def test_a_run_without_a_capture_has_nothing_to_write(fabric: Fabric, tmp_path: Path) -> None:
    network = PacketNetwork(fabric)
    given = flows(np.array([1]), np.array([0]), 100)
    result = simulate(network, given, settings_for("rocev2", network, given))
    with pytest.raises(InputError, match="nothing was captured"):
        write_pcap(result, fabric, tmp_path / "a.pcap")


def test_the_same_seed_writes_the_same_file(fabric: Fabric, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_pcap(run(fabric, [1, 64], 100_000, ["leaf-0"], seed=3), fabric, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_cut_packet_keeps_its_length(fabric: Fabric, tmp_path: Path) -> None:
    write_pcap(run(fabric, [1], 5000, ["host-1 > leaf-0"]), fabric, tmp_path / "a.pcap", 70)
    file = (tmp_path / "a.pcap").read_bytes()
    assert struct.unpack_from("<IHHiIII", file) == (0xA1B23C4D, 2, 4, 0, 0, 70, 1)
    assert [record[2:] for record in records(tmp_path / "a.pcap")] == [(70, 4170), (70, 58 + 904)]


def test_a_packet_that_lost_its_payload_is_left_out(fabric: Fabric, tmp_path: Path) -> None:
    result = run(fabric, [1, 2, 3], 200_000, ["leaf-0 > host-0"], pause_above=0, room=20_000, trim=64)
    assert result.run.trims > 0
    written = write_pcap(result, fabric, tmp_path / "a.pcap")
    assert written == result.run.delivered
