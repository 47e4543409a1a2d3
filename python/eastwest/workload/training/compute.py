"""Compute times of a training job's pipeline chunks and of its update, from models, GPU and software.

One microbatch on one GPU, with no communication in it. Not here: when each chunk runs (`pipeline`) or what is exchanged
(`step`).
"""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.catalog import Gpu
from eastwest.workload.training.arithmetic import (
    Product,
    Split,
    attention_products,
    feed_forward_products,
    layer_flops,
    logits_product,
    score_widths,
    scores_flops,
)
from eastwest.workload.training.description import Training
from eastwest.workload.training.efficiency import (
    attention_seconds,
    kernel_rate,
    memory_seconds,
    peak_flops,
    product_seconds,
)
from eastwest.workload.training.memory import stage_parameters


@dataclass(frozen=True)
class Times:
    """Seconds of compute: forward, gradients of inputs (with what is computed again), gradients of weights."""

    forward_s: float = 0.0
    backward_input_s: float = 0.0
    backward_weight_s: float = 0.0

    def __add__(self, other: Times) -> Times:
        return Times(
            self.forward_s + other.forward_s,
            self.backward_input_s + other.backward_input_s,
            self.backward_weight_s + other.backward_weight_s,
        )

    @property
    def backward_s(self) -> float:
        """Seconds of the whole backward pass."""
        return self.backward_input_s + self.backward_weight_s


@dataclass(frozen=True)
class Measured:
    """A rate that someone measured, which then rules all compute: model operations a second of a GPU that computes.

    Operations are counted as `arithmetic.layer_flops` does without a causal mask; what is computed again comes on top.
    """

    flops: float


def chunk_times(training: Training, gpu: Gpu, measured: Measured | None = None) -> tuple[Times, ...]:
    """Times of one microbatch in each chunk, in the order of the forward pass; chunk c is on stage c % pipeline.

    The first has the embedding, the last the logits and the loss. Raises `UnknownRateError` for a GPU without figures.
    """
    known: dict[bool, Times] = {}

    def layer(index: int) -> Times:
        kind = training.model.has_experts(index)
        if kind not in known:
            known[kind] = _measured(training, index, measured) if measured else layer_times(training, index, gpu)
        return known[kind]

    found = []
    for chunk, layers in enumerate(training.layers_of):
        times = Times()
        for each in layers:
            times += layer(each)
        if chunk == 0:
            times += _embedding(training, gpu)
        if chunk == training.chunks - 1:
            times += _ends(training, gpu, measured, layer(training.model.layers - 1))
        found.append(times)
    return tuple(found)


def efficiency(share: float, training: Training, gpu: Gpu) -> Measured:
    """A measured rate given as a share of the GPU's peak. Raises `UnknownRateError`."""
    return Measured(share * peak_flops(gpu, training.precision))


def update_seconds(training: Training, gpu: Gpu) -> float:
    """Time of the optimizer's update on the busiest GPU: Adam in 32 bits, bound by memory.

    Each parameter that the GPU updates has its gradient read twice (the norm first), moments and main copy read and
    written, and its bf16 weight written: 8 + 24 + 2 bytes; each that it holds has its gradient cleared: 4 bytes.
    """
    experts, others = max(stage_parameters(training), key=sum)
    updated = experts / training.experts_shared_by + others / training.shared_by
    held = updated if training.parallelism.sharding in ("zero2", "zero3") else experts + others
    return memory_seconds(34.0 * updated + 4.0 * held, gpu)


def layer_times(training: Training, layer: int, gpu: Gpu) -> Times:
    """Times of one layer (from 0) for one microbatch. Raises `UnknownRateError`."""
    model, split, tokens = training.model, Split.of(training), float(training.local_tokens)
    products = (
        *attention_products(model, tokens, split),
        *feed_forward_products(model, layer, tokens, split),
    )
    times = Times()
    for each in products:
        times += _product_times(each, training, gpu)
    times += _scores(training, gpu) + _between(training, layer, gpu)
    if training.recompute == "full":
        times += Times(0.0, times.forward_s, 0.0)
    return times


def _product_times(product: Product, training: Training, gpu: Gpu) -> Times:
    """Forward, and the two products of the backward pass: by the weights, and by the inputs."""
    rows, inner, columns, count = product.rows, product.inner, product.columns, product.count
    precision, rate = training.precision, training.software.rate
    return Times(
        product_seconds(product, gpu, precision, rate),
        product_seconds(Product(rows, columns, inner, count), gpu, precision, rate),
        product_seconds(Product(inner, rows, columns, count), gpu, precision, rate),
    )


def _scores(training: Training, gpu: Gpu) -> Times:
    """Attention's inner products: in one kernel, or as products with the scores in memory between them."""
    model, tensor = training.model, training.parallelism.tensor
    tokens, kernel = float(training.local_tokens), training.software.attention
    if kernel == "unfused":
        return _unfused(training, gpu)
    rate = kernel_rate(kernel, gpu)
    flops = scores_flops(model, training.sequence, tokens, causal=True) / tensor
    near = training.sequence / training.parallelism.context
    return Times(
        attention_seconds(flops, near, rate.forward * training.software.rate, gpu),
        attention_seconds(2.5 * flops, near, rate.backward * training.software.rate, gpu),
    )


def _unfused(training: Training, gpu: Gpu) -> Times:
    """Scores in memory: two products, and one kernel each for softmax and dropout.

    A score is written and read four times in 2 bytes forward, with a byte of dropout's mask, and some six times
    backward (arXiv 2205.05198, section 4.1, names what is kept).
    """
    model, p = training.model, training.parallelism
    heads = training.micro_batch * model.heads // p.tensor
    key, value = score_widths(model)
    rows = training.sequence / p.context
    scores = Product(rows, key, training.sequence, heads)
    sums = Product(rows, training.sequence, value, heads)
    written = rows * training.sequence * heads
    forward = sum(product_seconds(each, gpu, "bf16") for each in (scores, sums))
    backward = 2 * forward
    forward += memory_seconds(9.0 * written, gpu, 2)
    backward += memory_seconds(11.0 * written, gpu, 2)
    again = forward if training.recompute == "selective" else 0.0
    return Times(forward, backward + again)


def _between(training: Training, layer: int, gpu: Gpu) -> Times:
    """What lies between matrix products: two norms, two residuals, rotation and activation, in 2-byte elements.

    A norm reads and writes once forward and moves three times as much as its input backward; a residual reads two and
    writes one; rotation reads and writes queries and keys; an activation reads its inputs and writes its output.
    8-bit and 4-bit inputs are cast: read in 2 bytes and written twice, plain and transposed; in 4 bits with passes for
    the tensor's scale and for its rotation (arXiv 2509.25149), some twice as much. Experts' tokens are gathered and
    scattered, read and written each time.
    """
    model, p = training.model, training.parallelism
    tokens, hidden = float(training.local_tokens), model.hidden
    near = tokens / (p.tensor if p.sequence_parallel else 1)
    outer = near * hidden
    rotated = 0.0 if model.positions else tokens * (model.heads + model.kv_heads) * model.head_dim / p.tensor
    inner, copies = _activated(training, layer)
    ins = 2 if model.gated else 1
    forward = 10 * outer + 2 * rotated + (ins + 1) * inner + 4 * copies
    backward = 12 * outer + 2 * rotated + (2 * ins + 1) * inner + 4 * copies
    kernels = 7 + (4 if copies else 0)
    if training.precision != "bf16":
        inputs = 2 * tokens * hidden + tokens * model.heads * model.head_dim / p.tensor + inner
        outputs = tokens * (model.heads + 2 * model.kv_heads) * model.head_dim / p.tensor + 2 * tokens * hidden
        casts = 2 if training.precision == "nvfp4" else 1
        forward += casts * inputs
        backward += casts * 2 * (outputs + ins * inner)
        kernels += 4
    passes = 2.0 * training.software.passes
    return Times(memory_seconds(passes * forward, gpu, kernels), memory_seconds(passes * backward, gpu, kernels))


def _activated(training: Training, layer: int) -> tuple[float, float]:
    """Elements that the activation writes, and elements of tokens' copies for experts, on one GPU."""
    model, p, tokens = training.model, training.parallelism, float(training.local_tokens)
    experts = model.experts if model.has_experts(layer) else None
    if experts is None:
        return tokens * model.ffn / p.tensor, 0.0
    copies = tokens * experts.active * p.experts_tensor / p.tensor
    shared = tokens * experts.shared_ffn / p.tensor
    return copies * experts.ffn / p.experts_tensor + shared, copies * model.hidden


def _embedding(training: Training, gpu: Gpu) -> Times:
    """Rows looked up forward, their gradients added up in 4 bytes backward."""
    elements = float(training.local_tokens) * training.model.hidden
    return Times(memory_seconds(4.0 * elements, gpu), 0.0, memory_seconds(10.0 * elements, gpu))


def _ends(training: Training, gpu: Gpu, measured: Measured | None, last: Times) -> Times:
    """Logits and loss, once for the model and once for each further predicted token with its own layer.

    Some 7 tenths of the loss's memory traffic is forward's (38 of 52 bytes a logit where nothing is fused).
    """
    model, split, tokens = training.model, Split.of(training), float(training.local_tokens)
    product = logits_product(model, tokens, split)
    if measured:
        each = product.flops / measured.flops
        logits = Times(each, each, each)
    else:
        logits = _product_times(product, training, gpu)
        written = tokens * model.vocab / split.tensor
        traffic = written * training.software.loss_bytes
        logits += Times(memory_seconds(0.7 * traffic, gpu, 3), memory_seconds(0.3 * traffic, gpu))
    times = logits
    for _ in range(model.predicted_tokens):
        times += logits + last
    return times


def _measured(training: Training, layer: int, measured: Measured) -> Times:
    p = training.parallelism
    flops = layer_flops(training.model, layer, training.sequence, training.local_tokens, causal=False) / p.tensor
    each = flops / measured.flops
    scores = scores_flops(training.model, training.sequence, training.local_tokens, causal=False) / p.tensor
    again = {"none": 0.0, "full": each}.get(training.recompute, scores / measured.flops)
    return Times(each, each + again, each)
