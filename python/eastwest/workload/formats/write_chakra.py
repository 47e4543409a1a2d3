"""Writes a step as MLCommons Chakra execution traces, one a rank, and ASTRA-sim's list of its communicators.

`after` becomes data dependencies, and the order of a rank's compute and of its queues control dependencies. Sizes are
what a rank puts in, as Chakra counts them. A compute's time is in whole microseconds where simulators look for it.
Attributes of our own, which others pass over, have its exact time, and the queues of messages. Not here: algorithms and
channels, which are the simulators' matter.
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

    parts: list[bytes]
    nodes: int = 0
    ends: dict[str, tuple[int, ...]] = field(default_factory=dict)
    queues: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def awaited(self, operation: Operation) -> tuple[int, ...]:
        """The nodes that an operation waits for here; alone in its group, it is these that end it."""
        return tuple(dict.fromkeys(each for name in operation.after for each in self.ends.get(name, ())))

    def add(self, operation: Operation, body: bytes, before: tuple[int, ...]) -> int:
        """Adds a node behind what its operation waits for and what comes `before` it; returns its number."""
        self.nodes += 1
        waits = self.awaited(operation)
        order = [each for each in before if each not in waits]
        head: bytes = schema.Node(id=self.nodes, data_deps=waits, ctrl_deps=order).SerializeToString()
        self.parts += (schema.varint(len(head) + len(body)), head, body)
        return self.nodes


def chakra_traces(step: Step) -> tuple[Iterator[bytes], str, tuple[str, ...]]:
    """The trace of each rank in turn, the communicators as JSON, and what traces cannot say.

    Raises:
        ValueError: the step has storage, an uneven all-to-all or an end before its last operation, or too many nodes.
    """
    _check(step)
    groups = _Groups(step)
    takes_part = _takes_part(step, groups)
    repeats = (getattr(operation, "repeats", 1) for parts in takes_part for operation, _ in parts)
    if sum(repeats) > MOST_NODES:
        raise ValueError(f"the traces would have more than {MOST_NODES:,} nodes: export a smaller job")
    bodies = _Bodies({each.name: tag for tag, each in enumerate(step.operations)}, is_by_nccl=_is_by_nccl(step))
    traces = (_trace(rank, parts, bodies) for rank, parts in enumerate(takes_part))
    return traces, groups.as_json(), _told(step)


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


def _is_by_nccl(step: Step) -> bool:
    """Whether NCCL is to carry out collectives as it chooses: an import would then ask it for messages too."""
    return any(isinstance(each, Collective) and each.tuning is not None for each in step.operations)


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


class _Bodies:
    """What nodes say but for their number and waits, written once for all ranks that do the same.

    Protobuf takes a message's entries in any order, so that a node is these bytes behind its number and waits.
    """

    def __init__(self, tags: dict[str, int], *, is_by_nccl: bool) -> None:
        self._tags, self._is_by_nccl = tags, is_by_nccl
        self._known: dict[tuple[str, int, int], bytes] = {}

    def compute(self, operation: Compute) -> bytes:
        """Of a compute."""
        key = (operation.name, 0, 0)
        if key not in self._known:
            entries = {schema.EXACT_SECONDS: ("double_val", operation.seconds)}
            micros = round(operation.seconds * 1e6)
            self._known[key] = _body(operation, schema.COMPUTE, entries, duration_micros=micros)
        return self._known[key]

    def collective(self, operation: Collective, communicator: int, ranks: int) -> bytes:
        """Of a rank's part in a collective."""
        key = (operation.name, communicator, ranks)
        if key not in self._known:
            entries = {
                "comm_type": ("int64_val", schema.COLLECTIVES.index(operation.kind)),
                "comm_size": ("int64_val", round(_own_bytes(operation, ranks))),
                "pg_name": ("string_val", str(communicator)),
            }
            self._known[key] = _body(operation, schema.COLLECTIVE, entries)
        return self._known[key]

    def message(self, operation: SendRecv, rank: int, is_send: bool, peer: int) -> bytes:
        """Of one end of a message."""
        ends = (rank, peer) if is_send else (peer, rank)
        entries = {
            "comm_size": ("int64_val", round(operation.bytes)),
            "comm_src": ("int32_val", ends[0]),
            "comm_dst": ("int32_val", ends[1]),
            "comm_tag": ("int32_val", self._tags[operation.name]),
            schema.QUEUE: ("string_val", operation.queue),
        }
        if self._is_by_nccl and operation.tuning is None:
            entries[schema.WITHOUT_NCCL] = ("bool_val", True)
        return _body(operation, schema.SEND if is_send else schema.RECEIVE, entries)


def _body(operation: Operation, kind: int, entries: dict[str, tuple[str, Any]], **more: int) -> bytes:
    node = schema.Node(name=operation.name, type=kind, **more)
    node.attr.add(name="is_cpu_op", bool_val=False)
    for name, (of_type, value) in entries.items():
        node.attr.add(name=name, **{of_type: value})
    body: bytes = node.SerializeToString()
    return body


def _trace(rank: int, parts: list[Part], bodies: _Bodies) -> bytes:
    trace = _Rank([schema.framed(schema.GlobalMetadata(version=VERSION))])
    for operation, part in parts:
        ends: tuple[int, ...]
        if isinstance(operation, Compute):
            ends = (trace.add(operation, bodies.compute(operation), trace.queues.get("", ())),)
            trace.queues[""] = ends
        elif isinstance(operation, Collective):
            ends = _collective(trace, operation, part, bodies)
            trace.queues[operation.queue] = ends
        else:
            assert isinstance(operation, SendRecv)
            before = trace.queues.get(operation.queue, ())
            each_body = [bodies.message(operation, rank, is_send, peer) for is_send, peer in part]
            ends = tuple(trace.add(operation, body, before) for body in each_body)
            trace.queues[operation.queue] = ends
        trace.ends[operation.name] = ends
    return b"".join(trace.parts)


def _collective(trace: _Rank, operation: Collective, part: tuple[int, int] | None, bodies: _Bodies) -> tuple[int, ...]:
    """As many nodes as it has repeats, each behind the one before; of a rank alone in its group, none."""
    if part is None:
        return trace.awaited(operation)
    body, before = bodies.collective(operation, *part), trace.queues.get(operation.queue, ())
    for _ in range(operation.repeats):
        before = (trace.add(operation, body, before),)
    return before


def _own_bytes(operation: Collective, ranks: int) -> float:
    """What a rank puts into one of the collectives: of an all-gather its part, otherwise its whole buffer."""
    size = operation.bytes / operation.repeats
    return size / ranks if operation.kind == "all-gather" else size
