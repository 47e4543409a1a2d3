"""What `eastwest build` wrote for MRC, as a lab's Linux kernels take it: a mark and a routing table for each path.

An MRC NIC writes the path of every packet into its destination address, from its list by the packet's entropy value
(EV). In the lab the kernel of a server does it: the mark of a socket (SO_MARK) picks a table, and the table
encapsulates what is for a NIC with the address that the EV's path to it has. EVs that climb alike share the first one's
mark, which is that EV + 1, and 256 more for each NIC. What has no mark takes the first EV of the NIC on the receiver's
rail.

Not here: switches, which load their files as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

from eastwest.artifacts.mrc.directory import Directory, read
from eastwest.artifacts.mrc.directory import Path as Way
from eastwest.artifacts.mrc.numbering import prefix
from eastwest.artifacts.mrc.paths import Climb
from eastwest.document import nearest
from eastwest.lab.failure import LabError

MARKS_OF_A_NIC = 256
FIRST_TABLE = 1000
"""Tables of the kernel's own are below."""
MOST_ROUTES = 250_000
"""Of all servers together: a kernel takes some ten thousand a second."""
RULES = 1000
"""Preference of the rules that send a mark to its table: before the main table's."""


@dataclass(frozen=True)
class Choice:
    """One way up from a NIC: its mark, the EVs that take it, and the port that it leaves by."""

    mark: int
    values: tuple[int, ...]
    climb: Climb
    interface: str
    gateway: str

    @property
    def table(self) -> int:
        """The routing table of the mark."""
        return FIRST_TABLE + self.mark


@dataclass(frozen=True)
class Sender:
    """A NIC as its list has it: name, address, the SIDs of its ports by interface, and its ways up."""

    nic: str
    address: IPv6Address
    sids: tuple[tuple[str, str], ...]
    choices: tuple[Choice, ...]

    @property
    def host(self) -> str:
        """The server it is in."""
        return self.nic.split("/")[0]

    @property
    def rail(self) -> str:
        """The interface without its plane, which NICs of one rail share."""
        return self.nic.split("/")[1]


@dataclass(frozen=True)
class Lists:
    """All lists of a lab: the directory, and every NIC by its name."""

    directory: Directory
    senders: dict[str, Sender]

    def ways(self, sender: str, receiver: str) -> list[tuple[Choice, Way]]:
        """The different paths from a NIC to another, each with the first choice that takes it."""
        found: dict[IPv6Address, tuple[Choice, Way]] = {}
        for choice in self.senders[sender].choices:
            way = self.directory.path(choice.climb, receiver)
            if way is not None:
                found.setdefault(way.address, (choice, way))
        return list(found.values())

    def named(self, given: str) -> str:
        """The name of a NIC that is given as "server-000:rail1"; a server's first where it names none.

        Raises:
            LabError: there is no such NIC; says which is near.
        """
        host, colon, interface = given.partition(":")
        found = self.of_host(host)
        if not found:
            hosts = tuple(dict.fromkeys(sender.host for sender in self.senders.values()))
            near = nearest(host, hosts)
            raise LabError(f"there is no server {host!r}{f'; did you mean {near!r}?' if near else ''}")
        if not colon:
            return found[0].nic
        for sender in found:
            if sender.rail == interface:
                return sender.nic
        has = ", ".join(sender.rail for sender in found)
        raise LabError(f"{host} has no NIC {interface!r}; it has {has}")

    def of_host(self, host: str) -> list[Sender]:
        """The NICs of a server."""
        return [sender for sender in self.senders.values() if sender.host == host]


def read_lists(built: Path) -> Lists:
    """Reads the directory and all lists of a folder that `eastwest build` wrote.

    Raises:
        LabError: they are not there, or not such files.
    """
    folder = built / "mrc"
    try:
        directory = read(json.loads((folder / "fabric.json").read_text(encoding="utf-8")))
        lists = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "paths").glob("*.json"))]
        senders = [_sender(turn, nic) for of in lists for turn, nic in enumerate(of["nics"])]
    except OSError as error:
        raise LabError(f"{folder}: {error.strerror}: the lab runs what `eastwest build` wrote") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LabError(f"{folder}: these are no lists of `eastwest build`: {type(error).__name__} {error}") from None
    return Lists(directory, {sender.nic: sender for sender in senders})


def _sender(turn: int, nic: dict[str, Any]) -> Sender:
    ports = {port["plane"]: port for port in nic["ports"]}
    values: dict[Climb, list[int]] = {}
    for of in nic["entropy"]:
        climb = Climb(of["plane"], tuple(of["climb"]), tuple(of["up"]), tuple(of["down"]))
        values.setdefault(climb, []).append(of["ev"])
    return Sender(
        nic["nic"],
        IPv6Address(nic["address"]),
        tuple((port["interface"], port["sid"]) for port in nic["ports"]),
        tuple(
            Choice(
                turn * MARKS_OF_A_NIC + taken[0] + 1,
                tuple(taken),
                climb,
                ports[climb.plane]["interface"],
                ports[climb.plane]["gateway"],
            )
            for climb, taken in values.items()
        ),
    )


def refuse_too_many(lists: Lists) -> None:
    """Raises `LabError` where servers would have more routes than one machine's kernel takes in good time."""
    elsewhere = len(lists.senders)
    routes = sum(len(sender.choices) * elsewhere for sender in lists.senders.values())
    if routes > MOST_ROUTES:
        raise LabError(
            f"{elsewhere:,} NICs with a route to every other along every path are {routes:,} routes; a lab has at most "
            f"{MOST_ROUTES:,}: give the study fewer servers, or servers with fewer NICs"
        )


def rules(lists: Lists, host: str) -> Iterator[str]:
    """Lines of `ip -6 -batch` that send each mark of a server to its table."""
    for sender in lists.of_host(host):
        for choice in sender.choices:
            yield f"rule add pref {RULES} fwmark {choice.mark} table {choice.table}"


def tables(lists: Lists, host: str) -> Iterator[str]:
    """Lines of `ip -6 -batch` with all routes of a server; loaded again, they change nothing.

    What is encapsulated is looked up once more by the same mark, so each table leads to the first switch too.
    """
    own = lists.of_host(host)
    for sender in own:
        for interface, sid in sender.sids:
            yield f"route replace {sid} encap seg6local action End.DT6 table 255 dev {interface}"
        for choice in sender.choices:
            yield _to_leaf(lists, choice, f"table {choice.table}")
            for receiver in lists.senders.values():
                if receiver.host != host:
                    way = lists.directory.path(choice.climb, receiver.nic)
                    if way is not None:
                        yield _to_nic(sender, choice, receiver, way, f"table {choice.table}")
    yield from _unmarked(lists, own)


def _unmarked(lists: Lists, own: list[Sender]) -> Iterator[str]:
    """The main table: each receiver by the first way of the NIC on its rail, else of the first NIC that has one."""
    for receiver in lists.senders.values():
        if any(sender.nic == receiver.nic or sender.host == receiver.host for sender in own):
            continue
        for sender in sorted(own, key=lambda sender: sender.rail != receiver.rail):
            ways = lists.ways(sender.nic, receiver.nic)
            if ways:
                choice, way = ways[0]
                yield _to_leaf(lists, choice, "")
                yield _to_nic(sender, choice, receiver, way, "")
                break


def _to_leaf(lists: Lists, choice: Choice, table: str) -> str:
    leaf = prefix(choice.climb.plane, lists.directory.usids[choice.climb.switches[0]][0])
    return f"route replace {leaf} via {choice.gateway} dev {choice.interface} {table}".rstrip()


def _to_nic(sender: Sender, choice: Choice, receiver: Sender, way: Way, table: str) -> str:
    by = f"encap seg6 mode encap.red segs {way.address} via {choice.gateway} dev {choice.interface}"
    return f"route replace {receiver.address} {by} src {sender.address} {table}".rstrip()
