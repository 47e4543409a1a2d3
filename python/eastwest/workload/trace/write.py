"""The operations of a step from what ranks do together, each with a name of its own."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from eastwest.workload.operations import Collective, Compute, Groups, Operation, SendRecv
from eastwest.workload.trace.condense import Condensed
from eastwest.workload.trace.nodes import CollectiveNode, MessageNode
from eastwest.workload.trace.together import Joint, Turn

BARRIER_BYTES = 4.0
"""What a barrier reduces: one element, as PyTorch's does over NCCL."""


class Writer:
    """Writes operations one by one, each behind those that it waits for."""

    def __init__(self, ranks: Sequence[Condensed], class_of: Sequence[int], joint_of: dict[Turn, Joint]) -> None:
        self._ranks, self._joint_of = ranks, joint_of
        self._first_of = {kind: rank for rank, kind in reversed(list(enumerate(class_of)))}
        self._used: Counter[str] = Counter()
        self._names: dict[int, tuple[str, ...]] = {}
        self._groups: dict[tuple[tuple[int, ...], int], Groups] = {}
        self._queues: dict[tuple[object, ...], str] = {}

    def write(self, one: Joint) -> list[Operation]:
        """The operations that it becomes: one, or a compute for each rank where their times differ."""
        rank, place = one.parts[0]
        operation = self._ranks[rank].operations[place]
        base = operation.node.name or "unnamed"
        name = self._unique(base if operation.nodes == 1 else f"{base} and {operation.nodes - 1} more")
        after = self._after(one)
        if isinstance(operation.node, CollectiveNode):
            found = [self._collective(one, operation.node, name, after)]
        elif isinstance(operation.node, MessageNode):
            listed = sorted(one.pairs)
            queue = self._queue(tuple(listed), _ends(listed))
            pairs = np.array(listed, dtype=np.uint32)
            found = [SendRecv(name, operation.node.bytes, pairs, queue, after)]
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
        groups, queue = self._groups[among, first], self._queue(among, node.communicator.name or "all")
        if node.kind == "gather" or node.kind == "scatter":
            pairs = np.array([(each, group[0]) for group in groups for each in group[1:]], dtype=np.uint32)
            return SendRecv(name, one.bytes, pairs if node.kind == "gather" else pairs[:, ::-1], queue, after)
        if node.kind == "barrier":
            return Collective(name, "all-reduce", BARRIER_BYTES, groups, "direct", queue=queue, after=after)
        return Collective(name, node.kind, one.bytes, groups, "direct", queue=queue, after=after)

    def _after(self, one: Joint) -> tuple[str, ...]:
        """What any of its turns waits for; ranks that take no part in one of these do not wait for it."""
        before = {
            id(self._joint_of[kind, each]): None
            for kind, place in one.turns
            for each in self._ranks[self._first_of[kind]].operations[place].after
        }
        return tuple(name for each in before for name in self._names[each])

    def _unique(self, name: str) -> str:
        """The name, or with a number behind it where it is taken."""
        while True:
            self._used[name] += 1
            if self._used[name] == 1:
                return name
            name = f"{name} #{self._used[name]}"

    def _queue(self, key: tuple[object, ...], name: str) -> str:
        """The queue of some ranks; those of the same name and other ranks have others."""
        if key not in self._queues:
            taken = set(self._queues.values())
            free = itertools.chain([name], (f"{name} #{count}" for count in itertools.count(2)))
            self._queues[key] = next(each for each in free if each not in taken)
        return self._queues[key]


def _ends(pairs: Sequence[tuple[int, int]]) -> str:
    """Pairs of sender and receiver in a few words."""
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return f"{pairs[0][0]} to {pairs[0][1]}{more}"
