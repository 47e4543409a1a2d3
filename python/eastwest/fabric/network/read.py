"""Reads a network file: YAML with `nodes` and `cables`, or a folder with nodes.csv and cables.csv.

Whatever is wrong with a single entry is told here, with its line; what only all of them together can get wrong, by
`wire`. Tolerates hostile input: files are bounded, names are plain.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eastwest import units
from eastwest.catalog import Catalog
from eastwest.document import Mistake, MistakesError, name_of, nearest, read
from eastwest.fabric.network.values import NetworkCable, NetworkEnd, NetworkFile, NetworkServer, NetworkSwitch
from eastwest.fabric.plan import LONGEST_CABLE_M, TIERS

LARGEST_CSV_BYTES = 1 << 27
MOST_CABLES = 2_000_000
LARGEST_NUMBER = 999_999
"""Of parallel cables, and of units, pods, rails, planes and sites."""

MOST_MISTAKES = 20
"""Mistakes told at once."""

MOST_NAMES_COMPARED = 10_000
"""With more nodes, no nearest name is sought for a wrong one."""

OWN_SERVER = "server"
"""In place of a catalogue name: the cluster's server."""

_NODE_KEYS = ("device", "tier", "unit", "pod", "rail", "plane", "site", "breakout")
_PLACES = ("unit", "pod", "rail", "plane", "site")
_CABLE_KEYS = ("count", "rate", "length")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_NIC = re.compile(r"(.+)/nic-(\d{1,4})(?:/(\d{1,6}))?")
_PORT = re.compile(r"(.+)/(\d{1,6})")
_CAGES = re.compile(r"(\d{1,5})x(\d{1,3})")

Row = tuple[Mapping[str, Any], int | None]
"""Entries of a node or a cable, and the line where they stand."""


def read_network(path: Path, catalog: Catalog, shown: str | None = None) -> NetworkFile:
    """The network of a file or folder; `shown` is how messages name it. Raises `MistakesError` with its mistakes."""
    name = shown or str(path)
    if path.is_dir():
        nodes_file, cables_file = f"{name}/nodes.csv", f"{name}/cables.csv"
        nodes = list(_csv(path, "nodes.csv", nodes_file, ("name", *_NODE_KEYS), ("name", "device")))
        cables = list(_csv(path, "cables.csv", cables_file, ("a", "b", *_CABLE_KEYS), ("a", "b")))
    else:
        nodes_file = cables_file = name
        nodes, cables = _yaml(path, name)
    reader = _Reader(catalog, nodes_file, cables_file)
    for node in nodes:
        reader.node(*node)
    reader.names()
    for cable in cables:
        reader.cable(*cable)
    if not reader.servers and not reader.mistakes:
        reader.refuse(nodes_file, None, "has no server")
    if reader.mistakes:
        raise MistakesError(reader.mistakes[:MOST_MISTAKES])
    return NetworkFile(
        nodes_file,
        cables_file,
        tuple(reader.servers.values()),
        tuple(reader.switches.values()),
        tuple(reader.cables),
    )


class _Reader:
    """Reads entry by entry and notes what is wrong."""

    def __init__(self, catalog: Catalog, nodes_file: str, cables_file: str) -> None:
        self.servers: dict[str, NetworkServer] = {}
        self.switches: dict[str, NetworkSwitch] = {}
        self.cables: list[NetworkCable] = []
        self.mistakes: list[Mistake] = []
        self._faulty: set[str] = set()  # nodes that are there, but could not be read
        self._catalog = catalog
        self._nodes_file, self._cables_file = nodes_file, cables_file

    def refuse(self, file: str, line: int | None, message: str, near: str | None = None) -> None:
        self.mistakes.append(Mistake(file, line, 1 if line else None, message, (), near))

    def node(self, row: Mapping[str, Any], line: int | None) -> None:
        name, device = row.get("name"), row.get("device")
        file = self._nodes_file
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            shown = repr(name)[:60]
            return self.refuse(file, line, f"{shown} is no node's name: letters, digits, and any of . _ - / within")
        if name in self.servers or name in self.switches:
            return self.refuse(file, line, f"two nodes are named {name!r}")
        self._faulty.add(name)  # until all of it is read
        places = {key: self._number(file, line, name, key, row.get(key)) for key in _PLACES}
        if device == OWN_SERVER or device in self._catalog.names("servers"):
            if unfit := [key for key in ("tier", "rail", "plane", "breakout") if row.get(key) not in (None, "")]:
                return self.refuse(file, line, f"{name} is a server, of which {unfit[0]} cannot be said")
            own = None if device == OWN_SERVER else str(device)
            self.servers[name] = NetworkServer(name, own, places["unit"], places["pod"], places["site"], line)
            return self._faulty.discard(name)
        devices = self._catalog.names("switches")
        if device not in devices:
            known = (OWN_SERVER, *self._catalog.names("servers"), *devices)
            shown = repr(device)[:60]
            return self.refuse(file, line, f"{name} is a {shown}, which the catalogue lacks", nearest(device, known))
        written = row.get("tier") or None
        tier = next((each for each in TIERS if each == written), None)
        if tier is None and written is not None:
            there = f"{name} stands on tier {repr(written)[:60]}; there are {', '.join(TIERS)}"
            self.refuse(file, line, there, nearest(written, TIERS))
        switch = self._catalog.switch(str(device))
        breakout = self._breakout(line, name, row.get("breakout"), switch.cages)
        self.switches[name] = NetworkSwitch(name, switch, tier, breakout, **places, line=line)
        return self._faulty.discard(name)

    def names(self) -> None:
        """Refuses switches that are named as parts of a server are, such as left/nic-0."""
        for name, switch in self.switches.items():
            whole = next((name[:at] for at, char in enumerate(name) if char == "/" and name[:at] in self.servers), None)
            if whole is not None:
                told = f"{name} is named as a part of the server {whole}: begin with another word"
                self.refuse(self._nodes_file, switch.line, told)

    def cable(self, row: Mapping[str, Any], line: int | None) -> None:
        if len(self.cables) >= MOST_CABLES:
            raise MistakesError([Mistake(self._cables_file, line, 1, f"has over {MOST_CABLES:,} cables")])
        what = f"cable {row.get('a')} - {row.get('b')}"[:200]
        ends = [self._end(line, what, row.get(end)) for end in ("a", "b")]
        count = self._number(self._cables_file, line, what, "count", row.get("count"), least=1, absent=1)
        rate_bps = self._quantity(line, what, row.get("rate"), units.parse_rate, zero=False)
        length_m = self._quantity(line, what, row.get("length"), units.parse_length, zero=True)
        if length_m is not None and length_m > LONGEST_CABLE_M:
            longest = f"at most {LONGEST_CABLE_M / 1e3:,.0f} km long, half around the world"
            self.refuse(self._cables_file, line, f"the {what} is {longest}, not {length_m / 1e3:g} km")
        if ends[0] is not None and ends[1] is not None:
            self.cables.append(NetworkCable(ends[0], ends[1], count, rate_bps, length_m, line))

    def _end(self, line: int | None, what: str, written: Any) -> NetworkEnd | None:
        """One end of a cable; None, and a mistake, where it is nowhere."""
        text = written if isinstance(written, str) else ""
        if text in self.servers or text in self.switches:
            return NetworkEnd(text)
        nic, port = _NIC.fullmatch(text), _PORT.fullmatch(text)
        if nic and nic[1] in self.servers:
            return NetworkEnd(nic[1], int(nic[2]), None if nic[3] is None else int(nic[3]))
        if port and port[1] in self.switches:
            return NetworkEnd(port[1], port=int(port[2]))
        if self._faulty & {text, nic[1] if nic else text, port[1] if port else text}:
            return None  # told already
        names = (*self.servers, *self.switches)
        shown = repr(written)[:60]
        if text.partition("/")[0] in self.servers:
            fits = f"{text.partition('/')[0]}/nic-3"
            self.refuse(self._cables_file, line, f"the {what} cannot end at {shown}: an end of a server is like {fits}")
            return None
        if (switch := text.rpartition("/")[0]) in self.switches:
            fits = f"{switch}/7, with ports counted from 0"
            self.refuse(self._cables_file, line, f"the {what} cannot end at {shown}: an end of a switch is like {fits}")
            return None
        near = nearest(text.partition("/")[0], names) if len(names) <= MOST_NAMES_COMPARED else None
        self.refuse(self._cables_file, line, f"the {what} ends nowhere: there is no node {shown}", near)
        return None

    def _number(
        self, file: str, line: int | None, what: str, key: str, written: Any, least: int = 0, absent: int = -1
    ) -> int:
        if written is None or written == "":
            return absent
        text = str(written).strip()
        if isinstance(written, bool) or not re.fullmatch(r"[0-9]{1,6}", text) or int(text) < least:
            bounds = f"a whole number from {least} to {LARGEST_NUMBER:,}"
            self.refuse(file, line, f"{key} of {what} is {bounds}, not {repr(written)[:60]}")
            return absent
        return int(text)

    def _quantity(self, line: int | None, what: str, written: Any, parse: Any, *, zero: bool) -> float | None:
        if written is None or written == "":
            return None
        try:
            return float(parse(written, zero=zero))
        except units.UnitError as error:
            self.refuse(self._cables_file, line, f"{what}: {error}")
            return None

    def _breakout(self, line: int | None, name: str, written: Any, cages: int) -> tuple[int, ...] | None:
        """Ports of each cage: 2 for all, or "32x2 16x1" for 32 cages of 2 and 16 of 1."""
        if written is None or written == "":
            return None
        text = str(written).strip()
        if re.fullmatch(r"\d{1,3}", text):
            return (int(text),) * cages
        runs = [match for word in text[:4096].split() if (match := _CAGES.fullmatch(word))]
        if len(runs) == len(text.split()) and sum(int(run[1]) for run in runs) == cages:
            return tuple(ports for run in runs for ports in [int(run[2])] * int(run[1]))
        fits = f"a number of ports, or those of all {cages} cages, as in '{cages - 1}x2 1x1'"
        self.refuse(self._nodes_file, line, f"breakout of {name} is {fits}, not {repr(written)[:60]}")
        return None


def _yaml(path: Path, shown: str) -> tuple[list[Row], list[Row]]:
    document = read(path, shown)
    data = document.data if isinstance(document.data, dict) else {}
    mistakes = [
        document.mistake((key,), f"unknown entry {key!r}", ("nodes", "cables"), key=True)
        for key in data
        if key not in ("nodes", "cables")
    ]
    given, drawn = data.get("nodes"), data.get("cables")
    if not isinstance(given, dict) or not isinstance(drawn, list):
        message = "a network is a mapping with 'nodes', by name, and 'cables', a list"
        mistakes.append(document.mistake((), message))
        raise MistakesError(mistakes)
    nodes: list[Row] = []
    for name, node in given.items():
        line = document.keys[("nodes", name)][0]
        for key in node if isinstance(node, dict) else ():
            if key not in _NODE_KEYS:
                what = f"unknown entry {key!r} of node {name!r}"
                mistakes.append(document.mistake(("nodes", name, key), what, _NODE_KEYS, nearest(key, _NODE_KEYS)))
        nodes.append(({**node, "name": name} if isinstance(node, dict) else {"name": name, "device": node}, line))
    cables: list[Row] = []
    for index, cable in enumerate(drawn):
        place = ("cables", index)
        values = cable if isinstance(cable, dict) else {"ends": cable}
        for key in values:
            if key not in ("ends", *_CABLE_KEYS):
                known = ("ends", *_CABLE_KEYS)
                mistakes.append(
                    document.mistake(place, f"unknown entry {key!r} of a cable", known, nearest(key, known))
                )
        ends = values.get("ends")
        if not isinstance(ends, list) or len(ends) != 2:
            message = f"a cable has two ends, as in [server-0/nic-3, leaf-a/7], not {name_of(ends)}"
            mistakes.append(document.mistake(place, message))
            continue
        cables.append(({**values, "a": ends[0], "b": ends[1]}, document.values[place][0]))
    if mistakes:
        raise MistakesError(mistakes[:MOST_MISTAKES])
    return nodes, cables


def _csv(folder: Path, name: str, shown: str, columns: tuple[str, ...], needed: tuple[str, ...]) -> Iterator[Row]:
    def refuse(message: str, line: int | None = None, near: str | None = None) -> MistakesError:
        return MistakesError([Mistake(shown, line, 1 if line else None, message, (), near)])

    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise refuse("leads out of its folder")
        if not path.is_file():
            raise refuse("there is no such file")
        with path.open("rb") as stream:
            raw = stream.read(LARGEST_CSV_BYTES + 1)
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror or error}") from None
    if len(raw) > LARGEST_CSV_BYTES:
        raise refuse(f"is larger than {LARGEST_CSV_BYTES >> 20} MiB")
    try:
        rows = csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        head = [word.strip() for word in next(rows, [])]
        for word in head:
            if word not in columns:
                raise refuse(f"has a column {word!r}; known are {', '.join(columns)}"[:300], 1, nearest(word, columns))
        if lacking := [word for word in needed if word not in head]:
            raise refuse(f"lacks the column {lacking[0]!r}", 1)
        if len(set(head)) < len(head):
            raise refuse("has a column twice", 1)
        for row in rows:
            if not any(row):
                continue
            if len(row) != len(head):
                raise refuse(f"has {len(row)} fields in place of {len(head)}", rows.line_num)
            yield dict(zip(head, (word.strip() for word in row), strict=True)), rows.line_num
    except UnicodeDecodeError:
        raise refuse("is not UTF-8 text") from None
    except csv.Error as error:
        raise refuse(f"is not CSV: {error}") from None
