"""MLCommons Chakra execution traces (`prefix.<rank>.et`), to the traces of ranks that a step is made from.

As simulators read them: a node waits for its `data_deps` and `ctrl_deps`; `comm_size` is what a rank puts in; a
communicator without a name, or named 0 and described nowhere, has all ranks. Where a trace has host operations (as
PyTorch's have), these give the order alone, since the host is taken to keep ahead of the GPU, and `ctrl_deps` say who
called whom and count for nothing. Not here: the messages themselves (`workload.formats.chakra_schema`).
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from eastwest.errors import InputError
from eastwest.workload.formats import chakra_schema as schema
from eastwest.workload.formats.asked import Roofline
from eastwest.workload.formats.chakra_tensors import size_of_tensors
from eastwest.workload.step_file import MOST_RANKS
from eastwest.workload.trace import (
    CollectiveNode,
    Communicator,
    ComputeNode,
    MessageNode,
    Node,
    RankTrace,
    TraceCollectiveKind,
)

LARGEST_MESSAGE = 64 << 20
LARGEST_BYTES = 4 << 30
LARGEST_GROUPS = 8 << 20
"""Characters in which process groups may be listed."""
MICROSECONDS = 1e6
LONGEST_S = 1e6
"""Of a compute whose time is exact."""
_RANK = re.compile(r"(?:\.|rank[-_]?)([0-9]{1,7})\.et$")
_USED = {"is_cpu_op", "stream", "tid", "num_ops", "tensor_size", "pg_name"}
_USED |= {"comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag"}
_USED |= {schema.EXACT_SECONDS, schema.QUEUE, schema.WITHOUT_NCCL}
_NEEDLESS = {"rf_id", "fw_parent", "fw_tid", "seq_id", "scope", "op_schema", "kernel_backend", "kernel_file"}
_NEEDLESS |= {"involved_dim", "comm_priority"}
"""Attributes that say nothing about a step."""
_KIND_IN_NAME: tuple[tuple[str, TraceCollectiveKind], ...] = (
    ("reducescatter", "reduce-scatter"),
    ("allreduce", "all-reduce"),
    ("allgather", "all-gather"),
    ("alltoall", "all-to-all"),
    ("broadcast", "broadcast"),
    ("barrier", "barrier"),
    ("reduce", "reduce"),
    ("sendrecv", "all-to-all"),
)


@dataclass
class ChakraFile:
    """One rank's messages, decoded, and what they say of communicators."""

    path: Path
    rank: int
    version: str
    nodes: list[tuple[Any, dict[str, Any]]]
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ranks: int | None = None
    """Ranks of the job, where PyTorch tells."""


def is_chakra(start: bytes, path: Path) -> bool:
    """Whether a file begins as such a trace: with a short message that is its metadata."""
    if path.suffix == ".et":
        return True
    try:
        first = next(_messages(start, path, is_whole=False))
        metadata = schema.GlobalMetadata.FromString(first)
    except (InputError, StopIteration, DecodeError):
        return False
    return bool(metadata.version or metadata.attr)


def rank_in_name(path: Path) -> int | None:
    """The rank that a file's name tells, as in trace.3.et or trace_rank3.et."""
    match = _RANK.search(path.name)
    return int(match.group(1)) if match else None


def read_chakra(path: Path, rank: int) -> ChakraFile:
    """The messages of one file.

    Raises:
        InputError: it is cut short, or a message is none of this schema; names the byte or the node.
    """
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"{path}: the file is larger than {LARGEST_BYTES >> 30} GiB")
    messages = _messages(path.read_bytes(), path)
    try:
        first = next(messages, None)
        metadata = None if first is None else schema.GlobalMetadata.FromString(first)
    except DecodeError:
        metadata = None
    if metadata is None or first is None or first[:1] == b"\x08":
        raise InputError(
            f"{path}: it does not begin with metadata of a Chakra trace; those of schemas before 0.0.4 have other "
            "fields: convert it with a newer Chakra"
        )
    stated = (str(schema.value_of(each)) for each in metadata.attr if each.name == "schema")
    version = metadata.version or next(stated, "")
    found = ChakraFile(path, rank, version, [])
    for number, message in enumerate(messages):
        try:
            node = schema.Node.FromString(message)
            attributes = {each.name: schema.value_of(each) for each in node.attr}
        except DecodeError:
            raise InputError(f"{path}: message {number + 1} behind the metadata is no Chakra node") from None
        found.nodes.append((node, attributes))
        if node.type == schema.METADATA and "pg_name" in node.inputs.values:
            groups, ranks = _groups_of(node.inputs.values)
            found.groups |= groups
            found.ranks = ranks or found.ranks
    return found


def _messages(data: bytes, path: Path, *, is_whole: bool = True) -> Iterator[bytes]:
    """The messages of a file, without their lengths."""
    place = 0
    while place < len(data):
        begin, length, shift = place, 0, 0
        while True:
            if place >= len(data) or shift > 63:
                raise InputError(f"{path}: byte {begin}: no length of a message stands here: the file was cut")
            byte = data[place]
            place += 1
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if length > LARGEST_MESSAGE:
            told = f"a message of {length:,} bytes would begin here, and {LARGEST_MESSAGE:,} are the most"
            raise InputError(f"{path}: byte {begin}: {told}: this is no Chakra trace, or a damaged one")
        if is_whole and place + length > len(data):
            told = f"a message of {length:,} bytes begins here and {len(data) - place:,} are left"
            raise InputError(f"{path}: byte {begin}: {told}: the file was cut")
        yield data[place : place + length]
        place += length


def _groups_of(values: str) -> tuple[dict[str, tuple[int, ...]], int | None]:
    """Process groups as PyTorch lists them in the inputs of a metadata node, and how many ranks there are.

    The group of all ranks lists none, and says how large it is.
    """
    if len(values) > LARGEST_GROUPS:
        return {}, None
    try:
        listed = ast.literal_eval(values)
        entries = json.loads(listed[0] if isinstance(listed, list) else listed)
        found = {str(each["pg_name"]): tuple(int(rank) for rank in each["ranks"]) for each in entries}
    except (ValueError, TypeError, KeyError, IndexError, SyntaxError, RecursionError, MemoryError):
        return {}, None
    sizes = [each.get("group_size") for each in entries if not each["ranks"]]
    ranks = next((size for size in sizes if type(size) is int and 0 < size <= MOST_RANKS), None)
    return {name: members for name, members in found.items() if members}, ranks


def chakra_trace(file: ChakraFile, ranks: int, groups: Mapping[str, Sequence[int]], gpu: Roofline | None) -> RankTrace:
    """The trace of one of `ranks` ranks; `groups` describes communicators by name, as ASTRA-sim's JSON file does.

    Raises:
        InputError: a node lacks what its type needs, or the times of computes are unknown; names the node.
    """
    return _Reading(file, ranks, groups, gpu).trace()


class _Reading:
    """One file on its way to a trace."""

    def __init__(self, file: ChakraFile, ranks: int, groups: Mapping[str, Sequence[int]], gpu: Roofline | None) -> None:
        self.file, self.gpu = file, gpu
        self.known = {**file.groups, **{name: tuple(members) for name, members in groups.items()}}
        self.everyone = tuple(range(ranks))
        self.communicators: dict[str, Communicator] = {}
        self.unused: Counter[str] = Counter()
        is_host = [bool(attributes.get("is_cpu_op", False)) for _, attributes in file.nodes]
        self.has_host = any(is_host) and not all(is_host)
        self.has_streams = self.has_host or any("stream" in attributes for _, attributes in file.nodes)

    def trace(self) -> RankTrace:
        nodes = [self._node(node, attributes) for node, attributes in self.file.nodes]
        if self.has_streams:
            nodes = self._in_streams(nodes)
        for name, count in Counter(name for _, given in self.file.nodes for name in given).items():
            if name not in _USED and name not in _NEEDLESS:
                self.unused[f"attribute {name!r} is not known"] += count
        return RankTrace(self.file.rank, tuple(nodes), str(self.file.path), unused=dict(self.unused))

    def _refuse(self, node: Any, why: str) -> InputError:
        return RankTrace(self.file.rank, (), str(self.file.path)).refuse(Node(node.id, node.name), why)

    def _node(self, node: Any, attributes: dict[str, Any]) -> Node:
        after = dict.fromkeys(node.data_deps)
        if not self.has_host:
            after |= dict.fromkeys(node.ctrl_deps)
        elif node.ctrl_deps:
            self.unused["ctrl_deps between host operations and kernels say who called whom"] += 1
        about = (node.id, node.name, tuple(after), float(node.start_time_micros))
        if self.has_host and attributes.get("is_cpu_op"):
            self.unused["host operations give the order alone"] += 1
            return Node(*about)
        match node.type:
            case schema.COMPUTE:
                return ComputeNode(*about, seconds=self._seconds(node, attributes))
            case schema.COLLECTIVE:
                return self._collective(about, node, attributes)
            case schema.SEND | schema.RECEIVE:
                return self._message(about, node, attributes)
            case schema.METADATA:
                return Node(*about)
            case schema.MEMORY_LOAD | schema.MEMORY_STORE:
                self.unused["loads from remote memory and stores to it take no time"] += 1
                return Node(*about)
            case _:
                self.unused[f"nodes of type {node.type} are not known"] += 1
                return Node(*about)

    def _seconds(self, node: Any, attributes: dict[str, Any]) -> float:
        exact = attributes.get(schema.EXACT_SECONDS)
        if isinstance(exact, float) and 0.0 <= exact <= LONGEST_S:
            return exact
        if node.duration_micros:
            return float(node.duration_micros) / MICROSECONDS
        operations = self._count(node, attributes, "num_ops", 0)
        if not operations:
            self.unused["computes without a time (duration_micros) or operations (num_ops) take none"] += 1
            return 0.0
        if self.gpu is None:
            told = f"has {operations:,} operations and no duration"
            raise self._refuse(node, f"{told}: name the GPU that it is to run on with --gpu, as in --gpu h100-sxm")
        return self.gpu.seconds(operations, self._count(node, attributes, "tensor_size", 0))

    def _count(self, node: Any, attributes: dict[str, Any], name: str, default: int | None = None) -> int:
        value = attributes.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            lacks = f"lacks {name}" if value is None else f"has {name} {value!r}, which is no count"
            raise self._refuse(node, f"{lacks}: what it moves is not known")
        return value

    def _collective(self, about: tuple[Any, ...], node: Any, attributes: dict[str, Any]) -> Node:
        if "comm_type" in attributes:
            number = self._count(node, attributes, "comm_type")
            if number >= len(schema.COLLECTIVES):
                raise self._refuse(node, f"has comm_type {number}; there are 0 to {len(schema.COLLECTIVES) - 1}")
            kind: TraceCollectiveKind = schema.COLLECTIVES[number]
        else:
            kind = self._kind_in_name(node)
        if "comm_size" in attributes or kind == "barrier":
            size = self._count(node, attributes, "comm_size", 0)
        else:
            size = size_of_tensors(node.inputs.values, node.inputs.types)
            if not size:
                raise self._refuse(node, "lacks comm_size, and its tensors do not tell it: what it moves is not known")
            self.unused["comm_size is missing and was reckoned from tensors"] += 1
        communicator = self._communicator(node, attributes)
        if not size and kind not in ("barrier", "all-to-all"):  # a rank may have nothing for the others
            self.unused["collectives of no bytes"] += 1
            return Node(*about)
        if kind == "all-gather":
            size *= len(communicator.ranks)  # comm_size is what a rank puts in, nccl-tests' size what comes out
        if node.duration_micros:
            self.unused["measured times of collectives, which are reckoned anew"] += 1
        return CollectiveNode(*about, kind=kind, bytes=float(size), communicator=communicator)

    def _kind_in_name(self, node: Any) -> TraceCollectiveKind:
        name = node.name.lower().replace("_", "").replace("-", "")
        found = next((kind for word, kind in _KIND_IN_NAME if word in name), None)
        if found is None:
            raise self._refuse(node, "lacks comm_type, and its name does not tell which collective it is")
        self.unused["comm_type is missing and was read from the name"] += 1
        return found

    def _communicator(self, node: Any, attributes: dict[str, Any]) -> Communicator:
        name = str(attributes.get("pg_name") or "")
        if name not in self.communicators:
            members = self.known.get(name, self.everyone if name in ("", "0") else None)
            if members is None:
                told = f"runs in communicator {name!r}, which nothing describes"
                raise self._refuse(node, f"{told}: name ASTRA-sim's JSON file of communicators too, as a second FILE")
            self.communicators[name] = Communicator(name, tuple(members))
        return self.communicators[name]

    def _message(self, about: tuple[Any, ...], node: Any, attributes: dict[str, Any]) -> MessageNode:
        is_send = node.type == schema.SEND
        far, near = ("comm_dst", "comm_src") if is_send else ("comm_src", "comm_dst")
        own = self._count(node, attributes, near, self.file.rank)
        if own != self.file.rank:
            raise self._refuse(node, f"has {near} {own} in the trace of rank {self.file.rank}")
        return MessageNode(
            *about,
            is_send=is_send,
            peer=self._count(node, attributes, far),
            bytes=float(self._count(node, attributes, "comm_size")),
            tag=self._count(node, attributes, "comm_tag", 0),
            queue=str(attributes.get(schema.QUEUE, "")),
            is_without_nccl=attributes.get(schema.WITHOUT_NCCL) is True,
        )

    def _in_streams(self, nodes: list[Node]) -> list[Node]:
        """Kernels behind those launched before them, where nothing waits for any kernel, as converters leave it.

        Those of a stream follow each other; a collective also waits for the last compute launched before it, as
        PyTorch's stream of collectives does. Where the host's operations are left out, kernels are taken to be launched
        in the order in which they began.
        """
        kernels = {node.id for node in nodes if type(node) is not Node}
        if len(kernels) < 2 or any(not kernels.isdisjoint(node.after) for node in nodes):
            return nodes
        self.unused["kernels that nothing waits for were put in the order of their streams"] += len(kernels)
        found: list[Node] = []
        last: dict[object, int] = {}
        compute: int | None = None
        launched = list(zip(nodes, self.file.nodes, strict=True))
        if not self.has_host:
            launched.sort(key=lambda each: each[0].start)
        for node, (_, attributes) in launched:
            if node.id not in kernels:
                found.append(node)
                continue
            stream = attributes.get("stream", attributes.get("tid"))
            behind = {last.get(stream), None if isinstance(node, ComputeNode) else compute} - {None}
            found.append(_behind(node, tuple(each for each in behind if each is not None)))
            last[stream] = node.id
            compute = node.id if isinstance(node, ComputeNode) else compute
        return found


def _behind(node: Node, more: tuple[int, ...]) -> Node:
    return replace(node, after=(*node.after, *sorted(more)))
