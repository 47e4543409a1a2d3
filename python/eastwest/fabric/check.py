"""What must hold of every fabric, checked on its tables: numbering, ports, cables, links, and that all are joined.

For tests, and for fabrics that come from elsewhere. Not here: whether a real network matches its plan.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.plan import FRONTEND_TIERS
from eastwest.fabric.reach import parts
from eastwest.fabric.tables import HOST_TIERS, Fabric


def faults(fabric: Fabric) -> list[str]:
    """Every rule that the tables break, in words; empty for a sound fabric."""
    numbering = list(_numbering(fabric))
    if numbering:  # what follows looks up rows by number
        return numbering
    is_broken = bool(fabric.plan.get("failures"))  # what has failed may well be apart from the rest
    return [*_ports_and_cages(fabric), *_cables(fabric), *_links(fabric), *(() if is_broken else _reach(fabric))]


def _numbering(fabric: Fabric) -> Iterator[str]:
    for table, number in (
        ("nodes", "node"),
        ("ports", "port"),
        ("cages", "cage"),
        ("cables", "cable"),
        ("links", "link"),
    ):
        column = getattr(fabric, table)[number].to_numpy()
        if not np.array_equal(column, np.arange(len(column))):
            yield f"{table} are not numbered from 0 without gaps"
    if fabric.nodes["name"].n_unique() != len(fabric.nodes):
        yield "two nodes have one name"
    for table, column, into in (
        ("ports", "node", "nodes"),
        ("ports", "cage", "cages"),
        ("ports", "cable", "cables"),
        ("cages", "node", "nodes"),
        ("cables", "port_a", "ports"),
        ("cables", "port_b", "ports"),
        ("links", "src", "nodes"),
        ("links", "dst", "nodes"),
        ("links", "cable", "cables"),
    ):
        values = _column(getattr(fabric, table), column)
        if len(values) and (values.max() >= len(getattr(fabric, into)) or values.min() < -1):
            yield f"{table} point with {column} past the {into}"


def _ports_and_cages(fabric: Fabric) -> Iterator[str]:
    cage, node = _column(fabric.ports, "cage"), _column(fabric.ports, "node")
    if np.any(_column(fabric.cages, "node")[cage] != node):
        yield "a port's cage belongs to another node"
    if np.any(np.bincount(cage, minlength=len(fabric.cages)) != _column(fabric.cages, "breakout")):
        yield "a cage is not broken out into the ports that it has"
    if fabric.ports.select("node", "number").is_duplicated().any():
        yield "two ports of a node have one number"
    if fabric.ports.group_by("cage").agg(pl.col("rate_bps").n_unique())["rate_bps"].max() != 1:
        yield "ports of one cage run at different rates"


def _cables(fabric: Fabric) -> Iterator[str]:
    a, b = _column(fabric.cables, "port_a"), _column(fabric.cables, "port_b")
    ends = np.concatenate([a, b])
    if len(np.unique(ends)) != len(ends):
        yield "a port has two cables"
    if np.any(_column(fabric.ports, "cable")[ends] != np.tile(np.arange(len(a)), 2)):
        yield "a cable's port names another cable"
    if int((_column(fabric.ports, "cable") >= 0).sum()) != len(ends):
        yield "a port names a cable that does not end there"
    rate_bps, port_bps = fabric.cables["rate_bps"].to_numpy(), fabric.ports["rate_bps"].to_numpy()
    if np.any(port_bps[a] != rate_bps) or np.any(port_bps[b] != rate_bps):
        yield "a cable's ends run at different rates"


def _links(fabric: Fabric) -> Iterator[str]:
    links = fabric.links
    if len(links) % 2:
        yield "a link has no reverse"
        return
    for forth, back in (("src", "dst"), ("src_port", "dst_port"), ("cable", "cable")):
        there, reverse = _column(links, forth), _column(links, back)
        if np.any(there[0::2] != reverse[1::2]) or np.any(there[1::2] != reverse[0::2]):
            yield f"links 2k and 2k + 1 are not each other's reverse in {forth}"
    rate_bps = links["rate_bps"].to_numpy()
    if np.any(rate_bps[0::2] != rate_bps[1::2]):
        yield "a link and its reverse run at different rates"
    cabled = links.filter(pl.col("cable") >= 0)
    cable, node = _column(cabled, "cable"), _column(fabric.ports, "node")
    if not np.array_equal(cable, np.repeat(np.arange(len(fabric.cables)), 2)):
        yield "links 2k and 2k + 1 are not those of cable k"
    elif np.any(_column(cabled, "src_port")[0::2] != _column(fabric.cables, "port_a")):
        yield "a cable's link leaves another port than its end"
    if np.any(node[_column(cabled, "src_port")] != _column(cabled, "src")):
        yield "a link leaves a port of another node"


def _reach(fabric: Fabric) -> Iterator[str]:
    """Whether every node reaches every other; where rails alone are joined and on one tier, those of its own unit.

    A separate front-end network is joined with itself alone.
    """
    part = parts(len(fabric.nodes), _column(fabric.links, "src"), _column(fabric.links, "dst"))
    home = np.zeros(len(fabric.nodes), dtype=np.int64)
    if fabric.plan.get("shape") == "rail-only" and not (fabric.nodes["tier"] == "spine").any():
        home = _column(fabric.nodes, "unit")
    frontend = fabric.plan.get("frontend")
    if frontend is not None and frontend["network"] == "separate":
        is_frontend = fabric.nodes["tier"].is_in([*HOST_TIERS, *FRONTEND_TIERS]).to_numpy()
        home = np.where(is_frontend, home.max(initial=0) + 1, home)
    first_of_home = np.zeros(int(home.max(initial=0)) + 2, dtype=np.int64)  # the last for what is at home nowhere: -1
    first_of_home[home[::-1]] = np.arange(len(home))[::-1]
    apart = np.flatnonzero((part != part[first_of_home[home]]) & (home >= 0))
    if len(apart):
        names, lost = fabric.nodes["name"], int(apart[0])
        yield f"{names[lost]} cannot reach {names[int(first_of_home[home[lost]])]}"


def _column(table: pl.DataFrame, column: str) -> NDArray[np.int64]:
    return table[column].to_numpy().astype(np.int64)
