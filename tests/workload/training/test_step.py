"""A step's operations, run where only the named rates limit, against times reckoned by hand."""

from dataclasses import replace

import pytest
from tests.engine.conftest import without_latency
from tests.fabric.conftest import G, make_plan, nic, server, switch
from tests.workload.training.conftest import DENSE, NOTHING, PASS, SPARSE, training

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.workload import Collective, Compute, SendRecv
from eastwest.workload.training import Overlap, step, traffic

UPDATE_S = 0.5
BACKWARD_S = PASS.backward_input_s + PASS.backward_weight_s


def network(servers: int) -> Network:
    """Servers of one GPU on one switch, without latency."""
    alone = server(gpus=1, nics=1, pcie_bps=4000 * G)
    plates = {"leaf": switch(cage_bps=800 * G)}
    plan = make_plan(shape="single-switch", servers=servers, server=alone, nic=nic(pcie_bps=4000 * G), switches=plates)
    return Network(without_latency(build(plan)))


def rate() -> float:
    """Payload of a NIC, bytes a second, from the fabric's table."""
    first = network(2).fabric.links.filter(tier="nic-leaf").row(0, named=True)
    return first["rate_bps"] * first["efficiency"] / 8


RATE = rate()


def seconds(job, *, update_s=UPDATE_S, times=PASS):
    """What a step takes, its collectives round one ring each."""
    made = step(job, [times] * job.chunks, update_s)
    operations = (replace(each, tuning=None) if isinstance(each, Collective) else each for each in made.operations)
    on = network(job.ranks)
    return float(on.run(replace(made, operations=tuple(operations)), packed(on.fabric), Carriage("spray")).step_s[0])


def gradient_bytes(job):
    return 4 * sum(
        sum(traffic.weights(job, part)) for chunk in range(job.chunks) for part in traffic.parts(job, chunk, 1)
    )


def ring_s(size, ranks, rounds=1):
    return rounds * (ranks - 1) / ranks * size / RATE


def test_one_gpu_computes_and_updates():
    assert seconds(training(1, batch=3)) == pytest.approx(3 * (1 + BACKWARD_S) + UPDATE_S)


def test_copies_sum_their_gradients_after_the_last_pass():
    job = training(4)
    expected = 2 * (1 + BACKWARD_S) + ring_s(gradient_bytes(job), 4, rounds=2) + UPDATE_S
    assert seconds(job) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sharding", ["zero1", "zero2"])
def test_sharded_optimizers_scatter_gradients_and_gather_weights(sharding):
    # zero2 scatters after each of the two microbatches; weights have half as many bytes as gradients
    job = training(4, sharding=sharding)
    scatters = 1 if sharding == "zero1" else 2
    moved = ring_s(gradient_bytes(job), 4) * scatters + ring_s(gradient_bytes(job) / 2, 4)
    assert seconds(job) == pytest.approx(2 * (1 + BACKWARD_S) + moved + UPDATE_S, rel=1e-6)


def test_fully_sharded_ranks_gather_for_each_pass_and_scatter_after_each_backward():
    job = training(4, sharding="zero3")
    moved = 2 * (2 * ring_s(gradient_bytes(job) / 2, 4) + ring_s(gradient_bytes(job), 4))
    assert seconds(job) == pytest.approx(2 * (1 + BACKWARD_S) + moved + UPDATE_S, rel=1e-6)


def test_hybrid_shards_sum_their_parts_over_the_copies():
    job = training(4, sharding="zero1", shard_group=2)
    moved = 1.5 * ring_s(gradient_bytes(job), 2) + ring_s(gradient_bytes(job) / 2, 2, rounds=2)
    assert seconds(job) == pytest.approx(2 * (1 + BACKWARD_S) + moved + UPDATE_S, rel=1e-6)


@pytest.mark.parametrize("sharding", ["none", "zero1", "zero3"])
def test_what_moves_beside_long_passes_costs_its_first_and_last_part_alone(sharding):
    # of eight parts, one of the gradients comes after the last pass; one of the weights before the first
    job = training(4, sharding=sharding, overlap=Overlap())
    rounds = 2 if sharding == "none" else 1
    parts = [sum(traffic.weights(job, part)) for part in traffic.parts(job, 0, 8)]
    last = ring_s(4 * parts[0], 4, rounds=rounds)
    first = 0.0 if sharding == "none" else ring_s(2 * parts[0], 4)
    assert seconds(job) == pytest.approx(2 * (1 + BACKWARD_S) + first + last + UPDATE_S, rel=1e-6)


def test_a_pipeline_takes_its_bubble_and_the_messages_on_its_longest_way():
    # 2 stages, 4 microbatches: (m + p - 1) passes of both kinds, and where nothing overlaps as many messages each way
    job = training(2, batch=4, pipeline=2)
    message = traffic.message_bytes(job) / RATE
    made = seconds(job)
    assert made >= 5 * (1 + BACKWARD_S) + UPDATE_S + 2 * message
    assert made <= 5 * (1 + BACKWARD_S) + UPDATE_S + 10 * message


def test_stages_send_each_microbatch_once_each_way_between_neighbours():
    job = training(8, batch=4, pipeline=4)
    sent = [each for each in step(job, [PASS] * 4, 0.0).operations if isinstance(each, SendRecv)]
    assert len(sent) == 2 * 3 * 2
    assert {tuple(each.pairs[0] // 2) for each in sent} == {(0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0)}


def test_interleaved_stages_send_on_around_the_end():
    job = training(2, batch=4, pipeline=2, virtual=2, schedule="interleaved")
    sent = [each for each in step(job, [PASS] * 4, 0.0).operations if isinstance(each, SendRecv)]
    assert len(sent) == 2 * 3 * 4
    assert sum(tuple(each.pairs[0]) == (1, 0) for each in sent) == 3 * 4


@pytest.mark.parametrize("schedule", ["1f1b", "zero-bubble"])
def test_all_passes_of_a_schedule_compute_as_long(schedule):
    job = training(4, batch=8, pipeline=2, schedule=schedule)
    computes = [each for each in step(job, [PASS] * 2, 0.0).operations if isinstance(each, Compute)]
    assert sum(each.seconds for each in computes) == pytest.approx(2 * 4 * (1 + BACKWARD_S))


def test_exchanges_of_a_chunk_stand_for_those_of_its_layers():
    job = training(4, tensor=2, overlap=NOTHING)
    made = step(job, [PASS], 0.0).operations
    (gather,) = [each for each in made if each.name == "forward/0/0/then-0/tensor"]
    # two blocks of each of eight layers, and before the logits
    assert (gather.kind, gather.repeats) == ("all-gather", 17)


def test_experts_gradients_are_summed_among_those_that_have_the_same():
    job = training(8, model=SPARSE, expert=4)
    made = {each.queue: each for each in step(job, [PASS], 0.0).operations if isinstance(each, Collective)}
    assert len(made["data/reduce"].groups[0]) == 8
    assert len(made["expert-data/reduce"].groups[0]) == 2
    assert made["expert"].groups[0].tolist() == [0, 1, 2, 3]


def test_word_embeddings_of_both_ends_are_summed_after_their_gradients():
    job = training(4, model=replace(DENSE, tied_embeddings=True), pipeline=2)
    made = step(job, [PASS] * 2, 0.0).operations
    (shared,) = [each for each in made if each.name == "embedding"]
    assert [group.tolist() for group in shared.groups] == [[0, 2], [1, 3]]
    assert shared.bytes == 4 * 32_000 * 1024
