"""The fabric: one network as flat tables, the artefact that every verb shares.

Nodes, ports, cages, cables and links are polars tables that join on their number columns, which count from 0 without
gaps. Rates are bits per second, lengths metres, times seconds. Not here: how a shape is built (`shapes`), or what a
part costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

Schema = dict[str, pl.DataType | type[pl.DataType]]
Value = TypeVar("Value", bound=np.generic)

NODE_KINDS = ("gpu", "nvswitch", "pcie", "nic", "switch", "host")
"""What a node is, in the engine's numbering; a host is the memory beside one front-end NIC."""

HOST_TIERS = ("frontend", "storage")
"""Tiers of the nodes that front-end NICs join: those of the servers, and of storage servers."""

NODES: Schema = {
    "node": pl.UInt32,
    "name": pl.String,  # unique: "server-003/gpu-5", "leaf-u0-r3", "spine-07"
    "kind": pl.Enum(NODE_KINDS),
    "tier": pl.String,  # "server", "leaf", "spine", "core", "border", "frontend", "storage", "access", "aggregation"
    "device": pl.String,  # catalogue name
    "server": pl.Int32,  # -1 outside servers, as is an NVLink switch that several share; storage counts on
    "index": pl.Int32,  # number within its server (GPU, NIC), tier (switch) or among shared NVLink switches
    "unit": pl.Int32,  # unit of servers (scalable unit), -1 where there is none
    "pod": pl.Int32,  # -1 where there is none
    "rail": pl.Int32,  # rail of a NIC or of a switch that serves one alone, -1 where there is none
    "plane": pl.Int32,  # plane of a switch, -1 where there is one network alone; a NIC's port p is on plane p
    "site": pl.Int32,  # -1 where there is but one
}
PORTS: Schema = {
    "port": pl.UInt32,
    "node": pl.UInt32,
    "number": pl.UInt32,  # within the node, from 0
    "cage": pl.UInt32,
    "rate_bps": pl.Float64,
    "cable": pl.Int32,  # -1: spare
}
CAGES: Schema = {
    "cage": pl.UInt32,
    "node": pl.UInt32,
    "number": pl.UInt32,  # within the node, from 0
    "breakout": pl.UInt32,  # ports that the cage is broken out into
}
CABLES: Schema = {
    "cable": pl.UInt32,
    "port_a": pl.UInt32,  # the end nearer to the servers
    "port_b": pl.UInt32,
    "tiers": pl.String,  # "server-leaf", "leaf-spine", "spine-core"
    "rate_bps": pl.Float64,
    "length_m": pl.Float64,
}
LINKS: Schema = {
    "link": pl.UInt32,
    "src": pl.UInt32,
    "dst": pl.UInt32,
    "src_port": pl.Int32,  # -1 inside a server
    "dst_port": pl.Int32,
    "cable": pl.Int32,  # -1 inside a server; links 2k and 2k + 1 are the directions of cable k, and l ^ 1 reverses l
    "tier": pl.String,  # directed: "gpu-nvlink", "nvlink-gpu", "gpu-pcie", "pcie-nic", "nic-leaf", "leaf-spine", ...
    "rate_bps": pl.Float64,  # line rate
    "efficiency": pl.Float64,  # payload over line rate
    "latency_s": pl.Float64,  # of the link and of the node that it enters
}


@dataclass(frozen=True)
class Fabric:
    """A network: what was asked for (`plan`, plain JSON values) and its tables."""

    name: str
    plan: dict[str, Any]
    nodes: pl.DataFrame
    ports: pl.DataFrame
    cages: pl.DataFrame
    cables: pl.DataFrame
    links: pl.DataFrame


def numbered(frame: pl.DataFrame, number: str, schema: Schema) -> pl.DataFrame:
    """The columns of a table in order and of their types, after its numbering from 0."""
    return frame.with_row_index(number).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def both_ways(away: NDArray[Value], back: NDArray[Value]) -> NDArray[Value]:
    """One entry of each in turn: the two directions of every pair of links."""
    return np.stack([away, back], axis=1).reshape(-1)
