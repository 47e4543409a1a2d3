"""What the ranks of a job do in one step: compute, collectives, messages and storage, in order.

The program is the same for every rank; an operation names the groups that take part in it. Sizes are bytes, times
seconds. Not here: how a collective is carried out (the engine lowers it), or where the ranks sit (`fabric.placement`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

CollectiveKind = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce"]
Algorithm = Literal[
    "ring",
    "rail-ring",
    "tree",
    "halving-doubling",
    "bruck",
    "direct",
    "pxn",
    "hierarchical-staged",
    "hierarchical-pipelined",
    "nvls",
    "nvls-tree",
    "sharp",
    "nvls-sharp",
]
Protocol = Literal["ll", "ll128", "simple"]
Carries = Literal["batch", "model"]
Direction = Literal["read", "write"]
Groups = tuple[npt.NDArray[np.uint32], ...]

_ROUND: tuple[CollectiveKind, ...] = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce")
KINDS: Mapping[Algorithm, tuple[CollectiveKind, ...]] = MappingProxyType(
    {
        "ring": _ROUND,
        "rail-ring": _ROUND,
        "tree": ("all-reduce", "broadcast", "reduce"),
        "halving-doubling": ("all-reduce", "all-gather", "reduce-scatter"),
        "bruck": ("all-gather", "all-to-all"),
        "direct": (*_ROUND, "all-to-all"),
        "pxn": ("all-to-all",),
        "hierarchical-staged": _ROUND,
        "hierarchical-pipelined": _ROUND,
        "nvls": ("all-reduce", "all-gather", "reduce-scatter"),
        "nvls-tree": ("all-reduce",),
        "sharp": ("all-reduce", "broadcast", "reduce"),
        "nvls-sharp": ("all-reduce",),
    }
)
"""The collectives that each algorithm carries out."""
NVLINK_SHARP: frozenset[Algorithm] = frozenset({"nvls", "nvls-tree", "nvls-sharp"})
"""Algorithms that need an NVLink switch that adds up and copies."""
SHARP: frozenset[Algorithm] = frozenset({"sharp", "nvls-sharp"})
"""Algorithms that need scale-out switches that do."""


@dataclass(frozen=True)
class Compute:
    """Every rank, or each of `ranks`, computes for `seconds`; compute operations of a rank run one after another."""

    name: str
    seconds: float
    after: tuple[str, ...] = ()
    ranks: npt.NDArray[np.uint32] | None = None


@dataclass(frozen=True)
class Overheads:
    """What a collective library's protocol adds to what the network itself takes.

    A collective takes `base_s` once, and for each hop after another `intra_s` inside a server or `inter_s` between
    servers, seconds, on top of the latency of the hop's path; below zero, where a hop takes less than its path does in
    the network. `wire` is the bytes on the wire for each byte of payload (1 or more), `channel_rate` the payload that
    one channel cannot exceed, bytes a second. How hops are counted: docs/engine.md, "Protocols".
    """

    base_s: float = 0.0
    intra_s: float = 0.0
    inter_s: float = 0.0
    wire: float = 1.0
    channel_rate: float = math.inf


@dataclass(frozen=True)
class Tuning:
    """What NCCL is to choose for a collective: whatever is None here, by `workload.nccl`, for its size and ranks.

    Once it `is_done`, what was chosen stands here and in the collective.
    """

    algorithm: Algorithm | None = None
    protocol: Protocol | None = None
    channels: int | None = None
    is_done: bool = False


@dataclass(frozen=True)
class Collective:
    """Each of `groups` (disjoint arrays of ranks, in rank order) runs a collective at the same time.

    `bytes` is the buffer of a rank, as in the `size` column of nccl-tests; `matrix`, for an uneven all-to-all, holds
    instead the bytes from each rank of a group to each other, shape (n, n). Collectives that share a `queue` (a
    communicator) run one after another. A broadcast goes out from the first rank of each
    group; a reduce ends there. It `carries` a rank's part of the batch, by which it shrinks as more ranks share the
    work, or the model; None: an all-to-all the batch, any other the model. With a `tuning`, NCCL's model is to choose
    algorithm, channels and overheads before it runs. It stands for `repeats` collectives of equal parts of its bytes,
    one after another, as those of the layers of a model: latencies count as often, and NCCL chooses for a part.
    """

    name: str
    kind: CollectiveKind
    bytes: float
    groups: Groups
    algorithm: Algorithm
    channels: int = 1
    matrix: npt.NDArray[np.float64] | None = None
    queue: str = "collectives"
    after: tuple[str, ...] = ()
    overheads: Overheads = Overheads()
    carries: Carries | None = None
    tuning: Tuning | None = None
    repeats: int = 1

    @property
    def carried(self) -> Carries:
        """What its bytes are in proportion to: a rank's part of the batch, or the model."""
        return self.carries or ("batch" if self.kind == "all-to-all" else "model")


@dataclass(frozen=True)
class SendRecv:
    """One message of `bytes` for each pair (sender, receiver): `pairs` has shape (n, 2).

    With a `tuning`, which leaves all open, `overheads` are to be what NCCL's sends and receives cost.
    """

    name: str
    bytes: float
    pairs: npt.NDArray[np.uint32]
    queue: str = "messages"
    after: tuple[str, ...] = ()
    overheads: Overheads = Overheads()
    tuning: Tuning | None = None

    @property
    def is_without_nccl(self) -> bool:
        """Whether it is settled that NCCL's costs are not its own, whoever carries out collectives."""
        return self.tuning is not None and self.tuning.is_done and self.overheads == Overheads()


@dataclass(frozen=True)
class Storage:
    """Every server reads or writes `bytes`, spread evenly over the storage servers and both sides' front-end NICs.

    The servers are those of all ranks, or of `ranks`; the ranks of a server wait until it has done its own. Compute
    goes on undisturbed meanwhile: data goes to a host's memory.
    """

    name: str
    direction: Direction
    bytes: float
    queue: str = "storage"
    after: tuple[str, ...] = ()
    ranks: npt.NDArray[np.uint32] | None = None


Operation = Compute | Collective | SendRecv | Storage


@dataclass(frozen=True)
class Step:
    """One training step of `ranks` ranks.

    `overlap_slowdown` is the factor by which compute takes longer while a communication runs on the same GPU; where
    ranks differ, `slowdown_of_rank` has each one's own. The step ends with the operations named in `until`, whatever
    others still do; with all where none is named.
    """

    ranks: int
    operations: tuple[Operation, ...] = field(default=())
    overlap_slowdown: float = 1.0
    slowdown_of_rank: tuple[float, ...] = ()
    until: tuple[str, ...] = ()

    @property
    def compute_s(self) -> float:
        """Seconds that a rank computes when nothing slows it."""
        return sum(op.seconds for op in self.operations if isinstance(op, Compute))


def all_ranks(ranks: int) -> Groups:
    """One group of all ranks."""
    return (np.arange(ranks, dtype=np.uint32),)


def consecutive(ranks: int, size: int) -> Groups:
    """Groups of `size` neighbouring ranks: 0..size-1, size..2*size-1, ..."""
    return strided(ranks, size, 1)


def strided(ranks: int, size: int, stride: int) -> Groups:
    """Groups of `size` ranks, `stride` apart: with stride 8, ranks 0, 8, 16, ... and 1, 9, 17, ...

    Raises:
        ValueError: the groups do not fill the ranks evenly.
    """
    span = size * stride
    if size < 1 or stride < 1 or ranks % span:
        raise ValueError(f"groups of {size} ranks, {stride} apart, fill {span} ranks; {ranks} is no multiple of that")
    table = np.arange(ranks, dtype=np.uint32).reshape(-1, size, stride)
    return tuple(np.ascontiguousarray(block[:, offset]) for block in table for offset in range(stride))


def shift(ranks: int, by: int) -> npt.NDArray[np.uint32]:
    """Pairs in which each rank sends to the one `by` further on, around the end; shape (ranks, 2)."""
    sender = np.arange(ranks, dtype=np.int64)
    return np.stack([sender, (sender + by % ranks) % ranks], axis=1).astype(np.uint32)


def in_order(operations: Sequence[Operation]) -> None:
    """Checks that names are unique and that every operation waits only for earlier ones.

    Raises:
        ValueError: names the operation and what it waits for.
    """
    seen: set[str] = set()
    for operation in operations:
        for name in operation.after:
            if name not in seen:
                raise ValueError(f"operation '{operation.name}' waits for '{name}', which does not come before it")
        if operation.name in seen:
            raise ValueError(f"two operations are named '{operation.name}'")
        seen.add(operation.name)
