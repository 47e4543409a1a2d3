"""Tries paths of an MRC lab one by one: a NIC sends by the mark of each, and switches' counters say which way it went.

Every SID of a switch counts what it forwards, so after a path was tried the counters of all switches show which of them
it passed, by which cable, and nothing else. What sends and counts arrivals is `marked.py`, run in the servers.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from eastwest.artifacts.mrc.directory import Path as Way
from eastwest.artifacts.mrc.numbering import prefix
from eastwest.lab.failure import LabError
from eastwest.lab.registry import Lab
from eastwest.lab.source_routes import Choice, Lists
from eastwest.lab.wiring import run

MARKED = Path(__file__).with_name("marked.py")
LOST_AFTER_S = 0.5
"""What no switch has counted by then has been dropped on the way."""

Counters = Mapping[tuple[str, str], int]
"""Packets that each SID has forwarded, by switch and prefix."""


@dataclass(frozen=True)
class Tried:
    """What came of one path: its choice and way, datagrams sent and arrived, and what SIDs counted of them."""

    choice: Choice
    way: Way
    sent: int
    arrived: int
    counted: Counters

    @property
    def carries(self) -> bool:
        """Whether all that was sent arrived."""
        return self.arrived == self.sent > 0

    @property
    def is_proven(self) -> bool:
        """Whether it all took this very path: each of its SIDs counted it, and no other SID anything."""
        sids = zip(self.way.switches, self.way.usids, strict=False)
        return self.counted == {(name, prefix(self.way.plane, usid)): self.sent for name, usid in sids}

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "mark": self.choice.mark,
            "values": list(self.choice.values),
            "plane": self.way.plane,
            "switches": list(self.way.switches),
            "address": str(self.way.address),
            "sent": self.sent,
            "arrived": self.arrived,
            "carries": self.carries,
            "is_proven": self.is_proven,
        }


def try_paths(
    lab: Lab, lists: Lists, switches: Sequence[str], sender: str, receiver: str, count: int = 10
) -> list[Tried]:
    """Tries every different path from a NIC to another; nothing else may send meanwhile.

    Raises:
        LabError: a server cannot send or receive, or there is no path between the two.
    """
    ways = lists.ways(sender, receiver)
    if not ways:
        raise LabError(f"no path leads from {sender} to {receiver}: they are on networks that nothing joins")
    here, there = lists.senders[sender], lists.senders[receiver]
    job = {"do": "send", "source": str(here.address), "destination": str(there.address), "count": count}
    sent: list[int] = []
    counted: list[Counters] = []
    before = counters(lab, switches)
    with _Marked(lab, there.host) as collecting, _Marked(lab, here.host) as sending:
        collecting.tell({"do": "collect", "address": str(there.address)})
        collecting.answer()  # it listens
        for choice, way in ways:
            sending.tell(job | {"mark": choice.mark})
            sent.append(int(sending.answer()))
            _await(lab, before, way, sent[-1])
            after = counters(lab, switches)
            counted.append({sid: now - before.get(sid, 0) for sid, now in after.items() if now != before.get(sid, 0)})
            before = after
        collecting.end()
        arrived = {int(mark): number for mark, number in json.loads(collecting.answer()).items()}
    return [
        Tried(choice, way, gone, arrived.get(choice.mark, 0), sids)
        for (choice, way), gone, sids in zip(ways, sent, counted, strict=True)
    ]


def counters(lab: Lab, switches: Sequence[str]) -> dict[tuple[str, str], int]:
    """What every SID of some switches has counted."""
    script = "\n".join(f"ip -n {name} -6 -s -j route" for name in switches)
    found = run(lab.inside(["sh", "-e"]), script).splitlines()
    return {
        (switch, each["dst"]): int(each["stats64"]["packets"])
        for switch, line in zip(switches, found, strict=True)
        for each in json.loads(line)
        if each.get("encap") == "seg6local"
    }


def _await(lab: Lab, before: Counters, way: Way, sent: int) -> None:
    """Waits until the last switch of a path has counted all that was sent, or what it has not must be lost."""
    last = (way.switches[-1], prefix(way.plane, way.usids[-2]))
    deadline = time.monotonic() + LOST_AFTER_S
    while time.monotonic() < deadline:
        if counters(lab, last[:1])[last] - before[last] >= sent:
            return


class _Marked:
    """A running `marked.py` in a server, which ends with its block."""

    def __init__(self, lab: Lab, server: str) -> None:
        self._server = server
        self._process = subprocess.Popen(
            lab.on(server, [sys.executable, "-I", "-S", str(MARKED)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> _Marked:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.__exit__(None, None, None)  # closes what is open and waits

    def tell(self, job: Mapping[str, object]) -> None:
        """Gives it a job."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has failed; `answer` says why
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Ends its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def answer(self) -> str:
        """The next line that it writes.

        Raises:
            LabError: it has failed.
        """
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        if line := self._process.stdout.readline():
            return line
        raise LabError(f"on {self._server}: nothing is sent or counted: {self._process.stderr.read().strip()[-500:]}")


def table(sender: str, receiver: str, tried: Sequence[Tried]) -> Table:
    """One row a path: its mark, its way, what arrived of what was sent, and whether the switches counted just that."""
    carry = sum(each.carries for each in tried)
    table = Table(title=f"{sender} to {receiver}: {carry} of {len(tried)} paths carry", title_justify="left", box=None)
    table.add_column("mark", justify="right")
    table.add_column("EVs", justify="right")
    table.add_column("over")
    table.add_column("address", no_wrap=True)
    table.add_column("arrived", justify="right")
    table.add_column("counted")
    for each in tried:
        table.add_row(
            str(each.choice.mark),
            str(len(each.choice.values)),
            " ".join(each.way.switches[1:-1] or each.way.switches),
            str(each.way.address),
            f"{each.arrived} of {each.sent}",
            "on this path" if each.is_proven else "elsewhere too" if each.arrived else "",
        )
    return table
