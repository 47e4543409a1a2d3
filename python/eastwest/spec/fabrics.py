"""Clusters and fabrics as a study file describes them. How a fabric is built from this is for `eastwest.fabric`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, Strict, WithJsonSchema, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import ValidationInfo

from eastwest.catalog import Technology
from eastwest.engine import Balancing, HashSeeds, QpUse
from eastwest.fabric import FrontendNetwork, Shape, TierPair
from eastwest.spec.building import Building
from eastwest.spec.failures import Failure
from eastwest.spec.packets import TRANSPORTS, Packets, stated
from eastwest.spec.subnet import Subnet
from eastwest.spec.values import (
    ClusterName,
    Count,
    CountByTier,
    Entry,
    FrontendSwitches,
    Json,
    Length,
    NicName,
    Rate,
    Ratio,
    RatioByTier,
    ServerName,
    Size,
    Surroundings,
    SwitchByTier,
    refuse,
    within,
)

BALANCING: dict[str, Balancing] = {
    "rocev2": "ecmp",
    "infiniband": "adaptive",
    "ultra-ethernet": "spray",
    "mrc": "source",
}
"""What a technology does unless told otherwise.

Ethernet switches hash flows. NVIDIA's InfiniBand switches choose the least loaded port: NCCL takes adaptive routing as
on for InfiniBand and off for RoCE (NCCL_IB_ADAPTIVE_ROUTING in its manual). Ultra Ethernet gives every packet an
entropy value of its own, which switches hash; MRC's stand for source routes (arXiv 2605.04333).
"""

OVER_TABLES: tuple[Balancing, ...] = ("ecmp", "flowlet", "spray")
"""What can be done with the groups of forwarding tables from outside."""

_BALANCING_SCHEMA = WithJsonSchema({"enum": ["default", *get_args(Balancing)]})
_OF_OTHER_SHAPES = ("groups", "dims", "links_per_pair", "network")
_NOT_FOR_ONE_TIER = ("uplink", "servers_per_pod", "oversubscription")
_MEANINGLESS: dict[str, tuple[str, ...]] = {
    "single-switch": (*_NOT_FOR_ONE_TIER, "servers_per_unit", "tiers", *_OF_OTHER_SHAPES),
    "mesh": ("servers_per_pod", "tiers", "oversubscription", "groups", "dims", "network", "sites"),
    "torus": ("servers_per_unit", "servers_per_pod", "tiers", "oversubscription", "groups", "network", "sites"),
    "dragonfly-plus": ("servers_per_pod", "tiers", "dims", "network", "sites"),
    "scheduled": ("servers_per_pod", "tiers", "sites", *_OF_OTHER_SHAPES),
    "custom": (
        "switch",
        "breakout",
        "servers_per_unit",
        "servers_per_pod",
        "tiers",
        "oversubscription",
        "groups",
        "dims",
        "links_per_pair",
        "sites",
    ),
    "rail-only": (*_OF_OTHER_SHAPES, "sites"),
}
_NEEDED = {"torus": ("switch", "dims"), "dragonfly-plus": ("switch", "groups"), "custom": ("network",)}
"""What a shape cannot be built without; others need a switch."""


def meaningless(shape: Any, tiers: Any, technology: Any = None) -> tuple[str, ...]:
    """Entries that cannot be said of a fabric of this shape, tiers and technology, nor are inherited by one."""
    of_others = () if technology in (None, "infiniband") else ("subnet",)
    if not isinstance(shape, str):  # as its own entry has it, which may state neither, or nonsense
        return (*of_others, *(_NOT_FOR_ONE_TIER if tiers == 1 else ()))
    return (*of_others, *_MEANINGLESS.get(shape, _OF_OTHER_SHAPES), *(_NOT_FOR_ONE_TIER if tiers == 1 else ()))


def _beside(written: Any, info: ValidationInfo) -> Path:
    if not isinstance(written, str):
        raise refuse(f"{written!r} is no name of a file")
    around = info.context
    if not isinstance(around, Surroundings) or around.folder is None:
        raise refuse(f"{info.field_name} in a file needs a study in a folder")
    try:
        path = (around.folder / written).resolve()
        is_inside = path.is_relative_to(around.folder.resolve())
        is_there = path.exists()
    except (OSError, ValueError):
        raise refuse(f"{written!r} is no usable file name") from None
    if not is_inside:
        raise refuse(f"{written!r} is outside the study's folder")
    if not is_there:
        raise refuse(f"there is no file or folder {written!r}")
    return around.folder / written


PathBeside = Annotated[
    Path,
    BeforeValidator(_beside),
    WithJsonSchema({"type": "string", "description": "A file or folder beside the study."}),
]


class Sites(Entry):
    """Sites over which the servers are split, each with a network of its own, joined over distance."""

    count: Annotated[int, Strict(), Field(ge=2, le=1000)]
    """How many."""
    distance: Length
    """Fibre between every two."""
    links: Count
    """Long-haul links between every two (with planes, of each plane)."""
    rate: Rate
    """Rate of each."""


class StorageServers(Entry):
    """Servers that hold what the others read and write."""

    servers: Count
    """How many."""
    nics: Count = 2
    """NICs of each, as the servers' front-end NICs."""
    read: Rate | None = None
    """What the disks and the file system of one deliver; what its NICs can where left out."""
    write: Rate | None = None
    """What they take; what its NICs can where left out."""


class Frontend(Entry):
    """Front-end NICs of the servers and what they join: a network of their own, or the leaves of the GPUs."""

    network: FrontendNetwork = "separate"
    """Whether it is a leaf-spine of its own, of access and aggregation switches, or shared with the GPUs."""
    nics: Count = 2
    """NICs of each server."""
    nic: NicName = "bluefield-3"
    """NIC from the catalogue."""
    link: Rate | None = None
    """Rate of each NIC; where the network is shared that of a GPU's NIC, and left out."""
    switch: FrontendSwitches = Field(default_factory=dict)
    """Switch from the catalogue for a separate network, for both tiers or for each."""
    uplink: Rate | None = None
    """Rate between access and aggregation switches; as a NIC's where left out."""
    breakout: Count | None = None
    """Ports that each cage of these switches is broken out into; the switch's own default where left out."""
    oversubscription: Ratio = 1.0
    """Capacity down to capacity up of an access switch."""
    technology: Technology | None = Field(default=None, json_schema_extra={"default": "rocev2"})
    """RoCEv2 where the network is separate; where it is shared, the fabric's."""
    storage: StorageServers | None = None
    """Storage servers, on the same network."""

    @model_validator(mode="after")
    def _fits_its_network(self) -> Frontend:
        if self.network == "separate":
            for needed in ("link", "switch"):
                if not getattr(self, needed):
                    raise refuse(f"a separate front-end network needs its {needed!r}")
            return self
        for name in ("link", "switch", "uplink", "breakout", "oversubscription", "technology"):
            if name in self.model_fields_set:
                raise refuse(f"a shared network has the {name} of the fabric: leave it out", at=name)
        return self


class Cluster(Entry):
    """Servers of one kind."""

    server: ServerName
    """Server from the catalogue."""
    servers: Count
    """How many."""
    nic: NicName | None = None
    """NIC from the catalogue, in place of the server's own."""


def _complete_or_like(schema: Json) -> None:
    """An editor should ask for the required entries only where none are inherited."""
    schema["anyOf"] = [{"required": ["like"]}, {"required": schema.pop("required")}]


class Fabric(Entry):
    """One candidate network. Rates are bit/s, sizes bytes, lengths metres once read."""

    model_config = ConfigDict(json_schema_extra=_complete_or_like)

    like: str | None = None
    """Another fabric of the study, from which everything is taken that is not stated here."""
    cluster: ClusterName | None = None
    """Cluster that it joins; every cluster of the study in turn where left out."""
    shape: Shape
    """How switches are arranged."""
    technology: Technology
    """RoCEv2, Ultra Ethernet or MRC over Ethernet, or InfiniBand; chooses the default of load balancing."""
    link: Rate
    """Rate of a NIC; with planes, of all its ports together."""
    uplink: Rate | None = None
    """Rate of links between switches; as a NIC's port where left out."""
    switch: SwitchByTier = Field(default_factory=dict)
    """Switch from the catalogue, for every tier or for each."""
    nic: NicName | None = None
    """NIC from the catalogue, in place of the cluster's."""
    planes: Count = 1
    """Ports that each NIC is split into, one to each of so many separate networks of the same shape."""
    breakout: CountByTier = Field(default_factory=dict)
    """Ports that each cage is broken out into; the switch's own default where left out."""
    servers_per_unit: Count | None = None
    """Servers of a full unit, behind the same leaves; as many as fit where left out."""
    servers_per_pod: Count | None = None
    """Servers of a full pod, on three tiers; as many as fit where left out."""
    tiers: Literal[1, 2, 3] | None = None
    """Tiers of switches. Where left out, a fat-tree has three and a rail-optimized fabric as few as reach."""
    oversubscription: RatioByTier = Field(default_factory=dict)
    """Capacity down to capacity up, as in '4:1'; 1 (non-blocking) where left out."""
    groups: Annotated[int, Strict(), Field(ge=2, le=100_000)] | None = None
    """Groups of a dragonfly-plus, each a leaf-spine."""
    dims: (
        Annotated[tuple[Annotated[int, Strict(), Field(ge=2, le=100_000)], ...], Field(min_length=2, max_length=3)]
        | None
    ) = None
    """Switches along each of the two or three dimensions of a torus."""
    links_per_pair: Count | None = None
    """Parallel cables between two leaves of a mesh, two neighbours of a torus or two groups of a dragonfly-plus."""
    network: PathBeside | None = None
    """File beside the study, or folder of nodes.csv and cables.csv, with the nodes and cables of a custom network."""
    sites: Sites | None = None
    """Sites that are joined over distance by border switches, each with its part of the servers."""
    frontend: Frontend | None = None
    """Front-end NICs of the servers, storage servers, and the network that joins them."""
    routes: PathBeside | None = None
    """CSV file beside the study with the switches' forwarding tables, to use in place of the shortest paths."""
    balancing: Annotated[Balancing, _BALANCING_SCHEMA] = Field(default="default", validate_default=True)
    """How packets choose among equal paths: by a hash of their flow (ecmp), the same in proportion to the capacity that
    leads on (wcmp) or anew for each of some parts of it (flowlet), each on its own over all paths (spray), by the least
    load (adaptive), as fixed tables say (pinned), or as their sender says (source). The technology's habit where left
    out."""
    flowlets: Count = 8
    """With flowlet: paths that a flow takes in the course of time."""
    paths: Annotated[int, Strict(), Field(ge=1, le=4096)] | None = None
    """With source: paths (entropy values) of each connection; all that there are where left out."""
    qps: Count = 1
    """Queue pairs (flows) of each connection; NCCL's default is one (NCCL_IB_QPS_PER_CONNECTION)."""
    qp_use: QpUse = "round-robin"
    """Whether each message is split over the queue pairs, or whole messages take turns, as NCCL does unless
    NCCL_IB_SPLIT_DATA_ON_QPS is set."""
    message: Annotated[Size, Field(json_schema_extra={"default": "512 KiB"})] = 524288.0
    """Size of one message, where messages take turns; NCCL's buffer of 4 MiB in 8 steps where left out."""
    hash_seeds: HashSeeds = "per-switch"
    """Whether each switch hashes with a seed of its own; where all share one, ECMP polarises."""
    cables: dict[TierPair, Length] = Field(default_factory=dict)
    """Length of the cables between two tiers."""
    failures: tuple[Failure, ...] = ()
    """What has failed, or runs slower than it was built to."""
    build: Building = Building()
    """What `eastwest build` is told besides: addressing, and servers of time and logs."""
    packets: Packets = Packets()
    """How packets are sent and switched, where every packet is simulated."""
    subnet: Subnet | None = None
    """What InfiniBand's subnet manager is told, where its files are built."""

    @field_validator("balancing", mode="before")
    @classmethod
    def _technology_chooses(cls, written: Any, info: ValidationInfo) -> Any:
        if written != "default":
            return written
        is_scheduled = info.data.get("shape") == "scheduled"
        habit = "spray" if is_scheduled else BALANCING.get(info.data.get("technology", ""), "ecmp")
        return habit if info.data.get("routes") is None or habit in OVER_TABLES else "ecmp"

    @model_validator(mode="after")
    def _fits_its_shape(self) -> Fabric:
        if self.shape == "single-switch":
            what = "for a single switch"
        else:
            what = "on one tier: nothing is above its leaves" if self.tiers == 1 else f"for the shape {self.shape}"
        for name in meaningless(self.shape, self.tiers):
            if getattr(self, name):
                raise refuse(f"{name} has no meaning {what}", at=name)
        if self.subnet is not None and self.technology != "infiniband":
            message = f"a subnet manager is InfiniBand's, and the technology is {self.technology}: leave it out"
            raise refuse(message, at="subnet")
        if self.shape == "scheduled" and self.balancing != "spray":
            raise refuse("a scheduled fabric spreads cells evenly by itself: leave balancing out", at="balancing")
        if self.routes is not None and self.balancing not in OVER_TABLES:
            message = f"routes say themselves what goes over which link, and leave {self.balancing} nothing to choose"
            raise refuse(message, OVER_TABLES, at="balancing")
        for needed in _NEEDED.get(self.shape, ("switch",)):
            if not getattr(self, needed):
                raise refuse(f"the shape {self.shape} needs {needed!r}", at="shape")
        return self

    @model_validator(mode="after")
    def _knows_its_packet_settings(self) -> Fabric:
        try:
            stated(self.packets, TRANSPORTS[self.technology])
        except PydanticCustomError as error:
            raise within("packets", error) from None
        if self.packets.nic.pcie is not None:
            message = "servers have a PCIe of their own, which limits packets too"
            raise refuse(f"{message}: leave it out, or choose another server", at=("packets", "nic", "pcie"))
        adaptive = self.packets.switch.adaptive
        if adaptive and self.balancing != "adaptive":
            message = f"{adaptive} is a way to be adaptive, and balancing is {self.balancing}"
            raise refuse(f"{message}: leave it out, or say balancing: adaptive", at=("packets", "switch", "adaptive"))
        return self
