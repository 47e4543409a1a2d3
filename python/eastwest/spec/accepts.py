"""What the study's schema takes at a place: whether a list means something there, or a key.

Asked by the sweeps, which read a list as values to try wherever the schema has no list. Not here: what is valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from eastwest.document import Place

Node = dict[str, Any]


def is_known(place: Place) -> bool:
    """Whether the schema has the place."""
    return bool(_nodes(_kind_of(place)))


def takes_list(place: Place) -> bool:
    """Whether a list means something at a place."""
    return any("array" in _types(node) for node in _nodes(_kind_of(place)))


def has_entry(place: Place, key: str) -> bool:
    """Whether a mapping at a place may have that entry."""
    return any(key in node.get("properties", {}) for node in _nodes(_kind_of(place)))


def _kind_of(place: Place) -> Place:
    """The place without the numbers of items, which all look alike."""
    return tuple(0 if isinstance(step, int) else step for step in place)


@lru_cache(maxsize=4096)
def _nodes(place: Place) -> tuple[Node, ...]:
    if not place:
        return (_schema(),)
    return tuple(_branches(_below(_nodes(place[:-1]), place[-1])))


@lru_cache(maxsize=1)
def _schema() -> Node:
    from eastwest.spec.schema import schema_of_one

    return schema_of_one()


def _below(nodes: tuple[Node, ...], step: str | int) -> Iterator[Node]:
    for node in nodes:
        others = node.get("items" if isinstance(step, int) else "additionalProperties")
        found = node.get("properties", {}).get(step, others)
        if isinstance(found, dict):
            yield found
        yield from node.get("patternProperties", {}).values()
        yield from node.get("prefixItems", ()) if isinstance(step, int) else ()


def _branches(nodes: Iterator[Node]) -> Iterator[Node]:
    """The alternatives of schema nodes, with references followed."""
    for node in nodes:
        yield node
        for word in ("anyOf", "oneOf", "allOf"):
            yield from _branches(iter(node.get(word, ())))
        if "$ref" in node:
            yield from _branches(iter((_schema()["$defs"][node["$ref"].rpartition("/")[2]],)))


def _types(node: Node) -> tuple[str, ...]:
    kind = node.get("type", ())
    return (kind,) if isinstance(kind, str) else tuple(kind)
