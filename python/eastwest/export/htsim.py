"""A step's messages between servers as flows of htsim, each from when the fluid engine has its operation start."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from eastwest.engine import Carriage, EngineError, Network
from eastwest.errors import InputError
from eastwest.fabric import Fabric, packed
from eastwest.workload import Collective, Compute, SendRecv, Step
from eastwest.workload.edges import Places, edges
from eastwest.workload.flows import Flows, flows

MOST_FLOWS = 10_000_000
_WHOLE_STEP_PS = 2**62
"""Loads over time are not asked for: one span holds the whole step."""

Numbers = npt.NDArray[np.int64]


def places(fabric: Fabric, gpus: npt.NDArray[np.uint32]) -> Places:
    """Where each rank's GPU is: the NVLink switch that it is behind, or else its server."""
    servers = fabric.nodes["server"].to_numpy().astype(np.int64)
    domain = servers.copy()
    nvlinks = fabric.links.filter(pl.col("tier") == "gpu-nvlink")
    domain[nvlinks["src"].to_numpy()] = nvlinks["dst"].to_numpy().astype(np.int64) + servers.max() + 1
    everywhere = packed(fabric)
    position = np.empty(len(fabric.nodes), dtype=np.int64)
    for each in np.unique(domain[everywhere]):
        members = everywhere[domain[everywhere] == each]
        position[members] = np.arange(len(members))
    return Places(np.unique(domain[gpus], return_inverse=True)[1].reshape(-1), position[gpus])


def nics_of_gpus(fabric: Fabric) -> dict[int, list[int]]:
    """The NICs behind each GPU's PCIe hop, by node number; channels take turns over them."""
    ways = fabric.links.filter(pl.col("tier") == "gpu-pcie").select("src", hop="dst")
    nics = fabric.links.filter(pl.col("tier") == "pcie-nic").select(hop="src", nic="dst")
    joined = ways.join(nics, on="hop").sort("src", "nic").group_by("src", maintain_order=True).agg("nic")
    return dict(zip(joined["src"].to_list(), joined["nic"].to_list(), strict=True))


def step_flows(
    step: Step,
    network: Network,
    gpus: npt.NDArray[np.uint32],
    carriage: Carriage,
    nic_of_host: npt.NDArray[np.uint32],
    tolerance: float,
) -> tuple[Flows, tuple[str, ...]]:
    """The flows between hosts, and what they leave out.

    Raises:
        InputError: the step runs by algorithms whose messages are not known here, reads or writes storage, has no
            message between servers or too many, or cannot be run on the network.
    """
    try:
        record = network.record(step, gpus, carriage, _WHOLE_STEP_PS, tolerance=tolerance)
    except EngineError as error:
        raise InputError(f"the step cannot be run, so nothing is known of when it sends: {error}") from None
    where, nics = places(network.fabric, gpus), nics_of_gpus(network.fabric)
    host_of_nic = np.full(len(network.fabric.nodes), -1, dtype=np.int64)
    host_of_nic[nic_of_host] = np.arange(len(nic_of_host))
    start_ps = np.zeros((len(step.operations), int(record.class_of.max()) + 1))
    turns = record.turns.astype(np.int64)
    start_ps[turns[:, 0], turns[:, 1]] = turns[:, 2]
    columns: list[tuple[Numbers, Numbers, npt.NDArray[np.float64], npt.NDArray[np.float64]]] = []
    inside = total = 0
    for number, operation in enumerate(step.operations):
        if isinstance(operation, Compute):
            continue
        if not isinstance(operation, Collective | SendRecv):
            raise InputError(f"operation '{operation.name}' reads or writes storage, which htsim's hosts have not")
        try:
            found = edges(operation, where)
        except ValueError as error:
            raise InputError(f"{error}, or take --to chakra, which leaves that to the simulator") from None
        starts = _starts(operation, start_ps[number][record.class_of])[found.part]
        leaves = where.domain[found.sender] != where.domain[found.receiver]
        total, inside = total + len(leaves), inside + int((~leaves).sum())
        if total - inside > MOST_FLOWS:
            raise InputError(f"the step has more than {MOST_FLOWS:,} messages between servers: export a smaller one")
        found, starts = found.where(leaves), starts[leaves]
        ends = [_hosts(ranks, found.channel, gpus, nics, host_of_nic) for ranks in (found.sender, found.receiver)]
        columns.append((ends[0], ends[1], found.bytes, starts))
    if total == inside:
        raise InputError("the step sends nothing between servers: there is no flow to export")
    sender, receiver, sizes, starts = (np.concatenate(column) for column in zip(*columns, strict=True))
    told = [
        "a ring's edge is one flow of all its steps' bytes",
        "compute shows in when flows start, which is as in fluid",
    ]
    if inside:
        told.append(f"{inside:,} messages that stay inside servers are left out")
    rounded = np.maximum(np.rint(sizes), 1).astype(np.uint64)
    return flows(sender, receiver, rounded, starts * 1e-12), tuple(told)


def _starts(operation: Collective | SendRecv, start_of_rank: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """When each group or pair has come together, picoseconds."""
    if isinstance(operation, SendRecv):
        found: npt.NDArray[np.float64] = start_of_rank[operation.pairs].max(axis=1)
        return found
    return np.array([start_of_rank[group].max() for group in operation.groups])


def _hosts(
    ranks: Numbers, channel: Numbers, gpus: npt.NDArray[np.uint32], nics: dict[int, list[int]], host_of_nic: Numbers
) -> Numbers:
    most = max(map(len, nics.values()))
    table = np.array([[nics[gpu][turn % len(nics[gpu])] for turn in range(most)] for gpu in gpus.tolist()])
    found: Numbers = host_of_nic[table[ranks, channel % most]]
    return found
