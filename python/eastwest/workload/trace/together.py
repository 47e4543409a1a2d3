"""Takes together what ranks of a class do at one place, or classes with each other: one operation of the step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from eastwest.workload.trace.condense import Condensed
from eastwest.workload.trace.meet import Meetings, Part
from eastwest.workload.trace.nodes import CollectiveNode, Communicator, ComputeNode

Turn = tuple[int, int]
"""An operation of a class of ranks: the class, and the place of the operation in each of its ranks."""


class CircleError(Exception):
    """Operations that wait for each other, each told by one of its parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__()
        self.parts = parts


@dataclass
class Joint:
    """One operation of the step.

    `turns` are whose it is. Of a compute, `parts` has every rank's; otherwise the first's, beside the `communicators`
    that run a collective or the `pairs` that send to each other. Of an all-to-all, `sizes` are what each rank of each
    communicator puts in, and `bytes` the most that one does.
    """

    turns: tuple[Turn, ...]
    parts: list[Part] = field(default_factory=list)
    communicators: list[Communicator] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    bytes: float = 0.0
    sizes: list[tuple[float, ...]] = field(default_factory=list)

    @property
    def is_uneven(self) -> bool:
        """Whether ranks put different sizes in."""
        return any(size != self.bytes for sizes in self.sizes for size in sizes)


def together(ranks: Sequence[Condensed], class_of: Sequence[int], meetings: Meetings) -> dict[Turn, Joint]:
    """The operation of the step for each turn of each class.

    Raises:
        CircleError: ranks of a class send to each other and wait for different things before they send and before
            they receive; in one operation each would wait for itself.
    """
    found: dict[tuple[Turn, ...], Joint] = {}
    joint_of: dict[Turn, Joint] = {}

    def joint(*turns: Turn) -> Joint:
        if turns not in found:
            found[turns] = Joint(turns)
            joint_of.update(dict.fromkeys(turns, found[turns]))
        return found[turns]

    for rank, condensed in enumerate(ranks):
        for place, operation in enumerate(condensed.operations):
            if isinstance(operation.node, ComputeNode):
                joint((class_of[rank], place)).parts.append((rank, place))
    for communicator, collectives in meetings.collectives.items():
        members = communicator.ranks
        kinds = [class_of[rank] for rank in members]
        for places in collectives:
            one = joint(*sorted({*zip(kinds, places, strict=True)}))
            one.communicators.append(communicator)
            one.parts = one.parts or [(members[0], places[0])]
            _size(one, ranks, zip(members, places, strict=True))
    for send, receive in meetings.messages:
        one = joint((class_of[send[0]], send[1]), (class_of[receive[0]], receive[1]))
        one.pairs.append((send[0], receive[0]))
        one.parts = one.parts or [send]
        if class_of[send[0]] == class_of[receive[0]] and _after(ranks, send) != _after(ranks, receive):
            raise CircleError([send])
    return joint_of


def _after(ranks: Sequence[Condensed], part: Part) -> tuple[int, ...]:
    return ranks[part[0]].operations[part[1]].after


def _size(one: Joint, ranks: Sequence[Condensed], parts: Iterable[Part]) -> None:
    """The bytes of a collective."""
    first = ranks[one.parts[0][0]].operations[one.parts[0][1]].node
    assert isinstance(first, CollectiveNode)
    if first.kind != "all-to-all":
        one.bytes = first.bytes
        return
    nodes = (ranks[rank].operations[place].node for rank, place in parts)
    sizes = tuple(node.bytes for node in nodes if isinstance(node, CollectiveNode))
    one.bytes = max(one.bytes, *sizes)
    one.sizes.append(sizes)
