"""Writes a step as MLCommons Chakra execution traces, one a rank, and ASTRA-sim's list of its communicators.

`after` becomes data dependencies, and the order of a rank's compute and of its queues control dependencies. Sizes are
what a rank puts in, as Chakra counts them. A compute's time is in whole microseconds where simulators look for it, and
exact in an attribute of our own. Not here: algorithms and channels, which are the simulators' matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eastwest.workload.formats import chakra_schema as schema
from eastwest.workload.operations import Collective, Compute, Operation, SendRecv, Step

VERSION = "0.0.4"
"""Of the schema, as Chakra's own generators state it."""
MOST_NODES = 20_000_000
"""Over all ranks; each takes some hundred bytes."""


@dataclass
class _Rank:
    """One rank's trace under way: numbers of nodes by which later ones name those that end an operation or a queue."""

    number: int
    parts: list[bytes] = field(default_factory=list)
    nodes: int = 0
    ends: dict[str, tuple[int, ...]] = field(default_factory=dict)
    queues: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def awaited(self, operation: Operation) -> tuple[int, ...]:
        """The nodes that an operation waits for here; alone in its group, it is these that end it."""
        return tuple(dict.fromkeys(each for name in operation.after for each in self.ends.get(name, ())))

    def add(self, operation: Operation, kind: int, before: tuple[int, ...]) -> Any:
        """A node behind what its operation waits for and what comes `before` it, yet without entries and not kept."""
        self.nodes += 1
        waits = self.awaited(operation)
        node = schema.Node(id=self.nodes, name=operation.name, type=kind, data_deps=waits)
        node.ctrl_deps.extend(each for each in before if each not in waits)
        node.attr.add(name="is_cpu_op", bool_val=False)
        return node

    def keep(self, node: Any) -> int:
        """Keeps a node; returns its number."""
        self.parts.append(schema.framed(node))
        return int(node.id)


def chakra_traces(step: Step) -> tuple[Iterator[bytes], str, tuple[str, ...]]:
    """The trace of each rank in turn, the communicators as JSON, and what traces cannot say.

    Raises:
        ValueError: the step has storage, an uneven all-to-all or an end before its last operation, or too many nodes.
    """
    _check(step)
    groups = _Groups(step)
    takes_part = _takes_part(step, groups)
    if sum(map(len, takes_part)) > MOST_NODES:
        raise ValueError(f"the traces would have more than {MOST_NODES:,} nodes: export a smaller job")
    return (_trace(step, rank, takes_part[rank]) for rank in range(step.ranks)), groups.as_json(), _told(step)


def _check(step: Step) -> None:
    if step.until:
        raise ValueError("a step that ends before its last operation cannot be written as traces")
    for operation in step.operations:
        if not isinstance(operation, Compute | Collective | SendRecv):
            raise ValueError(f"operation '{operation.name}' reads or writes storage, which Chakra has not")
        if isinstance(operation, Collective) and operation.matrix is not None:
            raise ValueError(f"operation '{operation.name}' is an uneven all-to-all, and Chakra has one size for all")


def _told(step: Step) -> tuple[str, ...]:
    told = ["algorithms and channels of collectives are left to the simulator"]
    if step.overlap_slowdown != 1.0 or any(slowed != 1.0 for slowed in step.slowdown_of_rank):
        told.append("by how much communication slows compute beside it is left out")
    collectives = [each for each in step.operations if isinstance(each, Collective)]
    if any(size != round(size) for each in collectives for size in {_own_bytes(each, len(g)) for g in each.groups}):
        told.append("sizes are rounded to whole bytes")
    return tuple(told)


class _Groups:
    """Communicators by the number that traces and ASTRA-sim call them; 0 has all ranks in their order."""

    def __init__(self, step: Step) -> None:
        self.members: dict[int, list[int]] = {}
        self._number: dict[tuple[str, bytes], int] = {}
        self._everyone = np.arange(step.ranks, dtype=np.uint32).tobytes()
        collectives = [each for each in step.operations if isinstance(each, Collective)]
        self._queue_of_all = next((each.queue for each in collectives if self._is_of_all(each)), "")

    def _is_of_all(self, operation: Collective) -> bool:
        return any(group.tobytes() == self._everyone for group in operation.groups)

    def number(self, queue: str, group: Any) -> int:
        """The communicator of a group that runs in a queue: groups of the same ranks in two queues are two."""
        ranks = group.astype(np.uint32).tobytes()
        if (queue, ranks) == (self._queue_of_all, self._everyone):
            return 0
        found = self._number.setdefault((queue, ranks), len(self._number) + 1)
        self.members.setdefault(found, group.tolist())
        return found

    def as_json(self) -> str:
        """ASTRA-sim's list of communicators."""
        return json.dumps({str(number): ranks for number, ranks in self.members.items()}) + "\n"


Part = tuple[Operation, Any]
"""An operation and a rank's part in it: communicator and its size; or (is a send, peer) of each message; or nothing."""


def _takes_part(step: Step, groups: _Groups) -> list[list[Part]]:
    """The operations of each rank, in order."""
    found: list[list[Part]] = [[] for _ in range(step.ranks)]
    for operation in step.operations:
        if isinstance(operation, Compute):
            for rank in range(step.ranks) if operation.ranks is None else operation.ranks.tolist():
                found[rank].append((operation, None))
        elif isinstance(operation, Collective):
            for group in operation.groups:
                part = (groups.number(operation.queue, group), len(group)) if len(group) > 1 else None
                for rank in group.tolist():
                    found[rank].append((operation, part))
        elif isinstance(operation, SendRecv):
            ends: dict[int, list[tuple[bool, int]]] = {}
            for sender, receiver in operation.pairs.tolist():
                ends.setdefault(sender, []).append((True, receiver))
                ends.setdefault(receiver, []).append((False, sender))
            for rank, messages in ends.items():
                found[rank].append((operation, messages))
    return found


def _trace(step: Step, rank: int, parts: list[Part]) -> bytes:
    trace = _Rank(rank, [schema.framed(schema.GlobalMetadata(version=VERSION))])
    tags = {operation.name: tag for tag, operation in enumerate(step.operations)}
    for operation, part in parts:
        ends: tuple[int, ...]
        if isinstance(operation, Compute):
            node = trace.add(operation, schema.COMPUTE, trace.queues.get("", ()))
            node.duration_micros = round(operation.seconds * 1e6)
            node.attr.add(name=schema.EXACT_SECONDS, double_val=operation.seconds)
            ends = (trace.keep(node),)
            trace.queues[""] = ends
        elif isinstance(operation, Collective):
            ends = _collective(trace, operation, *part) if part else trace.awaited(operation)
            trace.queues[operation.queue] = ends
        else:
            assert isinstance(operation, SendRecv)
            ends = tuple(_message(trace, operation, each, tags[operation.name]) for each in part)
            trace.queues[operation.queue] = ends
        trace.ends[operation.name] = ends
    return b"".join(trace.parts)


def _collective(trace: _Rank, operation: Collective, communicator: int, ranks: int) -> tuple[int, ...]:
    """As many nodes as it has repeats, each behind the one before."""
    after: tuple[int, ...] = ()
    for _ in range(operation.repeats):
        before = after or trace.queues.get(operation.queue, ())
        node = trace.add(operation, schema.COLLECTIVE, before)
        node.attr.add(name="comm_type", int64_val=schema.COLLECTIVES.index(operation.kind))
        node.attr.add(name="comm_size", int64_val=round(_own_bytes(operation, ranks)))
        node.attr.add(name="pg_name", string_val=str(communicator))
        after = (trace.keep(node),)
    return after


def _own_bytes(operation: Collective, ranks: int) -> float:
    """What a rank puts into one of the collectives: of an all-gather its part, otherwise its whole buffer."""
    size = operation.bytes / operation.repeats
    return size / ranks if operation.kind == "all-gather" else size


def _message(trace: _Rank, operation: SendRecv, part: tuple[bool, int], tag: int) -> int:
    is_send, peer = part
    kind = schema.SEND if is_send else schema.RECEIVE
    node = trace.add(operation, kind, trace.queues.get(operation.queue, ()))
    node.attr.add(name="comm_size", int64_val=round(operation.bytes))
    node.attr.add(name="comm_src", int32_val=trace.number if is_send else peer)
    node.attr.add(name="comm_dst", int32_val=peer if is_send else trace.number)
    node.attr.add(name="comm_tag", int32_val=tag)
    return trace.keep(node)
