"""One rank's trace for many ranks: the same nodes, with communicators as large as more ranks make them.

A communicator of regular strides that spans all ranks (data parallelism, say) grows with their number; one within a
part of them (tensor parallelism inside servers) keeps its size. Not here: pipelines, whose ranks do different things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from eastwest.workload.trace.nodes import (
    CollectiveNode,
    Communicator,
    MessageNode,
    Node,
    RankTrace,
    TraceSource,
)


def replicated(sources: Sequence[TraceSource], of: int, ranks: int) -> list[TraceSource]:
    """The traces of `ranks` ranks, made from those of a job of `of` ranks: rank r does what r modulo their number did.

    Raises:
        InputError: when a source is read: a communicator is irregular or does not fit the new number, or ranks send
            messages.
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
        told = "sends to" if node.is_send else "receives from"
        raise trace.refuse(
            node,
            f"{told} rank {node.peer}: ranks that send messages do different things, so one cannot stand for all; give "
            f"the traces of all {ranks} ranks",
        )
    if not isinstance(node, CollectiveNode):
        return node
    here = node.communicator
    if here not in known:
        known[here] = Communicator(here.name, _grown(trace, node, of, rank, ranks))
    there = known[here]
    root = None if node.root is None or node.root not in here.ranks else there.ranks[here.ranks.index(node.root)]
    return replace(node, communicator=there, root=root)


def _grown(trace: RankTrace, node: CollectiveNode, of: int, rank: int, ranks: int) -> tuple[int, ...]:
    """The ranks of the communicator that `rank` is in, among more of them."""
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
    span = size * stride
    if ranks % span:
        raise trace.refuse(node, f"{name}: such groups fill multiples of {span} ranks, and {ranks} is none")
    first = rank // span * span + rank % stride
    return tuple(range(first, first + span, stride))


def _shown(members: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, members[:4]))
    return shown if len(members) <= 4 else f"{shown}, ... {members[-1]}"
