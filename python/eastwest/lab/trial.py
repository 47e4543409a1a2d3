"""Tries paths of an MRC lab one by one: a NIC sends by the mark of each, and switches' counters say which way it went.

Every SID of a switch counts what it forwards, so after a path was tried the counters of all switches show which of them
it passed, by which cable, and nothing else. What sends and counts arrivals is `marked.py`, run in the servers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from eastwest.artifacts.mrc.directory import Path as Way
from eastwest.artifacts.mrc.numbering import prefix
from eastwest.lab.failure import LabError
from eastwest.lab.registry import Lab
from eastwest.lab.source_routes import Choice, Lists
from eastwest.lab.wiring import PATIENCE_S, run, side_by_side

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
    before = counters(lab, switches)
    sent: list[int] = []
    counted: list[Counters] = []
    with _collecting(lab, there.host, str(there.address)) as arrived:
        for choice, way in ways:
            said = json.loads(run(_marked(lab, here.host), json.dumps(job | {"marks": [choice.mark]}) + "\n"))
            sent.append(said[str(choice.mark)])
            after = _settled(lab, switches, before, way, sent[-1])
            counted.append({sid: now - before.get(sid, 0) for sid, now in after.items() if now != before.get(sid, 0)})
            before = after
    return [
        Tried(choice, way, gone, arrived.get(str(choice.mark), 0), sids)
        for (choice, way), gone, sids in zip(ways, sent, counted, strict=True)
    ]


def _settled(lab: Lab, switches: Sequence[str], before: Counters, way: Way, sent: int) -> dict[tuple[str, str], int]:
    """The counters once the last switch of a path has counted all that was sent, or what is lost must be lost."""
    last = (way.switches[-1], prefix(way.plane, way.usids[-2]))
    deadline = time.monotonic() + LOST_AFTER_S
    while True:
        is_over = time.monotonic() > deadline
        after = counters(lab, switches)
        if is_over or after.get(last, 0) - before.get(last, 0) >= sent:
            return after


def counters(lab: Lab, switches: Sequence[str]) -> dict[tuple[str, str], int]:
    """What every SID of some switches has counted."""

    def one(switch: str) -> dict[tuple[str, str], int]:
        found = json.loads(run(lab.inside(["ip", "-n", switch, "-6", "-s", "-j", "route"])))
        return {
            (switch, each["dst"]): int(each["stats64"]["packets"]) for each in found if each.get("encap") == "seg6local"
        }

    counted: dict[tuple[str, str], int] = {}
    for of in side_by_side(one, switches):
        counted.update(of)
    return counted


def _marked(lab: Lab, server: str) -> list[str]:
    return lab.on(server, [sys.executable, "-I", "-S", str(MARKED)])


@contextmanager
def _collecting(lab: Lab, server: str, address: str) -> Iterator[dict[str, int]]:
    """Counts arrivals by mark while a block runs; they are there once it has ended."""
    arrived: dict[str, int] = {}
    process = subprocess.Popen(
        _marked(lab, server),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps({"do": "collect", "address": address}) + "\n")
        process.stdin.flush()
        if process.stdout.readline() != "ready\n":
            _, said = process.communicate(timeout=PATIENCE_S)
            raise LabError(f"on {server}: nothing listens: {said.strip()[-500:]}")
        yield arrived
        said, _ = process.communicate(timeout=PATIENCE_S)
        arrived.update(json.loads(said))
    finally:
        process.kill()
        process.wait()


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
