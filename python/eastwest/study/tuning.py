"""What NCCL would choose on a fabric: its model's inputs read from tables and catalogue, its choices put into a step.

Choices are made for the group of a collective that is spread over most nodes. Not here: the model (`workload.nccl`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from eastwest.engine.program import BITS
from eastwest.fabric import Fabric
from eastwest.spec import Study
from eastwest.study.result import Chosen
from eastwest.study.training import kind_of
from eastwest.workload import Collective, Groups, Operation, SendRecv, Step, Tuning, nccl

Gpus = npt.NDArray[np.uint32]

MOST_NAMED = 6
"""Operations of a step whose choices are told one by one."""


def tuned(study: Study, workload: str, step: Step, fabric: Fabric, gpus: Gpus) -> Step:
    """The step with what its collectives leave to NCCL chosen, for rank i on GPU node `gpus[i]`.

    Raises:
        StudyError: NCCL has no constants for what is asked.
    """
    if not any(isinstance(each, Collective | SendRecv) and _is_open(each) for each in step.operations):
        return step
    try:
        machine, paths = machine_of(study, fabric), paths_of(fabric)
        node, constants = node_of_rank(fabric, gpus), nccl.constants(study.nccl.constants)

        widest: dict[int, nccl.Group] = {}
        known: dict[tuple[object, ...], nccl.Choice] = {}  # traces ask the same thousands of times

        def chosen(operation: Collective) -> Collective:
            tuning = operation.tuning
            if tuning is None or tuning.is_done or not operation.groups:
                return operation
            if id(operation.groups) not in widest:
                widest[id(operation.groups)] = _widest(operation.groups, node)
            size, group = operation.bytes / operation.repeats, widest[id(operation.groups)]
            key = (operation.kind, size, group, tuning)
            if key not in known:
                asked = (tuning.algorithm, tuning.protocol, tuning.channels)
                known[key] = nccl.choose(operation.kind, size, group, machine, constants, paths, *asked)
            found = known[key]
            return replace(
                operation,
                algorithm=found.algorithm,
                channels=found.channels,
                overheads=found.overheads,
                tuning=Tuning(found.algorithm, found.protocol, found.channels, is_done=True),
            )

        def sent(operation: SendRecv) -> SendRecv:
            if not _is_open(operation):
                return operation
            from_node, to_node = node[operation.pairs].T
            others = np.bincount(operation.pairs[from_node != to_node, 0]).max(initial=0)
            found = nccl.send_recv(operation.bytes, int(others), machine, paths)
            return replace(operation, overheads=found, tuning=Tuning(is_done=True))

        def settled(operation: Operation) -> Operation:
            if isinstance(operation, SendRecv):
                return sent(operation)
            return chosen(operation) if isinstance(operation, Collective) else operation

        operations = tuple(settled(each) for each in step.operations)
    except nccl.NoConstantsError as error:
        told = f"workload {study.base('workloads', workload)!r}: {error}"
        raise study.error_at(("workloads", workload), told) from None
    return replace(step, operations=operations)


def _is_open(operation: Collective | SendRecv) -> bool:
    """Whether something is left to NCCL."""
    return operation.tuning is not None and not operation.tuning.is_done


def choices(step: Step, *, by_group: bool = False) -> tuple[Chosen, ...]:
    """What was chosen for the operations of a step; where these are many, once for all that are alike.

    Of a training job it is told `by_group`: for each kind of group and collective.
    """
    if by_group:
        return _choices_by_group(step)
    alike: dict[tuple[object, ...], list[Chosen]] = {}
    for each in step.operations:
        if isinstance(each, Collective) and each.tuning is not None and each.tuning.is_done:
            chosen = Chosen(each.name, each.algorithm, each.tuning.protocol, each.channels)
            key = (each.kind, each.bytes, max(map(len, each.groups), default=0), str(chosen))
            alike.setdefault(key, []).append(chosen)
    if sum(map(len, alike.values())) <= MOST_NAMED:
        named = {chosen.operation: chosen for group in alike.values() for chosen in group}
        return tuple(named[each.name] for each in step.operations if each.name in named)
    return tuple(
        replace(group[0], operation=f"{group[0].operation} and {len(group) - 1} alike") if len(group) > 1 else group[0]
        for group in alike.values()
    )


def _choices_by_group(step: Step) -> tuple[Chosen, ...]:
    """What was chosen for each kind of group and collective of a training job; several where sizes differ."""
    found: dict[Chosen, None] = {}
    for each in step.operations:
        if isinstance(each, Collective) and each.tuning is not None and each.tuning.is_done:
            name = f"{kind_of(each.queue)} {each.kind}"
            found[Chosen(name, each.algorithm, each.tuning.protocol, each.channels)] = None
    return tuple(sorted(found, key=lambda chosen: chosen.operation))


def machine_of(study: Study, fabric: Fabric) -> nccl.Machine:
    """What NCCL's model looks at, of the servers and NICs of a fabric.

    Raises:
        NoConstantsError: the GPUs are of an architecture for which NCCL has no constants.
    """
    server: Mapping[str, Any] = fabric.plan["server"]
    gpu: Mapping[str, Any] = server["gpu"]
    if gpu.get("architecture") is None:
        raise nccl.NoConstantsError(
            f"NCCL has no constants for the GPU {gpu['name']} (architecture in the catalogue): name algorithms in "
            "place of auto, as in ring, direct or halving-doubling, and leave protocols out"
        )
    return nccl.Machine(
        architecture=gpu["architecture"],
        nvlink=gpu["nvlink_bps"] * gpu["nvlink_efficiency"] / BITS,
        nic=min(fabric.plan["link_bps"], fabric.plan["nic"]["pcie_bps"]) / BITS,
        nics=server["nics"] / server["gpus"],
        nvlink_sharp=gpu.get("nvlink_sharp") is not None,
        cpu=study.nccl.cpu,
        transport=nccl.transport(_transport(study, fabric)),
    )


def _transport(study: Study, fabric: Fabric) -> nccl.TransportName:
    """The transport that a study names, or the one that is of the fabric's servers or their NICs."""
    if study.nccl.transport != "auto":
        return study.nccl.transport
    return nccl.transport_of(fabric.plan["server"]["name"], fabric.plan["nic"]["name"])


def paths_of(fabric: Fabric) -> nccl.Paths:
    """The paths that NCCL's constants contain: over NVLink, and from GPU to GPU by NICs on one switch."""
    nodes, links = fabric.nodes, fabric.links
    kind = nodes["kind"].cast(str).to_numpy()
    ends = np.stack([kind[links[end].to_numpy()] for end in ("src", "dst")], axis=1)
    latency_s = links["latency_s"].to_numpy()

    def least(source: str, target: str) -> float:
        found = latency_s[(ends[:, 0] == source) & (ends[:, 1] == target)]
        return float(found.min()) if len(found) else 0.0

    inside = ("gpu", "pcie", "nic")
    up = sum(least(*hop) for hop in pairwise(inside))
    down = sum(least(*hop) for hop in pairwise(reversed(inside)))
    return nccl.Paths(
        nvlink_s=least("gpu", "nvswitch") + least("nvswitch", "gpu"),
        network_s=up + least("nic", "switch") + least("switch", "nic") + down,
    )


def node_of_rank(fabric: Fabric, gpus: Gpus) -> npt.NDArray[np.int64]:
    """Number of each rank's node, as NCCL counts them: GPUs that share NVLink."""
    servers: npt.NDArray[np.int64] = fabric.nodes["server"].to_numpy()[gpus].astype(np.int64)
    return servers // int(fabric.plan["server"].get("nvlink_domain_servers", 1))


def _widest(groups: Groups, node: npt.NDArray[np.int64]) -> nccl.Group:
    """The group that is spread over most nodes; of several, the first."""
    found = [np.unique(node[group], return_counts=True)[1] for group in groups]
    counts = max(found, key=len)
    return nccl.Group(int(counts.sum()), len(counts), is_even=bool((counts == counts[0]).all()))
