"""What follows from a training job's few figures, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload.training.description import Parallelism, Training
from eastwest.workload.training.models import gpt, preset, presets


def test_data_parallel_ranks_and_microbatches_are_what_is_left() -> None:
    job = Training(preset("llama3-405b"), 8192, 2048, 16384, parallelism=Parallelism(tensor=8, pipeline=16))
    assert (job.data, job.microbatches, job.tokens) == (128, 16, 2048 * 8192)


def test_the_first_and_last_stage_of_llama_405b_have_a_layer_less() -> None:
    job = Training(preset("llama3-405b"), 8192, 2048, 16384, parallelism=Parallelism(tensor=8, pipeline=16))
    assert [len(layers) for layers in job.layers_of] == [7, *[8] * 14, 7]  # arXiv 2407.21783, section 3.3.2


@given(layers=st.integers(1, 130), pipeline=st.integers(1, 16), virtual=st.integers(1, 6))
def test_chunks_hold_every_layer_once_and_differ_by_one_at_most(layers: int, pipeline: int, virtual: int) -> None:
    virtual = virtual if pipeline > 1 else 1
    if pipeline * virtual > layers:
        return
    parallelism = Parallelism(pipeline=pipeline, virtual=virtual, schedule="interleaved" if virtual > 1 else "1f1b")
    job = Training(gpt(layers, 512, 8, 1000, 128), 128, 8, pipeline, parallelism=parallelism)
    assert [layer for chunk in job.layers_of for layer in chunk] == list(range(layers))
    assert max(map(len, job.layers_of)) - min(map(len, job.layers_of)) <= 1


def test_experts_are_held_by_data_parallel_ranks_in_groups() -> None:
    job = Training(preset("deepseek-v3"), 4096, 2048, 512, parallelism=Parallelism(pipeline=8, expert=32))
    assert (job.data, job.expert_data) == (64, 2)


def test_every_preset_says_where_its_figures_were_read() -> None:
    assert all(model.source for model in presets().values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"global_batch": 100}, r"write a multiple of 64, such as 128"),
        ({"parallelism": Parallelism(tensor=7)}, "cannot be divided by tensor 7"),
        ({"parallelism": Parallelism(tensor=64), "ranks": 64}, "cannot divide the 32 attention heads"),
        ({"parallelism": Parallelism(expert=2)}, "has none"),
        ({"parallelism": Parallelism(pipeline=64)}, "cannot fill pipeline 64"),
        ({"parallelism": Parallelism(context=2), "sequence": 1022}, "multiple of 4"),
        ({"parallelism": Parallelism(sharding="zero3", shard_group=5)}, "shard group of 5"),
        ({"sequence": 0}, "sequence is 0"),
    ],
)
def test_figures_that_do_not_fit_are_refused_with_what_would(change: dict[str, Any], said: str) -> None:
    figures: dict[str, Any] = {"sequence": 8192, "global_batch": 128, "ranks": 64, **change}
    with pytest.raises(ValueError, match=said):
        Training(preset("llama3-8b"), **figures)


def test_a_model_that_is_not_known_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'llama3-70b'"):
        preset("llama3-70")
