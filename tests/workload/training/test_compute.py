"""Times of kernels, chunks and the update: bounds, limits and closed forms."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.catalog import Catalog
from eastwest.workload.training.arithmetic import Product, hardware_flops, parameters, step_flops
from eastwest.workload.training.compute import Measured, chunk_times, efficiency, update_seconds
from eastwest.workload.training.description import Parallelism, Training
from eastwest.workload.training.efficiency import (
    MEMORY,
    UnknownRateError,
    product_seconds,
    sustained_flops,
)
from eastwest.workload.training.models import gpt, preset
from eastwest.workload.training.software import software

CATALOG = Catalog.bundled()
H100 = CATALOG.gpu("h100-sxm")


@given(rows=st.integers(1, 20_000), inner=st.integers(1, 20_000), columns=st.integers(1, 20_000))
def test_no_product_is_faster_than_the_sustained_rate_or_the_memory(rows: int, inner: int, columns: int) -> None:
    product = Product(rows, inner, columns)
    least = product.flops / sustained_flops(H100, "bf16")
    moved = 2.0 * (rows * inner + inner * columns + rows * columns)
    assert product_seconds(product, H100, "bf16") >= max(least, moved / (H100.memory_bps / 8))


def test_large_products_tend_to_the_sustained_rate() -> None:
    product = Product(256 * 132, 65536, 128 * 64)
    assert product.flops / product_seconds(product, H100, "bf16") == pytest.approx(
        sustained_flops(H100, "bf16"), rel=0.02
    )


def test_one_row_more_than_a_wave_of_tiles_needs_another_wave() -> None:
    full, more = Product(256 * 12, 8192, 128 * 11), Product(256 * 12 + 1, 8192, 128 * 11)  # 132 tiles on 132 units
    assert product_seconds(more, H100, "bf16") > 1.2 * product_seconds(full, H100, "bf16")


# github.com/openxla/xla, matmul_interpolator_data.h, sm_90: m, n, k, batch, TFLOP/s of one GPU with nothing else to do
XLA = [
    (4096, 4096, 4096, 1, 783.3),
    (4096, 4096, 2048, 2, 763.0),
    (2048, 4096, 1024, 2, 678.7),
    (4096, 4096, 512, 4, 619.9),
    (4096, 4096, 256, 4, 503.9),
    (2048, 2048, 2048, 4, 725.7),
    (4096, 1024, 1024, 4, 673.8),
    (1024, 1024, 2048, 1, 350.0),
    (2048, 2048, 2048, 1, 632.0),
    (1024, 4096, 1024, 2, 596.5),
]


@pytest.mark.parametrize(("rows", "columns", "inner", "count", "known"), XLA)
def test_products_run_about_as_fast_as_xla_measured_them(
    rows: int, columns: int, inner: int, count: int, known: float
) -> None:
    alone = replace(H100, training_share=1.0)
    product = Product(rows, inner, columns, count)
    assert product.flops / product_seconds(product, alone, "bf16") / 1e12 == pytest.approx(known, rel=0.15)


def test_a_measured_rate_gives_the_operations_over_it() -> None:
    job = Training(gpt(24, 2048, 16, 51200, 2048), 2048, 4, 1)
    (times,) = chunk_times(job, H100, Measured(400e12))
    microbatch = step_flops(job) / job.microbatches
    embedding = 14 * 2048 * 2048 / (MEMORY * H100.memory_bps / 8) + 6e-6
    assert times.forward_s + times.backward_s == pytest.approx(microbatch / 400e12 + embedding)


def test_full_recomputation_adds_a_forward_pass_to_the_backward_pass() -> None:
    job = Training(gpt(24, 2048, 16, 51200, 2048), 2048, 4, 1)
    plain, again = (chunk_times(replace(job, recompute=each), H100, Measured(400e12))[0] for each in ("none", "full"))
    assert plain.forward_s == again.forward_s
    extra = (hardware_flops(replace(job, recompute="full")) - step_flops(job)) / job.microbatches / 400e12
    assert again.backward_input_s - plain.backward_input_s == pytest.approx(extra)


def test_a_share_of_the_peak_is_a_measured_rate() -> None:
    job = Training(preset("llama3-8b"), 8192, 8, 1, precision="fp8")
    assert efficiency(0.5, job, H100).flops == pytest.approx(0.5 * 1978.9e12)


def test_chunks_take_what_their_layers_take() -> None:
    model = gpt(24, 2048, 16, 51200, 2048)
    one = chunk_times(Training(model, 2048, 8, 1), H100)
    split = Parallelism(pipeline=4, virtual=3, schedule="interleaved")
    twelve = chunk_times(Training(model, 2048, 8, 4, parallelism=split), H100)
    assert len(twelve) == 12
    assert sum(each.forward_s for each in twelve) == pytest.approx(one[0].forward_s)
    assert sum(each.backward_weight_s for each in twelve) == pytest.approx(one[0].backward_weight_s)


def test_tensor_parallelism_divides_compute_but_never_wins_more_than_its_ranks() -> None:
    model = preset("llama3-70b")
    one, eight = (
        sum(
            each.forward_s for each in chunk_times(Training(model, 8192, 8, n, parallelism=Parallelism(tensor=n)), H100)
        )
        for n in (1, 8)
    )
    assert one / 8 <= eight < one / 6


def test_fewer_bits_are_faster_but_not_twice() -> None:
    wide, narrow = (
        chunk_times(Training(preset("llama3-8b"), 8192, 8, 1, precision=each), H100)[0].forward_s
        for each in ("bf16", "fp8")
    )
    assert wide / 2 < narrow < wide


def test_unfused_attention_is_slower() -> None:
    job = Training(gpt(24, 2048, 16, 51200, 8192), 8192, 4, 1)
    old = chunk_times(replace(job, software=software("megatron-2021")), H100)[0].forward_s
    assert old > 1.3 * chunk_times(job, H100)[0].forward_s


def test_the_update_moves_38_bytes_a_parameter_through_memory() -> None:
    model = preset("llama3-8b")
    known = 38 * parameters(model) / (MEMORY * H100.memory_bps / 8)
    assert update_seconds(Training(model, 8192, 8, 1), H100) == pytest.approx(known, rel=1e-3)


def test_sharded_states_are_updated_by_each_rank_for_its_share() -> None:
    model = preset("llama3-8b")
    sharded = Training(model, 8192, 64, 64, parallelism=Parallelism(sharding="zero3"))
    assert update_seconds(sharded, H100) == pytest.approx(
        update_seconds(Training(model, 8192, 8, 1), H100) / 64, rel=0.02
    )


def test_a_gpu_without_figures_is_refused_with_what_would_help() -> None:
    job = Training(preset("llama3-8b"), 8192, 8, 1)
    with pytest.raises(UnknownRateError, match="mi300x: give the rate that you measured"):
        chunk_times(job, CATALOG.gpu("mi300x"))
