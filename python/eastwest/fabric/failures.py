"""Failed and degraded parts: which cables go down with a part, and the fabric that is left.

What is left is a fabric like any other: the same nodes and ports without the cables that are down, so that whoever
reads it finds the routes of a network that has noticed. Not here: what happens until it has (`engine`), or what a
failure does to a job (`study`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.document import nearest
from eastwest.fabric.plan import FabricError, in_gbps
from eastwest.fabric.reach import parts
from eastwest.fabric.tables import Fabric

Numbers = NDArray[np.int64]

MOST_COMPARED = 10_000
"""Names among which the one that was meant is sought: comparing them takes a second for each 100,000."""


@dataclass(frozen=True)
class PartDown:
    """A switch or a NIC fails, and with it all its cables; `kind` is "switch" or "nic"."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} down"


@dataclass(frozen=True)
class PlaneDown:
    """A plane fails: all cables of its switches."""

    plane: int

    def __str__(self) -> str:
        return f"plane {self.plane} down"


@dataclass(frozen=True)
class LinksDown:
    """Cables between two nodes fail: `count` of them, in the order of their numbers, or all.

    With `rate_bps` they are not down but run at that rate.
    """

    ends: tuple[str, str]
    count: int | None = None
    rate_bps: float | None = None

    def __str__(self) -> str:
        many = "" if self.count is None else f" x {self.count}"
        return f"{self.ends[0]} to {self.ends[1]}{many} {_fate(self.rate_bps)}"


@dataclass(frozen=True)
class SomeLinksDown:
    """Cables of a pair of tiers, drawn by `seed`, fail: `count` of them, or the nearest number to a `share` of all.

    More of one seed include fewer of it. With `rate_bps` they are not down but run at that rate.
    """

    tier: str
    count: int | None = None
    share: float | None = None
    seed: int = 0
    rate_bps: float | None = None

    def __str__(self) -> str:
        many = str(self.count) if self.share is None else f"{100 * self.share:g} %"
        return f"{many} of the {self.tier} cables {_fate(self.rate_bps)} (seed {self.seed})"

    def of(self, cables: int) -> int:
        """How many of so many cables."""
        return (self.count or 0) if self.share is None else round(self.share * cables)


Failure = PartDown | PlaneDown | LinksDown | SomeLinksDown


class FailureError(FabricError):
    """A failure of something that the fabric does not have; `number` is its place in the list."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__("failures", message)
        self.number = number


@dataclass(frozen=True)
class Damage:
    """What failures do to the cables of a fabric: whether each is down, and its rate. Both of shape (cables,)."""

    is_down: NDArray[np.bool_]
    rate_bps: NDArray[np.float64]


def damage(fabric: Fabric, failures: Sequence[Failure]) -> Damage:
    """What failures do to a sound fabric, one after another.

    Raises:
        FailureError: one names what is not there; says what is.
    """
    ends = _ends(fabric)
    done = Damage(np.zeros(len(fabric.cables), dtype=bool), fabric.cables["rate_bps"].to_numpy().copy())
    for number, failure in enumerate(failures):
        try:
            _apply(fabric, ends, failure, done)
        except FabricError as error:
            raise FailureError(error.message, number) from None
    return done


def without(fabric: Fabric, damage: Damage) -> Fabric:
    """The fabric that is left: its cables and links counted anew, ports of lost cables spare.

    A slower cable keeps the rate that it was built for; its links have the rate at which it runs.
    """
    keeps = ~damage.is_down
    number = np.cumsum(keeps) - 1

    def left(cable: pl.Series) -> tuple[NDArray[np.bool_], pl.Series]:
        old = cable.to_numpy().astype(np.int64)
        is_left = (old < 0) | keeps[old]
        new = np.where((old >= 0) & is_left, number[old], -1)
        return is_left, pl.Series("cable", new, dtype=pl.Int32)

    cable = fabric.links["cable"].to_numpy().astype(np.int64)
    built_bps = fabric.links["rate_bps"].to_numpy()
    stays, of_link = left(fabric.links["cable"])
    links = fabric.links.with_columns(
        of_link, rate_bps=pl.Series(np.where(cable >= 0, damage.rate_bps[cable], built_bps))
    ).filter(stays)
    cables = fabric.cables.filter(keeps)
    return replace(
        fabric,
        ports=fabric.ports.with_columns(left(fabric.ports["cable"])[1]),
        cables=cables.with_columns(cable=pl.Series(np.arange(len(cables)), dtype=pl.UInt32)),
        links=links.with_columns(link=pl.Series(np.arange(len(links)), dtype=pl.UInt32)),
    )


def fail(fabric: Fabric, failures: Sequence[Failure]) -> Fabric:
    """The fabric that failures leave; its plan names them.

    Raises:
        FailureError: one names what is not there; says what is.
    """
    if not failures:
        return fabric
    left = without(fabric, damage(fabric, failures))
    return replace(left, plan={**fabric.plan, "failures": [str(failure) for failure in failures]})


def cut_off(fabric: Fabric, left: Fabric) -> tuple[str, ...]:
    """Names of the GPUs that NICs and switches no longer join with most of those that they joined them with before."""
    whole, broken = _network_parts(fabric), _network_parts(left)
    gpus = np.flatnonzero((fabric.nodes["kind"] == "gpu").to_numpy())
    pairs, sizes = np.unique(np.stack([whole[gpus], broken[gpus]]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -sizes, pairs[0]))
    largest = order[np.unique(pairs[0][order], return_index=True)[1]]
    lost = gpus[~np.isin(broken[gpus], pairs[1][largest])]
    return tuple(fabric.nodes["name"].gather(lost))


def _network_parts(fabric: Fabric) -> Numbers:
    """For every node, what joins it with others but for NVLink."""
    links = fabric.links.filter(~pl.col("tier").is_in(["gpu-nvlink", "nvlink-gpu"]))
    return parts(len(fabric.nodes), *(links[end].to_numpy().astype(np.int64) for end in ("src", "dst")))


def _fate(rate_bps: float | None) -> str:
    return "down" if rate_bps is None else f"at {in_gbps(rate_bps)}"


def _ends(fabric: Fabric) -> Numbers:
    """Nodes at both ends of each cable. Shape (2, cables)."""
    node = fabric.ports["node"].to_numpy().astype(np.int64)
    return np.stack([node[fabric.cables[port].to_numpy()] for port in ("port_a", "port_b")])


def _apply(fabric: Fabric, ends: Numbers, failure: Failure, done: Damage) -> None:
    rate_bps: float | None = None
    match failure:
        case PartDown(kind, name):
            cables = np.flatnonzero((ends == _node(fabric, name, (kind,))).any(axis=0))
        case PlaneDown(plane):
            cables = np.flatnonzero(np.isin(ends, _switches_of(fabric, plane)).any(axis=0))
        case LinksDown():
            cables, rate_bps = _between(fabric, ends, failure, ~done.is_down), failure.rate_bps
        case SomeLinksDown():
            cables, rate_bps = _drawn(fabric, failure), failure.rate_bps
    if rate_bps is None:
        done.is_down[cables] = True
        return
    faster = cables[rate_bps > done.rate_bps[cables]]
    if len(faster):
        runs = in_gbps(float(done.rate_bps[faster[0]]))
        raise FabricError("failures", f"a cable of {runs} does not run at {in_gbps(rate_bps)}: name a lower rate")
    done.rate_bps[cables] = rate_bps


def _node(fabric: Fabric, name: str, kinds: tuple[str, ...]) -> int:
    """Number of a node by its name."""
    found = fabric.nodes.filter(pl.col("kind").cast(pl.String).is_in(kinds))
    node = found.filter(pl.col("name") == name)["node"]
    if len(node):
        return int(node[0])
    what = " or ".join({"nic": "NIC"}.get(kind, kind) for kind in kinds)
    near = nearest(name, found["name"].head(MOST_COMPARED))
    meant = f"; did you mean {near!r}?" if near else ""
    raise FabricError("failures", f"there is no {what} {name!r}{meant} (the first is {found['name'][0]})")


def _switches_of(fabric: Fabric, plane: int) -> Numbers:
    of_plane = fabric.nodes.filter((pl.col("kind") == "switch") & (pl.col("plane") == plane) & (pl.col("plane") >= 0))
    if of_plane.is_empty():
        last = int(fabric.nodes["plane"].to_numpy().max(initial=-1))
        has = f"planes 0 to {last}" if last > 0 else "one network alone, without planes"
        raise FabricError("failures", f"there is no plane {plane}: the fabric has {has}")
    return of_plane["node"].to_numpy().astype(np.int64)


def _between(fabric: Fabric, ends: Numbers, failure: LinksDown, is_up: NDArray[np.bool_]) -> Numbers:
    """Cables between two nodes, the first `count` of those that are up."""
    one, other = failure.ends
    a, b = (_node(fabric, name, ("switch", "nic")) for name in failure.ends)
    joins = ((ends[0] == a) & (ends[1] == b)) | ((ends[0] == b) & (ends[1] == a))
    if not joins.any():
        others = np.unique(ends[:, (ends == a).any(axis=0)])
        beside = ", ".join(fabric.nodes["name"].gather(others[others != a][:3]))
        raise FabricError("failures", f"no cable joins {one} and {other}; {one} is joined with {beside}, ...")
    cables = np.flatnonzero(joins & is_up)
    if failure.count is not None and failure.count > len(cables):
        raise FabricError("failures", f"{one} and {other} have {len(cables)} cables that are up, not {failure.count}")
    return cables[: failure.count]


def _drawn(fabric: Fabric, failure: SomeLinksDown) -> Numbers:
    """Cables of a pair of tiers, drawn by a seed."""
    tier = failure.tier
    cables = np.flatnonzero((fabric.cables["tiers"] == tier).to_numpy())
    if not len(cables):
        there = ", ".join(fabric.cables["tiers"].unique(maintain_order=True))
        raise FabricError("failures", f"the fabric has no {tier} cables; it has {there}")
    count = failure.of(len(cables))
    if not 1 <= count <= len(cables):
        raise FabricError("failures", f"the fabric has {len(cables)} {tier} cables; {count} of them cannot fail")
    return cables[np.random.default_rng(failure.seed).permutation(len(cables))[:count]]
