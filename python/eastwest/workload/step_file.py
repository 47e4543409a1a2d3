"""A step in a file: what an import, or a program of one's own, hands to a study (docs/import.md has the format).

One JSON object a line: a head with the number of ranks, then groups of ranks and operations in program order. Sizes are
bytes, times seconds. The file says what is computed and exchanged; by which algorithm a collective runs is the study's
matter. Not here: the files of other tools (`workload.formats`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from eastwest.errors import InputError
from eastwest.textfile import written_whole
from eastwest.workload.operations import (
    Collective,
    CollectiveKind,
    Compute,
    Groups,
    Operation,
    SendRecv,
    Step,
    Tuning,
    all_ranks,
    strided,
)

VERSION = 1
LARGEST_BYTES = 1 << 30
MOST_OPERATIONS = 5_000_000
MOST_RANKS = 1 << 20
MOST_MEMBERS = 100_000_000
"""Ranks in all sets of ranks, and waits of all operations: what a short line can ask for many times over."""
LARGEST_OPERATION_BYTES = 1e15
"""As much as the engine takes."""
LONGEST_S = 1e6
ALL = "all"
"""The group of all ranks, which is always there."""
_SPAN = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")
_HEAD = {"eastwest", "version", "ranks", "operations", "origin"}
_ENTRIES = {
    "compute": {"name", "compute", "ranks", "after"},
    "collective": {"name", "collective", "bytes", "group", "queue", "repeats", "after"},
    "send_recv": {"name", "send_recv", "bytes", "queue", "nccl", "after"},
}
Ranks = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class StepFile:
    """A step as its file has it, and where it came from.

    Of its collectives, algorithm and channels are yet to be chosen.
    """

    path: Path
    step: Step
    origin: str


@dataclass
class _Reader:
    """What was read so far."""

    file: str
    line: int = 0
    ranks: int = 0
    entries: int = 0
    members: int = 0
    waits: int = 0

    def __post_init__(self) -> None:
        self.groups: dict[str, Groups] = {}
        self.operations: list[Operation] = []
        self.stands_for: dict[str, tuple[str, ...]] = {}
        self.spans: dict[str, Ranks] = {}

    def refuse(self, why: str) -> InputError:
        return InputError(f"{self.file}:{self.line}: {why}")

    def count_members(self, more: int) -> None:
        self.members += more
        if self.members > MOST_MEMBERS:
            raise self.refuse(f"the sets of ranks have more than {MOST_MEMBERS:,} members")

    def count_waits(self, more: int) -> None:
        self.waits += more
        if self.waits > MOST_MEMBERS:
            raise self.refuse(f"operations wait for others more than {MOST_MEMBERS:,} times")


def read_step(path: Path, called: str = "") -> StepFile:
    """The step of a file; messages name the file as it is `called`.

    Raises:
        InputError: there is no such file, it is too large, of another version or cut short, or a line makes no sense;
            names the line.
    """
    name = called or str(path)
    if not path.is_file():
        raise InputError(f"{name}: there is no such file")
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"{name}: the file is larger than {LARGEST_BYTES >> 30} GiB")
    reader = _Reader(name)
    try:
        with path.open(encoding="utf-8") as stream:
            head = _head(reader, stream.readline())
            for reader.line, text in enumerate(stream, start=2):
                _entry(reader, text)
    except UnicodeDecodeError:
        raise InputError(f"{name}: this is no text, so no step that eastwest wrote") from None
    declared, found = head["operations"], reader.entries
    if declared != found:
        raise InputError(f"{name}: {declared} operations are declared and {found} are there: the file is cut short")
    return StepFile(path, Step(reader.ranks, tuple(reader.operations)), str(head.get("origin", "")))


def is_step_file(start: bytes) -> bool:
    """Whether a file that begins so is one of these."""
    return start.startswith(b'{"eastwest": "step"')


def _object(reader: _Reader, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise reader.refuse("a line is a JSON object, and this is none; was the file cut short?") from None
    if not isinstance(found, dict):
        raise reader.refuse("each line is a JSON object")
    return found


def _head(reader: _Reader, text: str) -> dict[str, Any]:
    reader.line = 1
    try:
        head = _object(reader, text)
    except InputError:
        head = {}
    if head.get("eastwest") != "step":
        remedy = "`eastwest import FILE --out NAME` writes one from a trace"
        raise reader.refuse(f'a step begins with {{"eastwest": "step", "version": {VERSION}, ...}}; {remedy}')
    if head.get("version") != VERSION:
        told = f"the file is of version {head.get('version')!r}, and this eastwest reads version {VERSION}"
        raise reader.refuse(f"{told}: import it again")
    _known(reader, head, _HEAD, "the head")
    reader.ranks = _whole(reader, head, "ranks", 1, MOST_RANKS)
    _whole(reader, head, "operations", 0, MOST_OPERATIONS)
    reader.groups[ALL] = all_ranks(reader.ranks)
    return head


def _entry(reader: _Reader, text: str) -> None:
    entry = _object(reader, text)
    if "of" in entry:
        _known(reader, entry, {"group", "of"}, "a group")
        _group(reader, entry)
        return
    kind = next((each for each in _ENTRIES if each in entry), None)
    if kind is None:
        raise reader.refuse(f"a line is a group or an operation: it has one of of, {', '.join(_ENTRIES)}")
    _known(reader, entry, _ENTRIES[kind], "an operation")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise reader.refuse("an operation has a name")
    if name in reader.stands_for:
        raise reader.refuse(f"two operations are named {name!r}")
    if len(reader.operations) >= MOST_OPERATIONS:
        raise reader.refuse(f"there are more than {MOST_OPERATIONS:,} operations")
    found = _OPERATIONS[kind](reader, entry, name)
    for each in found:
        reader.stands_for[each.name] = (each.name,)
    reader.stands_for[name] = tuple(each.name for each in found)
    reader.operations += found
    reader.entries += 1


def _known(reader: _Reader, entry: dict[str, Any], known: set[str], what: str) -> None:
    unknown = next((key for key in entry if key not in known), None)
    if unknown is not None:
        raise reader.refuse(f"{what} has no {unknown!r}; it has {', '.join(sorted(known))}")


def _whole(reader: _Reader, entry: dict[str, Any], key: str, least: int, most: int) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise reader.refuse(f"{key} is a whole number from {least} to {most:,}, not {value!r}")
    return value


def _number(reader: _Reader, value: Any, key: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= most:
        raise reader.refuse(f"{key} is a number from 0 to {most:g}, not {value!r}")
    return float(value)


def _members(reader: _Reader, written: Any) -> Ranks:
    """Ranks: a list of numbers, or spans as in "0-7,16,32-56:8"."""
    found: list[int] = []
    if isinstance(written, str) and written in reader.spans:
        return reader.spans[written]
    if isinstance(written, list):
        found = [each for each in written if isinstance(each, int) and not isinstance(each, bool)]
        if len(found) < len(written):
            raise reader.refuse("ranks are whole numbers")
    elif isinstance(written, str):
        for part in written.split(","):
            match = _SPAN.fullmatch(part)
            if match is None:
                raise reader.refuse(f"{part!r} is no span of ranks; write 3, 0-7, or 0-56:8 for every eighth")
            first, last, by = (int(each) if each else None for each in match.groups())
            assert first is not None
            last = first if last is None else last
            if last >= reader.ranks or by == 0:
                raise reader.refuse(f"{part!r}: ranks go from 0 to {reader.ranks - 1}, in steps of 1 or more")
            found += range(first, last + 1, by or 1)
            if len(found) > reader.ranks:
                break
    if not found:
        raise reader.refuse(f"ranks are a list of numbers, or spans such as '0-7,16', not {written!r}")
    if len(set(found)) < len(found) or min(found) < 0 or max(found) >= reader.ranks:
        raise reader.refuse(f"ranks are different numbers from 0 to {reader.ranks - 1}")
    reader.count_members(len(found))
    members = np.array(found, dtype=np.uint32)
    if isinstance(written, str):
        reader.spans[written] = members
    return members


def _group(reader: _Reader, entry: dict[str, Any]) -> None:
    name, of = entry.get("group"), entry["of"]
    if not isinstance(name, str) or not name or name in reader.groups:
        raise reader.refuse(f"a group has a name of its own, not {name!r}")
    if isinstance(of, dict):
        _known(reader, of, {"size", "stride"}, "a group")
        size, stride = _whole(reader, of, "size", 2, MOST_RANKS), 1
        if "stride" in of:
            stride = _whole(reader, of, "stride", 1, MOST_RANKS)
        reader.count_members(reader.ranks)
        try:
            reader.groups[name] = strided(reader.ranks, size, stride)
        except ValueError as error:
            raise reader.refuse(str(error)) from None
        return
    if not isinstance(of, list) or not of:
        raise reader.refuse("a group's 'of' is a list of sets of ranks, or {size, stride}")
    members = tuple(_members(reader, each) for each in of)
    together = np.concatenate(members)
    if len(np.unique(together)) < len(together):
        raise reader.refuse(f"a rank is in two of the sets of group {name!r}")
    if min(map(len, members)) < 2:
        raise reader.refuse(f"group {name!r} has a set of a single rank")
    reader.groups[name] = members


def _after(reader: _Reader, entry: dict[str, Any]) -> tuple[str, ...]:
    names = entry.get("after", [])
    if not isinstance(names, list):
        raise reader.refuse("after is a list of names")
    found: list[str] = []
    for name in names:
        if not isinstance(name, str) or name not in reader.stands_for:
            raise reader.refuse(f"it waits for {name!r}, which does not come before it")
        found += reader.stands_for[name]
    reader.count_waits(len(found))
    return tuple(found)


def _queue(reader: _Reader, entry: dict[str, Any], default: str) -> str:
    queue = entry.get("queue", default)
    if not isinstance(queue, str) or not queue:
        raise reader.refuse("a queue has a name")
    return queue


def _compute(reader: _Reader, entry: dict[str, Any], name: str) -> list[Operation]:
    seconds, after = entry["compute"], _after(reader, entry)
    ranks = _members(reader, entry["ranks"]) if "ranks" in entry else None
    if not isinstance(seconds, list):
        return [Compute(name, _number(reader, seconds, "compute", LONGEST_S), after, ranks)]
    if ranks is None or len(seconds) != len(ranks):
        raise reader.refuse("a list of times has one for each of 'ranks'")
    names = [f"{name}/{rank}" for rank in ranks.tolist()]
    return [
        Compute(each, _number(reader, time, "compute", LONGEST_S), after, ranks[at : at + 1])
        for at, (each, time) in enumerate(zip(names, seconds, strict=True))
    ]


def _collective(reader: _Reader, entry: dict[str, Any], name: str) -> list[Operation]:
    kind, group = entry["collective"], entry.get("group", ALL)
    if kind not in get_args(CollectiveKind):
        raise reader.refuse(f"{kind!r} is no collective; there are {', '.join(get_args(CollectiveKind))}")
    if not isinstance(group, str) or group not in reader.groups:
        raise reader.refuse(f"there is no group {group!r} above this line")
    if kind == "all-to-all" and isinstance(entry.get("bytes"), list):
        size, matrix = 0.0, _matrix(reader, entry["bytes"], reader.groups[group])
    else:
        size, matrix = _number(reader, entry.get("bytes"), "bytes", LARGEST_OPERATION_BYTES), None
    queue = _queue(reader, entry, group)
    repeats, after = _whole(reader, {"repeats": 1, **entry}, "repeats", 1, MOST_OPERATIONS), _after(reader, entry)
    groups = reader.groups[group]
    return [Collective(name, kind, size, groups, "direct", matrix=matrix, queue=queue, after=after, repeats=repeats)]


def _matrix(reader: _Reader, sizes: list[Any], groups: Groups) -> npt.NDArray[np.float64]:
    """What each rank of a group sends to each: equal parts of what it has."""
    count = len(sizes)
    if any(len(group) != count for group in groups):
        raise reader.refuse(f"a list of bytes has one for each rank of every set of the group, not {count}")
    reader.count_members(count * count)
    given = [_number(reader, each, "bytes", LARGEST_OPERATION_BYTES) for each in sizes]
    return np.repeat(np.array(given)[:, None] / count, count, axis=1)


def _send_recv(reader: _Reader, entry: dict[str, Any], name: str) -> list[Operation]:
    pairs = entry["send_recv"]
    size = _number(reader, entry.get("bytes"), "bytes", LARGEST_OPERATION_BYTES)
    if not isinstance(pairs, list) or not pairs:
        raise reader.refuse("send_recv is a list of pairs: [[sender, receiver], ...]")
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise reader.refuse("send_recv is a list of pairs: [[sender, receiver], ...]")
        _members(reader, pair)
    numbers = np.array(pairs, dtype=np.uint32)
    if type(entry.get("nccl", True)) is not bool:
        raise reader.refuse(f"nccl is true or false, not {entry['nccl']!r}")
    tuning = None if entry.get("nccl", True) else Tuning(is_done=True)  # settled: it costs nothing
    return [SendRecv(name, size, numbers, _queue(reader, entry, "messages"), _after(reader, entry), tuning=tuning)]


_OPERATIONS = {"compute": _compute, "collective": _collective, "send_recv": _send_recv}


def write_step(step: Step, path: Path, origin: str = "") -> None:
    """Writes a step, whole or not at all; `origin` says in a sentence where it came from.

    Raises:
        ValueError: the step has storage, all-to-alls in which ranks give unequal parts to others, or ends before its
            last operation does, none of which the file can say.
        OSError: the file cannot be written.
    """
    if step.until:
        raise ValueError("a step that ends before its last operation cannot be written")
    entries = list(_entries(step))
    operations = sum("of" not in each for each in entries)
    head = {"eastwest": "step", "version": VERSION, "ranks": step.ranks, "operations": operations}
    with written_whole(path) as stream:
        for entry in ({**head, "origin": origin} if origin else head, *entries):
            stream.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _entries(step: Step) -> Iterator[dict[str, Any]]:
    """The groups and operations of a step; what each of several ranks computes by itself in one."""
    groups: dict[tuple[bytes, ...], str] = {}
    parts: dict[str, str] = {}  # names of which one entry stands for several, and the entry's name
    sizes: dict[str, int] = {}
    for base, together in groupby(step.operations, key=_base):
        same = list(together)
        operation = same[0]
        waits = _written_after(operation.after, parts, sizes)
        after = {"after": waits} if waits else {}
        if base[0]:
            parts |= dict.fromkeys((each.name for each in same), base[0])
            sizes[base[0]] = len(same)
            alone = [each for each in same if isinstance(each, Compute) and each.ranks is not None]
            ranks = [int(each.ranks[0]) for each in alone if each.ranks is not None]
            yield {"name": base[0], "compute": [each.seconds for each in alone], "ranks": spans(ranks), **after}
        elif isinstance(operation, Compute):
            where = {} if operation.ranks is None else {"ranks": spans(operation.ranks.tolist())}
            yield {"name": operation.name, "compute": operation.seconds, **where, **after}
        elif isinstance(operation, SendRecv):
            about = {"send_recv": operation.pairs.tolist(), "bytes": operation.bytes, "queue": operation.queue}
            costs = {"nccl": False} if operation.is_without_nccl else {}
            yield {"name": operation.name, **about, **costs, **after}
        elif isinstance(operation, Collective) and _is_even_by_rank(operation):
            key = tuple(each.tobytes() for each in operation.groups)
            if key not in groups:
                is_all = len(key) == 1 and operation.groups[0].tolist() == list(range(step.ranks))
                groups[key] = ALL if is_all else f"g{len(groups)}"
                if not is_all:
                    yield {"group": groups[key], "of": _sets(operation.groups, step.ranks)}
            size = operation.bytes if operation.matrix is None else operation.matrix.sum(axis=1).tolist()
            about = {"collective": operation.kind, "bytes": size, "group": groups[key]}
            several = {"repeats": operation.repeats} if operation.repeats > 1 else {}
            yield {"name": operation.name, **about, **several, "queue": operation.queue, **after}
        else:
            raise ValueError(f"operation '{operation.name}' cannot be written: it is uneven or of storage")


def _is_even_by_rank(operation: Collective) -> bool:
    """Whether each rank gives equal parts of what it has to all."""
    matrix = operation.matrix
    return matrix is None or bool((matrix == matrix[:, :1]).all())


def _base(operation: Operation) -> tuple[str, Any]:
    """What operations that one entry stands for have in common: a name before /rank, and what they wait for."""
    if isinstance(operation, Compute) and operation.ranks is not None and len(operation.ranks) == 1:
        name, _, rank = operation.name.rpartition("/")
        if rank == str(int(operation.ranks[0])) and name:
            return name, operation.after
    return "", operation.name


def _written_after(after: tuple[str, ...], parts: Mapping[str, str], sizes: Mapping[str, int]) -> list[str]:
    """Names to wait for: of an entry that stands for several, its own where all of them are waited for."""
    awaited = Counter(parts[name] for name in after if name in parts)
    whole = {name for name, count in awaited.items() if count == sizes[name]}
    return list(dict.fromkeys(base if (base := parts.get(name, name)) in whole else name for name in after))


def _sets(groups: Groups, ranks: int) -> Any:
    """Sets of ranks as size and stride where they fill the ranks so, else each by its spans."""
    size = len(groups[0])
    stride = int(groups[0][1]) - int(groups[0][0]) if size > 1 else 1
    if stride > 0 and ranks % (size * stride) == 0:
        regular = strided(ranks, size, stride)
        if len(regular) == len(groups) and all(map(np.array_equal, regular, groups)):
            return {"size": size, "stride": stride}
    return [spans(each.tolist()) for each in groups]


def spans(ranks: list[int]) -> str | list[int]:
    """Ranks as spans where they ascend, else as they are: a group's first rank is the root of its broadcasts."""
    if not all(map(int.__lt__, ranks, ranks[1:])):
        return ranks
    parts: list[str] = []
    at = 0
    while at < len(ranks):
        by = ranks[at + 1] - ranks[at] if at + 1 < len(ranks) else 1
        end = at
        while end + 1 < len(ranks) and ranks[end + 1] - ranks[end] == by:
            end += 1
        if end - at < 2:  # a span of two says no more than the two
            parts.append(str(ranks[at]))
            at += 1
            continue
        parts.append(f"{ranks[at]}-{ranks[end]}" + (f":{by}" if by > 1 else ""))
        at = end + 1
    return ",".join(parts)
