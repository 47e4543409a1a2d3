"""How long servers are cut off when something fails: streams of probes before, while and after.

The time is to the last probe that was lost, on all streams, from the moment at which the fault is made. Not here:
what a real switch adds (its chip's tables take milliseconds for thousands of routes, where a kernel's take none).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from eastwest.lab.driver import Fault
from eastwest.lab.failure import LabError
from eastwest.lab.labs import Running
from eastwest.lab.nodes import Node, Nodes
from eastwest.lab.traffic import Attachment, Pair, Watched, watching

BEFORE_S = 0.5
PORTS = 2
"""Source ports a pair: streams that ECMP deals over paths."""


@dataclass(frozen=True)
class Convergence:
    """What a fault did to the pairs that were probed; `lost` are those that no probe gets through to at the end.

    `seconds` is how long it took until all the others got through again.
    """

    seconds: float
    watched: Watched
    lost: tuple[Pair, ...]

    def __str__(self) -> str:
        seen = self.watched
        hit = len({(outage.pair, outage.port) for outage in seen.outages})
        missing = sum(outage.lost for outage in seen.outages)
        if not missing:
            told = f"no probe of {seen.sent:,} was lost along {seen.streams} streams, one every"
        else:
            rest = f"the others reconverged after {self.seconds:.2f} s"
            when = rest if self.lost else rest.removeprefix("the others ")
            told = (
                f"{when}: {missing:,} of {seen.sent:,} probes lost, along {hit} of {seen.streams} streams of one every"
            )
        cut = (
            f"; {len(self.lost)} pairs are cut off, as {self.lost[0]}" if self.lost else "; all pairs reach each other"
        )
        return f"{told} {1e3 * seen.interval_s:.0f} ms{cut}"


def measured(running: Running, fault: Fault, seconds: float = 5) -> Convergence:
    """Makes something fail while servers probe each other, for some seconds more.

    Raises:
        LabError: the lab carries no data, or a command in it failed.
    """
    pairs = [
        pair for pair in opposite(running.nodes) if not {pair.source.server, pair.destination.server} & set(fault.nodes)
    ]
    need_data(running, pairs)
    with watching(running.lab, pairs, PORTS) as watch:
        time.sleep(BEFORE_S)
        began = time.monotonic()
        running.driver.fail(running.lab, running.nodes, fault)
        time.sleep(seconds)
    assert watch.found is not None
    lost = tuple(dict.fromkeys(outage.pair for outage in watch.found.outages if outage.is_at_the_end))
    return Convergence(watch.found.reconverged_s(began, lost), watch.found, lost)


def need_data(running: Running, pairs: list[Pair]) -> None:
    """Raises `LabError` where servers cannot send, or there are not two of them."""
    if not running.driver.carries_data:
        instead = "; eastwest lab paths sends along paths" if running.driver.name == "mrc" else ""
        raise LabError(f"servers of a lab of {running.nodes.technology} send nothing by address alone{instead}")
    if not pairs:
        raise LabError("there are no two servers to send from one to the other")


def attachments(nodes: Nodes) -> list[list[Attachment]]:
    """Addresses by NIC port that has them in every server: a rail of a plane each."""
    by: dict[str, list[Attachment]] = {}
    for host in nodes.hosts:
        for each in _of(host):
            by.setdefault(each.interface, []).append(each)
    return list(by.values())


def opposite(nodes: Nodes) -> list[Pair]:
    """From each address to the one of the same rail half the cluster away: pairs that cross most of the fabric."""
    found = []
    for those in attachments(nodes):
        half = (len(those) + 1) // 2
        found += [Pair(each, those[(at + half) % len(those)]) for at, each in enumerate(those) if len(those) > 1]
    return found


def all_pairs(nodes: Nodes) -> list[Pair]:
    """From each address to every other of the same rail."""
    return [Pair(a, b) for those in attachments(nodes) for a in those for b in those if a.server != b.server]


def _of(host: Node) -> Iterator[Attachment]:
    for port in host.ports:
        if port.address:
            yield Attachment(host.name, port.name, port.address)


def pair_of(nodes: Nodes, source: str, destination: str) -> Pair:
    """Two servers' NICs, as in "server-000:rail1"; the first that both have where none is named.

    Raises:
        LabError: there is no such server or NIC, or it is one server.
    """
    ends = []
    for name in (source, destination):
        server, _, interface = name.partition(":")
        host = nodes.named(server)
        those = list(_of(host))
        if host.is_switch or not those:
            raise LabError(f"{server} is no server with an address")
        if interface and interface not in {each.interface for each in those}:
            raise LabError(f"{server} has no {interface!r}; it has {', '.join(each.interface for each in those)}")
        ends.append([each for each in those if interface in ("", each.interface)])
    here, there = ends
    if here[0].server == there[0].server:
        raise LabError(f"{here[0].server} cannot send to itself over the fabric: name another server")
    wanted = {each.interface: each for each in there}
    for each in here:
        if each.interface in wanted:
            return Pair(each, wanted[each.interface])
    return Pair(here[0], there[0])
