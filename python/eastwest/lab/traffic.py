"""Traffic between a lab's servers: whether they reach each other, for how long not, and which links carry a flow.

What sends and answers is `endpoint.py`, run in the servers; here is who sends what to whom, and what came of it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eastwest.lab.failure import LabError
from eastwest.lab.registry import Lab
from eastwest.lab.wiring import PATIENCE_S, run, side_by_side

ENDPOINT = Path(__file__).with_name("endpoint.py")
TRIES = 3
WAIT_S = 1.0
FIRST_PORT = 49_152
"""Source ports of probes: RoCEv2's are from here, as NICs choose them."""

MOST_PROBES_PER_S = 6_000
"""More would measure this machine, which forwards every one at every hop and sends it back."""


@dataclass(frozen=True)
class Attachment:
    """One address of a server, on the interface that has it."""

    server: str
    interface: str
    address: str


@dataclass(frozen=True)
class Pair:
    """From one address to another."""

    source: Attachment
    destination: Attachment

    def __str__(self) -> str:
        there = self.destination
        return f"{self.source.server} {self.source.interface} to {there.server} {there.interface}"


@dataclass(frozen=True)
class Outage:
    """Probes lost in a row along one stream (a pair and a source port), and when the first and the last were sent."""

    pair: Pair
    port: int
    lost: int
    first: float
    last: float
    is_at_the_end: bool


@dataclass(frozen=True)
class Watched:
    """What a stream of probes saw: pairs, probes, losses, and how often each stream sent."""

    pairs: int
    streams: int
    sent: int
    interval_s: float
    outages: tuple[Outage, ...]

    def reconverged_s(self, since: float, without: Sequence[Pair] = ()) -> float:
        """Seconds from `since` to the last probe that was lost, and an interval; 0 where none was.

        What pairs in `without` lost does not count.
        """
        counted = (outage for outage in self.outages if outage.last >= since and outage.pair not in without)
        ends = [outage.last + self.interval_s - since for outage in counted]
        return max(ends, default=0.0)


class Endpoint:
    """A running `endpoint.py` in a server."""

    def __init__(self, lab: Lab, server: str, job: Mapping[str, Any]) -> None:
        """Starts it on a job."""
        self._server = server
        self._process = subprocess.Popen(
            lab.on(server, [sys.executable, "-I", "-S", str(ENDPOINT)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        with contextlib.suppress(BrokenPipeError):  # it has failed; `result` or `await_ready` says why
            self._stdin.write(json.dumps(job) + "\n")
            self._stdin.flush()

    def await_ready(self) -> None:
        """Waits until its sockets are open."""
        if self._stdout.readline() != "ready\n":
            raise self._failure()

    def result(self) -> Any:
        """Lets it end, and gives what it found.

        Raises:
            LabError: it failed, or does not end.
        """
        try:
            said, _ = self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.stop()
            raise LabError(f"traffic of {self._server} does not end") from None
        if self._process.returncode:
            raise self._failure()
        return json.loads(said)

    def stop(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()

    def _failure(self) -> LabError:
        self._process.kill()
        _, said = self._process.communicate()
        return LabError(f"on {self._server}: traffic failed: {said.strip()[-1000:] or 'no reason told'}")


@contextlib.contextmanager
def answering(lab: Lab, attachments: Sequence[Attachment]) -> Iterator[None]:
    """Has servers send back what comes to their addresses, meanwhile.

    Raises:
        LabError: one cannot.
    """
    addresses: dict[str, list[str]] = {}
    for each in attachments:
        addresses.setdefault(each.server, []).append(each.address)
    with contextlib.ExitStack() as ends:
        started = []
        for server, those in addresses.items():
            one = Endpoint(lab, server, {"do": "echo", "addresses": those})
            ends.callback(one.stop)
            started.append(one)
        for one in started:
            one.await_ready()
        yield


def unreached(lab: Lab, pairs: Sequence[Pair]) -> list[Pair]:
    """Those pairs that do not reach each other there and back.

    Raises:
        LabError: a server cannot try.
    """
    with answering(lab, _all(pairs)):
        running = []
        for server, those in _by_source(pairs).items():
            job = {"do": "reach", "pairs": [_ends(pair) for pair in those], "tries": TRIES, "wait_s": WAIT_S}
            running.append((those, Endpoint(lab, server, job)))
        return [those[number] for those, one in running for number in one.result()]


class Watch:
    """Streams of probes under way; `found` once they have ended."""

    def __init__(self) -> None:
        self.found: Watched | None = None


@contextlib.contextmanager
def watching(lab: Lab, pairs: Sequence[Pair], ports: int = 4, interval_s: float = 0.01) -> Iterator[Watch]:
    """Probes all pairs from several source ports each (so that ECMP deals them over paths) while a block runs.

    The interval is longer where there are so many streams that the machine would have no time for anything else.

    Raises:
        LabError: a server cannot.
    """
    watch = Watch()
    streams = len(pairs) * ports
    interval_s = max(interval_s, streams / MOST_PROBES_PER_S)
    with answering(lab, _all(pairs)), contextlib.ExitStack() as ends:
        running = []
        for server, those in _by_source(pairs).items():
            plan = [(pair, FIRST_PORT + port) for pair in those for port in _ports(pair, those, ports)]
            sent = [[pair.source.address, port, pair.destination.address] for pair, port in plan]
            one = Endpoint(lab, server, {"do": "stream", "streams": sent, "interval_s": interval_s})
            ends.callback(one.stop)
            running.append((plan, one))
        for _, one in running:
            one.await_ready()
        yield watch
        told = [(plan, one.result()) for plan, one in running]
    outages = tuple(
        Outage(pair, port, int(lost), first, last, last == each["until"])
        for plan, streams_told in told
        for (pair, port), each in zip(plan, streams_told, strict=True)
        for first, last, lost in each["lost"]
    )
    total = sum(each["sent"] for _, streams_told in told for each in streams_told)
    watch.found = Watched(len(pairs), streams, total, interval_s, outages)


def _ports(pair: Pair, those: Sequence[Pair], ports: int) -> range:
    """Source ports of a pair, as no other from the same address has."""
    rank = [each for each in those if each.source == pair.source].index(pair)
    return range(rank * ports, (rank + 1) * ports)


@dataclass(frozen=True)
class Carried:
    """What a flow came to: bytes that arrived by source port, in how many seconds, and what interfaces sent."""

    seconds: float
    arrived: Mapping[int, int]
    interfaces: Mapping[tuple[str, str], int]

    @property
    def rate_bps(self) -> float:
        """Payload that arrived, in all."""
        return 8 * sum(self.arrived.values()) / self.seconds if self.seconds else 0.0


def flow(
    lab: Lab,
    pair: Pair,
    protocol: Literal["tcp", "udp"],
    flows: int,
    seconds: float,
    rate_bps: float,
    nodes: Sequence[str],
) -> Carried:
    """Sends along several flows from one address to another, and counts at every interface of the `nodes`.

    Raises:
        LabError: they do not reach each other.
    """
    there, here = pair.destination, pair.source
    taking = Endpoint(lab, there.server, {"do": "receive", "protocol": protocol, "address": there.address})
    try:
        taking.await_ready()
        before = sent_bytes(lab, nodes)
        job = {
            "do": "send",
            "protocol": protocol,
            "source": here.address,
            "destination": there.address,
            "flows": flows,
            "seconds": seconds,
            "rate_bps": rate_bps,
        }
        Endpoint(lab, here.server, job).result()
        time.sleep(WAIT_S / 2)  # what is still in queues
        after = sent_bytes(lab, nodes)
        got = taking.result()
    finally:
        taking.stop()
    interfaces = {end: after[end] - before.get(end, 0) for end in after}
    return Carried(float(got["seconds"]), {int(port): n for port, n in got["bytes"].items()}, interfaces)


def sent_bytes(lab: Lab, nodes: Sequence[str]) -> dict[tuple[str, str], int]:
    """Bytes that every interface has sent so far."""

    def count(node: str) -> dict[tuple[str, str], int]:
        found = json.loads(run(lab.inside(["ip", "-n", node, "-j", "-s", "link"])))
        return {(node, each["ifname"]): int(each["stats64"]["tx"]["bytes"]) for each in found if each["ifname"] != "lo"}

    counted: dict[tuple[str, str], int] = {}
    for one in side_by_side(count, nodes):
        counted.update(one)
    return counted


def _all(pairs: Sequence[Pair]) -> list[Attachment]:
    return list(dict.fromkeys(pair.destination for pair in pairs))


def _by_source(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    by: dict[str, list[Pair]] = {}
    for pair in pairs:
        by.setdefault(pair.source.server, []).append(pair)
    return by


def _ends(pair: Pair) -> list[str]:
    return [pair.source.address, pair.destination.address]
