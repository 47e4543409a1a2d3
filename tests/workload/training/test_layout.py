"""Who is in which group, against the example of Megatron's own documentation and by counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.training.conftest import SPARSE, training

from eastwest.workload.training.layout import Layout


def listed(groups):
    return [group.tolist() for group in groups]


def test_the_groups_of_sixteen_gpus_are_megatrons():
    # Megatron-Core, parallel_state.initialize_model_parallel: tensor 2, pipeline 4 on 16 GPUs
    layout = Layout(training(16, tensor=2, pipeline=4))
    assert [listed(layout.tensor(stage)) for stage in range(4)] == [
        [[0, 1], [2, 3]],
        [[4, 5], [6, 7]],
        [[8, 9], [10, 11]],
        [[12, 13], [14, 15]],
    ]
    assert listed(layout.data(0)) == [[0, 2], [1, 3]]
    assert listed(layout.data(3)) == [[12, 14], [13, 15]]
    assert layout.messages(0, 1).tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert listed(layout.ends()) == [[0, 12], [1, 13], [2, 14], [3, 15]]


def test_context_ranks_lie_between_tensor_and_data_ranks():
    # Megatron-Core's order tp-cp-ep-dp-pp; gradients are summed over context-parallel ranks too
    layout = Layout(training(16, tensor=2, context=2))
    assert listed(layout.context(0))[:2] == [[0, 2], [1, 3]]
    assert listed(layout.data(0)) == [list(range(0, 16, 2)), list(range(1, 16, 2))]


def test_experts_are_dealt_out_over_neighbours():
    layout = Layout(training(16, model=SPARSE, tensor=2, expert=4, expert_tensor=1))
    assert listed(layout.expert(0)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert listed(layout.expert_data(0)) == [[first, first + 4, first + 8, first + 12] for first in range(4)]


def test_shard_groups_are_neighbours_and_their_copies_far_apart():
    layout = Layout(training(16, sharding="zero3", shard_group=4))
    assert listed(layout.shards(0)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert listed(layout.replicas(0))[1] == [1, 5, 9, 13]


two = st.integers(0, 2).map(lambda power: 2**power)


@given(two, two, two, two, two, two)
def test_every_kind_of_group_holds_every_rank_of_a_stage_once(tensor, pipeline, context, data, expert, apart):
    ranks = tensor * pipeline * context * data * expert
    job = training(
        ranks, model=SPARSE, tensor=tensor, pipeline=pipeline, context=context, expert=expert, expert_tensor=1
    )
    layout = Layout(job)
    for stage in range(pipeline):
        for kind in ("tensor", "context", "data", "expert", "expert_data", "expert_shards", "shards", "replicas"):
            groups = getattr(layout, kind)(stage)
            assert len({len(group) for group in groups}) == 1
            assert np.array_equal(np.sort(np.concatenate(groups)), layout.stage(stage))


def test_a_stage_is_a_run_of_neighbours():
    layout = Layout(training(32, tensor=4, pipeline=2))
    assert layout.stage(1).tolist() == list(range(16, 32))
    assert layout.stage_ranks == pytest.approx(16)
