"""Parameters and operations against published counts and closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.workload.training.arithmetic import (
    Split,
    active_parameters,
    feed_forward_products,
    hardware_flops,
    model_flops,
    parameters,
    step_flops,
)
from eastwest.workload.training.description import Parallelism, Training
from eastwest.workload.training.models import gpt, preset

PUBLISHED = {
    # model cards and papers, as named in models.yaml; billions
    "gpt3-175b": 174.6,
    "llama2-7b": 6.738,
    "llama2-13b": 13.016,
    "llama2-70b": 68.977,
    "llama3-8b": 8.030,
    "llama3-70b": 70.554,
    "llama3-405b": 405.85,
    "mixtral-8x7b": 46.70,
    "mixtral-8x22b": 140.6,
    "deepseek-v3": 671.0,
    "kimi-k2": 1026.0,
    "qwen3-30b-a3b": 30.53,
    "qwen3-235b-a22b": 235.1,
    "nemotron4-15b": 15.6,
    "nemotron4-340b": 341.0,
    "grok1-314b": 316.0,
}


@pytest.mark.parametrize(("name", "billions"), PUBLISHED.items())
def test_parameters_are_those_that_were_published(name: str, billions: float) -> None:
    assert parameters(preset(name)) == pytest.approx(billions * 1e9, rel=0.005)


@pytest.mark.parametrize(
    ("name", "billions"),
    [("mixtral-8x7b", 12.88), ("deepseek-v3", 37.5), ("qwen3-30b-a3b", 3.35), ("qwen3-235b-a22b", 22.2)],
)
def test_each_token_meets_the_active_parameters(name: str, billions: float) -> None:
    assert active_parameters(preset(name)) == pytest.approx(billions * 1e9, rel=0.01)


@given(layers=st.integers(1, 100), heads=st.integers(1, 96), vocab=st.integers(1, 200_000))
def test_gpt_has_the_parameters_of_megatrons_equation(layers: int, heads: int, vocab: int) -> None:
    hidden, sequence = 128 * heads, 2048
    # arXiv 2104.04473, equation 2; it leaves out the last norm's two vectors
    known = 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (vocab + sequence) / (12 * layers * hidden))
    assert parameters(gpt(layers, hidden, heads, vocab, sequence)) == pytest.approx(known + 2 * hidden, rel=1e-12)


@given(layers=st.integers(1, 100), heads=st.integers(1, 96), sequence=st.integers(1, 32768))
def test_operations_with_full_recomputation_are_those_of_megatrons_equation(
    layers: int, heads: int, sequence: int
) -> None:
    hidden, vocab, batch = 128 * heads, 51200, 8
    model = gpt(layers, hidden, heads, vocab, sequence)
    # arXiv 2104.04473, equation 3: F = 96 B s l h^2 (1 + s / 6h + V / 16lh), of which 24 B s l h^2 (...) once more
    known = 96 * batch * sequence * layers * hidden**2 * (1 + sequence / (6 * hidden) + vocab / (16 * layers * hidden))
    job = Training(model, sequence, batch, 1, recompute="full")
    assert hardware_flops(job) == pytest.approx(known, rel=1e-9)


def test_a_long_models_operations_tend_to_six_for_each_parameter_and_token() -> None:
    model = preset("llama3-405b")
    inner = parameters(model) - model.vocab * model.hidden  # a look-up in the embedding is no product
    assert model_flops(model, 1, 1e6) == pytest.approx(6 * inner * 1e6, rel=1e-3)


def test_causal_attention_needs_half_the_scores() -> None:
    model = preset("llama3-8b")
    scores = 3 * 4 * 8192 * model.hidden * model.layers
    full, half = (model_flops(model, 8192, 1, causal=causal) for causal in (False, True))
    assert full - half == pytest.approx(scores / 2)


@pytest.mark.parametrize(("expert", "tensor", "expert_tensor"), [(1, 1, 1), (8, 1, 1), (4, 2, 2), (8, 4, 1)])
def test_ranks_of_an_expert_group_compute_each_token_once(expert: int, tensor: int, expert_tensor: int) -> None:
    model = preset("mixtral-8x7b")
    split = Split(tensor, expert, expert_tensor)
    ranks = expert * expert_tensor
    # each rank of a tensor group has the same tokens, so `ranks` ranks have tokens x ranks / tensor between them
    together = sum(each.flops for each in feed_forward_products(model, 0, 4096, split)) * ranks
    alone = sum(each.flops for each in feed_forward_products(model, 0, 4096 * ranks / tensor))
    assert together == pytest.approx(alone, rel=1e-9)


def test_division_leaves_the_steps_operations_alone() -> None:
    model = preset("llama3-8b")
    split = Training(model, 8192, 128, 64, parallelism=Parallelism(tensor=8, pipeline=4))
    assert step_flops(split) == step_flops(Training(model, 8192, 128, 1))
