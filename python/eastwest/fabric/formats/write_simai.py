"""Writes a fabric as a topology of SimAI's ns-3, or as one of HPCC's ns-3, which ASTRA-sim runs on.

SimAI: `nodes gpus-per-server nvswitches switches links gpu`, the numbers of the switches (NVLink's first), and a line
`a b rate delay error-rate` for each link. HPCC: the same with the head `nodes switches links`, NVLink switches being
switches like others; `read_ns3_topology` reads it back. Both keep one link between two nodes (`nbr2if`): parallel
cables are written as one of their rate together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eastwest.fabric.formats.gpu_graph import GpuGraph
from eastwest.fabric.tables import Fabric

SIMAI_GPUS = ("A100", "A800", "H100", "H800", "H20")
"""Whose collectives SimAI knows (`GPUType` of its SimAI.conf reader)."""


def simai_topology(fabric: Fabric, graph: GpuGraph) -> tuple[str, tuple[str, ...]]:
    """The text, and what it leaves out or says otherwise."""
    device = str(fabric.plan["server"]["gpu"]["name"])
    model = device.partition("-")[0].upper()
    links = list(_links(graph))
    head = (graph.nodes, graph.gpus_together, graph.nvswitches, graph.switches, len(links), model)
    told = (*graph.told, *_joined(graph, len(links)))
    if model not in SIMAI_GPUS:
        told = (*told, f"SimAI has no {device}: it knows {', '.join(SIMAI_GPUS)}, and takes others for none of them")
    return _text(head, graph, links), told


def ns3_topology(graph: GpuGraph) -> tuple[str, tuple[str, ...]]:
    """The text of HPCC's form, and what it leaves out or says otherwise."""
    links = list(_links(graph))
    head = (graph.nodes, graph.nvswitches + graph.switches, len(links))
    return _text(head, graph, links), (*graph.told, *_joined(graph, len(links)))


def _joined(graph: GpuGraph, links: int) -> tuple[str, ...]:
    if links == len(graph.a):
        return ()
    return ("parallel cables are one link of their rate together: nothing is hashed over them",)


def _text(head: tuple[int | str, ...], graph: GpuGraph, links: list[str]) -> str:
    return "\n".join([" ".join(map(str, head)), " ".join(map(str, range(graph.gpus, graph.nodes))), *links, ""])


def _links(graph: GpuGraph) -> Iterator[str]:
    _, first, which = np.unique(graph.a * graph.nodes + graph.b, return_index=True, return_inverse=True)
    rate_bps = np.bincount(which.reshape(-1), weights=graph.rate_bps)
    for link in np.argsort(first).tolist():
        a, b, latency_s = (column[first[link]] for column in (graph.a, graph.b, graph.latency_s))
        delay = f"{latency_s * 1e3:.9f}".rstrip("0").rstrip(".")
        yield f"{a} {b} {round(rate_bps[link] / 1e9, 3):.15g}Gbps {delay}ms 0"
