"""InfiniBand on bare networks: framing, credits, congestion control and what a run tells of them."""

from pathlib import Path

import pytest

from eastwest.engine.classes import TrafficClass
from eastwest.engine.packets import PacketNetwork
from eastwest.simulation import read_flows, read_topology, settings_for, simulate
from eastwest.workload.flows import flows

DATA = Path(__file__).parent.parent / "data" / "htsim"
BYTE_S = 8 / 400e9


@pytest.fixture(scope="module")
def network():
    return PacketNetwork(read_topology(DATA / "ft3_128_400g.topo"))


@pytest.fixture(scope="module")
def incast(network):
    """An incast of 32 on 128 hosts, with some settings."""
    given = read_flows(DATA / "incast32_128.cm", network.fabric, "ps")

    def run(*stated, choice="pinned"):
        return simulate(network, given, settings_for("infiniband", network, given, choice, stated=stated))

    return run


def test_packets_are_framed_as_infiniband_s(network):
    settings = settings_for("infiniband", network, flows([0], [1], 1))
    assert (settings.payload, settings.header, settings.control) == (4096, 26, 30)
    assert settings.timeout_s == pytest.approx(4.096e-6 * 2**14)
    assert (settings.pause_above, settings.room, settings.mark_to, settings.fecn_threshold) == (0, 0, 0, 0)


def test_one_packet_takes_its_bytes_and_cables(network):
    """Hosts 0 and 1 share a leaf: two links of 1 us, LRH 8, BTH 12, RETH 16, CRCs 6; back LRH, BTH, AETH 4, CRCs."""
    given = flows([0], [1], 4096)
    (time,) = simulate(network, given, settings_for("infiniband", network, given)).fct_s
    assert time == pytest.approx(2 * (4096 + 42) * BYTE_S + 2 * 30 * BYTE_S + 4e-6, rel=1e-6)


def test_a_buffer_smaller_than_its_cable_bounds_the_rate(network):
    """32 KiB hold seven packets of 65 credits; they come back a packet's time, 2 us and 8 bytes after a packet left."""
    given = flows([0], [1], 700 * 4096)
    settings = settings_for("infiniband", network, given, stated=(("vl_buffer", 32_768),))
    (time,) = simulate(network, given, settings).fct_s
    back = (4096 + 26 + 8) * BYTE_S + 2e-6
    assert time == pytest.approx(99 * back + 8 * 4122 * BYTE_S + 4e-6, rel=1e-3)


def test_an_incast_waits_for_credits_and_loses_nothing(incast):
    result = incast()
    assert (result.run.drops, result.run.retransmits, result.run.trims) == (0, 0, 0)
    assert result.run.pauses > 0
    assert result.run.paused_s > 0
    told = result.to_json()
    assert (told["transport"], told["choice"], told["failed"]) == ("infiniband", "pinned", 0)


def test_an_incast_ends_when_its_port_has_sent_all(incast):
    # 489 packets a flow; queue pairs of one receiver share its port however they come
    bound = 32 * (2_000_000 + 489 * 26 + 16) * BYTE_S
    assert bound < incast().fct_s[-1] < 1.03 * bound


def test_congestion_control_marks_before_the_receiver_s_port(incast):
    off, on = incast(), incast(("fecn_threshold", 15))
    assert off.run.marks == 0
    assert on.run.marks > 0
    # senders that wait leave shorter queues behind them
    assert on.run.paused_s < off.run.paused_s


def test_adaptive_routing_fills_a_permutation_that_static_routes_do_not(network):
    given = read_flows(DATA / "perm_128n_128c_2MB.cm", network.fabric, "ps")
    last = {
        choice: simulate(network, given, settings_for("infiniband", network, given, choice)).fct_s[-1]
        for choice in ("pinned", "shortest-queue")
    }
    # the way of 489 packets over six links and back takes 12 us besides their 40 us
    assert last["shortest-queue"] < 1.3 * (489 * 4122 * BYTE_S + 12e-6)
    assert last["pinned"] > 2 * last["shortest-queue"]


def test_lanes_share_a_port_by_weight(network):
    """Hosts 1 and 2 send as much to host 0: once lane b, of weight 3, is through, lane a has two thirds to go."""
    lanes = (TrafficClass("a", 0), TrafficClass("b", 1, weight=3))
    given = flows([1, 2], [0, 0], 8_000_000, priority=[0, 1])
    result = simulate(network, given, settings_for("infiniband", network, given, stated=(("classes", lanes),)))
    first, last = result.fct_s
    assert last / first == pytest.approx(1.5, rel=0.02)
    assert sum(lane.pauses for lane in result.run.class_counts) == result.run.pauses > 0
