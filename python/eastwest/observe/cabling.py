"""Cables as they should be plugged, held against cables as they were seen: what is missing, swapped, elsewhere or slow.

Ends are a node's name and a port's; where names come from (LLDP, ibnetdiscover, an inventory) makes no difference.
Not here: reading any of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["absent", "missing", "misplaced", "swapped", "unplanned", "rate"]


@dataclass(frozen=True, order=True)
class Plug:
    """One end of a cable."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node} port {self.port}"


@dataclass(frozen=True)
class Wire:
    """A cable by its two ends, and its rate in bits per second where known."""

    a: Plug
    b: Plug
    rate_bps: float | None = None

    def __str__(self) -> str:
        return f"{self.a} - {self.b}"


@dataclass(frozen=True)
class Difference:
    """What is not as planned, and where: at the ends of the cables concerned, or all ends at a node that is absent."""

    kind: Kind
    where: tuple[Plug, ...]
    what: str
    fix: str

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes concerned."""
        return frozenset(plug.node for plug in self.where)


def compare(planned: Iterable[Wire], seen: Iterable[Wire]) -> tuple[Difference, ...]:
    """What differs, most telling first and each cable told of once; nothing where all is plugged as planned.

    A cable of a node of which nothing was seen is not told of by itself. Two cables whose ends at one side are
    exchanged are "swapped"; one that leads elsewhere is "misplaced".
    """
    planned, seen = list(planned), list(seen)
    facing = _facing(seen)
    here = {plug.node for plug in facing}
    absent: dict[str, list[Plug]] = {}
    for plug in sorted(plug for wire in planned for plug in (wire.a, wire.b) if plug.node not in here):
        absent.setdefault(plug.node, []).append(plug)
    wrong = [
        wire
        for wire in planned
        if facing.get(wire.a) != wire.b and wire.a.node not in absent and wire.b.node not in absent
    ]
    known = _facing(planned)
    strange = [wire for wire in seen if wire.a not in known and wire.b not in known]
    return (
        *(
            Difference("absent", tuple(plugs), f"{node} was not seen", f"is {node} on, and plugged in?")
            for node, plugs in absent.items()
        ),
        *_wrong(wrong, facing),
        *(
            Difference("unplanned", (wire.a, wire.b), f"{wire} is in no plan", "unplug it, or plan it")
            for wire in strange
        ),
        *_slow(planned, seen),
    )


def _facing(wires: Iterable[Wire]) -> dict[Plug, Plug]:
    """The other end of each end."""
    ends = [(wire.a, wire.b) for wire in wires]
    return dict(ends) | {b: a for a, b in ends}


def _wrong(wires: Sequence[Wire], facing: Mapping[Plug, Plug]) -> Iterator[Difference]:
    """What befell planned cables that were not seen as such."""
    meant = _facing(wires)
    told: set[Plug] = set()
    for wire in wires:
        a, b = wire.a, wire.b
        if a in told or b in told:
            continue
        found, faced = facing.get(a), facing.get(b)
        told.update((a, b))
        if found and faced and meant.get(found) == faced:
            told.update((found, faced))
            what = f"{a} leads to {found} and {faced} to {b}: the two are swapped"
            yield Difference("swapped", (a, b, faced, found), what, f"exchange the plugs at {b} and {found}")
        elif found or faced:
            end, to, other = (a, b, found) if found else (b, a, faced)
            yield Difference("misplaced", (a, b), f"{end} leads to {other}, not to {to}", f"move it to {to}")
        else:
            yield Difference("missing", (a, b), f"{wire} is down or not plugged", "check the cable and its optics")


def _slow(planned: Iterable[Wire], seen: Iterable[Wire]) -> Iterator[Difference]:
    rates = {end: wire.rate_bps for wire in seen for end in ((wire.a, wire.b), (wire.b, wire.a))}
    for wire in planned:
        rate_bps = rates.get((wire.a, wire.b))
        if wire.rate_bps and rate_bps and rate_bps != wire.rate_bps:
            what = f"{wire} runs at {rate_bps / 1e9:g} Gb/s, not {wire.rate_bps / 1e9:g} Gb/s"
            yield Difference("rate", (wire.a, wire.b), what, "reseat or replace the cable; compare the ports' settings")
