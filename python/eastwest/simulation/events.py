"""What goes wrong during a simulation, as a person writes it: "down spine-3 at 50 us for 1 ms"."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from eastwest.engine.packets import Becomes, LinkChange
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.simulation.links import links_of
from eastwest.units import UnitError, format_rate, parse_rate, parse_time

FORMS = (
    "down NODE [NODE] at TIME [for TIME]",
    "slow NODE NODE to RATE at TIME [for TIME]",
    "errors NODE NODE of SHARE at TIME [for TIME]",
)
"""One node stands for all its cables; two for those between them."""

_BECOMES: dict[str, Becomes] = {"down": "down", "slow": "rate", "errors": "erring"}
_EVENT = re.compile(
    r"(?P<what>down|slow|errors)\s+(?P<a>\S+)(?:\s+(?!to\b|of\b|at\b)(?P<b>\S+))?"
    r"(?:\s+to\s+(?P<rate>.+?))?(?:\s+of\s+(?P<share>\S+))?\s+at\s+(?P<at>.+?)(?:\s+for\s+(?P<lasts>.+))?"
)


@dataclass(frozen=True)
class _Fault:
    """A link that is worse than built from one time to another (infinite: for good)."""

    link: int
    what: Becomes
    begins_s: float
    ends_s: float
    rate: float
    loss: float


def changes(events: Sequence[str], fabric: Fabric, routes_after_s: float | None) -> list[LinkChange]:
    """What becomes of which links, in both directions.

    Where events overlap on a link, it is down while any has it down, as slow as the slowest, and errs as the worst.

    Raises:
        InputError: an event cannot be read, or names nodes that there are not or that no cable joins.
    """
    faults = [fault for event in events for fault in _faults(event, fabric)]
    built = fabric.links["rate_bps"].to_numpy() / 8
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


def _faults(event: str, fabric: Fabric) -> list[_Fault]:
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
        lasts_s = parse_time(found["lasts"]) if found["lasts"] else None
        rate = parse_rate(found["rate"]) / 8 if found["rate"] else 0.0
    except UnitError as error:
        raise InputError(f"{event!r}: {error}") from None
    loss = _share(event, found["share"]) if found["share"] else 0.0
    links = links_of(repr(event), fabric, found["a"], found["b"])
    rates = fabric.links["rate_bps"].to_numpy() / 8
    if what == "slow" and (slowest := float(rates[links].min())) <= rate:
        built = format_rate(slowest * 8)
        raise InputError(f"{event!r}: the link runs at {built}: name a lower rate")
    ends_s = at_s + (math.inf if lasts_s is None else lasts_s)
    return [_Fault(link, _BECOMES[what], at_s, ends_s, rate, loss) for link in links]


def _share(event: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 < share < 1.0:
        raise InputError(f"{event!r}: {text!r} is no share of packets, such as 0.001")
    return share
