"""Solving for what a measured exchange carries."""

import numpy as np
import pytest
from tests.fabric.conftest import make_plan, server

from eastwest import spec
from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.study import run
from eastwest.study.measured import UnsolvableError, exchange_s, message_bytes
from eastwest.workload import Measured

NIC = 400e9 * 0.96 / 8
"""Payload of a port, bytes a second."""


ACROSS = (np.array([0, 2, 4, 6, 1, 3, 5, 7]),)
"""A ring of which every hop leaves its leaf, so that hashing shows."""


def measured(exposed_s=0.4, communication_s=None):
    return Measured(
        step_s=2.0,
        exposed_s=exposed_s,
        communication_s=exposed_s if communication_s is None else communication_s,
        kind="all-reduce",
        algorithm="ring",
        channels=1,
        groups=ACROSS,
        ranks=8,
    )


@pytest.fixture(scope="module")
def simulate():
    """Runs a workload's step with a given size on 8 servers of one GPU: `simulate(workload)(size)`."""
    fabric = build(make_plan(shape="leaf-spine", servers=8, servers_per_unit=2, server=server(gpus=1, nics=1)))
    network, gpus = Network(fabric), packed(fabric)

    def on(workload, carriage=None, seeds=(0,)):
        return lambda size: network.run(workload.step(size), gpus, carriage or Carriage("spray"), seeds=seeds)

    return on


def test_the_size_is_that_of_arithmetic(simulate):
    workload = measured()
    latency_s = exchange_s(workload, simulate(workload)(1.0))  # of a ring over 14 steps; a byte's own time is nothing
    assert message_bytes(workload, simulate(workload)) == pytest.approx((0.4 - latency_s) * NIC / (2 * 7 / 8), rel=1e-5)


def test_the_size_gives_the_time_measured(simulate):
    workload = measured(exposed_s=0.3, communication_s=0.5)
    run = simulate(workload)(message_bytes(workload, simulate(workload)))
    assert exchange_s(workload, run) == pytest.approx(0.5, rel=1e-5)
    assert run.step_s[0] == pytest.approx(2.0, rel=1e-5)
    assert run.exposed_s[0].max() == pytest.approx(0.3, rel=1e-4)


def test_over_draws_it_is_the_median_that_is_matched(simulate):
    workload = measured()
    on = simulate(workload, Carriage("ecmp", qps=3), seeds=range(7))
    run = on(message_bytes(workload, on))
    times = np.sort(run.op_end_s[:, -1] - run.op_start_s[:, -1])
    assert times[3] == pytest.approx(0.4, rel=1e-5)
    assert times[0] < times[-1]


def test_no_exchange_carries_nothing(simulate):
    workload = measured(exposed_s=0.0)
    assert message_bytes(workload, simulate(workload)) == 0.0


def test_a_time_below_the_latency_cannot_be_met(simulate):
    workload = measured(exposed_s=1e-6)
    with pytest.raises(UnsolvableError, match="one byte takes"):
        message_bytes(workload, simulate(workload))


def test_what_compute_hides_is_told_apart_from_what_it_does_not():
    values = {
        "name": "hidden",
        "clusters": {"pod": {"server": "hgx-h100", "servers": 4}},
        "fabrics": {
            "one": {"shape": "rail-optimized", "technology": "infiniband", "link": "400 Gb/s", "switch": "qm9700"}
        },
        "workloads": {
            "job": {
                "kind": "measured",
                "measured_on": {"fabric": "one"},
                "step": "2 s",
                "exposed": "0.4 s",
                "communication": "0.6 s",
                "collective": {"kind": "all-reduce"},
            }
        },
    }
    (row,) = run(spec.from_mapping(values)).rows
    assert row.step_s == pytest.approx(2.0, rel=1e-5)
    assert row.communication_s == pytest.approx(0.6, rel=1e-5)
    assert row.overlapped_s == pytest.approx(0.2, rel=1e-4)
    assert row.exposed_s == pytest.approx(0.4, rel=1e-4)
