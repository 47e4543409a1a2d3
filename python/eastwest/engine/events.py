"""What goes wrong while packets are under way, as a person writes it: "down spine-3 at 50 us for 1 ms"."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from eastwest.engine.links import links_of
from eastwest.engine.network import Floats
from eastwest.engine.packets import Becomes, LinkChange
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.units import UnitError, format_rate, parse_rate, parse_time

FORMS = (
    "down NODE [NODE] at TIME [for TIME]",
    "slow NODE NODE to RATE at TIME [for TIME]",
    "errors NODE NODE of SHARE at TIME [for TIME]",
)
"""One node stands for all its cables; two for those between them."""

LATEST_S = 3600.0
"""After which nothing goes wrong, and longer than which nothing lasts, unless for good."""

_BECOMES: dict[str, Becomes] = {"down": "down", "slow": "rate", "errors": "erring"}
_EVENT = re.compile(
    r"(?P<what>down|slow|errors)\s+(?P<a>\S+)(?:\s+(?!to\b|of\b|at\b)(?P<b>\S+))?"
    r"(?:\s+to\s+(?P<rate>.+?))?(?:\s+of\s+(?P<share>\S+))?\s+at\s+(?P<at>.+?)(?:\s+for\s+(?P<lasts>.+))?"
)


@dataclass(frozen=True)
class Event:
    """What a person wrote, read: ends are names of nodes, `b` None for all cables of `a`; it is infinite for good."""

    text: str
    what: Becomes
    a: str
    b: str | None
    at_s: float
    lasts_s: float
    rate: float
    loss: float


@dataclass(frozen=True)
class _Fault:
    """A link that is worse than built from one time to another (infinite: for good)."""

    link: int
    what: Becomes
    begins_s: float
    ends_s: float
    rate: float
    loss: float


def changes(
    events: Sequence[str], fabric: Fabric, routes_after_s: float | None, rate_bps: Floats | None = None
) -> list[LinkChange]:
    """What becomes of which links, in both directions; `rate_bps` are their rates where these are not the fabric's.

    Where events overlap on a link, it is down while any has it down, as slow as the slowest, and errs as the worst.

    Raises:
        InputError: an event cannot be read, or names nodes that there are not or that no cable joins.
    """
    built = (fabric.links["rate_bps"].to_numpy() if rate_bps is None else rate_bps) / 8
    faults = [fault for event in events for fault in _faults(read_event(event), fabric, built)]
    made = []
    for link, what in dict.fromkeys((fault.link, fault.what) for fault in faults):
        here = [fault for fault in faults if (fault.link, fault.what) == (link, what)]
        times = sorted({time for fault in here for time in (fault.begins_s, fault.ends_s) if math.isfinite(time)})
        for at_s in times:
            still = [fault for fault in here if fault.begins_s <= at_s < fault.ends_s]
            rate = min((fault.rate for fault in still), default=float(built[link]))
            loss = max((fault.loss for fault in still), default=0.0)
            becomes: Becomes = "up" if what == "down" and not still else what
            made.append(LinkChange(at_s, link, becomes, rate, loss, routes_after_s))
    return sorted(made, key=lambda change: change.at_s)


def read_event(event: str) -> Event:
    """An event, read but not yet looked for in a network.

    Raises:
        InputError: it cannot be read; says how one is written.
    """
    found = _EVENT.fullmatch(event.strip())
    if found is None:
        raise InputError(f"{event!r} is no event; write one of: {'; '.join(FORMS)}")
    what = found["what"]
    for name, needed in (("rate", "slow"), ("share", "errors")):
        if (found[name] is None) == (what == needed):
            raise InputError(f"{event!r}: write {next(form for form in FORMS if form.startswith(what))}")
    if what != "down" and found["b"] is None:
        raise InputError(f"{event!r}: name both ends of the link")
    try:
        at_s = parse_time(found["at"], zero=True)
        lasts_s = parse_time(found["lasts"]) if found["lasts"] else math.inf
        rate = parse_rate(found["rate"]) / 8 if found["rate"] else 0.0
    except UnitError as error:
        raise InputError(f"{event!r}: {error}") from None
    loss = _share(event, found["share"]) if found["share"] else 0.0
    if at_s > LATEST_S or LATEST_S < lasts_s < math.inf:
        raise InputError(f"{event!r}: packets are simulated for an hour at most, as those of seconds take hours")
    return Event(event, _BECOMES[what], found["a"], found["b"], at_s, lasts_s, rate, loss)


def _faults(event: Event, fabric: Fabric, built: Floats) -> list[_Fault]:
    links = links_of(repr(event.text), fabric, event.a, event.b)
    if event.what == "rate" and (slowest := float(built[links].min())) <= event.rate:
        raise InputError(f"{event.text!r}: the link runs at {format_rate(slowest * 8)}: name a lower rate")
    ends_s = event.at_s + event.lasts_s
    return [_Fault(link, event.what, event.at_s, ends_s, event.rate, event.loss) for link in links]


def _share(event: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 < share < 1.0:
        raise InputError(f"{event!r}: {text!r} is no share of packets, such as 0.001")
    return share
