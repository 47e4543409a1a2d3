"""Workload text of SimAI, as AICB writes it: layers with compute and communication of each pass, alike on all ranks.

A line names how the job is split, then come the number of layers and twelve columns a layer: name, dependency, then
time (nanoseconds), collective and bytes of the forward pass, of input gradients and of weight gradients, and the time
of the update. As SimAI runs it: forward through all layers, each waiting for its collective; backward through them,
each waiting for that of its input gradients, while those of weight gradients go on; layers behind a checkpoint run
forward once more before their input gradients. Not here: pipelines, whose messages and bubbles SimAI adds by formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from eastwest.errors import InputError
from eastwest.textfile import Line, lines
from eastwest.workload.formats.asked import Asked, Imported
from eastwest.workload.operations import Collective, CollectiveKind, Compute, Groups, Operation, Step, strided
from eastwest.workload.step_file import LARGEST_OPERATION_BYTES, LONGEST_S, MOST_RANKS

NANOSECONDS = 1e9
MOST_LAYERS = 1_000_000
POLICIES = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER")
Pass = Literal["forward", "input gradients", "weight gradients"]
PASSES: tuple[Pass, ...] = ("forward", "input gradients", "weight gradients")
KINDS: dict[str, CollectiveKind] = {
    "ALLREDUCE": "all-reduce",
    "ALLGATHER": "all-gather",
    "REDUCESCATTER": "reduce-scatter",
    "ALLTOALL": "all-to-all",
}
_COUNTS = ("model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", "pp_comm")
_LISTS = ("checkpoints", "checkpoint_initiates")


@dataclass(frozen=True)
class Part:
    """One pass of a layer: how long it computes, then what it exchanges in which group (None: nothing)."""

    seconds: float
    kind: CollectiveKind | None
    group: str
    bytes: float


@dataclass(frozen=True)
class Layer:
    """One line: its name, its passes, and how long the update takes."""

    name: str
    parts: dict[Pass, Part]
    update_s: float


@dataclass(frozen=True)
class Head:
    """How the job is split."""

    counts: dict[str, int]
    lists: dict[str, tuple[int, ...]]

    @property
    def ranks(self) -> int:
        """GPUs of the job."""
        return self.counts["all_gpus"]

    def groups(self, name: str, ranks: int) -> Groups:
        """The groups of that name: TP neighbours, EP and DP at their distance, DP_EP where experts are spread too.

        Ranks are numbered as Megatron numbers them: tensor, then data (experts within), then pipeline parallelism.
        """
        tensor, experts = self.counts["model_parallel_NPU_group"], self.counts["ep"]
        stage = ranks // self.counts["pp"]
        size, stride = {
            "TP": (tensor, 1),
            "DP": (stage // tensor, tensor),
            "EP": (experts, tensor),
            "DP_EP": (stage // (tensor * experts), tensor * experts),
        }[name]
        return strided(ranks, size, stride) if size > 1 else ()


def is_simai(start: bytes, path: Path) -> bool:
    """Whether a file begins as such a workload."""
    del path
    first = start.split(b"\n", 1)[0]
    return re.match(rb"\s*[A-Z][A-Z_]+\s", first + b"\n") is not None and (
        b"model_parallel_NPU_group" in first or first.split()[0].decode("ascii", "replace") in POLICIES
    )


def read_simai(asked: Asked) -> Imported:
    """The step of a workload.

    Raises:
        InputError: a line makes no sense, or parts of the job do not divide its ranks; names the line.
    """
    if len(asked.paths) > 1:
        raise InputError(f"{asked.paths[1]}: a workload of SimAI is one file: name one alone")
    (path,) = asked.paths
    found = lines(path)
    head_line = next(found)
    head = _head(head_line)
    ranks = asked.ranks or head.ranks
    _check_split(head_line, head, ranks)
    layers = tuple(_layers(path, found))
    for name in _LISTS:
        if any(number >= len(layers) for number in head.lists[name]):
            raise head_line.refuse(f"{name} name layers up to {max(head.lists[name])}, and there are {len(layers)}")
    facts = [f"{len(layers):,} layers; {_split(head, ranks)}"]
    if ranks != head.ranks:
        facts.append(f"written for {head.ranks:,} ranks: data parallelism differs, buffers stay as they were")
    if head.counts["pp"] > 1:
        facts.append("messages and bubbles of the pipeline are not in the file, and not in the step")
    return Imported("SimAI workload", _Writer(head, ranks, layers).step(), tuple(facts))


def _head(line: Line) -> Head:
    policy = line.words[0]
    if policy not in POLICIES:
        raise line.refuse(f"{policy} is not followed here; {' and '.join(POLICIES)} are")
    counts: dict[str, int] = {"ep": 1, "pp": 1, "vpp": 1, "ga": 1, "pp_comm": 0}
    lists: dict[str, tuple[int, ...]] = dict.fromkeys(_LISTS, ())
    place = 1
    while place < len(line.words):
        key = line.words[place].removesuffix(":")
        if key in _COUNTS:
            counts[key] = line.count(place + 1, key, 0 if key == "pp_comm" else 1, 2**60)
            place += 2
        elif key in _LISTS:
            count = line.count(place + 1, f"the number of {key}", 0, MOST_LAYERS)
            lists[key] = tuple(line.count(place + 2 + each, key, 0, MOST_LAYERS) for each in range(count))
            place += 2 + count
        else:
            raise line.refuse(f"{line.words[place]!r} is not known; there are {', '.join((*_COUNTS, *_LISTS))}")
    for key in ("model_parallel_NPU_group", "all_gpus"):
        if key not in counts:
            raise line.refuse(f"{key} is missing: newer versions of AICB write it")
    return Head(counts, lists)


def _check_split(line: Line, head: Head, ranks: int) -> None:
    tensor, experts, stages = (head.counts[key] for key in ("model_parallel_NPU_group", "ep", "pp"))
    if ranks > MOST_RANKS:
        raise line.refuse(f"{ranks:,} ranks are more than {MOST_RANKS:,}")
    if ranks % (tensor * stages):
        told = f"{tensor} ranks of tensor times {stages} of pipeline parallelism"
        raise line.refuse(f"{told} do not divide the {ranks:,} ranks of the job")
    if ranks // (tensor * stages) % experts:
        raise line.refuse(
            f"{experts} ranks of experts do not divide the {ranks // (tensor * stages):,} of data parallelism"
        )


def _split(head: Head, ranks: int) -> str:
    tensor, experts, stages = (head.counts[key] for key in ("model_parallel_NPU_group", "ep", "pp"))
    return f"tensor {tensor}, data {ranks // (tensor * stages):,}, experts {experts}, pipeline {stages}"


def _layers(path: Path, found: Iterator[Line]) -> Iterator[Layer]:
    try:
        second = next(found)
    except StopIteration:
        raise InputError(f"{path}: the number of layers is missing behind the first line") from None
    declared, given = second.count(0, "the number of layers", 0, MOST_LAYERS), 0
    for line in found:
        if given == declared:
            raise line.refuse(f"{declared} layers are declared, and here stands one more")
        parts = {each: _part(line, 2 + 3 * at, each) for at, each in enumerate(PASSES)}
        yield Layer(line.words[0], parts, _seconds(line, 11, "the time of the update"))
        given += 1
    if given < declared:
        raise second.refuse(f"{declared} layers are declared and {given} are given: the file was cut")


def _seconds(line: Line, place: int, what: str) -> float:
    return line.count(place, what, 0, int(LONGEST_S * NANOSECONDS)) / NANOSECONDS


def _part(line: Line, place: int, of: Pass) -> Part:
    line.word(1, "the dependency")
    seconds = _seconds(line, place, f"the time of the {of}")
    word = line.word(place + 1, f"the collective of the {of}")
    size = float(line.count(place + 2, f"the bytes of the {of}", 0, int(LARGEST_OPERATION_BYTES)))
    if word == "NONE" or not size:
        return Part(seconds, None, "", 0.0)
    name, _, suffix = word.partition("_")
    group = suffix or ("DP" if of == "weight gradients" else "TP")
    if name not in KINDS or group not in ("TP", "DP", "EP", "DP_EP"):
        known = ", ".join(("NONE", *KINDS))
        raise line.refuse(f"{word!r} is no collective; there are {known}, with _EP or _DP_EP behind them")
    return Part(seconds, KINDS[name], group, size)


@dataclass
class _Writer:
    """Writes the step; computes in a row become one."""

    head: Head
    ranks: int
    layers: tuple[Layer, ...]
    operations: list[Operation] = field(default_factory=list)
    pending_s: float = 0.0
    pending: str = ""
    compute: str | None = None
    waits: tuple[str, ...] = ()

    def step(self) -> Step:
        groups = {name: self.head.groups(name, self.ranks) for name in ("TP", "DP", "EP", "DP_EP")}
        for number in range(len(self.layers)):
            self._run(number, "forward", groups)
        updates: list[tuple[str, float, tuple[str, ...]]] = []
        for number in reversed(range(len(self.layers))):
            if number in self.head.lists["checkpoint_initiates"]:
                begin = max((each for each in self.head.lists["checkpoints"] if each <= number), default=number)
                for again in range(begin, number):
                    self._run(again, "forward", groups, "forward again")
            self._run(number, "input gradients", groups)
            after = self._run(number, "weight gradients", groups)
            updates.append((self._called(number, "update"), self.layers[number].update_s, after))
        self._flush()
        for name, seconds, after in reversed(updates):
            if seconds:
                self.operations.append(Compute(name, seconds, after))
        return Step(self.ranks, tuple(self.operations))

    def _called(self, number: int, what: str) -> str:
        return f"{self.layers[number].name} ({number + 1}) {what}"

    def _run(self, number: int, of: Pass, groups: dict[str, Groups], what: str = "") -> tuple[str, ...]:
        """One pass of a layer; what waits for its collective, where it has one."""
        part = self.layers[number].parts[of]
        name = self._called(number, what or of)
        if part.seconds:
            self.pending = self.pending or name
            self.pending_s += part.seconds
        if part.kind is None or not groups[part.group]:
            return ()
        self._flush()
        after = () if self.compute is None else (self.compute,)
        exchange = f"{name}: {part.kind}"
        self.operations.append(
            Collective(
                exchange,
                part.kind,
                part.bytes,
                groups[part.group],
                "direct",
                queue=part.group,
                after=(*after, *self.waits),
            )
        )
        if of != "weight gradients":
            self.waits, self.compute = (exchange,), None
        return (exchange,)

    def _flush(self) -> None:
        """Ends the compute that has grown so far."""
        if self.pending_s:
            self.operations.append(Compute(self.pending, self.pending_s, self.waits))
            self.compute, self.waits = self.pending, ()
        self.pending, self.pending_s = "", 0.0
