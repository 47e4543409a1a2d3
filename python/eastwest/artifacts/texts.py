"""Texts from the templates beside this module: the one place that knows how they are read and filled.

A value that a template asks for and is not given is an error, never an empty text. Not here: any template's values.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


def text(template: str, **values: Any) -> str:
    """The text of a template by its path in `templates`, with the values that it asks for."""
    return _template(template).render(**values)


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("eastwest.artifacts"), undefined=StrictUndefined, keep_trailing_newline=True
    )
