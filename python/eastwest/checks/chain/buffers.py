"""Buffers of one priority group, and the marking of one queue: sizes in bytes, None where no file says.

The fill at which a group pauses: for a static threshold the threshold; for a dynamic one, alpha = 2^dynamic_th, a
shared pool of B bytes and N congested groups, alpha x B / (1 + N x alpha) (`artifacts.headroom`). `xoff` of a profile
is what is left for bytes in flight after the pause, not that fill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eastwest.artifacts.headroom import pause_fill
from eastwest.checks.read import Switch, spelling

Rows = Mapping[tuple[str, int], tuple[str, Mapping[str, str]]]
"""Rows by port and number, each with its key as written."""

UNSET = {"", "NULL", "0"}
"""Profiles that stand for none: the dynamic buffer model then makes one from speed, cable and MTU."""
_MADE = "pg_lossless_"
"""SONiC's buffer manager makes profiles of this name from pg_profile_lookup.ini; they may be absent from a file."""


@dataclass(frozen=True)
class Group:
    """The buffer of a port's priority group.

    Attributes:
        key: the row of BUFFER_PG; empty where there is none.
        profile: its profile's name.
        lossless: whether it keeps room for bytes in flight; None where that cannot be known.
        headroom: that room.
        alpha: its share of the pool's free bytes.
        pool: the pool's name, and `shared` the bytes in it.
        fixed: a static threshold.
    """

    key: str = ""
    profile: str = ""
    lossless: bool | None = None
    headroom: int | None = None
    xon: int | None = None
    alpha: float | None = None
    pool: str = ""
    shared: int | None = None
    fixed: int | None = None

    def pauses_at(self, congested: int = 1) -> int | None:
        """Bytes in the group when it sends a pause, with so many groups congested."""
        if self.fixed is not None:
            return self.fixed
        if self.alpha is None or self.shared is None:
            return None
        return int(pause_fill(self.shared, congested, self.alpha))


@dataclass(frozen=True)
class Marking:
    """How a queue marks and is served.

    Attributes:
        key: the row of QUEUE; empty where there is none.
        profile: WRED profile; empty where it has none.
        ecn: whether packets that can be marked are marked.
        least: fill from which some are, and `most` from which all are that the profile marks.
        scheduler: name, `kind` STRICT, DWRR or WRR, and `weight` of its scheduler.
    """

    key: str = ""
    profile: str = ""
    ecn: bool | None = None
    least: int | None = None
    most: int | None = None
    probability: int | None = None
    scheduler: str = ""
    kind: str | None = None
    weight: int | None = None


def group(switch: Switch, rows: Rows, port: str, of: int) -> Group:
    """The buffer of a port's priority group, from rows keyed by port and group."""
    if (port, of) not in rows:
        return Group()
    key, row = rows[port, of]
    name = spelling.reference(row.get("profile", ""))
    if name in UNSET:
        dynamic = switch.metadata.get("buffer_model") == "dynamic" or name == "NULL"
        return Group(key, name or "none", True if dynamic else None)
    profile = switch.table("BUFFER_PROFILE").get(name)
    if profile is None:
        return Group(key, name, True if name.startswith(_MADE) else None)
    headroom = spelling.number(profile.get("xoff"))
    computed = profile.get("headroom_type") == "dynamic"
    pool = spelling.reference(profile.get("pool", ""))
    pool_row = switch.table("BUFFER_POOL").get(pool, {})
    steps, fixed = spelling.number(profile.get("dynamic_th")), spelling.number(profile.get("static_th"))
    return Group(
        key,
        name,
        computed or bool(headroom) or (None if name.startswith(_MADE) else False),
        headroom or None,
        spelling.number(profile.get("xon")),
        2.0**steps if steps is not None and -16 <= steps <= 16 else None,
        pool,
        spelling.number(pool_row.get("size")),
        fixed,
    )


def marking(switch: Switch, rows: Rows, port: str, of: int) -> Marking:
    """How a port's queue marks and is served, from rows keyed by port and queue."""
    if (port, of) not in rows:
        return Marking()
    key, row = rows[port, of]
    name, scheduler = (spelling.reference(row.get(field, "")) for field in ("wred_profile", "scheduler"))
    served = switch.table("SCHEDULER").get(scheduler)
    kind = served.get("type", "WRR").upper() if served is not None else None
    weight = spelling.number(served.get("weight")) if served is not None else None
    profile = switch.table("WRED_PROFILE").get(name)
    if profile is None:
        unknown = bool(name) and "WRED_PROFILE" not in switch.tables
        return Marking(key, name, None if unknown else False, scheduler=scheduler, kind=kind, weight=weight)
    colours = profile.get("ecn", "ecn_none").lower()
    # packets that no policer or colour map has touched are green
    marks = "all" in colours or "green" in colours
    least, most, probability = (
        spelling.number(profile.get(f"green_{field}"))
        for field in ("min_threshold", "max_threshold", "drop_probability")
    )
    return Marking(key, name, marks, least, most, probability, scheduler, kind, weight)
