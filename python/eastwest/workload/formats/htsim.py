"""Connection matrices of htsim (`.cm`): flows, and triggers that start some when others end.

`Nodes N`, `Connections C`, optional `Triggers T` and `Failures F`; then lines `src->dst [id n] start t|trigger n size B
[send_done_trigger n] [recv_done_trigger n] [prio n] [msg [n]]` and `trigger id n oneshot|multishot|barrier count k`.
Versions of htsim have written start times in picoseconds and read them in microseconds: the unit is for the reader to
say. Priorities are passed over, and messages of one connection are flows of their own.

Not here: which links the lines `failure ...` name (`eastwest.fabric.formats`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from eastwest.errors import InputError
from eastwest.textfile import Line, lines
from eastwest.workload.flows import LATEST_START_S, Flows, Trigger, TriggerKind

START_UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6}
"""Units that start times may be in, with their seconds."""

_PAIR = re.compile(r"([0-9]{1,9})->([0-9]{1,9})")
_OPTIONS = ("id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "msg")
_HEADS = ("nodes", "connections", "triggers", "failures")
LARGEST_FLOW_BYTES = 10**12


@dataclass
class _Read:
    """What was read so far; triggers by the file's own numbers."""

    heads: dict[str, Line] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    rows: list[dict[str, int]] = field(default_factory=list)
    at: list[Line] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    trigger_at: dict[int, Line] = field(default_factory=dict)
    failures: int = 0


def read_htsim_flows(path: Path, start_unit: str = "ps") -> tuple[Flows, int]:
    """The flows of a connection matrix, and the number of hosts that it is for; `start_unit` is one of `START_UNITS`.

    Raises:
        InputError: the file is no connection matrix, declares another number of connections or triggers than it has, or
            names a host or trigger that there is not; names the line.
    """
    read = _Read()
    for line in lines(path):
        first = line.words[0].lower()
        if first in _HEADS:
            if first in read.heads:
                raise line.refuse(f"{line.words[0]} is given twice")
            read.heads[first] = line
        elif first == "trigger":
            _trigger(read, line)
        elif first == "failure":
            read.failures += 1
        else:
            _flow(read, line, START_UNITS[start_unit])
    if "nodes" not in read.heads:
        raise InputError(f"{path}: the line 'Nodes' is missing: is this a connection matrix of htsim?")
    hosts = read.heads["nodes"].count(1, "Nodes", 1)
    _check(read, hosts)
    return _flows(read, START_UNITS[start_unit]), hosts


def _trigger(read: _Read, line: Line) -> None:
    kinds: dict[str, TriggerKind] = {"oneshot": "oneshot", "multishot": "multishot", "barrier": "barrier"}
    kind: TriggerKind | None = None
    numbers: dict[str, int] = {}
    place = 1
    while place < len(line.words):
        word = line.words[place].lower()
        if word in ("id", "count"):
            numbers[word] = line.count(place + 1, f"a trigger's {word}", 0 if word == "id" else 1, 2**31)
            place += 1
        elif word in kinds and kind is None:
            kind = kinds[word]
        else:
            raise line.refuse(f"{line.words[place]!r} is no kind of trigger, or a second; there are {', '.join(kinds)}")
        place += 1
    if kind is None or "id" not in numbers:
        raise line.refuse("a trigger is written as: trigger id 1 oneshot, or: trigger id 1 barrier count 2")
    if numbers["id"] in read.triggers:
        raise line.refuse(f"trigger {numbers['id']} is described twice")
    if kind == "barrier" and "count" not in numbers:
        raise line.refuse("a barrier says how many it waits for: trigger id 1 barrier count 2")
    read.triggers[numbers["id"]] = Trigger(kind, numbers["count"] if kind == "barrier" else 1)
    read.trigger_at[numbers["id"]] = line


def _flow(read: _Read, line: Line, unit_s: float) -> None:
    pair = _PAIR.fullmatch(line.words[0])
    if pair is None:
        raise line.refuse(f"{line.words[0]!r} is neither a flow such as 3->7 nor one of {', '.join(_HEADS)}, trigger")
    values: dict[str, int] = {}
    start = -1.0
    place = 1
    while place < len(line.words):
        name = line.words[place].lower()
        if name not in _OPTIONS:
            raise line.refuse(f"{line.words[place]!r} is no entry of a flow; there are {', '.join(_OPTIONS)}")
        if name in values or (name == "start" and start >= 0.0):
            raise line.refuse(f"{name} is given twice")
        if name == "msg" and line.words[place + 1 : place + 2] and line.words[place + 1].lower() in _OPTIONS:
            values[name] = 0  # a message without a number
            place += 1
            continue
        if name == "start":
            start = line.decimal(place + 1, "the start", LATEST_START_S / unit_s)
        else:
            values[name] = line.count(place + 1, name, 0, LARGEST_FLOW_BYTES)
        place += 2
    if "size" not in values:
        raise line.refuse("the flow lacks its size")
    if (start >= 0.0) == ("trigger" in values):
        raise line.refuse("a flow has either a start or a trigger that starts it, and not both")
    if pair[1] == pair[2]:
        raise line.refuse(f"host {pair[1]} sends to itself")
    read.pairs.append((int(pair[1]), int(pair[2])))
    read.rows.append(values)
    read.starts.append(start)
    read.at.append(line)


def _check(read: _Read, hosts: int) -> None:
    given = {"connections": len(read.rows), "triggers": len(read.triggers), "failures": read.failures}
    for head, found in given.items():
        if head in read.heads and (declared := read.heads[head].count(1, head.title())) != found:
            raise read.heads[head].refuse(f"{declared} {head} are declared and {found} are given")
    first: dict[int, Line] = {}  # line of each flow's id; 0 is none
    for values, line in zip(read.rows, read.at, strict=True):
        number = values.get("id", 0)
        if number and "msg" not in values:  # messages of one connection share its id
            if number in first:
                raise line.refuse(f"flow id {number} is taken by line {first[number].number}")
            first[number] = line
    for (source, destination), values, line in zip(read.pairs, read.rows, read.at, strict=True):
        for host in (source, destination):
            if host >= hosts:
                raise line.refuse(f"there is no host {host}: the hosts are 0 to {hosts - 1}")
        for name in ("trigger", "send_done_trigger", "recv_done_trigger"):
            if name in values and values[name] not in read.triggers:
                raise line.refuse(f"{name} {values[name]} is not described: add a line 'trigger id {values[name]} ...'")
    _check_pulls(read)


def _check_pulls(read: _Read) -> None:
    """Refuses flows that never start, because too few pull their trigger."""
    ends = ("send_done_trigger", "recv_done_trigger")
    pulled = Counter(values[end] for values in read.rows for end in ends if end in values)
    for values, line in zip(read.rows, read.at, strict=True):
        number = values.get("trigger")
        if number is None:
            continue
        if not pulled[number]:
            raise line.refuse(f"the flow never starts: no flow pulls trigger {number}, with send_done_trigger {number}")
        if read.triggers[number].pulls > pulled[number]:
            wanted = f"the barrier waits for {read.triggers[number].pulls} flows and {pulled[number]} pull it"
            raise read.trigger_at[number].refuse(wanted)
    _check_order(read)


def _check_order(read: _Read) -> None:
    """Refuses flows that wait, in the end, for themselves: others start by themselves, or are started by these."""
    waiting: dict[int, list[int]] = {}  # flows of each trigger that nothing starts yet
    started = []
    for flow, values in enumerate(read.rows):
        if "trigger" in values:
            waiting.setdefault(values["trigger"], []).append(flow)
        else:
            started.append(flow)
    pulls: Counter[int] = Counter()
    while started:
        values = read.rows[started.pop()]
        for number in (values[end] for end in ("send_done_trigger", "recv_done_trigger") if end in values):
            pulls[number] += 1
            if pulls[number] == read.triggers[number].pulls:
                started += waiting.pop(number, ())
    for number, flows in waiting.items():
        why = f"trigger {number} waits for flows that wait, one after the other, for this one or for each other"
        raise read.at[flows[0]].refuse(f"the flow never starts: {why}")


def _flows(read: _Read, unit_s: float) -> Flows:
    number = {trigger: index for index, trigger in enumerate(read.triggers)}

    def named(name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([number[row[name]] if name in row else -1 for row in read.rows], dtype=np.int64)

    pairs = np.array(read.pairs, dtype=np.uint32).reshape(-1, 2)
    return Flows(
        pairs[:, 0].copy(),
        pairs[:, 1].copy(),
        np.array([row["size"] for row in read.rows], dtype=np.uint64),
        np.maximum(np.array(read.starts, dtype=np.float64), 0.0) * unit_s,
        named("trigger"),
        named("send_done_trigger"),
        named("recv_done_trigger"),
        tuple(read.triggers.values()),
        np.array([row.get("prio", 0) for row in read.rows], dtype=np.uint64),
    )
