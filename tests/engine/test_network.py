"""The door itself: what it refuses, in which order draws come back, and that Ctrl-C is heard."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.fabric.conftest import make_plan

from eastwest.engine import Carriage, EngineError, Network
from eastwest.fabric import build, packed
from eastwest.workload import Collective, Compute, SendRecv, Step, all_ranks

RANKS = 32


def collective(**changes):
    values = {"kind": "all-reduce", "bytes": 1e9, "groups": all_ranks(RANKS), "algorithm": "ring"} | changes
    return Step(RANKS, (Collective("it", **values),))


def group(*ranks):
    return (np.array(ranks, dtype=np.uint32),)


def send(*pairs):
    return Step(RANKS, (SendRecv("it", 1e9, np.array(pairs)),))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (collective(groups=group(0, 99)), "rank 99 but there are 32"),
        (collective(groups=group(0, 1, 1)), "rank 1 is twice in group 0"),
        (collective(groups=group(0, 1) + group(1, 2)), "rank 1 is in another group and in group 1"),
        (collective(groups=group()), "has no ranks"),
        (collective(bytes=-1.0), "its size is -1 bytes"),
        (collective(bytes=float("nan")), "its size is NaN bytes"),
        (collective(channels=0), "'it' has 0 channels, not 1 or more"),
        (collective(bytes=1e30), "operation 'it': its 1e30 bytes are more than 1e15"),
        (send([0, 1, 2]), r"pairs of shape \(1, 3\), not \(n, 2\)"),
        (collective(algorithm="star"), "unknown algorithm 'star'"),
        (collective(kind="all-to-all"), "not AllToAll"),
        (collective(kind="all-to-all", algorithm="direct", matrix=np.ones((3, 3))), "9 entries but its group of 32"),
        (send([0, 99]), "rank 99 but there are 32"),
        (send([3, 3]), "rank 3 sends to itself"),
        (Step(RANKS, (Compute("it", -1.0),)), "it computes for -1 seconds"),
        (Step(RANKS, (Compute("it", 1e9),)), "operation 'it': with it the step computes for over 9e6 seconds"),
        (Step(RANKS, (Compute("it", 1.0),), overlap_slowdown=0.5), "overlap slows compute by a factor of 1 or more"),
        (Step(RANKS, (Compute("a", 1.0, after=("b",)), Compute("b", 1.0, after=("a",)))), "waits for 'b'"),
        (Step(RANKS, (Compute("a", 1.0, after=("a",)),)), "waits for 'a'"),
        (Step(RANKS, (Compute("a", 1.0), Compute("a", 1.0))), "two operations are named 'a'"),
    ],
)
def test_a_step_that_cannot_be_carried_out_is_refused(small, step, message):
    with pytest.raises(EngineError, match=message):
        small.run(step, packed(small.fabric), Carriage())


@pytest.mark.parametrize(
    ("carriage", "message"),
    [
        (Carriage(qps=0), "no queue pairs"),
        (Carriage(message_bytes=0.0), "its messages have 0 bytes"),
        (Carriage(balancing="magic"), "unknown load balancing 'magic'"),
        (Carriage(hash_seeds="magic"), "unknown hash seeds 'magic'"),
    ],
)
def test_a_carriage_that_makes_no_sense_is_refused(small, carriage, message):
    with pytest.raises(EngineError, match=message):
        small.run(collective(), packed(small.fabric), carriage)


@pytest.mark.parametrize("tolerance", [-1.0, 1.0, float("nan")])
def test_a_tolerance_that_is_no_fraction_is_refused(small, tolerance):
    with pytest.raises(EngineError, match="a tolerance is a fraction"):
        small.run(collective(), packed(small.fabric), Carriage(), tolerance=tolerance)


def test_a_seed_below_zero_is_refused(small):
    with pytest.raises(EngineError):
        small.run(collective(), packed(small.fabric), Carriage(), seeds=[-1])


def test_rates_need_a_queue_pair(small):
    gpus = packed(small.fabric)
    with pytest.raises(EngineError, match="no queue pairs"):
        small.max_min(gpus[:1], gpus[1:2], Carriage(qps=0))


@pytest.mark.parametrize(
    ("gpus", "message"),
    [
        (lambda gpus: gpus[:4], "32 ranks but 4 GPUs"),
        (lambda gpus: np.where(gpus == gpus[5], gpus[4], gpus), "ranks 4 and 5 are both on server-0/gpu-4"),
        (lambda gpus: gpus + 8, "is no GPU"),
        (lambda gpus: gpus + 10**6, "is on node 1000000 but there are"),
    ],
)
def test_ranks_need_a_gpu_each(small, gpus, message):
    with pytest.raises(EngineError, match=message):
        small.run(collective(), gpus(packed(small.fabric)), Carriage())


def test_ranks_without_a_path_between_them_are_refused():
    fabric = build(make_plan(servers=4, servers_per_unit=2))
    fabric = replace(fabric, links=fabric.links.filter(~pl.col("tier").is_in(["leaf-spine", "spine-leaf"])))
    with pytest.raises(EngineError, match="path"):
        Network(fabric).run(send([0, 31]), packed(fabric), Carriage())


def test_rates_are_asked_for_gpus_in_pairs(small):
    gpus = packed(small.fabric)
    with pytest.raises(EngineError, match="2 senders cannot be paired with 1 receivers"):
        small.max_min(gpus[:2], gpus[2:3], Carriage())
    with pytest.raises(EngineError, match="is no GPU"):
        small.max_min(gpus[:1] + 8, gpus[:1], Carriage())


def test_draws_come_back_in_the_order_of_their_seeds():
    fabric = build(make_plan(servers=8, servers_per_unit=4))
    network, gpus = Network(fabric), packed(fabric)
    uneven = np.random.default_rng(0).uniform(1e6, 1e8, (64, 64))  # so that no two draws take the same time
    step = Step(64, (Collective("it", "all-to-all", 0.0, all_ranks(64), "direct", matrix=uneven),))
    seeds = [5, 2, 9, 2]
    together = network.run(step, gpus, Carriage(), seeds=seeds)
    alone = [network.run(step, gpus, Carriage(), seeds=[seed]) for seed in seeds]
    assert together.step_s.tolist() == [run.step_s[0] for run in alone]
    assert np.array_equal(together.link_bytes, np.concatenate([run.link_bytes for run in alone]))
    assert together.step_s[1] == together.step_s[3]
    assert len(set(together.step_s)) == 3
    assert together.step_s[together.median_draw] == np.sort(together.step_s)[1]  # the lower of the middle two


def test_a_run_without_draws_is_empty(small):
    run = small.run(collective(), packed(small.fabric), Carriage(), seeds=[])
    assert run.link_bytes.shape == (0, small.fabric.links.height)


def test_the_bound_leaves_out_only_what_is_between_switches():
    fabric = build(make_plan(servers=8, servers_per_unit=2, oversubscription={"leaf": 2.0}))
    network, gpus = Network(fabric), packed(fabric)
    step = Step(64, (SendRecv("it", 1e9, np.stack([np.arange(64), (np.arange(64) + 16) % 64], axis=1)),))
    ideal, fluid = (
        network.run(step, gpus, Carriage("spray"), fidelity=fidelity).step_s[0] for fidelity in ("ideal", "fluid")
    )
    port = 1e9 / (400e9 * 0.96 / 8)
    assert ideal == pytest.approx(port, rel=1e-3)
    assert fluid == pytest.approx(2 * port, rel=1e-3)


LONG_RUN = """
import sys
from eastwest import spec
from eastwest.engine import Carriage, Network
from eastwest.fabric import packed
from eastwest.study import build_fabric
from eastwest.workload import Collective, Step, strided

fabric = build_fabric(spec.load("pune-1024"), "roce-400g")
step = Step(1024, (Collective("it", "all-to-all", 1e9, strided(1024, 64, 1), "direct"),))
network = Network(fabric)
try:
    print("ready", flush=True)
    network.run(step, packed(fabric), Carriage(), seeds=range(100_000))
except KeyboardInterrupt:
    sys.exit(42)
"""


def test_ctrl_c_ends_a_long_run():
    run = subprocess.Popen([sys.executable, "-c", LONG_RUN], stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.5)  # well into the run
        run.send_signal(signal.SIGINT)
        # The run would take hours; it hears of the signal within a tenth of a second. The rest is for a busy machine.
        assert run.wait(timeout=20) == 42
    finally:
        run.kill()
        run.stdout.close()
        run.wait()
