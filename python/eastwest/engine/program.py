"""A step's operations as the native engine takes them: names become numbers, groups flat arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from eastwest.engine.reduction import Reduction
from eastwest.engine.storage import Hosts, StorageFlows
from eastwest.workload import (
    Background,
    Collective,
    Compute,
    Groups,
    Operation,
    Overheads,
    SendRecv,
    Step,
    Storage,
    in_order,
)

BITS = 8.0


_NOBODY = np.empty(0, dtype=np.uint32)
_FREE = Overheads()


def _nobody() -> npt.NDArray[np.uint32]:
    return _NOBODY


@dataclass(slots=True)
class NativeOp:
    """One operation; the native engine reads these attributes by name."""

    after: list[int]
    queue: int
    work: str
    seconds: float = 0.0
    bytes: float = 0.0
    kind: str = ""
    algorithm: str = ""
    channels: int = 1
    repeats: int = 1
    members: npt.NDArray[np.uint32] = field(default_factory=_nobody)
    sizes: tuple[int, ...] = ()
    matrix: npt.NDArray[np.float64] | None = None
    ranks: npt.NDArray[np.uint32] | None = None
    flows: npt.NDArray[np.uint32] = field(default_factory=_nobody)
    flow_sizes: tuple[int, ...] = ()
    overheads: Overheads = _FREE
    nvlink_sharp: float = 1.0


@dataclass(frozen=True)
class NativeMix:
    """What more there is to say where several jobs run; the native engine reads these attributes by name.

    Each of `senders` offers `offered` bytes a second to its row of `receivers`, shape (senders, receivers of each).
    """

    until: list[int]
    slowdown: list[float]
    senders: npt.NDArray[np.uint32]
    receivers: npt.NDArray[np.uint32]
    offered: float


def native_mix(step: Step, background: Background | None) -> NativeMix:
    """What a step says of several jobs, and the traffic beside them.

    Raises:
        ValueError: the step ends with an operation that it does not have, or a sender has no row of receivers.
    """
    number = {operation.name: index for index, operation in enumerate(step.operations)}
    for name in step.until:
        if name not in number:
            raise ValueError(f"the step ends with '{name}', which it does not have")
    until, slowdown = [number[name] for name in step.until], list(step.slowdown_of_rank)
    if background is None:
        return NativeMix(until, slowdown, _NOBODY, np.empty((0, 0), dtype=np.uint32), 0.0)
    senders, receivers = (
        np.ascontiguousarray(nodes, dtype=np.uint32) for nodes in (background.senders, background.receivers)
    )
    return NativeMix(until, slowdown, senders, receivers, background.rate_bps / BITS)


def native_ops(step: Step, reduction: Reduction, hosts: Hosts, gpu_of_rank: npt.NDArray[np.uint32]) -> list[NativeOp]:
    """The step's operations, in order, on a fabric whose switches can add up so much and that has these hosts.

    Raises:
        ValueError: an operation waits for one that does not come before it, two share a name, or one has no channel,
            pairs of another shape than (n, 2), an algorithm that the fabric's switches cannot carry out, or no storage.
    """
    in_order(step.operations)
    number = {operation.name: index for index, operation in enumerate(step.operations)}
    queues: dict[str, int] = {}
    flat: dict[int, _Flat] = {}

    def native(operation: Operation) -> NativeOp:
        after = [number[name] for name in operation.after]
        if not isinstance(operation, Storage):
            return _native(operation, after, queues, flat, reduction)
        queue = queues.setdefault(operation.queue, len(queues) + 1)
        return _stored(operation, hosts.flows(operation, gpu_of_rank), after, queue)

    return [native(operation) for operation in step.operations]


def _stored(operation: Storage, found: StorageFlows, after: list[int], queue: int) -> NativeOp:
    return NativeOp(
        after,
        queue,
        "storage",
        bytes=operation.bytes,
        members=found.ranks,
        sizes=found.servers,
        flows=np.ascontiguousarray(found.ends).reshape(-1),
        flow_sizes=found.flows_of,
    )


_Flat = tuple[npt.NDArray[np.uint32], tuple[int, ...]]
"""The ranks of groups one after another, and the groups' sizes."""


def _flat(groups: Groups) -> _Flat:
    members = np.concatenate(groups).astype(np.uint32) if groups else _NOBODY
    return members, tuple(len(group) for group in groups)


def _native(
    operation: Compute | Collective | SendRecv,
    after: list[int],
    queues: dict[str, int],
    flat: dict[int, _Flat],
    reduction: Reduction,
) -> NativeOp:
    """One operation; groups that many have are one object, and made `flat` once."""
    if isinstance(operation, Compute):
        ranks = None if operation.ranks is None else np.ascontiguousarray(operation.ranks, dtype=np.uint32)
        return NativeOp(after, queue=0, work="compute", seconds=operation.seconds, ranks=ranks)
    queue = queues.setdefault(operation.queue, len(queues) + 1)
    if operation.tuning is not None and not operation.tuning.is_done:
        raise ValueError(f"operation '{operation.name}' leaves to NCCL what is not chosen yet: see workload.nccl")
    if isinstance(operation, Collective):
        if operation.channels < 1:
            raise ValueError(f"operation '{operation.name}' has {operation.channels} channels, not 1 or more")
        if operation.repeats < 1:
            raise ValueError(f"operation '{operation.name}' stands for {operation.repeats} collectives, not 1 or more")
        groups = id(operation.groups)
        if groups not in flat:
            flat[groups] = _flat(operation.groups)
        members, sizes = flat[groups]
        return NativeOp(
            after,
            queue,
            "collective",
            bytes=operation.bytes,
            kind=operation.kind,
            algorithm=operation.algorithm,
            channels=operation.channels,
            repeats=operation.repeats,
            members=members,
            sizes=sizes,
            matrix=None if operation.matrix is None else np.ascontiguousarray(operation.matrix, dtype=np.float64),
            overheads=operation.overheads,
            nvlink_sharp=reduction.nvlink_part(operation),
        )
    pairs = np.asarray(operation.pairs, dtype=np.uint32)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"operation '{operation.name}' has pairs of shape {pairs.shape}, not (n, 2)")
    members = np.ascontiguousarray(pairs).reshape(-1)
    return NativeOp(after, queue, "send-recv", bytes=operation.bytes, members=members, overheads=operation.overheads)
