"""What the profiler says of a collective: its kind, its bytes as nccl-tests counts them, and who takes part.

Names and entries are those of PyTorch (`RECORD_PARAM_COMMS` in ProcessGroupNCCL.cpp, `saveNcclMeta` in
torch/csrc/profiler/util.cpp). Lists of many ranks are cut there; the stride of those that are left continues them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from eastwest.workload.trace import Communicator, TraceCollectiveKind

KINDS: Mapping[str, TraceCollectiveKind] = {
    "allreduce": "all-reduce",
    "allreduce_coalesced": "all-reduce",
    "all_reduce": "all-reduce",
    "broadcast": "broadcast",
    "_broadcast_oop": "broadcast",
    "reduce": "reduce",
    "_reduce_oop": "reduce",
    "all_gather": "all-gather",
    "allgather": "all-gather",
    "_allgather_base": "all-gather",
    "all_gather_into_tensor": "all-gather",
    "allgather_into_tensor_coalesced": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "_reduce_scatter_base": "reduce-scatter",
    "reduce_scatter_tensor": "reduce-scatter",
    "reduce_scatter_tensor_coalesced": "reduce-scatter",
    "all_to_all": "all-to-all",
    "all_to_allv": "all-to-all",
    "alltoall": "all-to-all",
    "alltoall_base": "all-to-all",
    "gather": "gather",
    "scatter": "scatter",
    "barrier": "barrier",
}
"""By the profiler's name, in lower case."""

BYTES_OF = {
    **dict.fromkeys(("byte", "char", "bool", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("short", "half", "bfloat16", "uint16"), 2),
    **dict.fromkeys(("int", "float", "uint32"), 4),
    **dict.fromkeys(("long", "double", "uint64", "complexfloat"), 8),
    "complexdouble": 16,
}
"""Bytes of an element, by the name of PyTorch's type in lower case."""

MOST_RANKS = 1 << 20
_NUMBER = re.compile(r"\d+")


@dataclass
class Groups:
    """The process groups of a job of `world` ranks, as one `rank` of it tells; `guessed` are those that it does not."""

    rank: int
    world: int
    config: Mapping[str, tuple[int, ...]]
    guessed: dict[str, int] = field(default_factory=dict)
    known: dict[tuple[str, ...], Communicator] = field(default_factory=dict)

    def of(self, args: Mapping[str, Any]) -> Communicator | None:
        """Who takes part in a collective; None where it cannot be told, or is this rank alone."""
        name = str(args.get("Process Group Name", args.get("Process Group ID", "")))
        told = str(args.get("Process Group Ranks", ""))
        key = (name, told, str(args.get("Group size", "")), str(args.get("Global rank start", "")))
        if key not in self.known:
            ranks = self._ranks(name, told, args)
            if len(ranks) < 2 or self.rank not in ranks:
                return None
            called = str(args.get("Process Group Description", "")) or "ranks"
            self.known[key] = Communicator(f"{called} {name}".strip(), ranks)
        return self.known[key]

    def _ranks(self, name: str, told: str, args: Mapping[str, Any]) -> tuple[int, ...]:
        size = whole(args.get("Group size"))
        listed = continued(told, size)
        if listed:
            return listed
        if name in self.config and size in (-1, len(self.config[name])):
            return self.config[name]
        if size == self.world:
            return tuple(range(size))
        start, stride = whole(args.get("Global rank start")), whole(args.get("Global rank stride"))
        if 2 <= size <= MOST_RANKS and start >= 0 and stride > 0:
            return tuple(range(start, start + size * stride, stride))
        if not 2 <= size <= MOST_RANKS:
            return ()
        self.guessed[name] = size
        first = self.rank // size * size
        return tuple(range(first, first + size))


def groups(about: Mapping[str, Any]) -> Groups | None:
    """The groups that a profile's head tells; None where it does not say which rank of how many it is of."""
    info = about.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    rank, world = whole(info.get("rank")), whole(info.get("world_size"))
    if rank < 0 or not rank < world <= MOST_RANKS:
        return None
    listed = info.get("pg_config")
    config = {}
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict):
            ranks = continued(json.dumps(each.get("ranks", [])), whole(each.get("pg_size")))
            config[str(each.get("pg_name", ""))] = ranks or (tuple(range(world)) if not each.get("ranks") else ())
    return Groups(rank, world, {name: ranks for name, ranks in config.items() if ranks})


def continued(told: str, size: int) -> tuple[int, ...]:
    """The ranks of a list written as text, as in "[0, 8, 16, ...]"; empty where it does not say all of them."""
    listed = [int(each) for each in _NUMBER.findall(told[:1_000_000]) if len(each) < 10]
    if "..." not in told:
        return tuple(listed) if len(set(listed)) == len(listed) and size in (-1, len(listed)) else ()
    head = [int(each) for each in _NUMBER.findall(told.partition("...")[0]) if len(each) < 10]
    strides = {b - a for a, b in pairwise(head)}
    if len(strides) != 1 or min(strides) < 1 or not len(head) <= size <= MOST_RANKS:
        return ()
    stride = strides.pop()
    return tuple(range(head[0], head[0] + size * stride, stride))


def kind_of(args: Mapping[str, Any]) -> TraceCollectiveKind | None:
    """The kind of a collective; None where the profiler's name is none that is known."""
    return KINDS.get(str(args.get("Collective name", "")).lower())


def bytes_of(args: Mapping[str, Any], kind: TraceCollectiveKind, ranks: int) -> float | None:
    """A rank's buffer as nccl-tests counts it; None where the profiler says no size."""
    element = BYTES_OF.get(str(args.get("dtype", "")).lower())
    sent, received = whole(args.get("In msg nelems")), whole(args.get("Out msg nelems"))
    if kind == "barrier":
        return 0.0
    if element is None or max(sent, received) < 0:
        return None
    if kind in ("all-gather", "reduce-scatter"):  # the whole, of which each rank has a part
        part, whole_buffer = (sent, received) if kind == "all-gather" else (received, sent)
        return float(element * max(whole_buffer, part * ranks))
    return float(element * max(sent, received))


def whole(value: Any) -> int:
    """A whole number that the profiler wrote, as a number or as text; -1 where it is none."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
