"""Memory of a GPU against Korthikanti et al. (arXiv 2205.05198) and the bytes of each parameter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.catalog import Catalog
from eastwest.workload.training.arithmetic import parameters
from eastwest.workload.training.description import Parallelism, Training
from eastwest.workload.training.memory import DoesNotFitError, check_fits, layer_activations, memory
from eastwest.workload.training.models import gpt, preset
from eastwest.workload.training.software import software

H100 = Catalog.bundled().gpu("h100-sxm")
OLD = software("megatron-2021")


def gpt_job(**figures: object) -> Training:
    """GPT-3 175B as in the paper's table 3: 8 tensor-parallel, 8 stages, one sequence a microbatch."""
    parallelism = Parallelism(tensor=8, pipeline=8, sequence_parallel=bool(figures.pop("sequence_parallel", True)))
    job = Training(gpt(96, 12288, 96, 51200, 2048), 2048, 64, 64, parallelism=parallelism, software=OLD)
    return replace(job, **figures)


# s b h = 2048 x 1 x 12288 elements, a s / h = 16, t = 8
SBH = 2048 * 12288


@pytest.mark.parametrize(
    ("sequence_parallel", "recompute", "factor"),
    [
        (False, "none", 10 + 24 / 8 + 5 * 16 / 8),
        (True, "none", 34 / 8 + 5 * 16 / 8),
        (False, "selective", 10 + 24 / 8),
        (True, "selective", 34 / 8),
        (False, "full", 2),
    ],
)
def test_a_layers_activations_are_those_of_the_papers_table_2(
    sequence_parallel: bool, recompute: str, factor: float
) -> None:
    job = gpt_job(sequence_parallel=sequence_parallel, recompute=recompute)
    assert layer_activations(job, 0) == pytest.approx(SBH * factor)


@given(heads=st.integers(1, 64), sequence=st.integers(128, 8192), batch=st.integers(1, 8))
def test_undivided_activations_are_the_papers_equation_1(heads: int, sequence: int, batch: int) -> None:
    hidden = 128 * heads
    job = Training(gpt(2, hidden, heads, 1000, sequence), sequence, batch, 1, batch, software=OLD)
    known = sequence * batch * hidden * (34 + 5 * heads * sequence / hidden)
    assert layer_activations(job, 0) == pytest.approx(known)


def test_the_first_of_p_stages_holds_p_microbatches() -> None:
    first, *_, last = memory(gpt_job(recompute="selective"))
    assert first.activations == pytest.approx(8 * last.activations)


def test_interleaving_holds_more_by_p_less_one_over_p_v() -> None:
    plain = gpt_job(recompute="selective")
    chunked = replace(plain, parallelism=replace(plain.parallelism, virtual=3, schedule="interleaved"))
    known = 1 + (8 - 1) / (8 * 3)  # arXiv 2205.05198, section 4.2.3
    assert memory(chunked)[0].activations / memory(plain)[0].activations == pytest.approx(known)


def test_a_parameter_takes_18_bytes_and_6_with_the_states_shared_by_all() -> None:
    model = preset("llama3-8b")
    alone = memory(Training(model, 8192, 64, 1))[0]
    assert alone.weights + alone.gradients + alone.optimizer == pytest.approx(18 * parameters(model), rel=1e-5)
    shared = memory(Training(model, 8192, 64, 64, parallelism=Parallelism(sharding="zero1")))[0]
    assert shared.optimizer == pytest.approx(alone.optimizer / 64)
    assert (shared.weights, shared.gradients) == (alone.weights, alone.gradients)


def test_hybrid_sharding_shares_within_the_group_only() -> None:
    model = preset("llama3-8b")
    hybrid = Training(model, 8192, 64, 64, parallelism=Parallelism(sharding="zero3", shard_group=8))
    assert memory(hybrid)[0].optimizer == pytest.approx(12 * parameters(model) / 8, rel=1e-5)


def test_a_mixture_of_experts_holds_its_share_of_experts() -> None:
    model = preset("deepseek-v3")
    held = [
        sum(
            each.weights
            for each in memory(Training(model, 4096, 2048, 512, parallelism=Parallelism(pipeline=8, expert=expert)))
        )
        for expert in (8, 64)
    ]
    # 58 layers of 256 experts of 3 x 7168 x 2048, and as many in the layer for a further token
    experts = 2.0 * 59 * 256 * 3 * 7168 * 2048
    assert held[0] - held[1] == pytest.approx(experts * (1 / 8 - 1 / 64))


def test_what_fits_is_let_through() -> None:
    # as trained: arXiv 2407.21783, section 3.3.2: no recomputation at 8K; optimizer states and gradients are shared
    job = Training(
        preset("llama3-405b"), 8192, 2048, 16384, parallelism=Parallelism(tensor=8, pipeline=16, sharding="zero2")
    )
    assert max(each.total for each in check_fits(job, H100)) < H100.memory_bytes


def test_what_does_not_fit_is_refused_with_how_much_and_what_would_help() -> None:
    job = Training(preset("llama3-70b"), 8192, 64, 8, parallelism=Parallelism(tensor=8))
    with pytest.raises(DoesNotFitError, match=r"GB more than h100-sxm has: try .*pipeline parallelism") as refused:
        check_fits(job, H100)
    assert refused.value.lacking == pytest.approx(memory(job)[0].total - H100.memory_bytes)
