"""The operations of a step from what ranks do together, each with a name of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from eastwest.workload.operations import Collective, Compute, Groups, Operation, SendRecv, Tuning
from eastwest.workload.trace.condense import Condensed
from eastwest.workload.trace.naming import Names
from eastwest.workload.trace.nodes import CollectiveNode, MessageNode, TraceCollectiveKind
from eastwest.workload.trace.together import Joint, Turn

BARRIER_BYTES = 4.0
"""What a barrier reduces: one element, as PyTorch's does over NCCL."""


class Writer:
    """Writes operations one by one, each behind those that it waits for."""

    def __init__(self, ranks: Sequence[Condensed], class_of: Sequence[int], joint_of: dict[Turn, Joint]) -> None:
        self._ranks, self._joint_of = ranks, joint_of
        self._first_of = {kind: rank for rank, kind in reversed(list(enumerate(class_of)))}
        self._given = Names()
        self._names: dict[int, tuple[str, ...]] = {}
        self._groups: dict[tuple[tuple[int, ...], int], Groups] = {}

    def write(self, one: Joint) -> list[Operation]:
        """The operations that it becomes: one, or a compute for each rank where their times differ."""
        rank, place = one.parts[0]
        operation = self._ranks[rank].operations[place]
        name = self._given.operation(operation)
        after = self._after(one)
        if isinstance(operation.node, CollectiveNode):
            found = list(self._uneven(one, operation.node, name, after)) if one.is_uneven else []
            found = found or [self._collective(one, operation.node, name, after)]
        elif isinstance(node := operation.node, MessageNode):
            listed = sorted(one.pairs)
            queue = self._given.queue((node.queue, *listed), node.queue or _ends(listed))
            pairs = np.array(listed, dtype=np.uint32)
            tuning = Tuning(is_done=True) if node.is_without_nccl else None  # settled: it costs nothing
            found = [SendRecv(name, node.bytes, pairs, queue, after, tuning=tuning)]
        else:
            found = list(self._computes(one, name, after))
        self._names[id(one)] = tuple(each.name for each in found)
        return found

    def _computes(self, one: Joint, name: str, after: tuple[str, ...]) -> Iterator[Operation]:
        times = [self._ranks[rank].operations[place].seconds for rank, place in one.parts]
        members = np.array([rank for rank, _ in one.parts], dtype=np.uint32)
        if min(times) == max(times):
            yield Compute(name, times[0], after, None if len(members) == len(self._ranks) else members)
            return
        for at, seconds in enumerate(times):
            yield Compute(f"{name}/{members[at]}", seconds, after, members[at : at + 1])

    def _collective(self, one: Joint, node: CollectiveNode, name: str, after: tuple[str, ...]) -> Operation:
        among = tuple(map(id, one.communicators))
        first = 0 if node.root is None else node.communicator.ranks.index(node.root)
        if (among, first) not in self._groups:
            self._groups[among, first] = tuple(
                np.roll(np.array(each.ranks, dtype=np.uint32), -first) for each in one.communicators
            )
        queue = self._given.queue(among, node.communicator.name or "all")
        return collective(name, node.kind, one.bytes, self._groups[among, first], queue, after)

    def _uneven(self, one: Joint, node: CollectiveNode, name: str, after: tuple[str, ...]) -> Iterator[Operation]:
        """An all-to-all to which each rank gives what it has, in equal parts for all; one a communicator."""
        queue = self._given.queue(tuple(map(id, one.communicators)), node.communicator.name or "all")
        for number, (communicator, sizes) in enumerate(zip(one.communicators, one.sizes, strict=True)):
            members, count = np.array(communicator.ranks, dtype=np.uint32), len(sizes)
            matrix = np.repeat(np.array(sizes)[:, None] / count, count, axis=1)
            called = name if len(one.communicators) == 1 else f"{name}/{number}"
            yield Collective(called, "all-to-all", 0.0, (members,), "direct", matrix=matrix, queue=queue, after=after)

    def _after(self, one: Joint) -> tuple[str, ...]:
        """What any of its turns waits for; ranks that take no part in one of these do not wait for it."""
        before = {
            id(self._joint_of[kind, each]): None
            for kind, place in one.turns
            for each in self._ranks[self._first_of[kind]].operations[place].after
        }
        return tuple(name for each in before for name in self._names[each])


def collective(
    name: str, kind: TraceCollectiveKind, size: float, groups: Groups, queue: str, after: tuple[str, ...]
) -> Operation:
    """A collective of `groups`, root first; a gather or a scatter as messages, a barrier as a sum of a few bytes."""
    if kind == "gather" or kind == "scatter":
        pairs = np.array([(each, group[0]) for group in groups for each in group[1:]], dtype=np.uint32)
        return SendRecv(name, size, pairs if kind == "gather" else pairs[:, ::-1], queue, after)
    if kind == "barrier":
        return Collective(name, "all-reduce", BARRIER_BYTES, groups, "direct", queue=queue, after=after)
    return Collective(name, kind, size, groups, "direct", queue=queue, after=after)


def _ends(pairs: Sequence[tuple[int, int]]) -> str:
    """Pairs of sender and receiver in a few words."""
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return f"{pairs[0][0]} to {pairs[0][1]}{more}"
