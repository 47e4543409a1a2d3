"""What a sender must know of everyone else: the uSIDs of switches, what stands above each, and where NICs are.

With it a climb becomes a path to a NIC, and the path an address. It is written once for a fabric (`mrc/fabric.json`)
and read back by the lab. Not here: the climbs themselves (`paths`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any

from eastwest.artifacts.mrc.numbering import carrier
from eastwest.artifacts.mrc.paths import Climb


@dataclass(frozen=True)
class Path:
    """The switches of a path from leaf to leaf, and its uSIDs, that of the receiver's port last."""

    plane: int
    switches: tuple[str, ...]
    usids: tuple[int, ...]

    @property
    def address(self) -> IPv6Address:
        """The destination address that carries it."""
        return carrier(self.plane, self.usids)


@dataclass(frozen=True)
class Directory:
    """All by name: uSIDs of each switch, one a lane; lanes to each switch above it; each NIC's leaf and port by plane.

    `addresses` are those of NICs, which packets inside the one that carries the path are for.
    """

    usids: Mapping[str, tuple[int, ...]]
    above: Mapping[str, Mapping[str, int]]
    nics: Mapping[str, Mapping[int, tuple[str, int]]]
    addresses: Mapping[str, IPv6Address]

    def path(self, climb: Climb, receiver: str) -> Path | None:
        """The whole path of a climb to a NIC; None where no switch of the climb is above the NIC's leaf."""
        place = self.nics[receiver].get(climb.plane)
        if place is None:
            return None
        leaf, port = place
        descent = self._descent(climb, leaf)
        if descent is None:
            return None
        top, down = descent
        usids = [self.usids[climb.switches[0]][0]]
        usids += [self.usids[name][lane] for name, lane in zip(climb.switches[1 : top + 1], climb.up, strict=False)]
        upper = climb.switches[top]
        for name, lane in zip(down, climb.down[len(climb.down) - len(down) :], strict=True):
            usids.append(self.usids[name][lane % self.above[name][upper]])
            upper = name
        return Path(climb.plane, (*climb.switches[: top + 1], *down), (*usids, port))

    def _descent(self, climb: Climb, leaf: str) -> tuple[int, tuple[str, ...]] | None:
        """How many switches a climb goes up on the way to a leaf, and those that it goes down by from there."""
        if climb.switches[0] == leaf:
            return 0, ()
        spine, core = (*climb.switches[1:], None, None)[:2]
        if spine in self.above[leaf]:
            return 1, (leaf,)
        between = (other for other in self.above[leaf] if core in self.above[other])
        return next(((2, (other, leaf)) for other in between), None)

    def as_json(self) -> dict[str, Any]:
        """Plain values: uSIDs as four hexadecimal digits."""
        return {
            "switches": {
                name: {"usids": [f"{usid:04x}" for usid in usids], "above": dict(self.above[name])}
                for name, usids in self.usids.items()
            },
            "nics": {
                name: {
                    "address": str(self.addresses[name]),
                    "ports": [
                        {"plane": plane, "leaf": leaf, "port": f"{port:04x}"} for plane, (leaf, port) in places.items()
                    ],
                }
                for name, places in self.nics.items()
            },
        }


def read(plain: Mapping[str, Any]) -> Directory:
    """The directory that `as_json` wrote."""
    switches = plain["switches"]
    return Directory(
        {name: tuple(int(usid, 16) for usid in of["usids"]) for name, of in switches.items()},
        {name: of["above"] for name, of in switches.items()},
        {
            name: {place["plane"]: (place["leaf"], int(place["port"], 16)) for place in of["ports"]}
            for name, of in plain["nics"].items()
        },
        {name: IPv6Address(of["address"]) for name, of in plain["nics"].items()},
    )
