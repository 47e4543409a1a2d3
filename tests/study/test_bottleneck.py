"""What holds a step back is named as a person would, in cases where the cause is made on purpose."""

import numpy as np
import pytest
from tests.fabric.conftest import G, make_plan, nic, server, switch

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.study import bottleneck
from eastwest.workload import Collective, Compute, SendRecv, Step, all_ranks, shift


def named(plan, *operations, carriage=None, overlap_slowdown=1.0):
    fabric = build(make_plan(**plan))
    network, gpus = Network(fabric), packed(fabric)
    carriage = carriage or Carriage("spray")
    step = Step(len(gpus), operations, overlap_slowdown)
    run, ideal = (network.run(step, gpus, carriage, fidelity=fidelity) for fidelity in ("fluid", "ideal"))
    return bottleneck.name(network, run, ideal, step, carriage)


def ring(ranks, size=1e10, algorithm="rail-ring", channels=8, after=()):
    return Collective("it", "all-reduce", size, all_ranks(ranks), algorithm, channels, after=after)


def send(ranks, by, size=1e10):
    return SendRecv("it", size, shift(ranks, by))


def test_a_full_port():
    found = named({"servers": 4}, ring(32))
    assert found.where.startswith("NIC ports")
    assert found.utilisation == pytest.approx(1, abs=0.05)
    assert "400 Gb/s ports of the NICs are full (384 Gb/s of payload)" in found.why


def test_a_port_that_many_send_to():
    into_one = SendRecv("it", 1e10, np.array([[8, 0], [16, 0], [24, 0]]))
    assert named({"servers": 4}, into_one).where == "NIC ports, leaf to server"


def test_nvlink():
    found = named({"servers": 4, "server": server(nvlink_bps=400 * G)}, ring(32))
    assert found.where.startswith("NVLink")
    assert "320 Gb/s of payload" in found.why
    assert "faster network would not help" in found.why


def test_nvlink_of_a_single_server():
    assert named({"servers": 1, "shape": "single-switch"}, ring(8)).where.startswith("NVLink")


def test_pcie():
    slow = {"server": server(pcie_bps=200 * G), "nic": nic(pcie_bps=200 * G)}
    found = named({"servers": 4, **slow}, send(32, 8))
    assert found.where.startswith("PCIe")
    assert "PCIe gives 180 Gb/s of payload" in found.why
    assert "NIC's port 384 Gb/s" in found.why


def test_an_ecmp_collision():
    # 8 servers of one GPU on each of 4 leaves send to the next leaf: 8 flows, hashed onto 8 uplinks.
    plan = {"shape": "leaf-spine", "servers": 32, "servers_per_unit": 8, "server": server(gpus=1, nics=1)}
    plan["switches"] = {"leaf": switch(cages=16)}
    found = named(plan, send(32, 8), carriage=Carriage("ecmp"))
    assert found.where in ("leaf to spine links", "spine to leaf links")
    assert "ECMP put" in found.why
    assert "the tier's mean is 1" in found.why
    assert "times the capacity" not in found.why


def test_pinned_routes_that_collide():
    # Destination-based routes deal the ports below a leaf in turn: ranks 0, 8, 16, ... all have place 0 there.
    plan = {"shape": "leaf-spine", "servers": 32, "servers_per_unit": 8, "server": server(gpus=1, nics=1)}
    plan["switches"] = {"leaf": switch(cages=12)}  # 8 down, 4 up
    plan["oversubscription"] = {"leaf": 2.0}
    pairs = np.array([[0, 8], [1, 12]])  # places 0 and 4 of one leaf: one uplink of four
    found = named(plan, SendRecv("it", 1e10, pairs), carriage=Carriage("pinned"))
    assert "the pinned routes put 2 flows on one link" in found.why


@pytest.mark.parametrize("balancing", ["spray", "ecmp"])
def test_an_oversubscribed_leaf(balancing):
    plan = {"servers": 16, "servers_per_unit": 8, "oversubscription": {"leaf": 4.0}}
    found = named(plan, send(128, 64), carriage=Carriage(balancing, qps=64))
    assert found.where in ("leaf to spine links", "spine to leaf links")
    assert "each leaf has 4 times the capacity down that it has up" in found.why


def test_an_oversubscribed_spine():
    plan = {"shape": "fat-tree", "servers": 32, "server": server(gpus=1, nics=1), "servers_per_unit": 4}
    plan |= {"switches": {"leaf": switch(cages=8)}, "oversubscription": {"spine": 3.0}}
    found = named(plan, send(32, 16))
    assert found.where in ("spine to core links", "core to spine links")
    assert "each spine has" in found.why


def test_latency_of_small_messages():
    found = named({"servers": 4}, ring(32, size=1e3))
    assert found.where == "latency"
    assert found.utilisation > 0.9
    assert "its messages are small" in found.why


def test_compute_that_hides_all_communication():
    hidden = named({"servers": 4}, Compute("think", 10.0), ring(32))
    assert hidden.where == "GPU compute"
    assert hidden.utilisation == pytest.approx(1)
    assert "hides behind compute" in hidden.why


def test_compute_alone():
    found = named({"servers": 4}, Compute("think", 1.0))
    assert found.where == "GPU compute"
    assert "no communication" in found.why


def test_a_step_without_work_is_held_back_by_nothing():
    found = named({"servers": 4}, Compute("think", 0.0))
    assert (found.where, found.utilisation) == ("nothing", 0.0)
    assert "takes no time" in found.why


def test_an_exchange_that_is_only_partly_hidden_is_still_the_bottleneck():
    found = named({"servers": 4}, Compute("think", 0.02), ring(32))
    assert found.where.startswith("NIC ports")


def test_a_full_link_that_costs_nothing_is_not_to_blame():
    # One server a leaf and as much up as down: the uplinks are as full as the ports, and more of them would not help.
    plan = {"shape": "leaf-spine", "servers": 4, "servers_per_unit": 1}
    assert named(plan, send(32, 8)).where.startswith("NIC ports")


def test_uneven_hashing_is_named_even_where_it_is_slight():
    plan = {"shape": "leaf-spine", "servers": 32, "servers_per_unit": 8, "server": server(gpus=1, nics=1)}
    plan["switches"] = {"leaf": switch(cages=16)}
    # 8 flows of 64 queue pairs on 8 uplinks: the fullest has 10 to 20 % more than its 64.
    found = named(plan, send(32, 8), carriage=Carriage("ecmp", qps=64, qp_use="split"))
    assert "ECMP put" in found.why
    assert "more of them would help" not in found.why


def test_a_port_bound_step_says_what_the_links_between_switches_cost_on_top():
    plan = {"servers": 64, "oversubscription": {"leaf": 2.0}}
    ports = SendRecv("ports", 4e10, shift(512, 8))
    spine = SendRecv("spine", 1e10, shift(512, 256), after=("ports",))
    found = named(plan, ports, spine)
    assert found.where.startswith("NIC ports")
    assert "the links between switches cost" in found.why


def test_hidden_communication_that_stretches_compute_is_told():
    operations = (Compute("compute", 1.0), ring(32, size=1e9))
    found = named({"servers": 4}, *operations, overlap_slowdown=1.5)
    assert found.where == "GPU compute"
    assert "which it stretches by" in found.why


def test_latency_is_blamed_only_where_it_is_most_of_the_exchange():
    # A ring of 32 ranks has 62 steps; what they take for one byte is latency alone.
    fabric = build(make_plan(servers=4))
    network, gpus = Network(fabric), packed(fabric)
    latency_s = float(network.run(Step(32, (ring(32, size=1.0),)), gpus, Carriage("spray")).step_s[0])
    full_s_per_byte = 2 * 31 / 32 / (8 * network.rate_bps[(fabric.links["tier"] == "nic-leaf").to_numpy()].min() / 8)
    mostly_bandwidth, mostly_latency = (latency_s / full_s_per_byte * ratio for ratio in (1.5, 0.67))
    assert named({"servers": 4}, ring(32, size=mostly_bandwidth)).where.startswith("NIC ports")
    assert named({"servers": 4}, ring(32, size=mostly_latency)).where == "latency"
