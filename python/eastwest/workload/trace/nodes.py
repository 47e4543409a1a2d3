"""What one rank did, as a graph of nodes: compute, collectives, messages, and nodes that only stand for an order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from eastwest.errors import InputError
from eastwest.workload.operations import CollectiveKind

TraceCollectiveKind = Literal[CollectiveKind, "gather", "scatter", "barrier"]
"""Collectives that traces have; the last three become messages, or an all-reduce of a few bytes."""


@dataclass(frozen=True)
class Communicator:
    """Ranks that run collectives with each other, one after another, in the order in which their library numbers them.

    Two of the same ranks and different names run independently of each other.
    """

    name: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """Something that starts once the nodes with the numbers in `after` have ended; by itself it does nothing.

    `start` says when it began, in any unit and from any origin: of nodes that could run next, the earliest does.
    """

    id: int
    name: str
    after: tuple[int, ...] = ()
    start: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeNode(Node):
    """The GPU computes for `seconds`; one such node of a rank runs at a time."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveNode(Node):
    """The rank's part in a collective; `bytes` as nccl-tests counts them.

    The n-th of a communicator on one rank belongs to the n-th on the others. `root`, a rank of the job, is where a
    broadcast, a reduce, a gather or a scatter starts or ends; the communicator's first where None.
    """

    kind: TraceCollectiveKind
    bytes: float
    communicator: Communicator
    root: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageNode(Node):
    """The rank sends `bytes` to `peer`, or receives them; the n-th of a tag belongs to the peer's n-th of that tag.

    What waits for a send goes on once the message has arrived, or where it `is_buffered` once it could be sent.
    Messages of the same ranks run one after another within a `queue`; `is_without_nccl`: without its costs.
    """

    is_send: bool
    peer: int
    bytes: float
    tag: int = 0
    is_buffered: bool = False
    queue: str = ""
    is_without_nccl: bool = False


@dataclass(frozen=True)
class RankTrace:
    """The nodes of one rank, in the file's order.

    `file` is how messages name where they stand, `word` what the file calls a node. `unused` counts, by reason, what of
    the file could not be used.
    """

    rank: int
    nodes: tuple[Node, ...]
    file: str
    word: str = "node"
    unused: Mapping[str, int] = field(default_factory=dict)

    def refuse(self, node: Node, why: str) -> InputError:
        """The mistake of one node."""
        return InputError(f"{self.file}: {self.told(node)} {why}")

    def told(self, node: Node) -> str:
        """A node by its number and name."""
        return f"{self.word} {node.id}" + (f" ({node.name!r})" if node.name else "")


TraceSource = Callable[[], RankTrace]
"""Reads the trace of one rank; called again where it is needed again, since all ranks' would fill the memory."""
