"""What is asked of a fabric: the values from which `build` lays its tables, and the error that refuses them.

Rates are bits per second, lengths metres. Not here: where the values come from (a study file, a notebook), or how
they are turned into switches (`shapes`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from eastwest.catalog.entries import LinkLayer, Nic, Server, Switch
from eastwest.errors import InputError

if TYPE_CHECKING:
    from eastwest.fabric.network.values import NetworkFile

Shape = Literal[
    "single-switch",
    "leaf-spine",
    "fat-tree",
    "rail-optimized",
    "rail-only",
    "mesh",
    "torus",
    "dragonfly-plus",
    "scheduled",
    "custom",
]
Tier = Literal["leaf", "spine", "core", "border", "access", "aggregation"]
TierPair = Literal[
    "server-leaf",
    "leaf-leaf",
    "leaf-spine",
    "leaf-core",
    "leaf-border",
    "spine-spine",
    "spine-core",
    "spine-border",
    "core-core",
    "core-border",
    "border-border",
    "frontend-leaf",
    "storage-leaf",
    "frontend-access",
    "storage-access",
    "access-aggregation",
]
FrontendNetwork = Literal["separate", "shared"]

TIERS: tuple[Tier, ...] = ("leaf", "spine", "core", "border")
FRONTEND_TIERS: tuple[Tier, ...] = ("access", "aggregation")
"""Tiers of a front-end network of its own."""
TIER_PAIRS: tuple[TierPair, ...] = get_args(TierPair)

LONGEST_CABLE_M = 2e7
"""Half around the world."""

CABLE_LENGTHS_M: Mapping[TierPair, float] = {
    "server-leaf": 5.0,
    "leaf-leaf": 30.0,
    "leaf-spine": 30.0,
    "leaf-core": 100.0,
    "leaf-border": 100.0,
    "spine-spine": 100.0,
    "spine-core": 100.0,
    "spine-border": 100.0,
    "core-core": 100.0,
    "core-border": 100.0,
    "border-border": 80e3,
    "frontend-leaf": 5.0,
    "storage-leaf": 30.0,
    "frontend-access": 5.0,
    "storage-access": 30.0,
    "access-aggregation": 30.0,
}
"""Assumed where a plan says nothing: within a row of racks, across a hall, between halls;
and between sites, the reach of a 400ZR transceiver (OIF-400ZR: 80 km and more)."""


class FabricError(InputError):
    """A plan that cannot be built, or a folder that holds no fabric.

    `field` names the entry at fault: "shape", "servers", "server", "nic", "link", "uplink", "technology", "switch",
    "breakout", "planes", "servers_per_unit", "servers_per_pod", "tiers", "oversubscription", "groups", "dims",
    "links_per_pair", "network", "sites", "frontend", "cables", or "folder" when reading and writing. `message` says
    what was needed, what there is, and how to mend it.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message if field == "folder" else f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True)
class Sites:
    """How many sites a network has, `distance_m` of fibre apart, and the links between every two of them."""

    count: int
    distance_m: float
    links: int
    rate_bps: float


@dataclass(frozen=True)
class Storage:
    """Storage servers, and the NICs that each has on the front-end network.

    `read_bps` and `write_bps` are what the disks and the file system of one can do; what its NICs can where None.
    """

    servers: int
    nics: int
    read_bps: float | None = None
    write_bps: float | None = None


@dataclass(frozen=True)
class Frontend:
    """The network of the servers' CPUs, storage and users: front-end NICs of each server, and storage servers.

    `link_bps` is the rate of each of these NICs. A "shared" network is that of the GPUs, whose leaves they join; a
    "separate" one has `switches` of its own: "access", which NICs join, and "aggregation" above where it takes more
    than one of them. `uplink_bps` is the rate between these (as a NIC's where None), `breakout` the ports of each of
    their cages (the switch's default where None) and `oversubscription` capacity down over up of an access switch.
    """

    network: FrontendNetwork
    nics: int
    nic: Nic
    link_layer: LinkLayer
    link_bps: float
    switches: Mapping[Tier, Switch] = field(default_factory=dict)
    uplink_bps: float | None = None
    breakout: int | None = None
    oversubscription: float = 1.0
    storage: Storage | None = None

    @property
    def between_switches_bps(self) -> float:
        """Rate of the links between switches of a separate network."""
        return self.link_bps if self.uplink_bps is None else self.uplink_bps

    @property
    def storage_nics(self) -> int:
        """NICs of all storage servers."""
        return 0 if self.storage is None else self.storage.servers * self.storage.nics


@dataclass(frozen=True)
class FabricPlan:
    """One network, as asked for.

    `link_bps` is the rate of a NIC, in all its ports: one a plane, each plane a network of its own. `uplink_bps` is the
    rate of every link between switches (as a NIC's port where None). A tier without an entry in `switches` uses the
    switch of the tier below. `breakout` is the number of ports that each cage of a tier is broken out into, the
    switch's own default where it has no entry. `servers_per_unit` is the size of a full unit (rail-optimized,
    rail-only: servers behind one leaf a rail; otherwise: servers on one leaf), as many as a leaf has room for where
    None; `servers_per_pod` that of a pod on three tiers, as many as its spines have room for where None. `tiers` is 1
    (rail-only), 2 or 3, what the shape needs where None. `oversubscription` is the capacity down over the capacity up
    of the "leaf" and the "spine", 1 where it has no entry.

    `groups` are those of a dragonfly-plus, `dims` the switches along each dimension of a torus, and `links_per_pair`
    the parallel cables between two leaves of a mesh, two neighbours of a torus, or two groups. `network` holds the
    nodes and cables of a custom fabric, of which `switches` and `breakout` say nothing. With `sites`, the servers are
    split evenly over so many networks of the shape. A `frontend` joins the servers' CPUs with storage.
    """

    name: str
    shape: Shape
    servers: int
    server: Server
    nic: Nic
    link_layer: LinkLayer
    link_bps: float
    switches: Mapping[Tier, Switch]
    uplink_bps: float | None = None
    planes: int = 1
    breakout: Mapping[Tier, int] = field(default_factory=dict)
    servers_per_unit: int | None = None
    servers_per_pod: int | None = None
    tiers: int | None = None
    oversubscription: Mapping[Tier, float] = field(default_factory=dict)
    groups: int | None = None
    dims: tuple[int, ...] | None = None
    links_per_pair: int | None = None
    network: NetworkFile | None = None
    sites: Sites | None = None
    frontend: Frontend | None = None
    cable_lengths_m: Mapping[TierPair, float] = field(default_factory=dict)

    def switch(self, tier: Tier) -> Switch:
        """The switch of a tier, or of the nearest tier below that names one; `FabricError` where none does."""
        for name in reversed(TIERS[: TIERS.index(tier) + 1]):
            if name in self.switches:
                return self.switches[name]
        raise FabricError("switch", f"the {tier} tier has no switch; name one from the catalogue")

    @property
    def port_bps(self) -> float:
        """Rate of each of a NIC's ports."""
        return self.link_bps / self.planes

    @property
    def between_switches_bps(self) -> float:
        """Rate of the links between switches."""
        return self.port_bps if self.uplink_bps is None else self.uplink_bps

    def cable_bps(self, tiers: TierPair) -> float:
        """Rate of the cables between two tiers."""
        if tiers == "border-border" and self.sites is not None:
            return self.sites.rate_bps
        if self.frontend is not None and tiers.startswith(("frontend-", "storage-")):
            return self.frontend.link_bps
        if self.frontend is not None and tiers == "access-aggregation":
            return self.frontend.between_switches_bps
        return self.port_bps if tiers == "server-leaf" else self.between_switches_bps

    def link_layer_of(self, tiers: str) -> LinkLayer:
        """How cables between two tiers carry packets."""
        is_frontend = tiers.startswith(("frontend-", "storage-", "access-"))
        return self.frontend.link_layer if self.frontend is not None and is_frontend else self.link_layer

    def ratio(self, tier: Tier) -> float:
        """Capacity down over capacity up that a tier may have."""
        return self.oversubscription.get(tier, 1.0)

    def cable_length_m(self, tiers: TierPair) -> float:
        """Length assumed for the cables between two tiers."""
        if tiers == "border-border" and self.sites is not None:
            return self.sites.distance_m
        return self.cable_lengths_m.get(tiers, CABLE_LENGTHS_M[tiers])

    def as_json(self) -> dict[str, Any]:
        """The plan as plain JSON values, as a fabric keeps and stores it."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def in_gbps(rate_bps: float) -> str:
    """A rate as messages show it: "400 Gb/s"."""
    return f"{rate_bps / 1e9:g} Gb/s"
