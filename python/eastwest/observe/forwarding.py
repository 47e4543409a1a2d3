"""Forwarding tables of InfiniBand switches as they were read back, by `dump_fts`, `dump_lfts`, `ibroute` or `saquery`.

`read_tables` takes what the first three print, which ask the switches themselves; `saquery LFTR` asks the subnet
manager what it gave them. Seen with Debian's of 2023: the first three leave out the topmost LID where its number is a
multiple of 64, the size of a block; the manager has it. Not here: which node a LID belongs to (`subnet`).
"""

from __future__ import annotations

import re

from eastwest.errors import InputError

Tables = dict[int, dict[int, int]]
"""By switch (its GUID, or its LID), the port out for each LID; port 0 is the switch itself."""

NO_PORT = 255
"""What stands for a LID that is not to be reached (InfiniBand specification 1.2.1, section 14.2.5.10)."""

_LONGEST_LINE = 4096
_HEAD = re.compile(r"Unicast lids \[.{1,40}?\] of switch .{0,1024}? guid 0x([0-9a-fA-F]{1,16})")
_ENTRY = re.compile(r"0x([0-9a-fA-F]{1,4})\s+(\d{1,3})(?:\s|$)")
_RECORD = re.compile(r"LID\.+(\d{1,5})$")
_RECORD_ENTRY = re.compile(r"(\d{1,5})\s+(\d{1,3})$")


def read_tables(text: str, file: str) -> Tables:
    """The tables of switches by GUID, from `dump_fts`, `dump_lfts` or `ibroute`.

    Raises:
        InputError: no table is in it, or an entry stands before any.
    """
    tables = _read(text, file, _HEAD, _ENTRY, base=16)
    if not tables:
        raise InputError(f"{file}: there is no forwarding table in it, such as `dump_fts` or `ibroute` prints")
    return tables


def read_records(text: str, file: str) -> Tables:
    """The tables of switches by LID, from `saquery LFTR`.

    Raises:
        InputError: no record is in it, or an entry stands before any.
    """
    tables = _read(text, file, _RECORD, _RECORD_ENTRY, base=10)
    if not tables:
        raise InputError(f"{file}: there is no record of a forwarding table in it, such as `saquery LFTR` prints")
    return tables


def _read(text: str, file: str, heads: re.Pattern[str], entries: re.Pattern[str], base: int) -> Tables:
    tables: Tables = {}
    table: dict[int, int] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        line = line[:_LONGEST_LINE].strip()
        if head := heads.match(line):
            table = tables.setdefault(int(head[1], base), {})
        elif entry := entries.match(line):
            if table is None:
                raise InputError(f"{file}:{number}: an entry before any switch: is the head cut off?")
            if int(entry[2]) != NO_PORT:
                table[int(entry[1], base)] = int(entry[2])
    return tables
