"""Names of interfaces: those that SONiC gives a switch's ports, and those that hosts give their NICs.

A port of a SONiC switch is called after the first of its lanes, counted over the whole front: cage 3 of 8 lanes is
Ethernet24, and broken out into two, Ethernet24 and Ethernet28. Not here: the numbers that the switch chip knows lanes
by (`artifacts.sonic`).
"""

from __future__ import annotations

from eastwest.artifacts.coordinates import PlanError

LONGEST = 15
"""Characters of an interface's name that Linux allows (IFNAMSIZ of 16, with the ending zero)."""

NIC_PREFIX = {"server": "rail", "frontend": "front", "storage": "stor"}


def sonic_name(cage: int, place: int, breakout: int, lanes: int) -> str:
    """The name of port `place` of a cage of so many lanes that is broken out into `breakout` ports.

    Raises `PlanError` where a port would have less than a lane.
    """
    if breakout > lanes:
        raise PlanError(
            f"a cage of {lanes} lanes cannot be broken out into {breakout} ports that each have a name: set breakout "
            f"to {lanes} or less, or say in the catalogue how many cage_lanes the switch has"
        )
    return f"Ethernet{cage * lanes + place * (lanes // breakout)}"


def nic_name(tier: str, nic: int, port: int, ports: int) -> str:
    """The name of a NIC's port on its host: rail0; with several ports rail0p1; front0, stor0."""
    return f"{NIC_PREFIX[tier]}{nic}" + (f"p{port}" if ports > 1 else "")
