"""Shortens one rank's nodes to what matters to a step: computes that follow each other become one, orders go.

Computes of a rank run one after another, and so do a communicator's collectives: of several that a node waits for, the
last stands for all. So nodes that are there only for the order can go, and each wait names one operation of a queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from eastwest.workload.trace.nodes import CollectiveNode, Communicator, ComputeNode, MessageNode, Node, RankTrace
from eastwest.workload.trace.order import ordered

MOST_WAITS = 50_000_000
"""Waits of one rank that are kept in mind."""
Queue = Communicator | str | int
"""What runs one after another: a communicator, the computes (""), or one message, by its number."""


@dataclass(slots=True)
class Operation:
    """What is left of one or more nodes; `after` names earlier operations of the rank by place."""

    node: Node
    after: tuple[int, ...]
    seconds: float = 0.0
    nodes: int = 1

    def queue(self, *, is_exact: bool) -> Queue | None:
        """What it runs in turn with; None for what runs as soon as it can."""
        if isinstance(self.node, CollectiveNode):
            return self.node.communicator
        return "" if isinstance(self.node, ComputeNode) and not is_exact else None


@dataclass
class Condensed:
    """A rank's operations in order, each behind those that it waits for."""

    trace: RankTrace
    is_exact: bool
    operations: list[Operation] = field(default_factory=list)
    last_kernels: int = 0
    """Computes that no other node waits for."""


def condensed(trace: RankTrace, *, is_exact: bool = False, is_buffered: bool = False) -> Condensed:
    """The operations of a trace.

    Where it `is_exact`, computes stay as they are and do not stand for each other, so that any order of them that their
    waits allow is still possible. Where it `is_buffered`, what waits for a send goes on once that could begin, as if
    its data went to a buffer.

    Raises:
        InputError: as `ordered`; the waits are too many.
    """
    found = Condensed(trace, is_exact)
    nodes = ordered(trace)
    awaited = {number for node in trace.nodes for number in node.after}
    queues: dict[int, dict[Queue, int]] = {}  # of each node: last operation of each queue that must have ended
    waits = 0
    for node in nodes:
        before = _latest(queues[number] for number in node.after)
        waits += len(before)
        if waits > MOST_WAITS:
            raise trace.refuse(node, f"is where the waits of rank {trace.rank} become more than {MOST_WAITS:,}")
        if type(node) is Node or (isinstance(node, CollectiveNode) and len(node.communicator.ranks) < 2):
            queues[node.id] = before
            continue
        place = len(found.operations)
        seconds = node.seconds if isinstance(node, ComputeNode) else 0.0
        operation = Operation(node, (), seconds)
        queue = operation.queue(is_exact=is_exact)
        if queue is not None:
            before.pop(queue, None)
        operation.after = tuple(sorted(before.values()))
        found.operations.append(operation)
        found.last_kernels += isinstance(node, ComputeNode) and node.id not in awaited
        if isinstance(node, MessageNode) and node.is_send and (is_buffered or node.is_buffered):
            queues[node.id] = before
        else:
            queues[node.id] = {place if queue is None else queue: place}
    if not is_exact:
        found.operations = _merged(found.operations)
    return found


def _latest(each: Iterable[dict[Queue, int]]) -> dict[Queue, int]:
    """Of each queue the last operation."""
    found: dict[Queue, int] = {}
    for queues in each:
        for queue, place in queues.items():
            if place > found.get(queue, -1):
                found[queue] = place
    return found


def _merged(operations: Sequence[Operation]) -> list[Operation]:
    """Computes put together where nothing else waits for the first of them and the next waits for nothing new."""
    is_awaited = [False] * len(operations)
    for operation in operations:
        if not isinstance(operation.node, ComputeNode):
            for place in operation.after:
                is_awaited[place] = True
    kept: list[Operation] = []
    place_of: list[int] = []  # where each operation went
    growing = -1  # the compute to which the next one may be added
    ended: dict[Queue, int] = {}  # last operation of each queue for which a compute has waited
    for index, operation in enumerate(operations):
        after = tuple(sorted({place_of[place] for place in operation.after}))
        if isinstance(operation.node, ComputeNode):
            news = tuple(place for place in after if ended.get(_queue(kept[place], place), -1) < place)
            ended |= {_queue(kept[place], place): place for place in news}
            if growing >= 0 and not news:
                kept[growing].seconds += operation.seconds
                kept[growing].nodes += 1
            else:
                growing = len(kept)
                kept.append(Operation(operation.node, news, operation.seconds))
            place_of.append(growing)
            if is_awaited[index]:
                growing = -1
        else:
            place_of.append(len(kept))
            kept.append(Operation(operation.node, after))
    return kept


def _queue(operation: Operation, place: int) -> Queue:
    return operation.node.communicator if isinstance(operation.node, CollectiveNode) else place
