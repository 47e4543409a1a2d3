"""What training software changes in the cost of a layer, by version: its attention kernel and how well it fuses.

Read from `software.yaml`, each entry with its source. Not here: what a GPU makes of it (`efficiency`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from eastwest.document import nearest, parse

AttentionKernel = Literal["unfused", "flash-1", "flash-2", "cudnn"]


@dataclass(frozen=True)
class Software:
    """A version of training software.

    `attention`: whether the kernel of the inner products writes scores to memory (unfused) or keeps them on the chip
    (FlashAttention and cuDNN's alike). `passes`: memory traffic between matrix products over the least that
    one kernel each for norm, position, activation and residual needs. `loss_bytes`: memory traffic of the loss for each
    logit, forward and backward together. `rate`: what its kernels reach of the rates of matrix products and attention.
    `dispatches_once`: a token is sent once to each rank that has some of its experts, not once for each expert.
    """

    name: str
    attention: AttentionKernel = "cudnn"
    passes: float = 1.0
    loss_bytes: float = 30.0
    rate: float = 1.0
    dispatches_once: bool = False
    source: str = ""


@lru_cache(maxsize=1)
def known_software() -> Mapping[str, Software]:
    """The software that eastwest knows, by name."""
    resource = files("eastwest.workload.training") / "software.yaml"
    written = parse(resource.read_bytes(), "software.yaml").data["software"]
    return {name: Software(name=name, **figures) for name, figures in written.items()}


def software(name: str) -> Software:
    """The software of that name. Raises `ValueError` with the names that there are."""
    known = known_software()
    if name not in known:
        close = nearest(name, known)
        meant = f"; did you mean {close!r}?" if close else ""
        raise ValueError(f"no training software {name!r} is known{meant} (there are: {', '.join(known)})")
    return known[name]
