"""Numbers of MRC's SRv6 micro-segments (uSIDs): a block for each plane, locators for each switch, one for each port.

A destination address carries a path as 16-bit uSIDs behind a 32-bit block, six of them at most (format F3216 of
RFC 9800). Each plane has a block of its own in 5f00::/16, which RFC 9602 sets aside for SRv6: planes share no number.

A block's numbers up to 0xdfff are global, one switch each: 0x4000 and up for leaves, 0x8000 for spines, 0xc000 for
cores. Those from 0xe000 are local and mean something on one switch alone: the ports of a leaf that NICs plug into, the
last uSID of every path.

A switch joined with another by several cables has as many locators, one a lane, so that whoever writes a path says
which cable it takes; nothing is left to a hash. Numbers follow from the switch's own coordinates, each with a fixed
room. The first lane counts up from the start of the last open coordinate's room; others start at a half, a quarter and
so on of it (van der Corput's sequence), so that many switches of few lanes and few of many both find room, and a number
never depends on how many there are. Not here: what stands in the tables of switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address

from eastwest.artifacts.coordinates import Part, PlanError

BLOCKS = 0x5F00 << 112
"""5f00::/16 (RFC 9602, section 6)."""
BLOCK_BITS, USID_BITS = 32, 16
"""F3216: 32 bits of block, 16 of each uSID (RFC 9800)."""
USIDS_OF_A_CARRIER = (128 - BLOCK_BITS) // USID_BITS
"""Six: what fits behind the block in one address."""
FIRST_LOCAL, LOCALS = 0xE000, 0x2000
"""Local numbers, as FRR (format usid-f3216) and EOS divide a block by default."""


@dataclass(frozen=True)
class Room:
    """The numbers of one tier: from `start`, so many bits of them."""

    start: int
    bits: int


ROOMS = {"leaf": Room(0x4000, 14), "spine": Room(0x8000, 14), "core": Room(0xC000, 13)}


def locators(tier: str, name: str, parts: Sequence[Part], lanes: int) -> tuple[int, ...]:
    """The uSIDs of a switch, one a lane, from its coordinates within its plane.

    Raises `PlanError` where a coordinate, with so many lanes, is beyond its room.
    """
    room = ROOMS[tier]
    sizes = _bits(room.bits, parts)
    last_open = max((turn for turn, part in enumerate(parts) if part.bits is None), default=len(parts) - 1)
    number, step = 0, 0
    for turn, (part, bits) in enumerate(zip(parts, sizes, strict=True)):
        needed = (lanes - 1).bit_length() if turn == last_open else 0
        if part.value >> max(bits - needed, 0):
            raise PlanError(_beyond_room(tier, name, part, bits - needed, lanes if needed else 1))
        number = number << bits | part.value
        step = step << bits | ((1 << bits) if turn == last_open else 0)
    return tuple(room.start + number + _share(lane, step) for lane in range(lanes))


def port(name: str, number: int) -> int:
    """The local uSID of a leaf's port, by its number from 0; `PlanError` beyond the local numbers."""
    if number >= LOCALS:
        raise PlanError(
            f"{name}: a leaf has {LOCALS:,} local uSIDs for its ports, and this is port {number:,} (from 0)"
        )
    return FIRST_LOCAL + number


def block(plane: int) -> int:
    """The first address of a plane's block, planes counted from 0: 5f00::, 5f00:1::, ..."""
    return BLOCKS | (plane << (128 - BLOCK_BITS))


def carrier(plane: int, usids: Sequence[int]) -> IPv6Address:
    """The address that carries uSIDs, six at most."""
    if len(usids) > USIDS_OF_A_CARRIER:
        raise ValueError(f"an address carries {USIDS_OF_A_CARRIER} uSIDs, not {len(usids)}")
    number = block(plane)
    for turn, usid in enumerate(usids):
        number |= usid << (128 - BLOCK_BITS - USID_BITS * (turn + 1))
    return IPv6Address(number)


def prefix(plane: int, usid: int) -> str:
    """The prefix that one uSID answers to, block and number: "5f00:0:8001::/48"."""
    return f"{carrier(plane, (usid,))}/{BLOCK_BITS + USID_BITS}"


def _bits(room: int, parts: Sequence[Part]) -> list[int]:
    """Bits of each coordinate: what it needs, or an even share of what is left."""
    rest = room - sum(part.bits for part in parts if part.bits is not None)
    left = sum(part.bits is None for part in parts)
    sizes = []
    for part in parts:
        bits = part.bits
        if bits is None:
            bits, left = max(rest, 0) // left, left - 1
            rest -= bits
        sizes.append(bits)
    return sizes


def _share(lane: int, whole: int) -> int:
    """Where a lane starts in a room: 0, a half, a quarter, three quarters, an eighth, ... of it."""
    offset = 0
    while lane:
        whole >>= 1
        offset += (lane & 1) * whole
        lane >>= 1
    return offset


def _beyond_room(tier: str, name: str, part: Part, bits: int, lanes: int) -> str:
    room = 1 << bits if bits >= 0 else 0
    each = f" where {lanes} cables run in parallel" if lanes > 1 else ""
    ways = ["more planes, so that each is smaller", "larger switches"]
    if lanes > 1:
        ways.append("a size at which fewer cables run in parallel")
    return (
        f"{name}: a plane's block of 16-bit uSIDs has room for {room:,} numbers of the {part.what} of a {tier}{each}, "
        f"and this is {part.value:,} (from 0): try {', or '.join(ways)}"
    )
