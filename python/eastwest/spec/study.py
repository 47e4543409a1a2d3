"""A study as read: its candidates, checked and resolved, and where in the file each thing stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field, PrivateAttr, Strict, StringConstraints

from eastwest.catalog import Catalog, Nic, Server
from eastwest.document import Document, Mistake, MistakesError, Place
from eastwest.engine import Fidelity
from eastwest.spec.fabrics import Cluster, Fabric
from eastwest.spec.values import Entry, Name, Price
from eastwest.spec.workloads import Placement, PlacementWord, Workload


class StudyError(MistakesError):
    """A study file that cannot be used, with every mistake in it: file, line, column, what is wrong, what fits."""


class Prices(Entry):
    """What things cost."""

    gpu_hour: Price
    """An hour of one idle GPU."""


@dataclass(frozen=True)
class Source:
    """Where a study was written; `origins` says of a fabric's inherited entry which fabric states it."""

    document: Document
    origins: dict[tuple[str, str], str] = field(default_factory=dict)

    def place(self, place: Place) -> Place:
        """The place at which a value is really written."""
        if len(place) >= 3 and place[0] == "fabrics":
            origin = self.origins.get((str(place[1]), str(place[2])), place[1])
            return (place[0], origin, *place[2:])
        return place

    def mistake(
        self, place: Place, message: str, expected: Iterable[str] = (), nearest: str | None = None, *, key: bool = False
    ) -> Mistake:
        """A mistake at the place where a value is really written."""
        return self.document.mistake(self.place(place), message, expected, nearest, key=key)


class Study(Entry):
    """Clusters, fabrics and workloads to compare: every combination is run."""

    name: Name
    """Name of the study; reports bear it."""
    description: Annotated[str, StringConstraints(max_length=2000)] | None = None
    """What it asks, for the report."""
    money: Prices | None = None
    """What idle GPUs cost."""
    catalog: str | None = None
    """File beside this one with catalogue entries of your own."""
    seeds: Annotated[int, Strict(), Field(ge=1, le=4096)] = 16
    """Draws of the hash seeds, from which the 50th and 95th percentile are taken."""
    fidelity: Fidelity = "fluid"
    """fluid: rates shared on every link; ideal: the bound with an infinite fabric."""
    tolerance: Annotated[float, Strict(), Field(ge=0.0, le=0.2)] = 0.01
    """Completions within this share of the remaining time are taken together; 0 is exact."""
    clusters: Annotated[dict[Name, Cluster], Field(min_length=1)]
    """Clusters by name."""
    fabrics: Annotated[dict[Name, Fabric], Field(min_length=1)]
    """Candidate networks by name."""
    workloads: Annotated[dict[Name, Workload], Field(min_length=1)]
    """Jobs by name."""
    placements: Annotated[tuple[PlacementWord, ...], Field(min_length=1)] = (Placement(kind="packed"),)
    """Where ranks run; each is tried."""

    _catalog: Catalog = PrivateAttr(default_factory=Catalog.bundled)
    _source: Source = PrivateAttr(default_factory=lambda: Source(Document("study", None)))

    def catalog_entries(self) -> Catalog:
        """The bundled catalogue with the study's own entries."""
        return self._catalog

    @property
    def file(self) -> Path:
        """The file that the study was read from, as it was named."""
        return Path(self._source.document.file)

    def clusters_of(self, fabric: str) -> tuple[str, ...]:
        """Names of the clusters that a fabric joins, one at a time."""
        cluster = self.fabrics[fabric].cluster
        return tuple(self.clusters) if cluster is None else (cluster,)

    def server(self, cluster: str) -> Server:
        """The catalogue's server of a cluster."""
        return self._catalog.server(self.clusters[cluster].server)

    def nic(self, fabric: str, cluster: str) -> Nic:
        """The NIC that a cluster's servers have in a fabric: the fabric's, else the cluster's, else the server's."""
        name = self.fabrics[fabric].nic or self.clusters[cluster].nic
        return self.server(cluster).nic if name is None else self._catalog.nic(name)

    def gpus(self, cluster: str) -> int:
        """GPUs of a cluster."""
        return self.clusters[cluster].servers * self.server(cluster).gpus

    def locate(self, place: Place) -> tuple[str, int | None, int | None]:
        """File, line and column (from 1) of a value, by its keys: ("fabrics", "roce-400g", "switch").

        What a fabric inherits is where the other fabric states it; what is nowhere, where it would belong.
        """
        return self._source.document.locate(self._source.place(place))

    def error_at(self, place: Place, message: str) -> StudyError:
        """The error to raise where a later step finds a value wrong."""
        return StudyError([self._source.mistake(place, message)])
