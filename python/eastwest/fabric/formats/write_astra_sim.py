"""Writes a fabric as ASTRA-sim's analytical network and as the logical topology of its ns-3 backend.

ASTRA-sim's network is a product of dimensions: here the GPUs that share NVLink, then the servers, each dimension a
switch that is never full, as in the fidelity `ideal`. Its "GB/s" is 2^30 bytes a second; and a switch's latency is that
of one of the two links on the way. Not here: the cables, which are for the ns-3 backend (`write_simai`).
"""

from __future__ import annotations

import json

import numpy as np

from eastwest.fabric.formats.gpu_graph import GpuGraph
from eastwest.fabric.plan import FabricError
from eastwest.fabric.tables import Fabric

GIB = 2.0**30


def astra_sim_network(fabric: Fabric, graph: GpuGraph) -> tuple[str, str, tuple[str, ...]]:
    """The analytical network (YAML), the logical topology (JSON), and what they leave out or say otherwise.

    Raises:
        FabricError: on "server", where servers share NVLink with unequal numbers of GPUs.
    """
    together, servers = graph.gpus_together, graph.gpus // graph.gpus_together
    if together * servers != graph.gpus:
        raise FabricError("server", f"{graph.gpus} GPUs are no product of {together} that share NVLink and others")
    gpu = fabric.plan["server"]["gpu"]
    topology, counts, rates, latencies = [], [], [], []
    if together > 1:
        is_nvlink = graph.b < graph.gpus + graph.nvswitches
        is_meshed = gpu["joined"] != "switch"
        topology.append("FullyConnected" if is_meshed else "Switch")
        counts.append(together)
        rates.append(float(graph.rate_bps[is_nvlink].min()) / (together - 1 if is_meshed else 1))
        latencies.append(float(graph.latency_s[is_nvlink].mean()) * (2 if is_meshed else 1))
    if servers > 1:
        topology.append("Switch")
        counts.append(servers)
        rates.append(_network_bps(fabric))
        latencies.append(_farthest_s(graph) / 2)
    if not counts:
        raise FabricError("server", "a single GPU has no network")
    lines = [
        "# GPUs that share NVLink, then servers: a GPU's payload each way in GiB/s, ns of each of a way's two links",
        f"topology: [ {', '.join(topology)} ]",
        f"npus_count: [ {', '.join(map(str, counts))} ]",
        f"bandwidth: [ {', '.join(f'{rate / 8 / GIB:.6g}' for rate in rates)} ]",
        f"latency: [ {', '.join(f'{seconds * 1e9:.6g}' for seconds in latencies)} ]",
        "",
    ]
    logical = json.dumps({"logical-dims": [str(count) for count in counts]}, indent=4) + "\n"
    told = "the analytical network has no links between switches: no oversubscription, no hashing, no failures"
    return "\n".join(lines), logical, (*graph.told, told)


def _network_bps(fabric: Fabric) -> float:
    """What a GPU can send to other servers, payload, bit/s: its NICs' ports, or their PCIe where that is less."""
    plan = fabric.plan
    gpus, nics, hop = plan["server"]["gpus"], plan["server"]["nics"], plan["server"]["gpu"]
    ports_bps = plan["link_bps"] * plan["link_layer"]["efficiency"] * nics / gpus
    pcie_bps = min(hop["pcie_bps"], plan["nic"]["pcie_bps"] * nics / gpus) * hop["pcie_efficiency"]
    return float(min(ports_bps, pcie_bps))


def _farthest_s(graph: GpuGraph) -> float:
    """Latency from the first GPU to the one that is farthest from it over the network, by the quickest way."""
    is_network = graph.b >= graph.gpus + graph.nvswitches
    a, b, latency_s = graph.a[is_network], graph.b[is_network], graph.latency_s[is_network]
    reached = np.full(graph.nodes, np.inf)
    reached[0] = 0.0
    while True:  # as often as a way has links; a way through another GPU is none
        before = reached.copy()
        passes = np.where(np.arange(graph.nodes) < graph.gpus, np.inf, reached)
        passes[0] = 0.0
        np.minimum.at(reached, b, passes[a] + latency_s)
        np.minimum.at(reached, a, passes[b] + latency_s)
        if np.array_equal(before, reached):
            break
    others = reached[graph.gpus_together : graph.gpus]
    return float(others[np.isfinite(others)].max(initial=0.0))
