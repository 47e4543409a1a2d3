"""Models by name, read from `models.yaml`, each with where its figures were read; GPT-shaped ones by a few figures.

Not here: what a model is (`model`), or what it costs to train (`arithmetic`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from eastwest.document import nearest, parse
from eastwest.workload.training.model import Experts, LatentAttention, Model


@lru_cache(maxsize=1)
def presets() -> Mapping[str, Model]:
    """The models that eastwest knows, by name."""
    resource = files("eastwest.workload.training") / "models.yaml"
    written: Mapping[str, Mapping[str, Any]] = parse(resource.read_bytes(), "models.yaml").data["models"]
    return {name: _made(name, _whole(written, name)) for name in written}


def preset(name: str) -> Model:
    """The model of that name. Raises `ValueError` with the names that there are."""
    known = presets()
    if name not in known:
        close = nearest(name, known)
        meant = f"; did you mean {close!r}?" if close else ""
        raise ValueError(f"no model {name!r} is known{meant} (there are: {', '.join(known)})")
    return known[name]


def gpt(layers: int, hidden: int, heads: int, vocab: int, sequence: int, name: str = "gpt") -> Model:
    """A model of GPT-3's shape (arXiv 2104.04473, section 5.1): inner width 4 x hidden, biases, tied embeddings."""
    return Model(
        name=name,
        layers=layers,
        hidden=hidden,
        ffn=4 * hidden,
        vocab=vocab,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        gated=False,
        tied_embeddings=True,
        biased=True,
        positions=sequence,
        source="arXiv 2104.04473, section 5.1",
    )


def _whole(written: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """A model's figures with those of the model that it is like."""
    own = dict(written[name])
    like = own.pop("like", None)
    return {**_whole(written, like), **own} if like else own


def _made(name: str, figures: dict[str, Any]) -> Model:
    figures.setdefault("kv_heads", figures["heads"])
    figures.setdefault("head_dim", figures["hidden"] // figures["heads"])
    figures["kv_heads"] = figures["heads"] if "latent" in figures else figures["kv_heads"]
    latent, experts = figures.pop("latent", None), figures.pop("experts", None)
    return Model(
        name=name,
        latent=LatentAttention(**latent) if latent else None,
        experts=Experts(**experts) if experts else None,
        **figures,
    )
