"""What joins what: the result of a shape, before any port or cable has a number.

Indices count switches within their tier, and servers, from 0. Not here: devices, rates, tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from eastwest.fabric.plan import Tier, TierPair

Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Switches:
    """The switches of one tier: their place, and the ports that each sets aside to face down and up.

    `unit`, `pod`, `rail`, `plane`, `site` and `group` have one entry a switch, -1 where it belongs to none; `group`
    numbers the spines of a pod or rail, and the core groups, each joined by one spine of every pod. `names` are their
    own where those that `lay` makes of their places would not do. Ports across, to others of the tier, count as up.
    """

    unit: Indices
    pod: Indices
    rail: Indices
    plane: Indices
    site: Indices
    group: Indices
    down: int
    up: int
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.unit)


def switches(count: int, down: int, up: int, **places: Indices) -> Switches:
    """`count` switches of one plane and site, of the places not given none."""
    nowhere = np.full(count, -1, dtype=np.int32)
    return Switches(
        unit=places.get("unit", nowhere),
        pod=places.get("pod", nowhere),
        rail=places.get("rail", nowhere),
        plane=nowhere,
        site=places.get("site", nowhere),
        group=places.get("group", nowhere),
        down=down,
        up=up,
    )


@dataclass(frozen=True)
class Details:
    """What a wiring says of each of some cables itself, in place of what the plan says of all.

    `ports` has shape (2, cables): numbers of the ports at the lower and the upper end, of a server counted over the
    ports of all its NICs. Rates and lengths have one entry a cable.
    """

    ports: NDArray[np.int64]
    rate_bps: NDArray[np.float64]
    length_m: NDArray[np.float64]


@dataclass(frozen=True)
class Cables:
    """Cables between two tiers of switches, `lower` nearer to the servers, or within one tier.

    `ends` has shape (2, cables): the switch of `lower` and that of `upper`. Ports are taken in order: those down behind
    the servers', those up, or across within a tier, behind the cables of earlier entries; `details` say otherwise.
    """

    lower: Tier
    upper: Tier
    ends: Indices
    details: Details | None = None

    @property
    def tiers(self) -> TierPair:
        """The pair of tiers, as cables are called: "leaf-spine"."""
        return pair_of(self.lower, self.upper)


def pair_of(lower: Tier | Literal["server"], upper: Tier) -> TierPair:
    """Two tiers, the lower first, as cables between them are called: "leaf-spine"."""
    return cast(TierPair, f"{lower}-{upper}")


@dataclass(frozen=True)
class Hosts:
    """Switches of one tier that front-end NICs join: of the servers, shape (servers, NICs of each), and of storage."""

    tier: Literal["leaf", "access"]
    of_servers: Indices
    of_storage: Indices


@dataclass(frozen=True)
class Wiring:
    """Where servers and switches stand and which of them are joined.

    `leaf_of_port` has shape (servers, NICs of a server, ports of a NIC), one port a plane, -1 where it has no cable;
    `server_cables` are details of those that have, in this order. `tiers` are in order from the servers up.
    `site_of_server` is None where there are no sites, `hosts` where there is no front-end network.
    """

    unit_of_server: Indices
    pod_of_server: Indices
    leaf_of_port: Indices
    tiers: Mapping[Tier, Switches]
    cables: tuple[Cables, ...] = ()
    site_of_server: Indices | None = None
    server_names: tuple[str, ...] | None = None
    server_cables: Details | None = None
    hosts: Hosts | None = None
