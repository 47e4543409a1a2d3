"""From the traces of all ranks to one step: what ranks do alike is one operation, in an order in which all can run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import product

from eastwest.errors import InputError
from eastwest.workload.operations import Step
from eastwest.workload.trace.alike import classes
from eastwest.workload.trace.condense import Condensed, Queue, condensed
from eastwest.workload.trace.meet import check_partners, met
from eastwest.workload.trace.nodes import ComputeNode, TraceSource
from eastwest.workload.trace.order import chain, circle_in
from eastwest.workload.trace.together import CircleError, Joint, Turn, together
from eastwest.workload.trace.write import Writer


@dataclass(frozen=True)
class Joined:
    """A step, and what became of the nodes of all ranks that it was made from.

    `last_kernels` are computes that no node waits for, `uneven` all-to-alls to which ranks give different sizes,
    `unused` what could not be used, by reason. Where it `is_buffered`, nothing waits until a
    message that it sent has arrived, since ranks would else wait for each other.
    """

    step: Step
    nodes: int
    computes: int
    last_kernels: int
    uneven: int
    unused: Mapping[str, int]
    is_buffered: bool = False


def joined(sources: Sequence[TraceSource]) -> Joined:
    """The step of a job whose rank r is read by `sources[r]`.

    Ranks that would wait for each other are tried in other ways: each by itself, since classes may put together what
    can only run apart; with computes in any order; and with sends that end at once.

    Raises:
        InputError: a trace makes no sense by itself, ranks do not fit together, or they would wait for each other for
            ever; names the nodes.
    """
    circle: CircleError | None = None
    for is_buffered, is_exact in product((False, True), (False, True)):
        ranks = [condensed(source(), is_exact=is_exact, is_buffered=is_buffered) for source in sources]
        check_partners(ranks)
        apart = list(range(len(ranks)))
        for class_of in (apart,) if is_exact else (classes(ranks), apart):
            try:
                return replace(_joined(ranks, class_of), is_buffered=is_buffered)
            except CircleError as found:
                circle = found
    assert circle is not None
    traces = [(ranks[rank].trace, ranks[rank].operations[place].node) for rank, place in circle.parts]
    told = chain([f"{trace.told(node)} of rank {trace.rank}" for trace, node in traces])
    why = "the ranks would wait for each other for ever, since they enter these in different orders"
    raise InputError(f"{traces[0][0].file}: {why}: {told}")


def _joined(ranks: Sequence[Condensed], class_of: Sequence[int]) -> Joined:
    joint_of = together(ranks, class_of, met(ranks, class_of))
    order = _in_turn(ranks, class_of, joint_of)
    writer = Writer(ranks, class_of, joint_of)
    operations = [operation for one in order for operation in writer.write(one)]
    return Joined(
        Step(len(ranks), tuple(operations)),
        sum(len(rank.trace.nodes) for rank in ranks),
        sum(each.nodes for rank in ranks for each in rank.operations if isinstance(each.node, ComputeNode)),
        sum(rank.last_kernels for rank in ranks),
        sum(one.is_uneven for one in order),
        sum((Counter(rank.trace.unused) for rank in ranks), Counter[str]()),
    )


def _in_turn(ranks: Sequence[Condensed], class_of: Sequence[int], joint_of: Mapping[Turn, Joint]) -> list[Joint]:
    """The operations of the step, each behind those that some rank must have done before.

    Of those that could come next, the one comes that is earliest in its ranks' traces.

    Raises:
        CircleError: there is no such order.
    """
    joints = list({id(one): one for one in joint_of.values()}.values())
    number = {id(one): index for index, one in enumerate(joints)}
    waits: list[set[int]] = [set() for _ in joints]
    turn = [0.0] * len(joints)
    first_of = {kind: rank for rank, kind in reversed(list(enumerate(class_of)))}
    for kind, rank in first_of.items():
        last: dict[Queue, int] = {}
        operations = ranks[rank].operations
        for place, operation in enumerate(operations):
            index = number[id(joint_of[kind, place])]
            turn[index] = max(turn[index], place / len(operations))
            waits[index] |= {number[id(joint_of[kind, each])] for each in operation.after}
            queue = operation.queue(is_exact=ranks[rank].is_exact)
            if queue is not None:
                if queue in last:
                    waits[index].add(last[queue])
                last[queue] = index
    return [joints[index] for index in _sorted(waits, turn, joints)]


def _sorted(waits: Sequence[set[int]], turn: Sequence[float], joints: Sequence[Joint]) -> list[int]:
    waiting: list[list[int]] = [[] for _ in waits]
    for index, before in enumerate(waits):
        for each in before:
            waiting[each].append(index)
    left = [len(before) for before in waits]
    ready = [(turn[index], index) for index, count in enumerate(left) if not count]
    heapify(ready)
    found: list[int] = []
    while ready:
        _, index = heappop(ready)
        found.append(index)
        for each in waiting[index]:
            left[each] -= 1
            if not left[each]:
                heappush(ready, (turn[each], each))
    if len(found) < len(waits):
        stuck = {index: sorted(waits[index]) for index, count in enumerate(left) if count}
        raise CircleError([joints[index].parts[0] for index in circle_in(stuck)])
    return found
