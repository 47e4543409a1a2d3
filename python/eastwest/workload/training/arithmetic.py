"""Parameters and floating-point operations of a transformer: every matrix product of a layer, as it is computed.

A product of [rows x inner] by [inner x columns] takes 2 x rows x inner x columns operations; the backward pass takes
two such products, for the input's gradient and for the weights'. Not here: how long they take (`efficiency`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eastwest.workload.training.description import Training
from eastwest.workload.training.model import Model


@dataclass(frozen=True)
class Product:
    """`count` equal products of [rows x inner] by [inner x columns], their weights read from memory."""

    rows: float
    inner: float
    columns: float
    count: int = 1

    @property
    def flops(self) -> float:
        """Floating-point operations of the forward pass."""
        return 2.0 * self.rows * self.inner * self.columns * self.count

    @property
    def weights(self) -> float:
        """Elements of the right-hand matrices."""
        return self.inner * self.columns * self.count


@dataclass(frozen=True)
class Split:
    """What one GPU has of a layer: 1 / `tensor` of its matrices, `expert` and `expert_tensor` of its experts."""

    tensor: int = 1
    expert: int = 1
    expert_tensor: int = 1

    @staticmethod
    def of(training: Training) -> Split:
        """The division that a job's parallelism makes."""
        p = training.parallelism
        return Split(p.tensor, p.expert, p.experts_tensor)


_WHOLE = Split()


def attention_products(model: Model, tokens: float, split: Split = _WHOLE) -> tuple[Product, ...]:
    """The projections around attention for so many tokens: into queries, keys and values, and out again."""
    t, hidden = split.tensor, model.hidden
    if model.latent:
        each = model.latent
        return (
            # the products into low rank are not divided by tensor parallelism, every rank does all of them
            Product(tokens, hidden, each.query_rank + each.kv_rank + each.rope_dim),
            Product(tokens, each.query_rank, model.heads * (each.head_dim + each.rope_dim) / t),
            Product(tokens, each.kv_rank, model.heads * (each.head_dim + each.value_dim) / t),
            Product(tokens, model.heads * each.value_dim / t, hidden),
        )
    kv_heads = max(model.kv_heads / t, 1)  # fewer than the ranks are held several times
    return (
        Product(tokens, hidden, (model.heads / t + 2 * kv_heads) * model.head_dim),
        Product(tokens, model.heads / t * model.head_dim, hidden),
    )


def feed_forward_products(model: Model, layer: int, tokens: float, split: Split = _WHOLE) -> tuple[Product, ...]:
    """The feed-forward block for so many tokens of each rank, its experts balanced; `layer` counts from 0."""
    ins = 2 if model.gated else 1
    if not model.has_experts(layer) or model.experts is None:
        inner = model.ffn / split.tensor
        return Product(tokens, model.hidden, ins * inner), Product(tokens, inner, model.hidden)
    experts = model.experts
    here = max(1, experts.count // split.expert)
    inner = experts.ffn / split.expert_tensor
    # what the ranks of an expert group send each other balances: each computes as many token copies as it has
    rows = tokens * experts.active * split.expert_tensor / split.tensor / here
    found = [
        Product(tokens / split.tensor, model.hidden, experts.count),
        Product(rows, model.hidden, ins * inner, here),
        Product(rows, inner, model.hidden, here),
    ]
    if experts.shared_ffn:
        shared = experts.shared_ffn / split.tensor
        found += [Product(tokens, model.hidden, ins * shared), Product(tokens, shared, model.hidden)]
    return tuple(found)


def logits_product(model: Model, tokens: float, split: Split = _WHOLE) -> Product:
    """The product that gives each token of the vocabulary its score."""
    return Product(tokens, model.hidden, model.vocab / split.tensor)


def scores_flops(model: Model, sequence: float, tokens: float, *, causal: bool) -> float:
    """Forward operations of one layer's attention scores and their sum over values.

    Each token meets the whole sequence, or with `causal` the half before it: 4 x sequence x heads x head_dim operations
    a token, or half as many.
    """
    key, value = score_widths(model)
    return 2.0 * tokens * sequence * model.heads * (key + value) / (2 if causal else 1)


def score_widths(model: Model) -> tuple[int, int]:
    """Elements of a head's key and of its value."""
    if model.latent:
        return model.latent.head_dim + model.latent.rope_dim, model.latent.value_dim
    return model.head_dim, model.head_dim


def layer_flops(model: Model, layer: int, sequence: float, tokens: float, *, causal: bool) -> float:
    """Forward operations of one layer for so many tokens."""
    products = (*attention_products(model, tokens), *feed_forward_products(model, layer, tokens))
    return sum(each.flops for each in products) + scores_flops(model, sequence, tokens, causal=causal)


def model_flops(model: Model, sequence: int, tokens: float, *, causal: bool = False) -> float:
    """Operations that training so many tokens needs: forward once, backward twice, nothing computed again.

    Without `causal` attention counts the whole square of scores, as Megatron and most papers do (arXiv 2104.04473,
    equation 3 without its recomputation); with it the half that a causal model uses. Extra layers for further
    predicted tokens count as such layers with logits.
    """
    layers: Iterator[int] = iter(range(model.layers))
    forward = sum(layer_flops(model, each, sequence, tokens, causal=causal) for each in layers)
    extra = layer_flops(model, model.layers - 1, sequence, tokens, causal=causal)
    joined = Product(tokens, 2 * model.hidden, model.hidden).flops
    logits = logits_product(model, tokens).flops
    forward += logits + model.predicted_tokens * (extra + joined + logits)
    return 3.0 * forward


def step_flops(training: Training, *, causal: bool = False) -> float:
    """Model operations of one step of a job: what MFU counts."""
    return model_flops(training.model, training.sequence, training.tokens, causal=causal)


def hardware_flops(training: Training, *, causal: bool = False) -> float:
    """Operations of one step with what is computed again: what HFU counts."""
    model, total = training.model, step_flops(training, causal=causal)
    if training.recompute == "selective":
        again = scores_flops(model, training.sequence, training.tokens, causal=causal) * model.layers
        return total + (again if training.software.attention == "unfused" else 0.0)
    if training.recompute == "full":
        return total + sum(
            layer_flops(model, each, training.sequence, training.tokens, causal=causal) for each in range(model.layers)
        )
    return total


def attention_parameters(model: Model, split: Split = _WHOLE) -> float:
    """Parameters of one layer's attention and norms, or those of them that one GPU holds."""
    products = attention_products(model, 0, split)
    found = sum(each.weights for each in products) + (4 if model.biased else 2) * model.hidden
    if model.biased:
        found += sum(each.columns for each in products)
    if model.latent:
        found += model.latent.query_rank + model.latent.kv_rank
    return found


def feed_forward_parameters(model: Model, layer: int, split: Split = _WHOLE) -> tuple[float, float]:
    """Parameters of one layer's feed-forward block, or one GPU's: those of all its experts, and all others."""
    products = feed_forward_products(model, layer, 0, split)
    if model.has_experts(layer):
        experts = sum(each.weights for each in products[1:3])
        return experts, sum(each.weights for each in products) - experts
    biases = (2 if model.gated else 1) * model.ffn / split.tensor + model.hidden if model.biased else 0.0
    return 0.0, sum(each.weights for each in products) + biases


def embedding_parameters(model: Model, split: Split = _WHOLE) -> float:
    """Parameters of the embedding of tokens and, where learned, of positions."""
    return (model.vocab / split.tensor + model.positions) * model.hidden


def layer_parameters(model: Model, layer: int, split: Split = _WHOLE) -> tuple[float, float]:
    """Parameters of one layer, or one GPU's: those of all its experts, and all others."""
    experts, others = feed_forward_parameters(model, layer, split)
    return experts, others + attention_parameters(model, split)


def parameters(model: Model) -> float:
    """Parameters of a model, without layers for further predicted tokens."""
    found = sum(sum(layer_parameters(model, each)) for each in range(model.layers))
    found += (2 if model.biased else 1) * model.hidden  # the last norm
    return found + embedding_parameters(model) + (0 if model.tied_embeddings else model.vocab * model.hidden)


def active_parameters(model: Model) -> float:
    """Parameters that each token meets: those of a model with only its active experts."""
    experts = sum(layer_parameters(model, each)[0] for each in range(model.layers))
    idle = 1 - model.experts.active / model.experts.count if model.experts else 0.0
    return parameters(model) - experts * idle
