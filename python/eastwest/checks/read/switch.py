"""One switch as its files describe it: SONiC's tables in one spelling, and what `frr.conf` says.

A table that no file gave is absent, which is not the same as empty: SONiC then fills it from files of its own
(`qos.json`, `buffers.json`, `pg_profile_lookup.ini`), so absence is unknown, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from eastwest.checks.read import spelling
from eastwest.checks.read.frr import Frr

Row = Mapping[str, str]
Table = Mapping[str, Row]

_NO_ROLE = {"dpc", "inb", "rec", "int"}
"""Roles of ports that no cable leaves by: to a DPU, in-band, recycled, between ASICs (sonic-port YANG)."""


@dataclass(eq=False)
class Switch:
    """A switch's tables, and the file each came from."""

    name: str
    file: str
    tables: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    twice: list[tuple[str, str]] = field(default_factory=list)
    frr: Frr | None = None

    def table(self, name: str) -> Table:
        """The rows of a table; none where no file gave it."""
        return self.tables.get(name, {})

    def file_of(self, table: str) -> str:
        """The file that gave a table, or the switch's first."""
        return self.files.get(table, self.file)

    @property
    def metadata(self) -> Row:
        """DEVICE_METADATA's row on the device itself."""
        return self.table("DEVICE_METADATA").get("localhost", {})

    @cached_property
    def ports(self) -> Table:
        """The ports that take a cable, up or not said to be down."""
        return {
            name: row
            for name, row in self.table("PORT").items()
            if row.get("role", "Ext").lower() not in _NO_ROLE and row.get("admin_status", "up") != "down"
        }

    @cached_property
    def known_ports(self) -> frozenset[str]:
        """Every port that PORT names."""
        return frozenset(self.table("PORT"))

    def addresses(self) -> Iterator[tuple[str, str, str]]:
        """Table, interface and address with prefix length of each address of the switch."""
        for table in ("INTERFACE", "LOOPBACK_INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "MGMT_INTERFACE"):
            for key in self.table(table):
                interface, bar, address = key.partition("|")
                if bar and "/" in address:
                    yield table, interface, address

    def by_queue(self, table: str) -> dict[tuple[str, int], tuple[str, Row]]:
        """Rows keyed by port and queue or priority group, lists and ranges opened; with the key as written.

        On a chassis with virtual output queues a key begins with host and ASIC; rows of other hosts are left out.
        """
        out: dict[tuple[str, int], tuple[str, Row]] = {}
        for key, row in self.table(table).items():
            *before, port, queues = key.split("|") if "|" in key else ("", "", "")
            if before and before[0] and before[0].lower() != self.metadata.get("hostname", before[0]).lower():
                continue
            for name in spelling.names(port, self.known_ports):
                for queue in spelling.numbers(queues):
                    out[name, queue] = (key, row)
        return out

    def by_port(self, table: str) -> dict[str, tuple[str, Row]]:
        """Rows keyed by port, lists and ranges opened; with the key as written."""
        out: dict[str, tuple[str, Row]] = {}
        for key, row in self.table(table).items():
            for name in spelling.names(key, self.known_ports):
                out[name] = (key, row)
        return out
