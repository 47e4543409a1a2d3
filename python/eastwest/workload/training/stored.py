"""What a training job keeps in storage: token ids and checkpoints. Not here: a GPU's memory (`memory`)."""

from __future__ import annotations

from eastwest.workload.training.arithmetic import parameters
from eastwest.workload.training.model import Model

SHORT_VOCABULARY = 65500
"""Below it Megatron-Core's indexed datasets store ids in 2 bytes, else in 4 (megatron/core/datasets/indexed_dataset.py,
DType.optimal_dtype)."""
_STATE_BYTES = 2.0 + 4.0 + 8.0
"""Of a parameter: its weight in 16 bits, the optimizer's main copy in 32, and Adam's two moments in 32 each."""


def token_bytes(model: Model) -> int:
    """Bytes of one token as it is stored."""
    return 2 if model.vocab < SHORT_VOCABULARY else 4


def checkpoint_bytes(model: Model) -> float:
    """Bytes of one checkpoint from which training can go on: weights and optimizer states, each once."""
    return _STATE_BYTES * parameters(model)
