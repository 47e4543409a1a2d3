"""An InfiniBand subnet as `ibnetdiscover` saw it: nodes by GUID, cables by port, LIDs. Both of its forms are read.

The topology file (no option, or `-f`, `-g`) names every node and who is at the other end of each of its ports; the list
of ports (`-p`) has a line a port. What a node calls itself is its description; where a managed NVIDIA switch says
"MF0;leaf-1:MQM9700/U1", its name is `leaf-1`. Not here: what should have been seen (`cabling` compares).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from eastwest.errors import InputError
from eastwest.observe.cabling import Plug, Wire

LARGEST_BYTES = 1 << 28
_LONGEST_LINE = 4096

Kind = Literal["switch", "ca", "router"]
_KINDS: dict[str, Kind] = {"Switch": "switch", "Ca": "ca", "Rt": "router", "SW": "switch", "CA": "ca", "RT": "router"}

LANE_GBPS = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
"""Gb/s of a lane as rates are named (4x NDR: 400 Gb/s); SDR to QDR by the signal, of which 8b/10b takes a fifth."""

_NODE = re.compile(r'(Switch|Ca|Rt)\s+(\d{1,4})\s+"[SHR]-([0-9a-fA-F]{1,16})"\s*(?:#\s*"(.*)"(.*))?$')
_PORT = re.compile(
    r"\[(\d{1,3})\](?:\[ext \d{1,3}\])?\s*(?:\(([0-9a-fA-F]{1,16})\))?\s*"
    r'"[SHR]-([0-9a-fA-F]{1,16})"\[(\d{1,3})\](?:\[ext \d{1,3}\])?\s*(?:\(([0-9a-fA-F]{1,16})\))?\s*(?:#(.*))?$'
)
_LID = re.compile(r"(?<![\w-])lid (\d{1,5})(?!\w)")
_LMC = re.compile(r"(?<![\w-])lmc ([0-7])(?!\w)")
_RATE = re.compile(r"(?:^|\s)(\d{1,2})x\s?([A-Z]{2}R(?:10)?|\?\?\?)(?:\s|$)")
_ROW = re.compile(
    r"(SW|CA|RT)\s+(\d{1,5})\s+(\d{1,3})\s+0x([0-9a-fA-F]{1,16})\s+(\d{1,2}|\?\?)x?\s+([A-Z]{2}R(?:10)?|\?\?\?)\s+"
    r"(?:-\s+(SW|CA|RT)\s+(\d{1,5})\s+(\d{1,3})\s+0x([0-9a-fA-F]{1,16})\s+\(\s+'(.*)' - '(.*)'\s+\)|'(.*)')\s*$"
)
_MANAGED = re.compile(r"MF\d+;([^:]{1,64}):")


@dataclass(frozen=True, order=True)
class End:
    """A port of a node, which counts from 1; a switch's own is 0."""

    guid: int
    port: int


@dataclass(frozen=True)
class Node:
    """A node that was found; `ports` is None where a list of ports told of it."""

    guid: int
    kind: Kind
    description: str
    ports: int | None

    @property
    def name(self) -> str:
        """What it goes by: its description, less what a managed switch puts around its name."""
        managed = _MANAGED.match(self.description)
        return managed[1] if managed else self.description

    @property
    def is_aggregation(self) -> bool:
        """Whether it is the reduction unit inside an NVIDIA switch, which shows as a host on a port without a cage."""
        return self.kind == "ca" and self.description.endswith("Aggregation Node")


@dataclass(frozen=True)
class Cable:
    """Two ends that see each other, the lesser first, and the link's lanes and speed where told."""

    a: End
    b: End
    lanes: int | None = None
    speed: str | None = None

    @property
    def rate_bps(self) -> float | None:
        """The link's rate as it is named, None where not told."""
        known = self.lanes is not None and self.speed in LANE_GBPS
        return (self.lanes or 0) * LANE_GBPS[self.speed or ""] * 1e9 if known else None


@dataclass(frozen=True)
class Subnet:
    """What one discovery found.

    `lids` has the end that each LID leads to, all 2^LMC of an end's; `port_guids` the GUIDs of adapters' ports. A list
    of ports knows adapters by these alone.
    """

    nodes: dict[int, Node]
    cables: tuple[Cable, ...]
    lids: dict[int, End]
    port_guids: dict[End, int]

    @property
    def wires(self) -> list[Wire]:
        """The cables by what nodes call themselves, for comparison; none to the reduction units inside switches."""
        name = {guid: node.name for guid, node in self.nodes.items() if not node.is_aggregation}
        return [
            Wire(
                Plug(name[cable.a.guid], str(cable.a.port)), Plug(name[cable.b.guid], str(cable.b.port)), cable.rate_bps
            )
            for cable in self.cables
            if cable.a.guid in name and cable.b.guid in name
        ]

    def find(self, name: str) -> Node | None:
        """The first node of a name."""
        return next((node for node in self.nodes.values() if node.name == name), None)


def read_subnet(path: Path) -> Subnet:
    """What `ibnetdiscover` printed into a file.

    Raises:
        InputError: there is no such file, it is too large, or no node and no port is told of in it.
    """
    if not path.is_file():
        raise InputError(f"{path}: this is no file of text" if path.exists() else f"{path}: there is no such file")
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"{path}: the file is larger than {LARGEST_BYTES >> 20} MiB")
    return parse_subnet(path.read_text(encoding="utf-8-sig", errors="replace"), str(path))


def parse_subnet(text: str, file: str) -> Subnet:
    """What `ibnetdiscover` printed; raises as `read_subnet`."""
    found = _Found(file)
    for number, line in enumerate(text.splitlines(), start=1):
        found.take(number, line[:_LONGEST_LINE].strip())
    if not found.nodes:
        raise InputError(
            f"{file}: there is no InfiniBand node in it; what is read is what `ibnetdiscover` prints, alone or with -p"
        )
    cables = tuple(found.cables[ends] for ends in sorted(found.cables))
    return Subnet(found.nodes, cables, found.lids, found.port_guids)


@dataclass
class _Found:
    """Goes through the lines once; `node` is the one whose ports follow."""

    file: str
    nodes: dict[int, Node] = field(default_factory=dict)
    cables: dict[tuple[End, End], Cable] = field(default_factory=dict)
    lids: dict[int, End] = field(default_factory=dict)
    port_guids: dict[End, int] = field(default_factory=dict)
    node: Node | None = None

    def take(self, number: int, line: str) -> None:
        if head := _NODE.match(line):
            kind, ports, guid, description, rest = head.groups()
            self.node = self._node(int(guid, 16), _KINDS[kind], description or "", int(ports))
            self._lid(rest or "", End(self.node.guid, 0))
        elif port := _PORT.match(line):
            if self.node is None:
                raise InputError(f"{self.file}:{number}: a port before any node: is the file's head cut off?")
            mine, mine_guid, guid, other, other_guid, told = port.groups()
            end, far = End(self.node.guid, int(mine)), End(int(guid, 16), int(other))
            self.port_guids |= {of: int(told, 16) for of, told in ((end, mine_guid), (far, other_guid)) if told}
            told = told or ""
            if self.node.kind != "switch":
                self._lid(told.partition('"')[0], end)
            self._cable(end, far, told.rpartition('"')[2])
        elif row := _ROW.match(line):
            self._take_row(*row.groups())

    def _take_row(self, *row: str | None) -> None:
        kind, lid, port, guid, width, speed, peer_kind, peer_lid, peer_port, peer_guid, name, peer, alone = row
        ends = [(kind, lid, port, guid, name or alone), (peer_kind, peer_lid, peer_port, peer_guid, peer)]
        found = []
        for what, number, of, who, called in ends:
            if what is None or number is None or of is None or who is None:
                return
            node = self._node(int(who, 16), _KINDS[what], called or "", None)
            found.append(End(node.guid, int(of)))
            if node.kind != "switch":
                self.port_guids[found[-1]] = node.guid
            if int(number):
                self.lids.setdefault(int(number), End(node.guid, 0) if node.kind == "switch" else found[-1])
        self._cable(found[0], found[1], f"{width}x {speed}")

    def _node(self, guid: int, kind: Kind, description: str, ports: int | None) -> Node:
        return self.nodes.setdefault(guid, Node(guid, kind, description, ports))

    def _lid(self, told: str, end: End) -> None:
        lid, lmc = _LID.search(told), _LMC.search(told)
        if lid and int(lid[1]):
            for path in range(1 << int(lmc[1]) if lmc else 1):
                self.lids.setdefault(int(lid[1]) + path, end)

    def _cable(self, a: End, b: End, told: str) -> None:
        ends = (a, b) if a <= b else (b, a)
        rate = _RATE.search(told)
        lanes, speed = (int(rate[1]), rate[2]) if rate and rate[2] in LANE_GBPS else (None, None)
        if ends not in self.cables or self.cables[ends].speed is None:
            self.cables[ends] = Cable(*ends, lanes, speed)
