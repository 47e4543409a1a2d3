"""A training job in a few figures: model, batch, precision, parallelism, recomputation, overlap; and what follows.

Plain values, checked against each other. Not here: what the job costs (`arithmetic`, `memory`, `compute`) or what its
ranks do in a step (`layout`, `pipeline`, `step`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from eastwest.workload.training.model import Model
from eastwest.workload.training.software import Software, software

Precision = Literal["bf16", "fp8", "mxfp8", "nvfp4"]
"""Of matrix products: `fp8` scales whole tensors, `mxfp8` blocks of 32 and `nvfp4` blocks of 16 elements."""
Schedule = Literal["1f1b", "interleaved", "zero-bubble"]
Sharding = Literal["none", "zero1", "zero2", "zero3"]
"""What data-parallel ranks share: optimizer states, also gradients, also weights (FSDP is zero3): arXiv 1910.02054."""
Recompute = Literal["none", "selective", "full"]
"""Activations computed again for the backward pass: none, those of attention scores, whole layers: arXiv 2205.05198."""


@dataclass(frozen=True)
class Parallelism:
    """How the job is divided, in ranks of a group; data parallelism takes what is left of the ranks.

    `tensor` splits matrices, with `sequence_parallel` also what lies between them (arXiv 2205.05198); `pipeline` the
    layers into stages, each in `virtual` chunks (interleaved); `context` the sequence; `expert` the experts, over
    ranks of the data- and context-parallel groups. `expert_tensor` splits each expert (None: as `tensor`).
    `shard_group` ranks share what `sharding` names, and the groups hold copies of each other (hybrid sharding);
    None: all data-parallel ranks share. With `sharding` zero1, the optimizer is Megatron's distributed one.
    """

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    expert_tensor: int | None = None
    virtual: int = 1
    schedule: Schedule = "1f1b"
    sequence_parallel: bool = True
    sharding: Sharding = "none"
    shard_group: int | None = None

    def __post_init__(self) -> None:
        for name in ("tensor", "pipeline", "context", "expert", "virtual"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: write a whole number of at least 1")
        if self.virtual > 1 and self.schedule != "interleaved":
            raise ValueError(
                f"{self.virtual} virtual chunks a stage need `schedule: interleaved`; {self.schedule} has one"
            )
        if self.virtual > 1 and self.pipeline == 1:
            raise ValueError(f"{self.virtual} virtual chunks a stage need a pipeline of 2 stages or more; it has 1")

    @property
    def experts_tensor(self) -> int:
        """Ranks that split each expert."""
        return self.tensor if self.expert_tensor is None else self.expert_tensor


@dataclass(frozen=True)
class Overlap:
    """Which communication runs beside compute.

    `gradients`: data-parallel reduction beside the last backward passes; `parameters`: gathering of sharded weights
    beside the first forward passes (with zero3, of the next layer beside this one); `pipeline`: messages between
    stages beside other microbatches; `tensor`: tensor-parallel collectives beside the products that feed them (split
    into chunks, as Transformer Engine's user buffers and PyTorch's async TP do); `context`: the exchange of keys and
    values beside attention; `experts`: dispatch and combine beside another microbatch's compute (DualPipe and alike).
    """

    gradients: bool = True
    parameters: bool = True
    pipeline: bool = True
    tensor: bool = False
    context: bool = True
    experts: bool = False


@dataclass(frozen=True)
class Training:
    """One training job on `ranks` GPUs.

    `sequence` in tokens; `global_batch` and `micro_batch` in sequences; a step trains one global batch. Raises
    `ValueError`, with what would be right, where the figures do not fit each other.
    """

    model: Model
    sequence: int
    global_batch: int
    ranks: int
    micro_batch: int = 1
    precision: Precision = "bf16"
    recompute: Recompute = "none"
    parallelism: Parallelism = field(default_factory=Parallelism)
    overlap: Overlap = field(default_factory=Overlap)
    software: Software = field(default_factory=lambda: software("megatron-core"))

    def __post_init__(self) -> None:
        for name in ("sequence", "global_batch", "micro_batch", "ranks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: write a whole number of at least 1")
        self._check_ranks()
        self._check_widths()
        self._check_experts()
        taken = self.micro_batch * self.data
        if self.global_batch % taken:
            fits = max(1, round(self.global_batch / taken)) * taken
            raise ValueError(
                f"a global batch of {self.global_batch} sequences cannot be cut into microbatches of "
                f"{self.micro_batch} on {self.data} data-parallel ranks: write a multiple of {taken}, such as {fits}"
            )

    def _check_ranks(self) -> None:
        p = self.parallelism
        if self.ranks % self.model_parallel:
            more = -(-self.ranks // self.model_parallel) * self.model_parallel
            raise ValueError(
                f"{self.ranks} ranks cannot be divided by tensor {p.tensor} x pipeline {p.pipeline} x context "
                f"{p.context} = {self.model_parallel}: use {more} ranks, or other sizes"
            )
        # the first chunk may have the embedding alone, the last the logits, as Llama 3's (arXiv 2407.21783, 3.3.2)
        if p.pipeline * p.virtual > self.model.layers + 2:
            raise ValueError(
                f"{self.model.layers} layers cannot fill pipeline {p.pipeline} x virtual {p.virtual} = "
                f"{p.pipeline * p.virtual} chunks: lower either"
            )
        if p.shard_group is not None and (p.sharding == "none" or self.data % p.shard_group):
            raise ValueError(
                f"a shard group of {p.shard_group} ranks needs a sharding (zero1 to zero3) and a number that divides "
                f"the {self.data} data-parallel ranks"
            )

    def _check_widths(self) -> None:
        p, model = self.parallelism, self.model
        if model.heads % p.tensor:
            raise ValueError(
                f"tensor {p.tensor} cannot divide the {model.heads} attention heads of {model.name}: "
                f"write a divisor of {model.heads}"
            )
        if p.tensor > 1 and p.sequence_parallel and self.sequence % (p.tensor * p.context):
            raise ValueError(
                f"a sequence of {self.sequence} tokens cannot be divided by tensor {p.tensor} x context {p.context}, "
                f"which sequence parallelism needs: lengthen it, or write `sequence_parallel: false`"
            )
        if p.context > 1 and self.sequence % (2 * p.context):
            raise ValueError(
                f"a sequence of {self.sequence} tokens cannot be cut into 2 x context {p.context} pieces, which "
                f"balanced causal attention needs: write a multiple of {2 * p.context}"
            )

    def _check_experts(self) -> None:
        p, experts = self.parallelism, self.model.experts
        if experts is None:
            if p.expert > 1:
                raise ValueError(f"expert {p.expert} needs a model with experts; {self.model.name} has none")
            return
        if experts.count % p.expert:
            raise ValueError(
                f"expert {p.expert} cannot divide the {experts.count} experts of {self.model.name}: "
                f"write a divisor of {experts.count}"
            )
        taken = p.expert * p.experts_tensor * p.pipeline
        if self.ranks % taken:
            raise ValueError(
                f"{self.ranks} ranks cannot be divided by expert {p.expert} x expert_tensor {p.experts_tensor} x "
                f"pipeline {p.pipeline} = {taken}: use a multiple of {taken}, or other sizes"
            )

    @property
    def model_parallel(self) -> int:
        """Ranks that hold one copy of the model between them, context-parallel ones included."""
        return self.parallelism.tensor * self.parallelism.pipeline * self.parallelism.context

    @property
    def data(self) -> int:
        """Data-parallel ranks: copies of the model, each with its own sequences."""
        return self.ranks // self.model_parallel

    @property
    def expert_data(self) -> int:
        """Ranks that hold the same experts."""
        p = self.parallelism
        return self.ranks // (p.expert * p.experts_tensor * p.pipeline)

    @property
    def shared_by(self) -> int:
        """Ranks that share what `sharding` names of the plain layers: data- and context-parallel ones, or a group."""
        p = self.parallelism
        if p.sharding == "none":
            return 1
        return (p.shard_group or self.data) * p.context

    @property
    def experts_shared_by(self) -> int:
        """Ranks that share what `sharding` names of the experts."""
        if self.parallelism.sharding == "none":
            return 1
        return max(1, self.expert_data * self.shared_by // (self.data * self.parallelism.context))

    @property
    def microbatches(self) -> int:
        """Microbatches that each data-parallel rank trains in a step: the number of gradient accumulations."""
        return self.global_batch // (self.micro_batch * self.data)

    @property
    def tokens(self) -> int:
        """Tokens of a step."""
        return self.global_batch * self.sequence

    @property
    def local_tokens(self) -> int:
        """Tokens of one microbatch on one context-parallel rank."""
        return self.micro_batch * self.sequence // self.parallelism.context

    @property
    def chunks(self) -> int:
        """Chunks of layers in the pipeline: stages x virtual."""
        return self.parallelism.pipeline * self.parallelism.virtual

    @cached_property
    def layers_of(self) -> tuple[range, ...]:
        """Layers (from 0) of each chunk in the order of the forward pass; chunk c is on stage c % pipeline.

        Where the layers cannot be divided evenly, the last and the first chunks have fewer, since they also have the
        logits and the embedding (so arXiv 2407.21783, section 3.3.2).
        """
        chunks, layers = self.chunks, self.model.layers
        most = -(-layers // chunks)
        fewer = most * chunks - layers
        spared = {chunks - 1 - i // 2 if i % 2 == 0 else i // 2 for i in range(fewer)}
        found, start = [], 0
        for chunk in range(chunks):
            end = start + most - (chunk in spared)
            found.append(range(start, end))
            start = end
        return tuple(found)
