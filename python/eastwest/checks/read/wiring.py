"""The address plan, `plan.json`, that `eastwest build` writes: what no device's own file says.

Taken from it: cables with both ends and lengths, tiers and models of switches, and the models of NICs. What is missing
or of another type is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

End = tuple[str, str]
"""Device and interface."""


@dataclass(frozen=True)
class PlannedCable:
    """A cable of the plan: both ends, and how long it is (None where the plan does not say)."""

    ends: tuple[End, End]
    metres: float | None


@dataclass(frozen=True)
class Plan:
    """A plan as far as it is of use here.

    Attributes:
        file: where it stands.
        cables: all of them.
        tiers: tier of each switch by name, e.g. `leaf`.
        devices: model of the NIC at each interface of a server.
        models: model of each switch by name.
        mtu_bytes: RoCE's largest payload in the fabric.
        unpaused: ends of cables on which RoCE may be lost, by the plan: no pause is missing there.
        technology: what the GPUs' network speaks, e.g. `rocev2`; empty where the plan does not say.
    """

    file: str
    cables: tuple[PlannedCable, ...]
    tiers: Mapping[str, str]
    models: Mapping[str, str]
    devices: Mapping[End, str]
    mtu_bytes: int | None
    unpaused: frozenset[End] = frozenset()
    technology: str = ""


def is_plan(parsed: Any) -> bool:
    """Whether a JSON document is an address plan of `eastwest build`."""
    return isinstance(parsed, Mapping) and isinstance(parsed.get("cables"), list) and "eastwest" in parsed


def read_plan(parsed: Mapping[str, Any], file: str) -> Plan:
    """Reads a plan."""
    mtu = parsed.get("mtu_bytes")
    lossy = [each for each in parsed["cables"] if isinstance(each, Mapping) and each.get("pfc") is False]
    return Plan(
        file,
        tuple(cable for each in parsed["cables"] if isinstance(each, Mapping) and (cable := _cable(each))),
        {str(each["name"]): str(each.get("tier", "")) for each in _named(parsed.get("switches"))},
        {str(each["name"]): str(each.get("device", "")) for each in _named(parsed.get("switches"))},
        {
            (str(host["name"]), str(port["name"])): str(port.get("device", ""))
            for host in _named(parsed.get("hosts"))
            for port in _named(host.get("ports"))
        },
        mtu if isinstance(mtu, int) else None,
        frozenset(end for each in lossy if (cable := _cable(each)) for end in cable.ends),
        str(parsed.get("technology", "")),
    )


def _cable(each: Mapping[str, Any]) -> PlannedCable | None:
    words = [each.get(key) for key in ("a", "a_interface", "b", "b_interface")]
    length = each.get("length_m")
    if not all(isinstance(word, str) and word for word in words):
        return None
    a, a_port, b, b_port = map(str, words)
    metres = float(length) if isinstance(length, int | float) and not isinstance(length, bool) else None
    return PlannedCable(((a, a_port), (b, b_port)), metres)


def _named(listed: Any) -> list[Mapping[str, Any]]:
    """The entries of a list that have a name."""
    return (
        [each for each in listed if isinstance(each, Mapping) and each.get("name")] if isinstance(listed, list) else []
    )
