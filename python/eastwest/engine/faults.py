"""What becomes of which link, and when: events looked for in a network and laid out in time.

Not here: how an event is written (`events`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eastwest.document import nearest
from eastwest.engine.events import Event, read_event
from eastwest.engine.links import links_of
from eastwest.engine.network import Floats
from eastwest.engine.packets import Becomes, LinkChange
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.units import format_rate

MOST_FAULTS = 200_000
"""Times that links go down, in all: each is two changes of every run."""


@dataclass(frozen=True)
class _Fault:
    """A link that is worse than built from one time to another (infinite: for good)."""

    link: int
    what: Becomes
    begins_s: float
    ends_s: float = math.inf
    rate: float = 0.0
    loss: float = 0.0
    late_s: float = 0.0


def changes(
    events: Sequence[str],
    fabric: Fabric,
    routes_after_s: float | None,
    rate_bps: Floats | None = None,
    seed: int = 0,
) -> list[LinkChange]:
    """What becomes of which links, in both directions; `rate_bps` are their rates where these are not the fabric's.

    Where events overlap on a link, it is down while any has it down, as slow as the slowest, errs as the worst and is
    as late as the latest. Bursts change no link. `seed` draws what happens at random. Cables that a topology file says
    to err do so from the start.

    Raises:
        InputError: an event cannot be read, or names nodes that there are not or that no cable joins.
    """
    built = (fabric.links["rate_bps"].to_numpy() if rate_bps is None else rate_bps) / 8
    faults = [
        _Fault(link, "erring", 0.0, loss=loss)
        for cable, loss in fabric.plan.get("bit_errors", ())
        for link in (2 * cable, 2 * cable + 1)
    ]
    for number, event in enumerate(map(read_event, events)):
        for fault in _faults(event, fabric, built, routes_after_s, (seed, number)):
            faults.append(fault)
            if len(faults) > MOST_FAULTS:
                raise InputError(f"{event.text!r}: links go down more than {MOST_FAULTS:,} times in all: take fewer")
    by_link: dict[tuple[int, Becomes], list[_Fault]] = {}
    for fault in faults:
        by_link.setdefault((fault.link, fault.what), []).append(fault)
    made = [
        change for (link, _), here in by_link.items() for change in _laid_out(here, float(built[link]), routes_after_s)
    ]
    return sorted(made, key=lambda change: change.at_s)


def _laid_out(here: Sequence[_Fault], built: float, routes_after_s: float | None) -> Iterator[LinkChange]:
    """The changes that faults of one kind on one link come to."""
    link, what = here[0].link, here[0].what
    ascending = sorted(here, key=lambda fault: fault.begins_s)
    still: list[_Fault] = []
    for at_s in sorted({time for fault in here for time in (fault.begins_s, fault.ends_s) if math.isfinite(time)}):
        while ascending and ascending[0].begins_s <= at_s:
            still.append(ascending.pop(0))
        still = [fault for fault in still if at_s < fault.ends_s]
        yield LinkChange(
            at_s,
            link,
            "up" if what == "down" and not still else what,
            min((fault.rate for fault in still), default=built),
            max((fault.loss for fault in still), default=0.0),
            max((fault.late_s for fault in still), default=0.0),
            routes_after_s,
        )


def _faults(
    event: Event, fabric: Fabric, built: Floats, routes_after_s: float | None, seed: tuple[int, int]
) -> Iterator[_Fault]:
    """What an event does to links."""
    said, begins_s = repr(event.text), event.at_s
    ends_s = begins_s + event.lasts_s
    match event.what:
        case "down":
            for link in _links(event, fabric):
                yield _Fault(link, "down", begins_s, ends_s)
        case "slow":
            links = _links(event, fabric)
            if (slowest := float(built[links].min())) <= event.rate:
                raise InputError(f"{said}: the link runs at {format_rate(slowest * 8)}: name a lower rate")
            for link in links:
                yield _Fault(link, "rate", begins_s, ends_s, rate=event.rate)
        case "errors":
            for link in _links(event, fabric):
                yield _Fault(link, "erring", begins_s, ends_s, loss=event.loss)
        case "flap":
            links = _links(event, fabric)
            for turn in range(min(math.ceil((event.until_s - begins_s) / event.every_s), MOST_FAULTS + 1)):
                down_s = begins_s + turn * event.every_s
                for link in links:
                    yield _Fault(link, "down", down_s, down_s + event.lasts_s)
        case "random-flaps":
            yield from _at_random(event, fabric, seed)
        case "reboot":
            yield from _reboot(event, fabric, routes_after_s)
        case "lose":
            (node,) = _nodes(said, fabric, event.a, "nic", "host")
            for link in _links(event, fabric):
                yield _Fault(link, "down", begins_s)
                if fabric.links["src"][link] == node:
                    yield _Fault(link, "lost", begins_s)
        case "straggler":
            (node,) = _nodes(said, fabric, event.a, "nic", "host")
            for link in _links(event, fabric):
                if fabric.links["src"][link] == node:
                    yield _Fault(link, "late", begins_s, ends_s, late_s=event.late_s)
        case "burst":
            _nodes(said, fabric, event.a, "nic", "host")


def _reboot(event: Event, fabric: Fabric, routes_after_s: float | None) -> Iterator[_Fault]:
    """A switch that is down and, once it is back, has no routes for as long as finding them takes."""
    (node,) = _nodes(repr(event.text), fabric, event.a, "switch", "switch")
    up_s = event.at_s + event.lasts_s
    for link in _links(event, fabric):
        yield _Fault(link, "down", event.at_s, up_s)
        if routes_after_s and fabric.links["dst"][link] == node:
            yield _Fault(link, "erring", up_s, up_s + routes_after_s, loss=1.0)


def _at_random(event: Event, fabric: Fabric, seed: tuple[int, int]) -> Iterator[_Fault]:
    """Cables that fail and are mended after exponential times, each by itself."""
    for forth in _links(event, fabric)[::2]:
        random = np.random.default_rng((*seed, forth))
        at_s = random.exponential(event.every_s)
        while at_s < event.until_s:
            up_s = at_s + random.exponential(event.lasts_s)
            for link in (forth, forth + 1):
                yield _Fault(link, "down", at_s, up_s)
            at_s = up_s + random.exponential(event.every_s)


def _links(event: Event, fabric: Fabric) -> list[int]:
    """Both directions of the cables that an event names, one after the other; it may mean all between switches."""
    if event.a is not None:
        return links_of(repr(event.text), fabric, event.a, event.b)
    is_switch = (fabric.nodes["kind"] == "switch").to_numpy()
    between: npt.NDArray[np.bool_] = (
        is_switch[fabric.links["src"].to_numpy()] & is_switch[fabric.links["dst"].to_numpy()]
    )
    return [int(link) for link in np.flatnonzero(between & (fabric.links["cable"].to_numpy() >= 0))]


def _nodes(said: str, fabric: Fabric, name: str | None, kind: str, called: str) -> list[int]:
    """The node of a name, which is to be of a kind."""
    of_kind = fabric.nodes.filter(fabric.nodes["kind"] == kind)
    found = of_kind.filter(of_kind["name"] == name)
    if len(found):
        return [int(node) for node in found["node"]]
    names = of_kind["name"].to_list()
    guess = nearest(str(name), names)
    what = "is no" if name in fabric.nodes["name"] else "is not there as a"
    meant = f"did you mean {guess!r}?" if guess else f"such names are {', '.join(map(repr, names[:2]))}"
    raise InputError(f"{said}: {name!r} {what} {called}" + (f"; {meant}" if names else ""))
