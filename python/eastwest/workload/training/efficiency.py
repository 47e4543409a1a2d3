"""How fast a GPU computes: a roofline whose efficiency depends on the operation and its size.

Matrix products run at the rate that the GPU sustains, less what uneven tiles and the writing of results take; attention
at its kernel's rate; all else at the memory's bandwidth. Not here: which operations a model has (`compute`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from eastwest.catalog import Gpu
from eastwest.document import parse
from eastwest.workload.training.arithmetic import Product
from eastwest.workload.training.description import Precision
from eastwest.workload.training.software import AttentionKernel

TILES = ((256, 128, 1.0), (128, 256, 1.0), (128, 128, 0.92), (128, 64, 0.75), (64, 128, 0.75), (64, 64, 0.55))
"""Tiles of the result that kernels choose from, with the rate that each leaves of the best.

Smaller ones read more for each operation. Estimates, from products of few tiles in XLA's table of measured rates
(github.com/openxla/xla, xla/service/gpu/model/matmul_interpolator_data.h, sm_90).
"""
EPILOGUE = 0.65
"""Part of the time to write a product's result that nothing hides.

From rates by inner dimension, 4096 x 4096: on H100 in bf16 504, 620, 763 TFLOP/s at 256, 512, 2048 (XLA's table, as
above); on H800 in fp8, 8192 x 8192, 569, 858, 1343 at the same (github.com/tile-ai/tilelang, benchmark/matmul_fp8).
"""
MEMORY = 0.85
"""Part of the memory's bandwidth that simple kernels reach: BabelStream's triad has 0.86 on A100 and 0.92 on H100."""
LAUNCH_S = 3e-6
"""Time between the end of one kernel and the full speed of the next, s: the rates of XLA's table at small sizes."""
RAMP = 330
"""Tokens of sequence at which a fused attention kernel has half its rate: from 512 to 16k tokens (arXiv 2407.08608)."""


@dataclass(frozen=True)
class KernelRate:
    """Parts of the bf16 peak that an attention kernel reaches on one generation of GPUs."""

    forward: float
    backward: float
    source: str = ""


class UnknownRateError(ValueError):
    """A GPU without the figures that the arithmetic needs."""

    def __init__(self, gpu: Gpu, lacking: str) -> None:
        super().__init__(
            f"the catalogue has no {lacking} for {gpu.name}: give the rate that you measured, in FLOP/s for each GPU, "
            f"or add the figure to an own entry"
        )


@lru_cache(maxsize=1)
def _kernels() -> Mapping[str, Mapping[str, Any]]:
    resource = files("eastwest.workload.training") / "attention.yaml"
    kernels: Mapping[str, Mapping[str, Any]] = parse(resource.read_bytes(), "attention.yaml").data["kernels"]
    return kernels


def kernel_rate(kernel: AttentionKernel, gpu: Gpu) -> KernelRate:
    """What a fused attention kernel reaches on a GPU. Raises `UnknownRateError`."""
    found = _kernels()[kernel]
    if gpu.architecture is None or gpu.architecture not in found:
        raise UnknownRateError(gpu, f"rate of the attention kernel {kernel}")
    return KernelRate(**found[gpu.architecture])


def peak_flops(gpu: Gpu, precision: Precision) -> float:
    """Dense peak of matrix products, FLOP/s. Raises `UnknownRateError`."""
    found = {"bf16": gpu.bf16_flops, "nvfp4": gpu.fp4_flops}.get(precision, gpu.fp8_flops)
    if found is None:
        raise UnknownRateError(gpu, f"peak rate in {precision}")
    return found


def sustained_flops(gpu: Gpu, precision: Precision) -> float:
    """What large matrix products sustain while the whole server trains, FLOP/s. Raises `UnknownRateError`."""
    found = {"bf16": gpu.bf16_sustained_flops, "nvfp4": gpu.fp4_sustained_flops}.get(precision, gpu.fp8_sustained_flops)
    share = gpu.training_share if precision == "bf16" else gpu.training_fp8_share
    if found is None or share is None:
        raise UnknownRateError(gpu, f"sustained rate in {precision}")
    return found * share


def product_seconds(product: Product, gpu: Gpu, precision: Precision, software_rate: float = 1.0) -> float:
    """Time of one kernel that computes all of a product's matrices.

    The result's tiles are dealt out to multiprocessors in waves, the last of which may be nearly empty; each tile size
    trades fewer waves for a lower rate, and the best is taken. Then results are written. `software_rate` is what the
    software's kernels reach of the GPU's rate. Raises `UnknownRateError`.
    """
    if product.flops <= 0:
        return 0.0
    if gpu.sms is None:
        raise UnknownRateError(gpu, "number of multiprocessors")
    rate = sustained_flops(gpu, precision) * software_rate
    outputs = product.rows * product.columns * product.count
    best = min(_waves_seconds(product, gpu.sms, rate, *tile) for tile in TILES)
    moved = product.weights + product.rows * product.inner * product.count
    read = moved * BYTES[precision] / (MEMORY * gpu.memory_bps / 8)
    written = outputs * 2.0 / (gpu.memory_bps / 8)
    return max(best + EPILOGUE * written, read + written) + LAUNCH_S


BYTES: Mapping[str, float] = {"bf16": 2.0, "fp8": 1.0, "mxfp8": 1.0, "nvfp4": 0.5}
"""Bytes of an element of a matrix product's inputs, by precision."""


def _waves_seconds(product: Product, sms: int, rate: float, high: int, wide: int, quality: float) -> float:
    tiles = product.count * math.ceil(product.rows / high) * math.ceil(product.columns / wide)
    waves = math.ceil(tiles / sms)
    return waves * sms * 2.0 * high * wide * product.inner / (rate * quality)


def memory_seconds(moved_bytes: float, gpu: Gpu, kernels: float = 1.0) -> float:
    """Time of kernels that only read and write memory, so many bytes between them."""
    return moved_bytes / (MEMORY * gpu.memory_bps / 8) + kernels * LAUNCH_S


def attention_seconds(flops: float, sequence: float, rate: float, gpu: Gpu) -> float:
    """Time of a fused attention kernel: operations counted with the causal half left out, sequence in tokens."""
    return flops / (gpu.bf16_flops * rate * sequence / (sequence + RAMP)) + LAUNCH_S
