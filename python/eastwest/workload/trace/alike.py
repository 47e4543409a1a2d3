"""Which ranks do alike: the same operations in the same order, with the same waits, among ranks that do alike too.

What ranks of a class do is written once in a step, which keeps files short and lets the engine find that they are
symmetric. How long they compute may differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from eastwest.workload.trace.condense import Condensed
from eastwest.workload.trace.nodes import CollectiveNode, Communicator, MessageNode

Channel = Communicator | tuple[int, bool, int]
"""Whom a rank talks to: a communicator, or (peer, whether it sends, tag)."""


def channels(rank: Condensed) -> dict[Channel, int]:
    """Those that a rank talks to, numbered in the order in which it first does."""
    found: dict[Channel, int] = {}
    for operation in rank.operations:
        if (channel := channel_of(operation.node)) is not None:
            found.setdefault(channel, len(found))
    return found


def channel_of(node: object) -> Channel | None:
    """Whom a node talks to."""
    if isinstance(node, CollectiveNode):
        return node.communicator
    return (node.peer, node.is_send, node.tag) if isinstance(node, MessageNode) else None


def classes(ranks: Sequence[Condensed]) -> list[int]:
    """The class of each rank, numbered by its first rank's turn."""
    channels_of = [channels(rank) for rank in ranks]
    colour = _numbered(_signature(rank, found) for rank, found in zip(ranks, channels_of, strict=True))
    while True:
        finer = _refined(colour, channels_of)
        if max(finer) == max(colour):
            return colour
        colour = finer


def _refined(colour: Sequence[int], channels_of: Sequence[dict[Channel, int]]) -> list[int]:
    """Classes split by the classes of those whom their ranks talk to."""
    known: dict[tuple[int, ...], Hashable] = {}

    def partners(channel: Channel) -> Hashable:
        if not isinstance(channel, Communicator):
            return colour[channel[0]]
        if channel.ranks not in known:
            known[channel.ranks] = tuple(colour[each] for each in channel.ranks)
        return known[channel.ranks]

    return _numbered((colour[rank], *map(partners, found)) for rank, found in enumerate(channels_of))


def _signature(rank: Condensed, numbers: dict[Channel, int]) -> Hashable:
    """What a rank does, whoever the others are."""
    told: list[Hashable] = []
    for operation in rank.operations:
        node = operation.node
        channel = channel_of(node)
        what: Hashable = None
        if isinstance(node, CollectiveNode):
            root = None if node.root is None else node.communicator.ranks.index(node.root)
            what = (node.kind, node.kind == "all-to-all" or node.bytes, root)  # which may be uneven
        elif isinstance(node, MessageNode):
            what = (node.is_send, node.bytes, node.queue, node.is_without_nccl)
        told.append((what, operation.after, -1 if channel is None else numbers[channel]))
    return tuple(told)


def _numbered(values: Iterable[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]
