"""Small traces by hand."""

from collections.abc import Callable, Sequence

import pytest

from eastwest.workload.trace import CollectiveNode, Communicator, ComputeNode, MessageNode, Node, RankTrace, joined

ALL_REDUCE_BYTES = 1e6


class Rank:
    """The nodes of one rank, each waiting for the one before unless `after` says otherwise."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, of: type[Node], name: str, after: Sequence[str] | None, **more: object) -> "Rank":
        number = {node.name: node.id for node in self.nodes}
        last = [self.nodes[-1].name] if self.nodes else []
        waits = tuple(number[each] for each in (last if after is None else after))
        self.nodes.append(of(len(self.nodes), name, waits, **more))
        return self

    def compute(self, name: str, seconds: float, after: Sequence[str] | None = None) -> "Rank":
        return self.add(ComputeNode, name, after, seconds=seconds)

    def order(self, name: str, after: Sequence[str] | None = None) -> "Rank":
        return self.add(Node, name, after)

    def collective(self, name: str, ranks: Sequence[int], after: Sequence[str] | None = None, **more: object) -> "Rank":
        communicator = Communicator(str(more.pop("named", "")), tuple(ranks))
        told = {"kind": "all-reduce", "bytes": ALL_REDUCE_BYTES, "communicator": communicator, **more}
        return self.add(CollectiveNode, name, after, **told)

    def send(self, name: str, peer: int, after: Sequence[str] | None = None, tag: int = 0, size: float = 1e6) -> "Rank":
        return self.add(MessageNode, name, after, is_send=True, peer=peer, bytes=size, tag=tag)

    def receive(
        self, name: str, peer: int, after: Sequence[str] | None = None, tag: int = 0, size: float = 1e6
    ) -> "Rank":
        return self.add(MessageNode, name, after, is_send=False, peer=peer, bytes=size, tag=tag)

    def trace(self, rank: int) -> RankTrace:
        return RankTrace(rank, tuple(self.nodes), f"t.{rank}.et")


def sources(*ranks: Rank) -> list[Callable[[], RankTrace]]:
    return [lambda rank=rank, each=each: each.trace(rank) for rank, each in enumerate(ranks)]


def join(*ranks: Rank):
    """The step of these ranks."""
    return joined(sources(*ranks)).step


@pytest.fixture
def rank() -> Rank:
    return Rank()
