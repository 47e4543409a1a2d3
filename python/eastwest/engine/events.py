"""What goes wrong while packets are under way, read as a person writes it: "down spine-3 at 50 us for 1 ms".

Not here: which links it touches, and when (`faults`); the flows of a burst (`bursts`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, get_args

from eastwest.engine.packets import SLOWEST_BPS
from eastwest.errors import InputError
from eastwest.fabric.bare import LEAST_LOSS
from eastwest.units import UnitError, format_rate, parse_rate, parse_size, parse_time

What = Literal["down", "slow", "errors", "flap", "random-flaps", "reboot", "lose", "straggler", "burst"]

FORMS: dict[What, str] = {
    "down": "down NODE [NODE] at TIME [for TIME]",
    "slow": "slow NODE NODE to RATE at TIME [for TIME]",
    "errors": "errors NODE NODE of SHARE at TIME [for TIME]",
    "flap": "flap NODE [NODE] at TIME every TIME for TIME until TIME",
    "random-flaps": "random-flaps [NODE [NODE]] mtbf TIME mttr TIME until TIME",
    "reboot": "reboot SWITCH at TIME for TIME",
    "lose": "lose HOST at TIME",
    "straggler": "straggler HOST by TIME [at TIME [for TIME]]",
    "burst": "burst COUNT SIZE to HOST at TIME, or from HOST",
}
"""One node stands for all its cables; two for those between them."""

LATEST_S = 3600.0
"""After which nothing goes wrong, and longer than which nothing lasts, unless for good."""

MOST_FLOWS = 100_000
"""Of a burst."""

_CLAUSES = ("to", "from", "of", "by", "at", "every", "for", "mtbf", "mttr", "until")
_CLAUSE = re.compile(rf"\s({'|'.join(_CLAUSES)})\s")


@dataclass(frozen=True)
class Event:
    """What a person wrote, read. Times are seconds; `lasts_s` is infinite for good.

    `a` and `b` are names of nodes: `b` None for all cables of `a`, both None for all between switches. A flapping link
    is down for `lasts_s` out of `every_s` until `until_s`; one that flaps at random works for `every_s` and is down for
    `lasts_s` on average. `rate` is bytes a second, `loss` a share of packets, `late_s` by how much a straggler is late.
    A burst has `flows` of `size_bytes` each, to its host or `outward` from it.
    """

    text: str
    what: What
    a: str | None = None
    b: str | None = None
    at_s: float = 0.0
    lasts_s: float = math.inf
    every_s: float = math.inf
    until_s: float = math.inf
    rate: float = 0.0
    loss: float = 0.0
    late_s: float = 0.0
    flows: int = 0
    size_bytes: int = 0
    outward: bool = False


def read_event(event: str) -> Event:
    """An event, read but not yet looked for in a network.

    Raises:
        InputError: it cannot be read; says how one is written.
    """
    text = event.strip()
    head, *rest = _CLAUSE.split(text)
    word, *nodes = head.split() or [""]
    kind: What | None = next((known for known in get_args(What) if known == word), None)
    if kind is None:
        raise InputError(f"{event!r} is no event; write one of: {'; '.join(FORMS.values())}")
    said = dict(zip(rest[::2], rest[1::2], strict=True))
    least, most, needed, allowed = _SHAPES[kind]
    is_whole = len(said) == len(rest) // 2 and needed <= said.keys() <= needed | allowed
    if not is_whole or not least <= len(nodes) <= most or ("for" in said and "at" not in said and "at" in allowed):
        if kind in ("slow", "errors") and len(nodes) == 1:
            raise InputError(f"{event!r}: name both ends of the link")
        raise InputError(f"{event!r}: write {FORMS[kind]}")
    try:
        return _read(event, kind, nodes, said)
    except UnitError as error:
        raise InputError(f"{event!r}: {error}") from None


_SHAPES: dict[What, tuple[int, int, set[str], set[str]]] = {
    "down": (1, 2, {"at"}, {"for"}),
    "slow": (2, 2, {"to", "at"}, {"for"}),
    "errors": (2, 2, {"of", "at"}, {"for"}),
    "flap": (1, 2, {"at", "every", "for", "until"}, set()),
    "random-flaps": (0, 2, {"mtbf", "mttr", "until"}, set()),
    "reboot": (1, 1, {"at", "for"}, set()),
    "lose": (1, 1, {"at"}, set()),
    "straggler": (1, 1, {"by"}, {"at", "for"}),
    "burst": (2, 3, {"at"}, {"to", "from"}),
}
"""Of each kind: the fewest and most words after its name, the clauses that it needs, and others that it may have."""


def _read(text: str, what: What, words: list[str], said: dict[str, str]) -> Event:
    times = {key: parse_time(said[key], zero=key == "at") for key in _TIMES if key in said}
    if any(time > LATEST_S for time in times.values()):
        raise InputError(f"{text!r}: packets are simulated for an hour at most, as those of seconds take hours")
    nodes = words
    flows = size = 0
    if what == "burst":
        if ("to" in said) == ("from" in said):
            raise InputError(f"{text!r}: write {FORMS[what]}")
        flows, size = _flows(text, words[0]), round(parse_size(" ".join(words[1:])))
        nodes = [said["to"] if "to" in said else said["from"]]
    event = Event(
        text,
        what,
        nodes[0] if nodes else None,
        nodes[1] if len(nodes) > 1 else None,
        times.get("at", 0.0),
        times.get("for", times.get("mttr", math.inf)),
        times.get("every", times.get("mtbf", math.inf)),
        times.get("until", math.inf),
        rate=_rate(text, said["to"]) if what == "slow" else 0.0,
        loss=_share(text, said["of"]) if what == "errors" else 0.0,
        late_s=times.get("by", 0.0),
        flows=flows,
        size_bytes=size,
        outward="from" in said,
    )
    if what == "flap" and event.lasts_s >= event.every_s:
        raise InputError(f"{text!r}: the link never comes back: 'for' is to be shorter than 'every'")
    if event.until_s <= event.at_s:
        raise InputError(f"{text!r}: it ends before it begins: 'until' is a time from the start of the run")
    return event


_TIMES = ("at", "for", "every", "until", "mtbf", "mttr", "by")


def _rate(event: str, text: str) -> float:
    rate_bps = parse_rate(text)
    if rate_bps < SLOWEST_BPS:
        least = f"packets are simulated at {format_rate(SLOWEST_BPS)} and more"
        raise InputError(f"{event!r}: {least}: name a higher rate, or take the link down")
    return rate_bps / 8


def _share(event: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not LEAST_LOSS <= share <= 1.0 - LEAST_LOSS:
        raise InputError(f"{event!r}: {text!r} is no share of packets, such as 0.001, in steps of {LEAST_LOSS:g}")
    return share


def _flows(event: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= MOST_FLOWS:
        raise InputError(f"{event!r}: {text!r} is no number of flows from 1 to {MOST_FLOWS:,}")
    return int(text)
