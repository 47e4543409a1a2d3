"""Flows as connection matrices of htsim, and which flows a step comes to."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eastwest.errors import InputError
from eastwest.export import export
from eastwest.fabric.formats import read_htsim_topology
from eastwest.workload.flows import Flows, Trigger, flows
from eastwest.workload.formats import read_htsim_flows
from eastwest.workload.formats.write_htsim import MOST_FLOW_BYTES, htsim_flows

NIC_OF_RANK = {f"server-{server:02}/nic-{gpu}": server * 8 + gpu for server in range(16) for gpu in range(8)}


@st.composite
def chains(draw):
    """Flows of which each but the first few may be started by an earlier one."""
    count = draw(st.integers(1, 12))
    pairs = [draw(st.lists(st.integers(0, 7), min_size=2, max_size=2, unique=True)) for _ in range(count)]
    sizes = draw(st.lists(st.integers(1, MOST_FLOW_BYTES), min_size=count, max_size=count))
    starts = draw(st.lists(st.integers(0, 10**12), min_size=count, max_size=count))
    plain = flows(*zip(*pairs, strict=True), sizes, np.array(starts) * 1e-12, draw(st.integers(0, 3)))
    start, sent, triggers = plain.start_trigger.copy(), plain.sent_trigger.copy(), []
    start_s = plain.start_s.copy()
    for flow in range(1, count):
        if draw(st.booleans()) and sent[flow - 1] < 0:
            sent[flow - 1], start[flow], start_s[flow] = len(triggers), len(triggers), 0.0
            triggers.append(draw(st.sampled_from([Trigger("oneshot"), Trigger("multishot"), Trigger("barrier", 1)])))
    ends = (plain.source, plain.destination, plain.size_bytes, start_s, start, sent, plain.received_trigger)
    return Flows(*ends, tuple(triggers), plain.priority)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chains())
def test_flows_read_back_are_the_same(file, given_flows):
    back, hosts = read_htsim_flows(file("flows.cm", htsim_flows(given_flows, 8)))
    assert hosts == 8
    assert back.triggers == given_flows.triggers
    for name in (
        "source",
        "destination",
        "size_bytes",
        "start_trigger",
        "sent_trigger",
        "received_trigger",
        "priority",
    ):
        assert getattr(back, name).tolist() == getattr(given_flows, name).tolist(), name
    assert back.start_s == pytest.approx(given_flows.start_s, abs=1e-12)


def test_a_flow_longer_than_htsim_counts_is_several_that_start_together(file):
    back, _ = read_htsim_flows(file("flows.cm", htsim_flows(flows([0], [1], 10**10, 2e-3), 2)))
    assert int(back.size_bytes.max()) <= MOST_FLOW_BYTES
    assert int(back.size_bytes.sum()) == 10**10
    assert set(back.start_s.tolist()) == {2e-3}


def exported(study, file, workload, fabric="rails"):
    """Flows of a workload, by rank: sender, receiver, bytes, start."""
    found = export(study, "htsim", fabric, workload)
    rows = found.files["hosts.csv"].decode().split()[1:]
    rank = np.array([NIC_OF_RANK[row.partition(",")[2]] for row in rows])
    back, hosts = read_htsim_flows(file("step.cm", found.files[f"{workload}.cm"]))
    assert hosts == len(read_htsim_topology(file("net.topo", found.files[f"{fabric}.topo"])).nodes.filter(kind="nic"))
    return rank[back.source], rank[back.destination], back.size_bytes.astype(float), back.start_s


def test_every_nic_sends_what_a_rail_ring_s_closed_form_says(given, file):
    # 2(n-1)/n of the buffer over the NICs of a server (docs/engine.md), n = 128, and 64 MB of the message to rank + 8
    sender, _, sizes, _ = exported(given, file, "step")
    sent = np.bincount(sender, weights=sizes)
    assert sent == pytest.approx(np.full(128, 2 * 127 / 128 * 1e9 / 8 + 64e6), rel=1e-6)


def test_every_nic_receives_as_much(given, file):
    _, receiver, sizes, _ = exported(given, file, "step")
    assert np.bincount(receiver, weights=sizes) == pytest.approx(np.full(128, 2 * 127 / 128 * 1e9 / 8 + 64e6), rel=1e-6)


def test_flows_start_when_what_they_wait_for_has_ended(given, file):
    *_, starts = exported(given, file, "step")
    assert starts.min() == pytest.approx(10e-3)


def test_a_message_goes_from_its_sender_to_its_receiver(given, file):
    sender, receiver, sizes, _ = exported(given, file, "step")
    is_message = sizes == 64e6
    pairs = set(zip(sender[is_message].tolist(), receiver[is_message].tolist(), strict=True))
    assert pairs == {(rank, (rank + 8) % 128) for rank in range(128)}


def test_an_algorithm_whose_messages_are_not_known_is_refused_with_what_to_write(given):
    with pytest.raises(InputError, match=r"'tree': 'sum' runs by tree, .*: state one of ring, rail-ring, direct, pxn"):
        export(given, "htsim", "rails", "tree")


def test_a_step_that_stays_inside_servers_has_no_flows(given):
    with pytest.raises(InputError, match="sends nothing between servers"):
        export(given, "htsim", "rails", "inside")
