"""A training job as a study file describes it. What its figures come to is `eastwest.workload.training`'s matter."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag, WithJsonSchema, model_validator

from eastwest import units
from eastwest.document import nearest
from eastwest.spec.datapath import AroundSteps, Sizes
from eastwest.spec.values import Count, Entry, Json, Name, refuse
from eastwest.workload import training
from eastwest.workload.training import Experts, LatentAttention, Model, Precision, Recompute, Schedule, Sharding
from eastwest.workload.training.stored import checkpoint_bytes, token_bytes


class Latent(Entry):
    """Multi-head latent attention, by its ranks and widths."""

    query_rank: Count
    """Rank through which queries come."""
    kv_rank: Count
    """Rank through which keys and values come."""
    head_dim: Count
    """Elements of a head's query and key without position."""
    rope_dim: Count
    """Elements of them that bear the position."""
    value_dim: Count
    """Elements of a head's value."""


class ExpertFigures(Entry):
    """Experts in place of feed-forward blocks."""

    count: Count
    """Experts of a layer."""
    active: Count
    """Experts that each token goes to."""
    ffn: Count
    """Inner width of an expert."""
    shared_ffn: Annotated[int, Strict(), Field(ge=0)] = 0
    """Inner width of all experts together that every token passes."""
    dense_layers: Annotated[int, Strict(), Field(ge=0)] = 0
    """First layers that have a plain feed-forward block instead."""


class ModelFigures(Entry):
    """A decoder-only transformer by its figures."""

    name: Name = "model"
    """What reports call it."""
    layers: Count
    """Layers."""
    hidden: Count
    """Width of a token between layers."""
    ffn: Count
    """Inner width of the feed-forward block."""
    vocab: Count
    """Entries of the vocabulary."""
    heads: Count
    """Attention heads."""
    kv_heads: Count | None = None
    """Heads of keys and values; as many as heads where left out."""
    head_dim: Count | None = None
    """Elements of a head; hidden over heads where left out."""
    gated: Annotated[bool, Strict()] = True
    """Whether feed-forward blocks have three matrices (SwiGLU), not two."""
    tied_embeddings: Annotated[bool, Strict()] = False
    """Whether the logits use the embedding's table."""
    biased: Annotated[bool, Strict()] = False
    """Whether matrices have biases, as GPT-3's."""
    positions: Annotated[int, Strict(), Field(ge=0)] = 0
    """Learned positions; 0 for rotary ones."""
    latent: Latent | None = None
    """Multi-head latent attention in place of grouped queries."""
    experts: ExpertFigures | None = None
    """Experts in place of feed-forward blocks."""

    @model_validator(mode="after")
    def _fits(self) -> ModelFigures:
        if self.head_dim is None and self.hidden % self.heads:
            raise refuse(f"{self.heads} heads do not divide a width of {self.hidden}: state head_dim", at="heads")
        try:
            _ = self.model
        except ValueError as error:
            raise refuse(str(error)) from None
        return self

    @property
    def model(self) -> Model:
        """The model of these figures."""
        return Model(
            name=self.name,
            layers=self.layers,
            hidden=self.hidden,
            ffn=self.ffn,
            vocab=self.vocab,
            heads=self.heads,
            kv_heads=self.kv_heads or self.heads,
            head_dim=self.head_dim or self.hidden // self.heads,
            gated=self.gated,
            tied_embeddings=self.tied_embeddings,
            biased=self.biased,
            positions=self.positions,
            latent=LatentAttention(**self.latent.model_dump()) if self.latent else None,
            experts=Experts(**self.experts.model_dump()) if self.experts else None,
        )


def _one_of(what: str, known: tuple[str, ...]) -> tuple[Any, Any]:
    def read(written: Any) -> Any:
        if written not in known:
            raise refuse(f"there is no {what} {written!r}", known, nearest(str(written), known))
        return written

    return BeforeValidator(read), WithJsonSchema({"enum": list(known), "description": f"Name of a {what}."})


ModelName = Annotated[str, *_one_of("model", tuple(training.presets()))]
SoftwareName = Annotated[str, *_one_of("training software", tuple(training.known_software()))]
ModelWord = Annotated[
    Annotated[ModelName, Tag("a model's name")] | Annotated[ModelFigures, Tag("a model")],
    Discriminator(lambda written: "a model" if isinstance(written, dict | ModelFigures) else "a model's name"),
]


def _flops(written: Any) -> float:
    try:
        return units.parse_compute(written)
    except units.UnitError as error:
        raise refuse(str(error)) from None


_rate: Json = {"type": "string", "description": "Floating-point operations a second.", "examples": ["420 TFLOP/s"]}
ComputeRate = Annotated[float, BeforeValidator(_flops), WithJsonSchema(_rate)]


class Parallelism(Entry):
    """How the job is divided, in ranks of a group; data parallelism takes what is left of the GPUs."""

    tensor: Count = 1
    """Ranks that split matrices."""
    sequence_parallel: Annotated[bool, Strict()] = True
    """Whether these also split what lies between matrix products."""
    pipeline: Count = 1
    """Stages that split the layers."""
    virtual: Count = 1
    """Chunks of layers of each stage, with schedule: interleaved."""
    schedule: Schedule = "1f1b"
    """In which order stages run microbatches: 1f1b, interleaved, or zero-bubble (ZB-H1)."""
    context: Count = 1
    """Ranks that split sequences."""
    expert: Count = 1
    """Ranks among which experts are dealt out."""
    expert_tensor: Count | None = None
    """Ranks that split each expert; as tensor where left out."""
    sharding: Sharding = "none"
    """What data-parallel ranks share: optimizer states (zero1), also gradients (zero2), also weights (zero3, FSDP)."""
    shard_group: Count | None = None
    """Data-parallel ranks that share it among themselves (hybrid sharding); all where left out."""

    @model_validator(mode="after")
    def _fits(self) -> Parallelism:
        try:
            _ = self.values
        except ValueError as error:
            raise refuse(str(error), at="virtual" if self.virtual > 1 else None) from None
        return self

    @property
    def values(self) -> training.Parallelism:
        """The same, for a job."""
        return training.Parallelism(**self.model_dump())


class Overlap(Entry):
    """Which communication runs beside compute."""

    gradients: Annotated[bool, Strict()] = True
    """Sums of gradients, beside the last backward passes."""
    parameters: Annotated[bool, Strict()] = True
    """Gathering of sharded weights, beside forward passes."""
    pipeline: Annotated[bool, Strict()] | None = None
    """Messages between stages; where left out, of all schedules but 1f1b, as Megatron does."""
    tensor: Annotated[bool, Strict()] = False
    """Tensor-parallel collectives, beside the products that feed them."""
    context: Annotated[bool, Strict()] = True
    """Keys and values, beside attention."""
    experts: Annotated[bool, Strict()] = False
    """Tokens to experts and back, beside another microbatch's compute."""


class Training(AroundSteps):
    """A training job from a few figures; every GPU of the cluster has a rank."""

    derives_sizes: ClassVar[bool] = True

    kind: Literal["training"]
    model: ModelWord
    """A model that eastwest knows, or one's own by its figures."""
    sequence: Annotated[int, Strict(), Field(ge=1, le=1 << 24)]
    """Tokens of a sequence."""
    global_batch: Count
    """Sequences of a step."""
    micro_batch: Count = 1
    """Sequences of a microbatch."""
    precision: Precision = "bf16"
    """Of matrix products: bf16, fp8, mxfp8 or nvfp4."""
    parallelism: Parallelism = Parallelism()
    """How the job is divided."""
    recompute: Recompute = "none"
    """Activations computed again in the backward pass: none, selective (attention's), full (whole layers)."""
    overlap: Overlap = Overlap()
    """Which communication runs beside compute."""
    overlap_slowdown: Annotated[float, Strict(), Field(ge=1.0, le=1000.0)] = 1.0
    """Factor by which compute takes longer while a communication runs on the same GPU."""
    software: SoftwareName = "megatron-core"
    """What runs it, as far as that changes a layer's cost."""
    measured_flops: ComputeRate | None = None
    """Model operations a second that a GPU was measured to reach while it computes, in place of the catalogue's."""
    efficiency: Annotated[float, Strict(), Field(gt=0.0, le=1.0)] | None = None
    """The same as a share of the GPU's peak."""
    memory: Literal["check", "ignore"] = "check"
    """Whether a job that needs more memory than a GPU has is refused."""

    @model_validator(mode="after")
    def _one_rate(self) -> Training:
        if self.measured_flops is not None and self.efficiency is not None:
            raise refuse("give what was measured as a rate or as a share of the peak, not both", at="efficiency")
        return self

    def sizes(self) -> Sizes:
        """The sizes as stated, or those of the batch's token ids and of the model's weights and optimizer states."""
        stated = super().sizes()
        model = training.preset(self.model) if isinstance(self.model, str) else self.model.model
        return Sizes(
            stated.samples or self.global_batch,
            stated.sample_bytes or self.sequence * token_bytes(model),
            stated.checkpoint_bytes or checkpoint_bytes(model),
        )

    def job(self, ranks: int, times: float = 1.0) -> training.Training:
        """The job on so many ranks, with `times` the sequences of a step.

        Raises:
            ValueError: figures do not fit each other, or the ranks.
        """
        batch = round(self.global_batch * times)
        if batch < 1 or abs(batch - self.global_batch * times) > 1e-9 * batch:
            raise ValueError(f"a global batch of {self.global_batch} sequences times {times:g} is no whole number")
        overlap = self.overlap.model_dump()
        if overlap["pipeline"] is None:
            overlap["pipeline"] = self.parallelism.schedule != "1f1b"
        return training.Training(
            model=training.preset(self.model) if isinstance(self.model, str) else self.model.model,
            sequence=self.sequence,
            global_batch=batch,
            ranks=ranks,
            micro_batch=self.micro_batch,
            precision=self.precision,
            recompute=self.recompute,
            parallelism=self.parallelism.values,
            overlap=training.Overlap(**overlap),
            software=training.software(self.software),
        )


PLACES = (
    ("a global batch", ("global_batch",)),
    ("a sequence", ("sequence",)),
    ("a shard group", ("parallelism", "shard_group")),
    ("tensor", ("parallelism", "tensor")),
    ("expert", ("parallelism", "expert")),
)
"""How messages about a job begin, and the entry that they are about."""


def place_of(message: str, asked: Training) -> tuple[str, ...]:
    """The entry of a workload that a message about its job is about; none where it is not stated."""
    for beginning, place in PLACES:
        if message.startswith(beginning):
            return place if place[0] in asked.model_fields_set else ()
    return ("parallelism",) if "parallelism" in asked.model_fields_set else ()
