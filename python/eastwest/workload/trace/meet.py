"""Who meets whom: the parts of a collective, and the two ends of a message, on all ranks that take part.

What cannot meet is refused here: a send without its receive, collectives that ranks enter with different sizes, kinds
or numbers of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eastwest.workload.trace.condense import Condensed
from eastwest.workload.trace.nodes import CollectiveNode, Communicator, MessageNode

Part = tuple[int, int]
"""An operation of one rank: the rank, and the operation's place there."""


@dataclass
class Meetings:
    """For each communicator the collectives in order, each with the place of its part on each of the ranks.

    `messages` are (part that sends, part that receives).
    """

    collectives: dict[Communicator, list[tuple[int, ...]]] = field(default_factory=dict)
    messages: list[tuple[Part, Part]] = field(default_factory=list)


def met(ranks: Sequence[Condensed], class_of: Sequence[int]) -> Meetings:
    """Matches the operations of all ranks; those of a class are known to do alike.

    Raises:
        InputError: names two nodes that do not fit, or one that lacks its other side.
    """
    found = Meetings()
    places: dict[Communicator, dict[int, list[int]]] = {}
    ends: dict[tuple[int, int, int], tuple[list[Part], list[Part]]] = {}  # by sender, receiver and tag
    for rank, condensed in enumerate(ranks):
        for place, operation in enumerate(condensed.operations):
            node = operation.node
            if isinstance(node, CollectiveNode):
                places.setdefault(node.communicator, {}).setdefault(rank, []).append(place)
            elif isinstance(node, MessageNode):
                pair = (rank, node.peer) if node.is_send else (node.peer, rank)
                both = ends.setdefault((*pair, node.tag), ([], []))
                both[0 if node.is_send else 1].append((rank, place))
    for communicator, by_rank in places.items():
        found.collectives[communicator] = _aligned(ranks, communicator, by_rank, class_of)
    for sends, receives in ends.values():
        _check_ends(ranks, sends, receives)
        found.messages += zip(sends, receives, strict=True)
    return found


def check_partners(ranks: Sequence[Condensed]) -> None:
    """Checks that ranks talk to ranks that there are, in communicators that they are in.

    Raises:
        InputError: names the node.
    """
    for rank, condensed in enumerate(ranks):
        for operation in condensed.operations:
            if isinstance(operation.node, CollectiveNode):
                _check_member(condensed, operation.node, rank, len(ranks))
            elif isinstance(operation.node, MessageNode):
                _check_peer(condensed, operation.node, rank, len(ranks))


def _check_member(condensed: Condensed, node: CollectiveNode, rank: int, ranks: int) -> None:
    members = node.communicator.ranks
    name = f"communicator {node.communicator.name!r}"
    if rank not in members:
        raise condensed.trace.refuse(node, f"runs in {name}, of which rank {rank} is no member")
    outside = next((each for each in members if not 0 <= each < ranks), None)
    if outside is not None:
        told = f"runs in {name} with rank {outside}, and there are traces of ranks 0 to {ranks - 1}"
        raise condensed.trace.refuse(node, f"{told}: give those of all ranks, or say how many there are with --ranks")
    if node.root is not None and node.root not in members:
        raise condensed.trace.refuse(node, f"starts or ends at rank {node.root}, which is no member of {name}")


def _check_peer(condensed: Condensed, node: MessageNode, rank: int, ranks: int) -> None:
    told = "sends to" if node.is_send else "receives from"
    if node.peer == rank:
        raise condensed.trace.refuse(node, f"{told} its own rank {rank}")
    if not 0 <= node.peer < ranks:
        raise condensed.trace.refuse(
            node, f"{told} rank {node.peer}, and there are traces of ranks 0 to {ranks - 1}: give those of all ranks"
        )


def _node(ranks: Sequence[Condensed], part: Part) -> CollectiveNode | MessageNode:
    node = ranks[part[0]].operations[part[1]].node
    assert isinstance(node, CollectiveNode | MessageNode)
    return node


def _told(ranks: Sequence[Condensed], part: Part) -> str:
    trace = ranks[part[0]].trace
    return f"{trace.told(ranks[part[0]].operations[part[1]].node)} of rank {part[0]}"


def _aligned(
    ranks: Sequence[Condensed], communicator: Communicator, by_rank: dict[int, list[int]], class_of: Sequence[int]
) -> list[tuple[int, ...]]:
    """The n-th collective of a communicator on each of its ranks, for each n."""
    members, first = communicator.ranks, communicator.ranks[0]
    longest = max(members, key=lambda rank: len(by_rank.get(rank, ())))
    count = len(by_rank[longest])
    unlike: dict[tuple[int, tuple[int, ...]], int] = {}
    for rank in members:
        unlike.setdefault((class_of[rank], tuple(by_rank.get(rank, ()))), rank)
    for n in range(count):
        for (_, places), rank in unlike.items():
            if n >= len(places):
                part = (longest, by_rank[longest][n])
                told = f"is number {n + 1} in communicator {communicator.name!r}, and rank {rank} enters {len(places)}"
                raise ranks[longest].trace.refuse(_node(ranks, part), f"{told}: the others would wait for ever")
            if n < len(by_rank.get(first, ())):
                _check_alike(ranks, communicator, n, (first, by_rank[first][n]), (rank, places[n]))
    return list(zip(*(by_rank[rank] for rank in members), strict=True))


def _check_alike(ranks: Sequence[Condensed], communicator: Communicator, n: int, one: Part, other: Part) -> None:
    first, second = _node(ranks, one), _node(ranks, other)
    assert isinstance(first, CollectiveNode)
    assert isinstance(second, CollectiveNode)
    is_same_size = first.bytes == second.bytes or first.kind == "all-to-all"  # which may be uneven
    if (first.kind, first.root) == (second.kind, second.root) and is_same_size:
        return
    told = f"number {n + 1} in communicator {communicator.name!r} is {first.kind} of {first.bytes:,.0f} B"
    but = f"{_told(ranks, other)} is {second.kind} of {second.bytes:,.0f} B"
    raise ranks[one[0]].trace.refuse(
        first, f"of rank {one[0]}, {told}, and {but}: ranks enter collectives in different orders, and would hang"
    )


def _check_ends(ranks: Sequence[Condensed], sends: list[Part], receives: list[Part]) -> None:
    if len(sends) != len(receives):
        more, fewer = (sends, receives) if len(sends) > len(receives) else (receives, sends)
        part = more[len(fewer)]
        node = _node(ranks, part)
        assert isinstance(node, MessageNode)
        what, lacks = ("sends to", "receive") if node.is_send else ("receives from", "send")
        raise ranks[part[0]].trace.refuse(
            node, f"{what} rank {node.peer} with tag {node.tag}, and no {lacks} there is left for it"
        )
    for send, receive in zip(sends, receives, strict=True):
        if _node(ranks, send).bytes != _node(ranks, receive).bytes:
            told = f"sends {_node(ranks, send).bytes:,.0f} B to {_told(ranks, receive)}"
            why = f"{told}, which expects {_node(ranks, receive).bytes:,.0f} B"
            raise ranks[send[0]].trace.refuse(_node(ranks, send), why)
