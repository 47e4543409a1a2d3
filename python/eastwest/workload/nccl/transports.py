"""What carries NCCL between nodes, and how it is set up with it, read from `transports.yaml`.

Some figures are a plug-in's own settings, others were fitted on measurements; the file says which. Not here: NICs and
their rates (`catalog`), and NCCL's own constants (`constants`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, cast

from eastwest.document import parse
from eastwest.workload.nccl.constants import METHODS, PROTOCOLS, Method
from eastwest.workload.operations import Protocol

TransportName = Literal["verbs", "efa-v1", "efa-v2", "efa-v3", "efa-v4", "tcpx", "tcpxo"]
_US = 1e-6
_KIB = 1024


@dataclass(frozen=True)
class Transport:
    """NCCL between nodes.

    `told_s` is the NIC's latency that NCCL is told and chooses by; `added_s` what a hop between nodes takes beyond
    NCCL's constants; seconds. `efficiency` is the part of the NICs' payload rate that is reached. Of the settings
    (bytes) `nvls_tree_chunk_bytes` is None where NCCL's rule counts, and `channels` where there is no limit.
    """

    name: TransportName
    source: str
    told_s: float = 0.0
    added_s: float = 0.0
    efficiency: float = 1.0
    buffer_bytes: int = 4096 * _KIB
    nvls_chunk_bytes: int = 128 * _KIB
    nvls_tree_chunk_bytes: int | None = None
    channels: int | None = None
    methods: tuple[Method, ...] = METHODS
    protocols: tuple[Protocol, ...] = PROTOCOLS


@lru_cache(maxsize=1)
def _written() -> Mapping[str, Any]:
    resource = files("eastwest.workload.nccl") / "transports.yaml"
    data: Mapping[str, Any] = parse(resource.read_bytes(), "transports.yaml").data
    entries: Mapping[str, Any] = data["transports"]
    return entries


def _entry(name: str) -> dict[str, Any]:
    entry = dict(_written()[name])
    like = entry.pop("like", None)
    return entry if like is None else {**_entry(like), **entry}


def transport_of(*parts: str) -> TransportName:
    """The transport of one of these parts of the catalogue, a server or a NIC; NCCL's own where none has one."""
    for name, entry in _written().items():
        if any(part in entry.get("of", ()) for part in parts):
            return cast(TransportName, name)
    return "verbs"


@lru_cache(maxsize=8)
def transport(name: TransportName = "verbs") -> Transport:
    """A transport by its name."""
    entry, plain = _entry(name), Transport(name, "")
    return Transport(
        name,
        entry["source"],
        told_s=entry.get("told", 0.0) * _US,
        added_s=entry.get("added", 0.0) * _US,
        efficiency=entry.get("efficiency", plain.efficiency),
        buffer_bytes=entry.get("buffer", plain.buffer_bytes),
        nvls_chunk_bytes=entry.get("nvls_chunk", plain.nvls_chunk_bytes),
        nvls_tree_chunk_bytes=entry.get("nvls_tree_chunk"),
        channels=entry.get("channels"),
        methods=tuple(entry.get("algorithms", METHODS)),
        protocols=tuple(entry.get("protocols", PROTOCOLS)),
    )
