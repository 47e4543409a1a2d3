"""What a fabric's technology and balancing come to where every packet is simulated, and what cannot be simulated so."""

from __future__ import annotations

from collections.abc import Sequence

from eastwest.document import Place
from eastwest.engine import Carriage, Network, Wire, wire_rates
from eastwest.engine.events import What, read_event
from eastwest.engine.faults import changes
from eastwest.engine.packets import Choice, Repeat
from eastwest.errors import InputError
from eastwest.spec import Study
from eastwest.spec.packets import TRANSPORTS
from eastwest.study.result import Row
from eastwest.units import format_time

AHEAD = 1.01
"""Ideal over actual communication above which packets are said to be ahead of the ideal."""

DRAWS = 3
"""Draws of a run by packets where the study states no `seeds`: each takes seconds to minutes."""

_BY_SWITCHES: dict[str, Choice] = {
    "ecmp": "hash",
    "wcmp": "wcmp",
    "flowlet": "flowlet",
    "spray": "random",
    "adaptive": "shortest-queue",
    "pinned": "pinned",
}

CHOICES: dict[str, dict[str, Choice]] = {
    "rocev2": _BY_SWITCHES,
    "infiniband": _BY_SWITCHES,
    "uet": {"spray": "hash", "adaptive": "shortest-queue"},
    "mrc": {"source": "source", "spray": "hash", "adaptive": "shortest-queue"},
}
"""By transport and balancing, how a switch chooses a port: where senders spray, by a hash of their entropy values."""

OF_FLOWS: dict[What, str] = {
    "lose": "a job that loses a NIC ends; say what is left of it by failures, or take down",
    "burst": "extra flows are for eastwest simulate alone; leave it out",
}
"""Events that a step does not know, and what to do instead."""


def check(study: Study, name: str) -> None:
    """Whether a fabric of the study can be simulated by packets.

    Raises:
        StudyError: it cannot; names the line, and what can be.
    """
    asked, called = study.fabrics[name], study.base("fabrics", name)

    def refuse(key: str, why: str) -> None:
        at: Place = ("fabrics", name, key)
        raise study.error_at(at, f"fabric {called!r} cannot be run by packets: {why}, or run it as fluid")

    if asked.shape == "scheduled":
        refuse("shape", "cells and credits of a scheduled fabric are not simulated; take another shape")
    if asked.hash_seeds != "per-switch":
        refuse("hash_seeds", "each switch hashes with a seed of its own there; leave out hash_seeds")
    known = CHOICES[TRANSPORTS[asked.technology]]
    if asked.balancing not in known:
        refuse(
            "balancing", f"{asked.technology} knows {', '.join(known)} there, not {asked.balancing}; take one of these"
        )
    paths = asked.paths
    if paths is not None and paths & (paths - 1):
        refuse("paths", f"the entropy values of a flow are a power of two there, not {paths}; take such a number")


def check_events(study: Study, name: str, network: Network) -> None:
    """Whether what goes wrong in a fabric names what is there.

    Raises:
        StudyError: it does not; names the line.
    """
    rates = wire_rates(network.fabric)
    for number, event in enumerate(study.fabrics[name].packets.events):
        at: Place = ("fabrics", name, "packets", "events", number)
        if (what := read_event(event).what) in OF_FLOWS:
            raise study.error_at(at, f"fabric {study.base('fabrics', name)!r}: {event!r}: {OF_FLOWS[what]}")
        try:
            changes([event], network.fabric, None, rates)
        except InputError as error:
            raise study.error_at(at, f"fabric {study.base('fabrics', name)!r}: {error}") from None


def wire(network: Network, carriage: Carriage) -> Wire:
    """How packets cross a fabric that `check` has passed."""
    plan = network.fabric.plan
    transport = TRANSPORTS[plan["link_layer"]["technology"]]
    repeat: Repeat = "go-back-n"
    if carriage.balancing in ("spray", "adaptive"):
        repeat = "any-order"
    elif transport == "rocev2" and plan["nic"]["retransmission"] == "selective-repeat":
        repeat = "selective"
    return Wire(transport, CHOICES[transport][carriage.balancing], repeat, carriage.paths)


def draws(study: Study) -> int:
    """How many seeds a run takes."""
    return study.seeds if study.states_seeds else min(study.seeds, DRAWS)


def sentences(rows: Sequence[Row]) -> list[str]:
    """What packets tell of each case: the tail of its messages, and what became of packets."""
    told = [_sentence(row) for row in rows if row.fidelity == "packet"]
    return told + _ahead(rows) + [_disturbed(row) for row in rows if row.events and row.slowdown is not None]


def _ahead(rows: Sequence[Row]) -> list[str]:
    """That packets are ahead of what is called ideal, and why: one note, by the row that is furthest ahead."""
    ahead = [row for row in rows if row.fidelity == "packet" and row.closeness > AHEAD]
    if not ahead:
        return []
    most = max(ahead, key=lambda row: row.closeness)
    cases = ", ".join(dict.fromkeys(f"{row.workload} on {row.fabric}" for row in ahead))
    found, ideal = format_time(most.communication_s), format_time(most.ideal_communication_s)
    return [
        f"{cases}: packets communicate for less time than ideal says, down to {found} where that is {ideal}. Ideal, as "
        f"fluid, adds the latency of all steps of a ring to the time of its bytes; by packets other channels and "
        f"slices send meanwhile. There ideal is no bound: see 'Three fidelities' in docs/engine.md."
    ]


def _disturbed(row: Row) -> str:
    """How much longer a step takes in which something goes wrong."""
    what = " and ".join((*row.failures, *row.events))
    return f"{row.workload} on {row.fabric}, {what}: the step takes {row.slowdown:.3g} times as long as without."


def _sentence(row: Row) -> str:
    found = row.packets
    case = f"{row.workload} on {row.fabric}, by packets"
    if found is None or not found.messages:
        return f"{case}: nothing was sent between servers."
    counts = {"dropped": found.drops, "trimmed": found.trims, "marked": found.marks, "sent again": found.retransmits}
    told = [f"{count:,} {what}" for what, count in counts.items() if count]
    if found.pauses:
        told.append(f"ports held back {found.pauses:,} times")
    became = ", ".join(told) or "none dropped, marked or sent again"
    return (
        f"{case}: of {found.messages:,} messages between servers the slowest hundredth takes {found.tail:.3g} times "
        f"the median of {format_time(found.median_s)} or more; of {found.packets:,} packets {became}."
    )
