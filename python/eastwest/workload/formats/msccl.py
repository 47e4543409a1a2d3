"""Algorithms of MSCCL and MSCCL++ tools (XML): which GPU's thread blocks send and receive what, step by step.

An `algo` has GPUs, these thread blocks (`tb`) with one peer to send to and one to receive from, and these steps, which
run in their order; a step may also wait for one of another thread block (`depid`, `deps`). A buffer is cut into
`nchunksperloop` chunks, of which a step moves `cnt`. The n-th send of a GPU to another on a channel is the other's n-th
receive. Sends go into buffers, as NCCL's do; local copies and reductions take no time. Not here: what data chunks hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

from eastwest.errors import InputError
from eastwest.workload.formats.asked import Asked, Imported
from eastwest.workload.trace import MessageNode, Node, RankTrace, joined

LARGEST_BYTES = 256 << 20
SENDS = frozenset({"s", "rcs", "rrs", "rrcs"})
RECEIVES = frozenset({"r", "rcs", "rrc", "rrs", "rrcs"})
LOCAL = frozenset({"re", "cpy", "nop"})
MOST = 1 << 20


def is_msccl(start: bytes, path: Path) -> bool:
    """Whether a file begins as such an algorithm."""
    del path
    return start.lstrip().startswith(b"<algo") or (start.lstrip().startswith(b"<?xml") and b"<algo" in start)


def read_msccl(asked: Asked) -> Imported:
    """The messages of an algorithm, as a step of as many ranks as it has GPUs.

    Raises:
        InputError: the file is no such XML, a step makes no sense, or the size of the buffer is not given.
    """
    if len(asked.paths) > 1:
        raise InputError(f"{asked.paths[1]}: an algorithm of MSCCL is one file: name one alone")
    (path,) = asked.paths
    algorithm = _parsed(path)
    if asked.bytes is None:
        raise InputError(f"{path}: an algorithm moves buffers of any size: say which with --bytes, as in '64 MiB'")
    chunks, count = _number(path, algorithm, "nchunksperloop", 1), _number(path, algorithm, "ngpus", 1)
    gpus = {_number(path, gpu, "id"): gpu for gpu in algorithm.findall("gpu")}
    if sorted(gpus) != list(range(count)):
        raise InputError(f"{path}: {count} GPUs are declared, and {len(gpus)} different ones from 0 on are described")
    if asked.ranks not in (None, count):
        raise InputError(f"--ranks {asked.ranks}: the algorithm is for {count} GPUs")
    found = joined([partial(_trace, path, gpus[rank], rank, asked.bytes / chunks) for rank in range(count)])
    told = {key: algorithm.get(key, "unknown") for key in ("name", "coll", "proto")}
    facts = (
        f"algorithm {told['name']}: {told['coll']}, {told['proto']}, {chunks} chunks of {asked.bytes / chunks:,.0f} B",
        "local copies and reductions take no time, and the protocol none beyond the network's",
    )
    return Imported("MSCCL algorithm", found.step, facts)


def _parsed(path: Path) -> Element:
    """The algorithm; documents with entities of their own, which may grow without end, are refused."""
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"{path}: the file is larger than {LARGEST_BYTES >> 20} MiB")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is no text") from None
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{path}: an algorithm has no document type of its own")
    try:
        root = fromstring(text)
    except (ParseError, ValueError) as error:
        raise InputError(f"{path}: this is no XML, or the file was cut: {error}") from None
    if root.tag != "algo":
        raise InputError(f"{path}: an algorithm of MSCCL is an element 'algo', not {root.tag[:40]!r}")
    return root


def _number(path: Path, element: Element, name: str, least: int = 0) -> int:
    word = element.get(name, "")
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 8 and least <= int(word) <= MOST):
        shown = dict(list(element.attrib.items())[:4])
        raise InputError(f"{path}: {element.tag} {shown}: {name} is a whole number from {least} on, not {word[:20]!r}")
    return int(word)


def _trace(path: Path, gpu: Element, rank: int, chunk_bytes: float) -> RankTrace:
    blocks = {_number(path, block, "id"): block for block in gpu.findall("tb")}
    if len(blocks) < len(gpu.findall("tb")):
        raise InputError(f"{path}: two thread blocks of GPU {rank} have the same id")
    nodes: list[Node] = []
    last_of: dict[tuple[int, int], int] = {}  # the last node of each step
    waits: list[tuple[int, str, tuple[int, int]]] = []  # first node of a step, its name, the step that it waits for
    for number, block in blocks.items():
        before: int | None = None
        for place, step in enumerate(block.findall("step")):
            name = f"tb{number} step {place}"
            first = len(nodes)
            nodes += _nodes(path, block, step, (first, name, before, chunk_bytes))
            before = len(nodes) - 1
            last_of[number, place] = before
            if _number(path, step, "depid", -1) >= 0:
                waits.append((first, name, (_number(path, step, "depid"), _number(path, step, "deps"))))
    for first, name, awaited in waits:
        if awaited not in last_of:
            raise InputError(
                f"{path}: {name} of GPU {rank} waits for step {awaited[1]} of tb {awaited[0]}: there is none"
            )
        node = nodes[first]
        nodes[first] = replace(node, after=(*node.after, last_of[awaited]))
    return RankTrace(rank, tuple(nodes), str(path), f"GPU {rank}, node")


def _nodes(path: Path, block: Element, step: Element, at: tuple[int, str, int | None, float]) -> Iterator[Node]:
    """A step's nodes: what it receives, then what it sends."""
    number, name, before, chunk_bytes = at
    kind = step.get("type", "")
    if kind not in SENDS | RECEIVES | LOCAL:
        known = ", ".join(sorted(SENDS | RECEIVES | LOCAL))
        raise InputError(f"{path}: {name}: {kind!r} is no type of step; there are {known}")
    after = () if before is None else (before,)
    size = chunk_bytes * _number(path, step, "cnt", 0) if kind not in LOCAL else 0.0
    if kind in LOCAL or not size:
        yield Node(number, name, after)
        return
    channel = _number(path, block, "chan")
    if kind in RECEIVES:
        peer = _peer(path, block, "recv", name)
        yield MessageNode(number, name, after, is_send=False, peer=peer, bytes=size, tag=channel)
        number, after = number + 1, (number,)
    if kind in SENDS:
        peer = _peer(path, block, "send", name)
        yield MessageNode(number, name, after, is_send=True, peer=peer, bytes=size, tag=channel, is_buffered=True)


def _peer(path: Path, block: Element, way: str, name: str) -> int:
    peer = _number(path, block, way, -1)
    if peer < 0:
        raise InputError(f"{path}: {name} has a step to {way}, and the thread block no peer to {way}")
    return peer
