"""Where a switch stands, as numbers of its own, and the name, address bits and ASN that follow from them.

Everything here is a function of a switch's own place (site, plane, pod, unit, rail, number) with a fixed room for each,
never of how many there are: a fabric that grows renames and renumbers nothing. Not here: NICs, whose numbers are those
of `fabric.addressing`, and links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from eastwest.errors import InputError
from eastwest.fabric import FRONTEND_TIERS, Fabric
from eastwest.fabric.addressing import SITE_BITS

TIER_CODES = {"leaf": 0, "spine": 1, "core": 2, "border": 3, "access": 3, "aggregation": 3}
_ABOVE = {"border": 0, "access": 1, "aggregation": 2}
"""Tiers with few switches share a code and tell themselves apart by two bits more."""
_ABOVE_BITS = 2
NUMBER_BITS = 20
"""Bits of a switch's number within its tier's code."""

ASN_OF_TIER = {
    "leaf": 4_200_000_000,
    "spine": 4_210_000_000,
    "core": 4_220_000_000,
    "border": 4_230_000_000,
    "access": 4_240_000_000,
    "aggregation": 4_250_000_000,
}
"""First ASN of each tier: private ones of four bytes (RFC 6996: 4200000000 to 4294967294)."""


class PlanError(InputError):
    """A fabric that the address plan cannot number or name, with the remedy."""


@dataclass(frozen=True)
class Part:
    """One coordinate: what it is called, its value, and in how many bits it fits (None: an even share of the rest).

    `letter` stands before it in the name, where "" means a bare number, of `width` digits at least.
    """

    what: str
    value: int
    bits: int | None = None
    letter: str = ""
    width: int = 1


@dataclass(frozen=True)
class Coordinates:
    """Where one switch stands: `home` is the plane and site, `parts` the place there.

    `shares` says how many of the parts, first ones first, are those of the group whose switches share an ASN; None
    where each has one of its own.
    """

    node: int
    tier: str
    home: tuple[Part, ...]
    parts: tuple[Part, ...]
    shares: int | None = None
    own_name: str | None = None

    @property
    def name(self) -> str:
        """The host name: leaf-u0-r3, spine-07, plane-1-site-0-core-g3-0; of a custom network its own, without "/"."""
        if self.own_name is not None:
            return self.own_name
        places = [f"{part.what}-{part.value}" for part in self.home]
        stands = [f"{part.letter}{part.value:0{part.width}}" for part in self.parts]
        return "-".join([*places, self.tier, *stands])

    def number(self, room: int = NUMBER_BITS) -> int:
        """The place in so many bits, unique in the tier's code; `PlanError` where a coordinate needs more than it has.

        With fewer bits than usual each coordinate of open size has less room.
        """
        return self._packed(room, (*self.home, *self.parts))

    @property
    def id(self) -> int:
        """A number unique among all switches, of 22 bits: the tier's code before the place."""
        return TIER_CODES[self.tier] << NUMBER_BITS | self.number()

    @property
    def asn(self) -> int:
        """The ASN: a switch's own, or that of the switches that stand side by side in one group (RFC 7938, 5.2.1)."""
        if self.shares is None:
            return ASN_OF_TIER[self.tier] + self.number()
        alike = (self.parts[: self.shares], self.parts[self.shares :])
        zeroed = tuple(Part(part.what, 0, part.bits) for part in alike[1])
        return ASN_OF_TIER[self.tier] + self._packed(NUMBER_BITS, (*self.home, *alike[0], *zeroed))

    def _packed(self, room: int, parts: Sequence[Part]) -> int:
        if self.tier in _ABOVE:
            parts = (Part("tier", _ABOVE[self.tier], _ABOVE_BITS), *parts)
        rest = room - sum(part.bits for part in parts if part.bits is not None)
        left = sum(part.bits is None for part in parts)
        number = 0
        for part in parts:
            bits = part.bits
            if bits is None:
                bits, left = max(rest, 0) // left, left - 1
                rest -= bits
            if part.value >= 1 << bits:
                raise PlanError(
                    f"{self.name}: the address plan has room for {1 << bits} numbers of the {part.what}, and this is "
                    f"{part.value} (from 0): build the fabric in fewer planes or sites, or with larger switches"
                )
            number = number << bits | part.value
        return number


def coordinates(fabric: Fabric) -> Iterator[Coordinates]:
    """Where each switch stands, in the order of the nodes."""
    asked = fabric.plan
    seen: dict[tuple[Any, ...], int] = {}
    rails = int(asked["server"]["nics"])
    first = (pl.col(what).replace(-1, None).min().over("site").alias(f"first_{what}") for what in ("unit", "pod"))
    for row in fabric.nodes.filter(kind="switch").with_columns(first).iter_rows(named=True):
        if asked["shape"] == "custom" and row["tier"] not in FRONTEND_TIERS:
            parts = (Part("switch", row["index"]),)
            own = row["name"].replace("/", "-")
            yield Coordinates(row["node"], row["tier"], (), parts, own_name=own)
            continue
        home = tuple(_home(asked, row))
        place = _place(asked, row, (rails - 1).bit_length())
        key = (row["tier"], *(part.value for part in (*home, *place.before)))
        turn = seen[key] = seen.get(key, -1) + 1
        last = () if place.is_whole else (Part("number", turn, width=place.width),)
        yield Coordinates(row["node"], row["tier"], home, (*place.before, *last), place.shares)


@dataclass(frozen=True)
class _Place:
    before: tuple[Part, ...]
    shares: int | None = None
    width: int = 2
    is_whole: bool = False


def _home(asked: dict[str, Any], row: dict[str, Any]) -> Iterator[Part]:
    planes = int(asked.get("planes", 1))
    if row["tier"] in FRONTEND_TIERS:  # that network is one, in one place
        return
    if planes > 1:
        yield Part("plane", row["plane"], (planes - 1).bit_length())
    if asked.get("sites") is not None:
        yield Part("site", row["site"], SITE_BITS)


def _place(asked: dict[str, Any], row: dict[str, Any], rail_bits: int) -> _Place:
    """The coordinates of a switch within its plane and site, but for its turn among those that have the same."""
    tier, name = row["tier"], row["name"].rsplit("/", 1)[-1]
    rail = [Part("rail", row["rail"], rail_bits, "r")] if row["rail"] >= 0 else []
    if tier == "leaf":
        if asked["shape"] == "torus":
            along = [int(number) for number in re.findall(r"\d+", name)]
            return _Place(tuple(Part("coordinate", value) for value in along), is_whole=True)
        if row["unit"] >= 0:
            return _Place((Part("unit", _within_site(asked, row, "unit"), letter="u"), *rail), is_whole=bool(rail))
        if asked["shape"] == "dragonfly-plus":
            return _Place((Part("group", row["pod"], letter="p"),))
        return _Place(())
    if tier == "spine":
        pod = [Part("pod", _within_site(asked, row, "pod"), letter="p")] if row["pod"] >= 0 else []
        return _Place((*pod, *rail), shares=len(pod) + len(rail))
    if tier == "core":
        group = re.search(r"g(\d+)", name)
        assert group is not None
        return _Place((*rail, Part("core group", int(group.group(1)), letter="g")), shares=len(rail), width=1)
    return _Place((), shares=None if tier == "access" else 0)


def _within_site(asked: dict[str, Any], row: dict[str, Any], what: str) -> int:
    """Units and pods count on from site to site; the number within the site."""
    return int(row[what] - row[f"first_{what}"]) if asked.get("sites") is not None else int(row[what])
