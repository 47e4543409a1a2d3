"""Forwarding tables read back from InfiniBand switches."""

import pytest

from eastwest.errors import InputError
from eastwest.observe.forwarding import read_records, read_tables

DUMPED = """\
Unicast lids [0x0-0x47] of switch DR path slid 0; dlid 0; 0,1,15 guid 0x0200c0de00010300 (leaf-3):
  Lid  Out   Destination
       Port     Info
0x0008 017
0x0011 000 : (Switch portguid 0x0200c0de00010300: 'leaf-3')
2 valid lids dumped
Unicast lids [0x0-0x47] of switch Lid 9 guid 0x0200c0de00020000 (spine-0):
  Lid  Out   Destination
       Port     Info
0x0008 003 : (Channel Adapter portguid 0x0200c0de00030001: 'server-000 mlx5_0')
0x0009 255
"""


def test_tables_of_several_switches_are_read_by_guid() -> None:
    assert read_tables(DUMPED, "x") == {0x0200C0DE00010300: {8: 17, 17: 0}, 0x0200C0DE00020000: {8: 3}}


def test_records_of_the_manager_are_read_by_lid() -> None:
    text = "LFT Record dump:\n\t\tLID........................2\n\t\tBlock......................1\n\t\tLFT:\n"
    text += "\t\tLID\tPort Number\n\t\t64\t16\n\t\t65\t255\n"
    assert read_records(text, "x") == {2: {64: 16}}


def test_other_text_is_refused() -> None:
    with pytest.raises(InputError, match="x: there is no forwarding table in it"):
        read_tables("hello\n", "x")
    with pytest.raises(InputError, match="x: there is no record of a forwarding table in it"):
        read_records("hello\n", "x")


def test_an_entry_before_any_switch_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match="x:1: an entry before any switch"):
        read_tables("0x0008 017\n", "x")
