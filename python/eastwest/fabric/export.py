"""A fabric for other people's graph code. Not used by eastwest itself, which works on the tables."""

from __future__ import annotations

import importlib
from typing import Any

from eastwest.fabric.tables import Fabric


def to_networkx(fabric: Fabric) -> Any:
    """A `networkx.MultiDiGraph`: one node a node, one edge a link keyed by its number, their columns as attributes.

    Raises `ModuleNotFoundError` without NetworkX (`pip install eastwest[graph]`).
    """
    networkx = importlib.import_module("networkx")
    graph = networkx.MultiDiGraph(name=fabric.name)
    graph.add_nodes_from((row.pop("node"), row) for row in fabric.nodes.iter_rows(named=True))
    graph.add_edges_from(_edge(row) for row in fabric.links.iter_rows(named=True))
    return graph


def _edge(row: dict[str, Any]) -> tuple[int, int, int, dict[str, Any]]:
    return row.pop("src"), row.pop("dst"), row.pop("link"), row
