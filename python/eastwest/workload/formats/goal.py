"""GOAL schedules of LogGOPSim (text): what each rank computes, sends and receives, and what requires what.

`num_ranks N`, then for each rank `rank r { ... }` with statements, one a line: `l1: calc 500`, `l2: send 8b to 1 tag 0`
and `l2 requires l1`, say; also `recv 8b from 0`, `l3 irequires l1`, and `cpu` and `nic` behind the first three. A calc
takes nanoseconds. As in LogGOPSim, a send of up to 65,535 bytes counts as done once it begins, a larger one when it has
arrived. Not here: LogGOPSim's own network (L, o, g, G), in whose place a study's fabric stands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from eastwest.errors import InputError
from eastwest.workload.formats.asked import Asked, Imported
from eastwest.workload.step_file import LARGEST_OPERATION_BYTES, LONGEST_S, MOST_RANKS
from eastwest.workload.trace import ComputeNode, MessageNode, Node, RankTrace, joined

NANOSECONDS = 1e9
EAGER_BYTES = 65_535
"""LogGOPSim's S: a larger message waits for its receiver."""
LARGEST_BYTES = 1 << 30
_WORD = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_]*)|(-?[0-9]{1,19})|([:{}])|(\S))")
_COMMENT = re.compile(r"//.*|/\*.*?\*/")


@dataclass
class _Rank:
    """The statements of one rank; nodes by their line."""

    number: int
    opened: int
    nodes: dict[int, Node] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    requires: list[tuple[int, str, str, bool]] = field(default_factory=list)  # line, later, earlier, whether its start


class _Statement:
    """The words of one line, taken one by one."""

    def __init__(self, path: Path, line: int, text: str) -> None:
        self.path, self.line = path, line
        self._words = [next(filter(None, match.groups())) for match in _WORD.finditer(text) if match.group().strip()]
        self._at = 0

    def refuse(self, why: str) -> InputError:
        return InputError(f"{self.path}:{self.line}: {why}")

    def peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def next(self, what: str) -> str:
        word = self.peek()
        if not word:
            raise self.refuse(f"{what} is missing")
        self._at += 1
        return word

    def take(self, *words: str) -> bool:
        if self.peek() in words:
            self._at += 1
            return True
        return False

    def expect(self, word: str, after: str) -> None:
        if not self.take(word):
            raise self.refuse(f"{word!r} is missing behind {after}, where {self.peek() or 'nothing'!r} stands")

    def number(self, what: str, most: float) -> int:
        word = self.next(what)
        if not (word.isascii() and word.isdigit()) or int(word) > most:
            raise self.refuse(f"{what} is a whole number up to {most:,.0f}, not {word!r}")
        return int(word)

    def end(self) -> None:
        if self.peek():
            raise self.refuse(f"{self.peek()!r} is one word too many")


def is_goal(start: bytes, path: Path) -> bool:
    """Whether a file begins as a GOAL schedule."""
    del path
    text = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", start, flags=re.DOTALL)
    return text.lstrip().startswith(b"num_ranks")


def read_goal(asked: Asked) -> Imported:
    """The step of a schedule.

    Raises:
        InputError: there are several files, or a line makes no sense; names the line.
    """
    if len(asked.paths) > 1:
        raise InputError(f"{asked.paths[1]}: a GOAL schedule has all ranks in one file: name one alone")
    (path,) = asked.paths
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"{path}: the file is larger than {LARGEST_BYTES >> 30} GiB")
    unused: Counter[str] = Counter()
    count, ranks = _ranks(path, unused)
    if asked.ranks not in (None, count):
        raise InputError(f"--ranks {asked.ranks}: {path} has {count} ranks, each with messages of its own")
    found = joined([partial(_trace, path, ranks[number]) for number in range(count)])
    facts = ["calc is in nanoseconds; LogGOPSim's L, o, g and G are not used"]
    if found.is_buffered:
        facts.append("sends are taken to end at once, as into a buffer: else ranks would wait for each other for ever")
    return Imported("GOAL schedule", found.step, tuple(facts), dict(unused))


def _ranks(path: Path, unused: Counter[str]) -> tuple[int, dict[int, _Rank]]:
    count: int | None = None
    ranks: dict[int, _Rank] = {}
    rank: _Rank | None = None
    for statement in _statements(path):
        if rank is not None:
            if statement.take("}"):
                rank = None
            else:
                _state(statement, rank, unused)
        elif statement.take("num_ranks"):
            if count is not None:
                raise statement.refuse("num_ranks is given twice")
            count = statement.number("the number of ranks", MOST_RANKS)
        elif statement.take("rank") and count is not None:
            number = statement.number("the rank", count - 1)
            statement.expect("{", "the rank")
            if number in ranks:
                raise statement.refuse(f"rank {number} is described twice, first in line {ranks[number].opened}")
            rank = ranks[number] = _Rank(number, statement.line)
            rank = None if statement.take("}") else rank
        else:
            raise statement.refuse(
                f"{statement.peek()!r} stands where num_ranks N or, behind it, rank r {{ is expected"
            )
        statement.end()
    if rank is not None:
        raise InputError(f"{path}:{rank.opened}: the brace of rank {rank.number} is open at the end: the file was cut")
    if not count:
        raise InputError(f"{path}: num_ranks is missing, or 0")
    if len(ranks) < count:
        raise InputError(f"{path}: {count} ranks are declared and {len(ranks)} are described: the file was cut")
    return count, ranks


def _statements(path: Path) -> Iterator[_Statement]:
    is_inside = False  # of a comment of several lines
    try:
        with path.open(encoding="utf-8") as stream:
            for line, whole in enumerate(stream, start=1):
                text = whole
                if is_inside:
                    _, closed, text = text.partition("*/")
                    if not closed:
                        continue
                    is_inside = False
                text = _COMMENT.sub(" ", text)
                text, opened, _ = text.partition("/*")
                is_inside = bool(opened)
                if text.strip():
                    yield _Statement(path, line, text)
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is no text; of GOAL, the text is read, not what txt2bin makes of it") from None


def _state(statement: _Statement, rank: _Rank, unused: Counter[str]) -> None:
    """One statement of a rank."""
    word = statement.next("a statement")
    label = ""
    if word not in ("calc", "send", "recv"):
        label = word
        if statement.peek() in ("requires", "irequires"):
            is_start = statement.next("requires") == "irequires"
            rank.requires.append((statement.line, label, statement.next("a label"), is_start))
            return
        statement.expect(":", f"the label {label!r}")
        word = statement.next("calc, send or recv")
        if label in rank.labels:
            raise statement.refuse(f"label {label!r} is taken by line {rank.labels[label]}")
        rank.labels[label] = statement.line
    if word == "calc":
        nanoseconds = statement.number("the time", LONGEST_S * NANOSECONDS)
        node: Node = ComputeNode(statement.line, label or "calc", seconds=nanoseconds / NANOSECONDS)
    elif word in ("send", "recv"):
        node = _message(statement, word, label)
    else:
        raise statement.refuse(f"{word!r} is no statement; there are calc, send, recv, requires and irequires")
    while statement.peek() in ("cpu", "nic"):
        if statement.next("cpu") == "cpu" and statement.peek() not in ("", "0") and word == "calc":
            unused["calcs of other CPUs than 0 run in turn with those of CPU 0"] += 1
        statement.number("its number", 2**31)
    rank.nodes[statement.line] = node


def _message(statement: _Statement, word: str, label: str) -> MessageNode:
    is_send = word == "send"
    size = statement.number("the size", LARGEST_OPERATION_BYTES)
    statement.take("b")
    statement.expect("to" if is_send else "from", "the size")
    if statement.peek().startswith("-"):
        raise statement.refuse("messages from any source are not followed: name the rank")
    peer = statement.number("the other rank", MOST_RANKS)
    tag = 0
    if statement.take("tag"):
        if statement.peek().startswith("-"):
            raise statement.refuse("messages of any tag are not followed: name it")
        tag = statement.number("the tag", 2**63)
    name = label or word
    is_buffered = size <= EAGER_BYTES
    return MessageNode(
        statement.line, name, is_send=is_send, peer=peer, bytes=float(size), tag=tag, is_buffered=is_buffered
    )


def _trace(path: Path, rank: _Rank) -> RankTrace:
    """The rank's nodes with what they wait for; a start required of another is a wait for all that this waits for."""
    after: dict[int, dict[int, None]] = {line: {} for line in rank.nodes}
    starts: list[tuple[int, int]] = []
    for line, later, earlier, is_start in rank.requires:
        for label in (later, earlier):
            if label not in rank.labels:
                raise InputError(f"{path}:{line}: rank {rank.number} has no label {label!r}")
        pair = (rank.labels[later], rank.labels[earlier])
        if is_start:
            starts.append(pair)
        else:
            after[pair[0]][pair[1]] = None
    for waiting, begun in starts:
        after.setdefault(-begun, after[begun])  # stands for the start of that line
        after[waiting][-begun] = None
    nodes = [replace(node, after=tuple(after[line])) for line, node in rank.nodes.items()]
    gates = [Node(gate, f"start of {-gate}", tuple(waits)) for gate, waits in after.items() if gate < 0]
    return RankTrace(rank.number, (*nodes, *gates), str(path), "line")
