"""One rank's trace for many ranks: the same nodes, with communicators as large as more ranks make them.

A communicator of regular strides that spans all ranks (data parallelism, say) grows with their number; one within a
part of them (tensor parallelism inside servers) keeps its size. Not here: pipelines, whose ranks do different things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from eastwest.errors import InputError
from eastwest.workload.operations import Compute, Groups, Operation, Step, strided
from eastwest.workload.trace.condense import condensed
from eastwest.workload.trace.join import Joined
from eastwest.workload.trace.naming import Names
from eastwest.workload.trace.nodes import (
    CollectiveNode,
    Communicator,
    ComputeNode,
    MessageNode,
    Node,
    RankTrace,
    TraceSource,
)
from eastwest.workload.trace.write import collective


def spread(source: TraceSource, of: int, ranks: int) -> Joined:
    """The step of `ranks` ranks which all do what one rank of a job of `of` ranks did.

    Raises:
        InputError: the trace makes no sense, a communicator is irregular or does not fit the new number, or the rank
            sends messages.
    """
    found = condensed(source())
    trace, given = found.trace, Names()
    shapes: dict[Communicator, tuple[int, int]] = {}
    groups: dict[tuple[Communicator, int], Groups] = {}
    stands_for: list[tuple[str, ...]] = []  # what to wait for, in place of each operation
    operations: list[Operation] = []
    for operation in found.operations:
        node = operation.node
        after = tuple(dict.fromkeys(name for place in operation.after for name in stands_for[place]))
        if isinstance(node, MessageNode):
            raise _refused(trace, node, ranks)
        if not isinstance(node, CollectiveNode):
            operations.append(Compute(given.operation(operation), operation.seconds, after))
            stands_for.append((operations[-1].name,))
            continue
        here = node.communicator
        if here not in shapes:
            shapes[here] = _shape(trace, node, of, ranks)
        if shapes[here][0] == 1:
            stands_for.append(after)
            continue
        first = here.ranks.index(node.root) if node.root in here.ranks else 0
        if (here, first) not in groups:
            groups[here, first] = tuple(np.roll(group, -first) for group in strided(ranks, *shapes[here]))
        queue = given.queue(here, here.name or "all")
        name = given.operation(operation)
        operations.append(collective(name, node.kind, node.bytes, groups[here, first], queue, after))
        stands_for.append((name,))
    return Joined(
        Step(ranks, tuple(operations)),
        ranks * len(trace.nodes),
        ranks * sum(each.nodes for each in found.operations if isinstance(each.node, ComputeNode)),
        ranks * found.last_kernels,
        0,
        trace.unused,
    )


def replicated(sources: Sequence[TraceSource], of: int, ranks: int) -> list[TraceSource]:
    """The traces of `ranks` ranks, made from those of a job of `of` ranks: rank r does what r modulo their number did.

    Raises:
        InputError: when a source is read, as `spread`.
    """
    return [partial(_moved, sources[rank % len(sources)], of, rank, ranks) for rank in range(ranks)]


def _moved(source: TraceSource, of: int, rank: int, ranks: int) -> RankTrace:
    trace = source()
    known: dict[Communicator, Communicator] = {}
    nodes = tuple(_node(trace, node, of, rank, ranks, known) for node in trace.nodes)
    return replace(trace, rank=rank, nodes=nodes)


def _node(
    trace: RankTrace, node: Node, of: int, rank: int, ranks: int, known: dict[Communicator, Communicator]
) -> Node:
    if isinstance(node, MessageNode):
        raise _refused(trace, node, ranks)
    if not isinstance(node, CollectiveNode):
        return node
    here = node.communicator
    if here not in known:
        size, stride = _shape(trace, node, of, ranks)
        first = rank // (size * stride) * size * stride + rank % stride
        known[here] = Communicator(here.name, tuple(range(first, first + size * stride, stride)))
    there = known[here]
    root = None if node.root not in here.ranks else there.ranks[here.ranks.index(node.root)]
    return replace(node, communicator=there, root=root)


def _refused(trace: RankTrace, node: MessageNode, ranks: int) -> InputError:
    told = f"{'sends to' if node.is_send else 'receives from'} rank {node.peer}"
    why = "ranks that send messages do different things, so one cannot stand for all"
    return trace.refuse(node, f"{told}: {why}; give the traces of all {ranks} ranks")


def _shape(trace: RankTrace, node: CollectiveNode, of: int, ranks: int) -> tuple[int, int]:
    """Size and stride of the communicator among more ranks."""
    members = node.communicator.ranks
    size, stride = len(members), members[1] - members[0] if len(members) > 1 else 1
    name = f"is in communicator {node.communicator.name!r} of ranks {_shown(members)}"
    is_regular = stride > 0 and all(b - a == stride for a, b in pairwise(members))
    if not is_regular or of % (size * stride):
        raise trace.refuse(node, f"{name}, which has no regular stride to repeat: give the traces of all {ranks} ranks")
    if size * stride == of:  # it spans the job, and grows with it
        if ranks % stride:
            raise trace.refuse(node, f"{name}: it takes a multiple of {stride} ranks, and {ranks} is none")
        size = ranks // stride
    if ranks % (size * stride):
        raise trace.refuse(node, f"{name}: such groups fill multiples of {size * stride} ranks, and {ranks} is none")
    return size, stride


def _shown(members: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, members[:4]))
    return shown if len(members) <= 4 else f"{shown}, ... {members[-1]}"
