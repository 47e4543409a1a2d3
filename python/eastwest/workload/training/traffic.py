"""What the ranks of a training job send each other: bytes of each exchange, for parts of a chunk's layers.

For one microbatch: what tensor, context and expert parallelism exchange within a pass, and what goes on to the next
stage. For one step: weights and their gradients. Not here: when it is sent, or beside what (`step`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from eastwest.workload.operations import CollectiveKind
from eastwest.workload.training.arithmetic import (
    Split,
    attention_products,
    feed_forward_products,
    score_widths,
)
from eastwest.workload.training.description import Training

ACTIVATION_BYTES = 2
"""Of an element that goes from rank to rank: activations and their gradients are sent in 16 bits also where products
are computed in 8 or 4, as Megatron-Core and DeepSpeed do."""
WEIGHT_BYTES = 2
"""Of a weight as it is gathered: 16 bits."""
GRADIENT_BYTES = 4
"""Of a weight's gradient as it is summed: 32 bits, as Megatron-Core has it with bf16 weights, and torchtitan."""
SCORE_BYTES = 4
"""Of a token's largest score, sum of scores and own score, which the loss needs from all ranks: 32 bits."""

Within = Literal["tensor", "context", "expert", "expert-tensor"]


@dataclass(frozen=True)
class Part:
    """Neighbouring layers of a chunk, with the embedding before or the logits after them where `has_` says so.

    `share` of the chunk's compute is theirs, taken to be even over its layers.
    """

    layers: range
    share: float
    has_embedding: bool = False
    has_logits: bool = False


@dataclass(frozen=True)
class Exchange:
    """`repeats` collectives of a microbatch within a pass, one after another, of `bytes` in all.

    Where one `is_beside`, the software runs it beside products of the same pass by default: Megatron hides the
    gradient's reduction and the input's second gathering behind the products that need neither.
    """

    within: Within
    kind: CollectiveKind
    bytes: float
    repeats: int
    is_beside: bool = False


def parts(training: Training, chunk: int, count: int) -> tuple[Part, ...]:
    """A chunk's layers in so many parts of about as many layers, or fewer, in the order of the forward pass."""
    layers = training.layers_of[chunk]
    count = max(min(count, len(layers)), 1)
    ends = [layers.start + len(layers) * number // count for number in range(count + 1)]
    return tuple(
        Part(
            layers=range(ends[number], ends[number + 1]),
            share=(ends[number + 1] - ends[number]) / len(layers) if layers else 1.0,
            has_embedding=chunk == 0 and number == 0,
            has_logits=chunk == training.chunks - 1 and number == count - 1,
        )
        for number in range(count)
    )


def forward(training: Training, part: Part) -> tuple[Exchange, ...]:
    """What ranks of a stage exchange in the forward pass of a microbatch."""
    found = [*_tensor_forward(training, part), *_context(training, part, 1, 0), *_experts(training, part)]
    return tuple(each for each in found if each.repeats)


def backward(training: Training, part: Part) -> tuple[Exchange, ...]:
    """What they exchange in the backward pass, whole layers' recomputation included."""
    again = forward(training, part) if training.recompute == "full" else ()
    found = [*_tensor_backward(training, part), *_context(training, part, 1, 1), *_experts(training, part)]
    return (*again, *(each for each in found if each.repeats))


def message_bytes(training: Training) -> float:
    """Bytes that each rank of a stage sends to the next for a microbatch, or back.

    Tensor-parallel ranks send a part each, also where all have the same activations, which the receivers then gather
    (arXiv 2104.04473, section 4.1).
    """
    return activation_bytes(training) / training.parallelism.tensor


def activation_bytes(training: Training) -> float:
    """Bytes of the activations between two layers, of one microbatch on the ranks of one tensor-parallel group."""
    return float(training.local_tokens * training.model.hidden * ACTIVATION_BYTES)


def gathered(training: Training) -> tuple[Exchange, ...]:
    """What receivers of a message gather from their tensor-parallel group: nothing where sequences are split there."""
    parallelism = training.parallelism
    if parallelism.tensor == 1 or parallelism.sequence_parallel:
        return ()
    return (Exchange("tensor", "all-gather", activation_bytes(training), 1),)


def weights(training: Training, part: Part) -> tuple[float, float]:
    """Parameters of a part on one rank, before any sharding: plain ones, and those of experts."""
    model, split, parallelism = training.model, Split.of(training), training.parallelism
    plain = of_experts = 0.0
    for layer in part.layers:
        whole = sum(each.weights for each in attention_products(model, 0, split))
        whole += sum(each.weights for each in feed_forward_products(model, layer, 0, split))
        routed = 0.0
        if model.experts is not None and model.has_experts(layer):
            matrices = 3 if model.gated else 2
            each = matrices * model.hidden * model.experts.ffn / parallelism.experts_tensor
            routed = model.experts.count / parallelism.expert * each
        plain += whole - routed
        of_experts += routed
    tables = int(part.has_embedding) + int(part.has_logits and not _shares_table(training))
    return plain + tables * model.vocab * model.hidden / parallelism.tensor, of_experts


def tied_parameters(training: Training) -> float:
    """Parameters of word embeddings that the first stage and the last both hold, on one rank; 0 where neither does."""
    model, parallelism = training.model, training.parallelism
    if not model.tied_embeddings or parallelism.pipeline == 1:
        return 0.0
    return model.vocab * model.hidden / parallelism.tensor


def _shares_table(training: Training) -> bool:
    """Whether logits use the embedding's table, which their own stage has already."""
    return training.model.tied_embeddings and training.parallelism.pipeline == 1


def _blocks(training: Training, part: Part) -> int:
    """Blocks of a part whose matrices are split over tensor-parallel ranks: attention, and what is no routed expert."""
    experts = training.model.experts
    has_shared = experts is not None and experts.shared_ffn > 0
    return sum(2 if has_shared or not training.model.has_experts(layer) else 1 for layer in part.layers)


def _tensor_forward(training: Training, part: Part) -> Iterator[Exchange]:
    parallelism, blocks, size = training.parallelism, _blocks(training, part), activation_bytes(training)
    if parallelism.tensor == 1:
        return
    if parallelism.sequence_parallel:
        gathers, scatters = blocks + int(part.has_logits), blocks + int(part.has_embedding)
        yield Exchange("tensor", "all-gather", gathers * size, gathers)
        yield Exchange("tensor", "reduce-scatter", scatters * size, scatters)
    else:
        sums = blocks + int(part.has_embedding)
        yield Exchange("tensor", "all-reduce", sums * size, sums)
    if part.has_logits:
        yield Exchange("tensor", "all-reduce", 3.0 * training.local_tokens * SCORE_BYTES, 3)


def _tensor_backward(training: Training, part: Part) -> Iterator[Exchange]:
    parallelism, blocks, size = training.parallelism, _blocks(training, part), activation_bytes(training)
    if parallelism.tensor == 1:
        return
    inputs = blocks + int(part.has_logits)
    if not parallelism.sequence_parallel:
        yield Exchange("tensor", "all-reduce", inputs * size, inputs, is_beside=True)
        return
    outputs = blocks + int(part.has_embedding)
    yield Exchange("tensor", "all-gather", outputs * size, outputs)
    yield Exchange("tensor", "all-gather", inputs * size, inputs, is_beside=True)
    yield Exchange("tensor", "reduce-scatter", inputs * size, inputs, is_beside=True)


def _context(training: Training, part: Part, gathers: int, scatters: int) -> Iterator[Exchange]:
    """Keys and values, which go round the context-parallel ranks; backward again, and their gradients."""
    model, parallelism = training.model, training.parallelism
    if parallelism.context == 1:
        return
    heads = max((model.heads if model.latent else model.kv_heads) / parallelism.tensor, 1)
    size = training.local_tokens * heads * sum(score_widths(model)) * ACTIVATION_BYTES * parallelism.context
    layers = len(part.layers)
    yield Exchange("context", "all-gather", gathers * layers * size, gathers * layers)
    yield Exchange("context", "reduce-scatter", scatters * layers * size, scatters * layers)


def _experts(training: Training, part: Part) -> Iterator[Exchange]:
    """Tokens to their experts and back; each copy of a token is sent by itself, or one to each rank that has some.

    Where every rank has all experts, or parts of all, the tokens of a tensor-parallel group are gathered instead.
    """
    model, parallelism = training.model, training.parallelism
    if model.experts is None:
        return
    layers = sum(map(model.has_experts, part.layers))
    own = activation_bytes(training) / parallelism.tensor
    if parallelism.expert > 1:
        own *= _sent(training)
        yield Exchange("expert", "all-to-all", 2 * layers * own, 2 * layers)
    if parallelism.experts_tensor > 1:
        size = own * parallelism.experts_tensor
        yield Exchange("expert-tensor", "all-gather", layers * size, layers)
        yield Exchange("expert-tensor", "reduce-scatter", layers * size, layers)


def _sent(training: Training) -> float:
    """Copies of a token that leave its rank: one for each expert, or each rank with some, experts picked evenly."""
    experts, ranks = training.model.experts, training.parallelism.expert
    if experts is None:
        return 0.0
    if not training.software.dispatches_once:
        return float(experts.active)
    return ranks * (1 - (1 - 1 / ranks) ** experts.active)
