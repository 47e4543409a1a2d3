"""Numbers of MRC's SRv6 micro-segments (uSIDs): a block for each plane, a locator for each switch, a number for each port.

A destination address carries a path as 16-bit uSIDs behind a 32-bit block, six of them at most (F3216 of RFC 9800). Each
plane has a block of its own in 5f00::/16, which RFC 9602 sets aside for SRv6 SIDs; so planes share no number.

Numbers of a block, as switches divide it by default: 0x0001 to 0xdfff are global, one switch each; 0xe000 to 0xffff are
local, and mean something on one switch alone. Leaves have the lower half of a block, spines the quarter above, cores
the eighth above that. What is local are the ports of a leaf that NICs plug into: the last uSID of every path.

A switch joined with another by several cables has as many locators, one a lane, so that whoever writes the path says
which cable it takes; nothing is left to a hash. The first lane counts up from the start of the tier's room; the others start
at halves, quarters and so on of it (the van der Corput sequence), so that a number depends on the switch's place and the lane
alone, and many switches or many lanes find room. Not here: which places switches have, or what stands in their tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address

from eastwest.fabric.plan import FabricError, Tier

BLOCKS = 0x5F00 << 112
"""5f00::/16 (RFC 9602, section 6)."""
BLOCK_BITS, USID_BITS = 32, 16
"""F3216: 32 bits of block, 16 of each uSID (RFC 9800)."""
USIDS_OF_A_CARRIER = (128 - BLOCK_BITS) // USID_BITS
"""Six: what fits behind the block in one address."""
FIRST_LOCAL = 0xE000
"""Where local numbers begin by default: of FRR's format usid-f3216 and of EOS."""


@dataclass(frozen=True)
class Room:
    """The numbers of one tier: a power of two of them, whose first is never given."""

    start: int
    numbers: int


ROOMS: dict[Tier, Room] = {
    "leaf": Room(0x0000, 0x8000),
    "spine": Room(0x8000, 0x4000),
    "core": Room(0xC000, 0x2000),
}


def locator(tier: Tier, place: int, lane: int) -> int:
    """The uSID of a switch: of its place in the tier of its plane and of one of its lanes, both counted from 0."""
    room = ROOMS[tier]
    return room.start + place + 1 + _share(lane, room.numbers)


def port(number: int) -> int:
    """The local uSID of a leaf's port, by its number from 0."""
    return FIRST_LOCAL + number


def refuse_beyond_room(tier: Tier, places: int, lanes: int) -> None:
    """Raises `FabricError` where a tier of so many places in one plane and lanes each has too few numbers."""
    room = ROOMS[tier]
    turns = 1 << (lanes - 1).bit_length()
    most = room.numbers // turns - 1
    if places <= most:
        return
    ways = ["more planes of fewer switches each", "switches with more ports"]
    if lanes > 1:
        ways.insert(0, f"an oversubscription or a size at which fewer than {lanes} cables run in parallel")
    each = f", each with {lanes} locators for its parallel cables" if lanes > 1 else ""
    raise FabricError(
        "planes",
        f"a block of 16-bit uSIDs numbers {most:,} {tier} switches of a plane{each}, and this fabric needs places for "
        f"{places:,}: try {', or '.join(ways)}",
    )


def refuse_beyond_ports(ports: int) -> None:
    """Raises `FabricError` where a leaf has more ports than there are local numbers."""
    if ports > 0x10000 - FIRST_LOCAL:
        raise FabricError("switch", f"a leaf has {0x10000 - FIRST_LOCAL:,} local uSIDs for its ports, not {ports:,}")


def block(plane: int) -> int:
    """The first address of a plane's block, planes counted from 0: 5f00::, 5f00:1::, ..."""
    return BLOCKS | (plane << (128 - BLOCK_BITS))


def carrier(plane: int, usids: tuple[int, ...]) -> IPv6Address:
    """The address that carries uSIDs, six at most; with one alone, where its prefix begins."""
    if len(usids) > USIDS_OF_A_CARRIER:
        raise ValueError(f"an address carries {USIDS_OF_A_CARRIER} uSIDs, not {len(usids)}")
    number = block(plane)
    for turn, usid in enumerate(usids):
        number |= usid << (128 - BLOCK_BITS - USID_BITS * (turn + 1))
    return IPv6Address(number)


def prefix(plane: int, usid: int) -> str:
    """The prefix that one uSID answers to, block and number: "5f00:0:8001::/48"."""
    return f"{carrier(plane, (usid,))}/{BLOCK_BITS + USID_BITS}"


def _share(lane: int, numbers: int) -> int:
    """Where a lane starts in a room of so many numbers: 0, a half, a quarter, three quarters, an eighth, ... of it."""
    offset = 0
    while lane:
        numbers >>= 1
        offset += (lane & 1) * numbers
        lane >>= 1
    return offset
