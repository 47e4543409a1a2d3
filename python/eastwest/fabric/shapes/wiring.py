"""What joins what: the result of a shape, before any port or cable has a number.

Indices count switches within their tier, and servers, from 0. Not here: devices, rates, tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eastwest.fabric.plan import Tier

Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Switches:
    """The switches of one tier: their place, and the ports that each sets aside to face down and up.

    `unit`, `pod`, `rail`, `plane` and `group` have one entry a switch, -1 where it belongs to none; `group` numbers the
    spines of a pod or rail, and the core groups, each joined by one spine of every pod.
    """

    unit: Indices
    pod: Indices
    rail: Indices
    plane: Indices
    group: Indices
    down: int
    up: int

    def __len__(self) -> int:
        return len(self.unit)


def switches(count: int, down: int, up: int, **places: Indices) -> Switches:
    """`count` switches of one plane, of the places not given none."""
    nowhere = np.full(count, -1, dtype=np.int32)
    return Switches(
        unit=places.get("unit", nowhere),
        pod=places.get("pod", nowhere),
        rail=places.get("rail", nowhere),
        plane=nowhere,
        group=places.get("group", nowhere),
        down=down,
        up=up,
    )


@dataclass(frozen=True)
class Wiring:
    """Where servers and switches stand and which of them are joined.

    `leaf_of_port` has shape (servers, NICs of a server, ports of a NIC), one port a plane. `leaf_spine` and
    `spine_core` have shape (2, cables): the lower and the upper switch of each cable.
    """

    unit_of_server: Indices
    pod_of_server: Indices
    leaf_of_port: Indices
    tiers: Mapping[Tier, Switches]
    leaf_spine: Indices
    spine_core: Indices
