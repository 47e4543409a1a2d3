"""Bytes of each exchange, against what papers count."""

import pytest
from tests.workload.training.conftest import DENSE, SPARSE, training

from eastwest.workload.training import traffic
from eastwest.workload.training.arithmetic import parameters
from eastwest.workload.training.models import preset


def whole(job, chunk=0):
    return traffic.parts(job, chunk, 1)[0]


def summed(exchanges, kind, within="tensor"):
    return sum(each.bytes for each in exchanges if (each.kind, each.within) == (kind, within))


def middle(job):
    """The layers of a chunk that has neither embedding nor logits."""
    return whole(job, 1)


def test_tensor_ranks_sum_activations_twice_a_layer_and_pass():
    # arXiv 2104.04473, section 3.2: all-reduces of b s h twice forward and twice backward, per layer
    job = training(32, tensor=2, pipeline=4, sequence_parallel=False)
    bsh = 2048 * 1024 * 2
    assert summed(traffic.forward(job, middle(job)), "all-reduce") == 2 * 2 * bsh
    assert summed(traffic.backward(job, middle(job)), "all-reduce") == 2 * 2 * bsh


def test_sequence_parallel_ranks_gather_and_scatter_what_others_sum():
    # arXiv 2205.05198, section 4.2.2: an all-reduce becomes an all-gather and a reduce-scatter of the same buffer;
    # backward the inputs are gathered once more, beside products
    job = training(32, tensor=2, pipeline=4)
    bsh, forward, backward = 2048 * 1024 * 2, *(each(job, middle(job)) for each in (traffic.forward, traffic.backward))
    assert [summed(forward, kind) for kind in ("all-gather", "reduce-scatter")] == [4 * bsh, 4 * bsh]
    assert [summed(backward, kind) for kind in ("all-gather", "reduce-scatter")] == [8 * bsh, 4 * bsh]
    assert summed([each for each in backward if not each.is_beside], "all-gather") == 4 * bsh


def test_full_recomputation_repeats_the_forward_exchange():
    plain, full = training(32, tensor=2, pipeline=4), training(32, tensor=2, pipeline=4, recompute="full")
    assert traffic.backward(full, middle(full)) == (
        *traffic.forward(plain, middle(plain)),
        *traffic.backward(plain, middle(plain)),
    )


def test_a_message_to_the_next_stage_is_divided_over_tensor_ranks():
    # arXiv 2104.04473, sections 3.2 and 4.1: b s h between stages, of which each tensor-parallel rank sends 1/t
    assert traffic.message_bytes(training(32, tensor=4, pipeline=2)) == 2048 * 1024 * 2 / 4


def test_keys_and_values_go_round_the_context_ranks():
    # each of c ranks has s/c tokens of 4 kv heads of 64 and gets those of the others: an all-gather of c buffers
    job = training(32, context=4, pipeline=4)
    (gather,) = traffic.forward(job, middle(job))
    assert gather.kind == "all-gather"
    assert gather.bytes == 2 * 2048 * 4 * (64 + 64) * 2
    assert gather.repeats == 2


def test_each_copy_of_a_token_goes_to_its_expert_and_back():
    # 6 of 8 layers have experts; a stage of one chunk has all: 2 ways x 6 layers x tokens x 2 experts x hidden
    job = training(8, model=SPARSE, expert=8)
    (exchange,) = traffic.forward(job, whole(job))
    assert (exchange.kind, exchange.within) == ("all-to-all", "expert")
    assert (exchange.bytes, exchange.repeats) == (2 * 6 * 2048 * 2 * 1024 * 2, 12)


def test_split_experts_gather_the_tokens_of_their_ranks():
    job = training(8, model=SPARSE, tensor=2, expert=2, expert_tensor=2)
    found = traffic.forward(job, whole(job))
    gathered = summed(found, "all-gather", "expert-tensor")
    assert gathered == summed(found, "all-to-all", "expert") / 2 * 2


@pytest.mark.parametrize("count", [1, 3, 8, 100])
def test_parts_of_a_chunk_have_all_its_layers_and_weights(count):
    job = training(8, tensor=2)
    found = traffic.parts(job, 0, count)
    assert [layer for part in found for layer in part.layers] == list(range(8))
    assert sum(part.share for part in found) == pytest.approx(1)
    assert sum(sum(traffic.weights(job, part)) for part in found) == pytest.approx(
        sum(traffic.weights(job, whole(job)))
    )


@pytest.mark.parametrize("model", [DENSE, preset("llama3-8b"), preset("mixtral-8x7b")])
def test_a_job_without_division_reduces_all_parameters(model):
    job = training(8, model=model)
    assert sum(traffic.weights(job, whole(job))) == pytest.approx(parameters(model), rel=1e-3)


def test_only_stages_that_both_have_the_embedding_sum_it():
    model = preset("gpt3-175b")
    assert traffic.tied_parameters(training(16, model=model, tensor=8, pipeline=2)) == 51200 * 12288 / 8
    assert traffic.tied_parameters(training(8, model=model, tensor=8)) == 0.0
    assert traffic.tied_parameters(training(16, tensor=2, pipeline=2)) == 0.0
