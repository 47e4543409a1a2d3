"""Sizes of tensors as PyTorch's execution traces list them, for collectives whose size a converter lost."""

from __future__ import annotations

import ast
from typing import Any

LONGEST_TEXT = 1 << 20
"""Characters of a list that is still read; a node's own list is a line."""


def size_of_tensors(values: str, types: str) -> int:
    """Bytes of all tensors of a node's inputs; 0 where the texts do not tell.

    A tensor is listed as (tensor, storage, offset, elements, bytes of an element, device); lists of tensors as lists.
    """
    if max(len(values), len(types)) > LONGEST_TEXT:
        return 0
    try:
        given, kinds = ast.literal_eval(values), ast.literal_eval(types)
        return sum(
            _size(value) for value, kind in zip(given, kinds, strict=False) if "Tensor" in kind and "Scalar" not in kind
        )
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return 0


def _size(value: Any) -> int:
    if value and isinstance(value[0], list | tuple):
        return sum(map(_size, value))
    elements, each = value[3], value[4]
    return int(elements) * int(each) if min(elements, each) >= 0 else 0
