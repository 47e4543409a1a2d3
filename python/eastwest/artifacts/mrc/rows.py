"""JSON whose innermost records have one row each, so that people can read long lists of them and compare two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def rows(document: Mapping[str, Any]) -> str:
    """A document as text, with a newline at its end."""
    return _indented(document, "") + "\n"


def _indented(value: Any, margin: str) -> str:
    inner = margin + " "
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        if margin and not any(_is_deep(each) for each in value.values()):
            return json.dumps(value)
        rows = (f"{inner}{json.dumps(key)}: {_indented(each, inner)}" for key, each in value.items())
        return "{\n" + ",\n".join(rows) + f"\n{margin}}}"
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        rows = (f"{inner}{_indented(each, inner)}" for each in value)
        return "[\n" + ",\n".join(rows) + f"\n{margin}]"
    return json.dumps(value)


def _is_deep(value: Any) -> bool:
    """Whether it holds records, and not plain values or lists of these alone."""
    if isinstance(value, dict):
        return any(isinstance(each, dict | list) for each in value.values())
    return isinstance(value, list) and any(isinstance(each, dict | list) for each in value)
