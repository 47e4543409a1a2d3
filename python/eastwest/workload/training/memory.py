"""Memory of one GPU in a training job: weights, gradients, optimizer states, activations; and whether it fits.

Activations after Korthikanti et al. (arXiv 2205.05198). Not counted: the CUDA context, communication buffers and
fragmentation, some gigabytes a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from eastwest.catalog import Gpu
from eastwest.workload.training.arithmetic import Split, embedding_parameters, layer_parameters
from eastwest.workload.training.description import Training

_GB = 1e9


@dataclass(frozen=True)
class StageMemory:
    """Bytes of one GPU of a pipeline stage. `logits` is what the loss needs beside everything else."""

    stage: int
    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float

    @property
    def total(self) -> float:
        """Bytes in all."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits


class DoesNotFitError(ValueError):
    """A job that needs more memory than its GPUs have; `lacking` in bytes, `stage` the fullest."""

    def __init__(self, message: str, lacking: float, stage: int) -> None:
        super().__init__(message)
        self.lacking = lacking
        self.stage = stage


def stage_parameters(training: Training) -> tuple[tuple[float, float], ...]:
    """Parameters that one GPU of each stage holds, in 1 / tensor: those of experts, and all others."""
    model, split = training.model, Split.of(training)
    found = [[0.0, 0.0] for _ in range(training.parallelism.pipeline)]
    for chunk, layers in enumerate(training.layers_of):
        held = found[chunk % training.parallelism.pipeline]
        for layer in layers:
            experts, others = layer_parameters(model, layer, split)
            held[0] += experts
            held[1] += others
    found[0][1] += embedding_parameters(model, split)
    if not model.tied_embeddings or training.parallelism.pipeline > 1:
        found[-1][1] += model.vocab * model.hidden / split.tensor
    for _ in range(model.predicted_tokens):
        experts, others = layer_parameters(model, model.layers - 1, split)
        found[-1][0] += experts
        found[-1][1] += others + 2 * model.hidden**2
    return tuple((experts, others) for experts, others in found)


def memory(training: Training) -> tuple[StageMemory, ...]:
    """Bytes of one GPU of each pipeline stage, at its fullest.

    A parameter has 2 bytes of weight, 4 of gradient and 12 of optimizer (main copy and Adam's two moments), of which a
    GPU holds its share by `sharding`. With zero3 two layers' gathered weights and one's gradient stand beside.
    """
    p, split = training.parallelism, Split.of(training)
    found = []
    in_flight = _in_flight(training)
    most = max(range(training.model.layers), key=lambda each: sum(layer_parameters(training.model, each, split)))
    gathered = sum(layer_parameters(training.model, most, split))
    for stage, (experts, others) in enumerate(stage_parameters(training)):
        whole = experts + others
        shared = experts / training.experts_shared_by + others / training.shared_by
        last = stage == p.pipeline - 1
        found.append(
            StageMemory(
                stage=stage,
                weights=2.0 * (shared + 2 * gathered if p.sharding == "zero3" else whole),
                gradients=4.0 * (shared if p.sharding in ("zero2", "zero3") else whole)
                + (2.0 * gathered if p.sharding == "zero3" else 0.0),
                optimizer=12.0 * (shared if p.sharding != "none" else whole),
                activations=in_flight[stage],
                # scores in 4 bytes, and their gradient in 2 (arXiv 2205.05198, section 4.3, counts the first)
                logits=6.0 * training.local_tokens * training.model.vocab / p.tensor if last else 0.0,
            )
        )
    return tuple(found)


def check_fits(training: Training, gpu: Gpu) -> tuple[StageMemory, ...]:
    """The memory of each stage. Raises `DoesNotFitError`, which says what would help."""
    found = memory(training)
    fullest = max(found, key=lambda each: each.total)
    if fullest.total <= gpu.memory_bytes:
        return found
    lacking = fullest.total - gpu.memory_bytes
    parts = {
        "weights": fullest.weights,
        "gradients": fullest.gradients,
        "optimizer states": fullest.optimizer,
        "activations": fullest.activations,
        "logits": fullest.logits,
    }
    shown = ", ".join(f"{name} {size / _GB:.1f} GB" for name, size in parts.items() if size)
    raise DoesNotFitError(
        f"a GPU of stage {fullest.stage} needs {fullest.total / _GB:.1f} GB ({shown}), {lacking / _GB:.1f} GB more "
        f"than {gpu.name} has: {_remedy(training, fullest)}",
        lacking,
        fullest.stage,
    )


def layer_activations(training: Training, layer: int) -> float:
    """Bytes that one microbatch leaves in one layer until its backward pass (arXiv 2205.05198, section 4).

    For GPT with a microbatch of b sequences: s b h (34 + 5 a s / h) bytes, over tensor-parallel ranks with sequence
    parallelism; 10 of the 34 are on every rank without it. Fused attention and selective recomputation keep no scores.
    """
    model, p = training.model, training.parallelism
    tokens, t = float(training.local_tokens), p.tensor
    hidden = tokens * model.hidden / (t if p.sequence_parallel else 1)
    if training.recompute == "full":
        return 2.0 * hidden
    stored = 2.0 if training.precision == "bf16" else 1.0  # of inputs that only products need again
    masks = 2.0 if model.biased else 0.0  # dropout's, a byte an element; newer models have none
    total = hidden * (4.0 + 2 * stored + masks)  # two norms' inputs, two products' inputs
    total += 2.0 * tokens * (model.heads + model.kv_heads) * model.head_dim / t  # queries, keys
    key_width = model.kv_heads * (model.latent.value_dim if model.latent else model.head_dim)
    value_width = model.heads * (model.latent.value_dim if model.latent else model.head_dim)
    total += 2.0 * tokens * (key_width + value_width) / t  # values, attention's output
    if training.software.attention == "unfused" and training.recompute == "none":
        total += 5.0 * training.micro_batch * model.heads / t * training.sequence**2 / p.context
    return total + _feed_forward_activations(training, layer, stored)


def _feed_forward_activations(training: Training, layer: int, stored: float) -> float:
    """The activation's inputs and output; of experts also the gathered copies of tokens."""
    model, p, tokens = training.model, training.parallelism, float(training.local_tokens)
    width = (4.0 if model.gated else 2.0) + stored
    if not model.has_experts(layer) or model.experts is None:
        return width * tokens * model.ffn / p.tensor
    experts = model.experts
    copies = tokens * experts.active * p.experts_tensor / p.tensor
    found = copies * (width * experts.ffn / p.experts_tensor + stored * model.hidden)
    return found + width * tokens * experts.shared_ffn / p.tensor


def _in_flight(training: Training) -> tuple[float, ...]:
    """Activations of each stage at its fullest: microbatches that have gone forward and not yet back.

    1F1B: stage s of p holds p - s; interleaved with v chunks: 2 (p - s - 1) + (v - 1) p + 1 chunks
    (arXiv 2205.05198, section 4.2.3); ZB-H1 holds p on each (arXiv 2401.10241, section 2.2).
    """
    p = training.parallelism
    most = training.microbatches * p.virtual
    found = []
    for stage in range(p.pipeline):
        chunks = [training.layers_of[each * p.pipeline + stage] for each in range(p.virtual)]
        each = sum(layer_activations(training, layer) for chunk in chunks for layer in chunk) / p.virtual
        if p.schedule == "zero-bubble":
            flying = p.pipeline
        elif p.virtual > 1:
            flying = 2 * (p.pipeline - stage - 1) + (p.virtual - 1) * p.pipeline + 1
        else:
            flying = p.pipeline - stage
        flying = min(flying, most)
        found.append(each * flying + _working(training))
    return tuple(found)


def _working(training: Training) -> float:
    """With full recomputation, one layer's activations at a time, whole."""
    if training.recompute != "full":
        return 0.0
    plain = replace(training, recompute="none")
    return max(layer_activations(plain, each) for each in {0, training.model.layers - 1})


def _remedy(training: Training, fullest: StageMemory) -> str:
    p = training.parallelism
    ways = []
    if p.sharding == "none" and training.data > 1:
        ways.append("`sharding: zero1` (a distributed optimizer)")
    elif p.sharding != "zero3" and fullest.weights + fullest.gradients > fullest.total / 2 and p.pipeline == 1:
        ways.append("`sharding: zero3`")
    if fullest.activations + fullest.logits > fullest.total / 3:
        if training.micro_batch > 1:
            ways.append("a smaller microbatch")
        if training.recompute != "full":
            ways.append("`recompute: full`")
        if p.tensor > 1 and not p.sequence_parallel:
            ways.append("`sequence_parallel: true`")
        ways.append("more context parallelism")
    if training.model.experts and p.expert < training.model.experts.count:
        ways.append("more expert parallelism")
    ways.append("more tensor or pipeline parallelism")
    return "try " + ", ".join(ways[:-1]) + (" or " if len(ways) > 1 else "") + ways[-1]
