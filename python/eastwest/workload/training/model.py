"""A transformer by its figures: layers, widths, heads, experts. What a model is, not how it is trained.

Decoder-only models with pre-normalisation. Sizes count elements. Presets with their sources are in `models`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): low-rank queries, keys and values.

    Queries come through `query_rank`, keys and values through `kv_rank`; each head's query and key have `head_dim`
    elements without position and `rope_dim` with; its value has `value_dim`.
    """

    query_rank: int
    kv_rank: int
    head_dim: int
    rope_dim: int
    value_dim: int


@dataclass(frozen=True)
class Experts:
    """Mixture of experts in place of the feed-forward block: `active` of `count` experts for each token.

    Each expert has an inner width of `ffn`; `shared_ffn` is that of all experts together that every token passes. The
    first `dense_layers` layers have the model's plain feed-forward block.
    """

    count: int
    active: int
    ffn: int
    shared_ffn: int = 0
    dense_layers: int = 0


@dataclass(frozen=True)
class Model:
    """A decoder-only transformer.

    `ffn` is the inner width of the feed-forward block; `gated` blocks (SwiGLU, GeGLU) have three matrices in place of
    two. `kv_heads` fewer than `heads` share keys and values (grouped queries). `positions` counts learned positional
    embeddings (0: rotary or none); `biased` says whether matrices have biases and norms two vectors, as in GPT-3.
    `predicted_tokens` is the number of additional tokens that extra layers predict (DeepSeek-V3's MTP); their layers
    are not in `layers`. `source` says where the figures were read. Raises `ValueError` for figures that do not fit.
    """

    name: str
    layers: int
    hidden: int
    ffn: int
    vocab: int
    heads: int
    kv_heads: int
    head_dim: int
    gated: bool = True
    tied_embeddings: bool = False
    biased: bool = False
    positions: int = 0
    latent: LatentAttention | None = None
    experts: Experts | None = None
    predicted_tokens: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        for field in ("layers", "hidden", "ffn", "vocab", "heads", "kv_heads", "head_dim"):
            if getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}: write a whole number of at least 1")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads cannot share {self.kv_heads} key-value heads evenly: "
                f"kv_heads must divide heads, as {self.heads} or 1 do"
            )
        if self.experts and not 1 <= self.experts.active <= self.experts.count:
            raise ValueError(
                f"{self.experts.active} of {self.experts.count} experts are active: write active from 1 to the count"
            )
        if self.experts and not 0 <= self.experts.dense_layers < self.layers:
            raise ValueError(
                f"{self.experts.dense_layers} of {self.layers} layers are dense: some layer must have the experts"
            )

    def has_experts(self, layer: int) -> bool:
        """Whether a layer (from 0) has experts in place of the plain feed-forward block."""
        return self.experts is not None and layer >= self.experts.dense_layers
