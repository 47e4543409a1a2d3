"""A study as read: its candidates, checked and resolved, and where in the file each thing stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, Strict, StringConstraints

from eastwest.catalog import Catalog, Nic, Server, Technology
from eastwest.document import Document, Mistake, MistakesError, Place
from eastwest.engine import Fidelity
from eastwest.spec.fabrics import Cluster, Fabric
from eastwest.spec.mixes import Mix
from eastwest.spec.parameters import Columns, Parameter
from eastwest.spec.sweep import SECTIONS, Sweep, Variant
from eastwest.spec.tuning import Nccl
from eastwest.spec.values import Entry, Name, Price
from eastwest.spec.workloads import Measured, Placement, PlacementWord, Workload


class StudyError(MistakesError):
    """A study file that cannot be used, with every mistake in it: file, line, column, what is wrong, what fits."""


class Prices(Entry):
    """What things cost."""

    gpu_hour: Price
    """An hour of one idle GPU."""


@dataclass(frozen=True)
class Source:
    """Where a study was written.

    `origins` says of a fabric's inherited entry which fabric states it, `sweep` of a variant which values it chose of
    those written, and `setting` the same of the study's own settings.
    """

    document: Document
    origins: dict[tuple[str, str], str] = field(default_factory=dict)
    sweep: Sweep = field(default_factory=Sweep)
    setting: Variant = field(default_factory=lambda: Variant(""))

    def place(self, place: Place) -> Place:
        """The place at which a value is really written."""
        match place:
            case (str(section), str(name), *rest) if section in SECTIONS:
                variant = self.sweep.variant(section, name)
                owner = self.origins.get((variant.base, str(rest[0])), variant.base) if rest else variant.base
                return (section, owner if section == "fabrics" else variant.base, *variant.place(tuple(rest)))
            case _:
                return self.setting.place(place)

    def base(self, section: str, name: str) -> str:
        """The name, as written, of an entry or of one of its variants."""
        return self.sweep.variant(section, name).base

    def mistake(
        self, place: Place, message: str, expected: Iterable[str] = (), nearest: str | None = None, *, key: bool = False
    ) -> Mistake:
        """A mistake at the place where a value is really written."""
        return self.document.mistake(self.place(place), message, expected, nearest, key=key)


class Settings(Entry):
    """What the engine is told of a study as a whole."""

    seeds: Annotated[int, Strict(), Field(ge=1, le=4096)] = 16
    """Draws of the hash seeds, from which the 50th and 95th percentile are taken."""
    tolerance: Annotated[float, Strict(), Field(ge=0.0, le=0.2)] = 0.01
    """Completions within this share of the remaining time are taken together; 0 is exact."""


class Study(Settings):
    """Clusters, fabrics and workloads to compare: every combination is run.

    Where values are swept, each variant of an entry is an entry of its own here.
    """

    name: Name
    """Name of the study; reports bear it."""
    description: Annotated[str, StringConstraints(max_length=2000)] | None = None
    """What it asks, for the report."""
    money: Prices | None = None
    """What idle GPUs cost."""
    catalog: str | None = None
    """File beside this one with catalogue entries of your own."""
    fidelity: Fidelity = "fluid"
    """fluid: rates shared on every link; ideal: the bound with an infinite fabric; packet: every packet simulated."""
    clusters: Annotated[dict[Name, Cluster], Field(min_length=1)]
    """Clusters by name."""
    fabrics: Annotated[dict[Name, Fabric], Field(min_length=1)]
    """Candidate networks by name."""
    workloads: Annotated[dict[Name, Workload], Field(min_length=1)]
    """Jobs by name."""
    mixes: dict[Name, Mix] = Field(default_factory=dict)
    """Several jobs at once on one cluster, by name."""
    nccl: Nccl = Nccl()
    """Which NCCL chooses what collectives leave open with algorithm: auto or a protocol."""
    placements: Annotated[tuple[PlacementWord, ...], Field(min_length=1)] = (Placement(kind="packed"),)
    """Where ranks run; each is tried."""

    _catalog: Catalog = PrivateAttr(default_factory=Catalog.bundled)
    _source: Source = PrivateAttr(default_factory=lambda: Source(Document("study", None)))
    _folder: Path | None = PrivateAttr(default=None)
    _settings: tuple[Settings, ...] = PrivateAttr(default=())
    _columns: Columns = PrivateAttr(default_factory=Columns)

    def catalog_entries(self) -> Catalog:
        """The bundled catalogue with the study's own entries."""
        return self._catalog

    @property
    def states_seeds(self) -> bool:
        """Whether the file says how many seeds are drawn."""
        return "seeds" in (self._source.document.data or {})

    @property
    def file(self) -> Path:
        """The file that the study was read from, as it was named."""
        return Path(self._source.document.file)

    def clusters_of(self, fabric: str) -> tuple[str, ...]:
        """Names of the clusters that a fabric joins, one at a time."""
        cluster = self.fabrics[fabric].cluster
        return tuple(self.clusters) if cluster is None else self._source.sweep.of("clusters", cluster)

    def clusters_of_mix(self, mix: str) -> tuple[str, ...]:
        """Names of the clusters that a mix runs on, one at a time."""
        cluster = self.mixes[mix].cluster
        return tuple(self.clusters) if cluster is None else self._source.sweep.of("clusters", cluster)

    def base(self, section: str, name: str) -> str:
        """The name in the file of an entry, of which `name` may be a variant."""
        return self._source.base(section, name)

    def variants(self, section: str, base: str) -> tuple[str, ...]:
        """Names of the variants of an entry of the file; its own where nothing in it is swept."""
        return self._source.sweep.of(section, base)

    def measured_on(self, workload: Measured) -> tuple[str, str]:
        """Fabric and cluster on which a workload was measured."""
        (fabric,) = self.variants("fabrics", workload.measured_on.fabric)
        cluster = workload.measured_on.cluster
        return fabric, self.clusters_of(fabric)[0] if cluster is None else self.variants("clusters", cluster)[0]

    def each_setting(self) -> Iterator[Study]:
        """The study with each combination of its settings; itself where they are not swept."""
        for variant, settings in zip(self._source.sweep.settings, self._settings, strict=True):
            study = self.model_copy(update=dict(settings))
            study._source = replace(self._source, setting=variant)
            yield study

    def parameters(
        self,
        fabric: str | None = None,
        cluster: str | None = None,
        workload: str | None = None,
        mix: str | None = None,
    ) -> tuple[Parameter, ...]:
        """What is swept, and its values where these entries meet, in this setting."""
        entries = {"clusters": cluster, "fabrics": fabric, "workloads": workload, "mixes": mix}
        named = {section: name for section, name in entries.items() if name is not None}
        return self._columns.of(named, self._source.setting)

    def changed(self, changes: Mapping[str, Any], by: str = "") -> Study:
        """This study with other values of top-level entries, as the file would have them.

        Raises `StudyError`; its mistakes are told of the file, or of what it was changed `by`.
        """
        from eastwest.spec.load import from_document

        document = self._source.document
        data = {**document.data, **changes}
        return from_document(Document(by, data) if by else replace(document, data=data), self._folder)

    @property
    def written(self) -> Mapping[str, Any]:
        """The values of the file."""
        data: Mapping[str, Any] = self._source.document.data
        return data

    def server(self, cluster: str) -> Server:
        """The catalogue's server of a cluster."""
        return self._catalog.server(self.clusters[cluster].server)

    def nic(self, fabric: str, cluster: str) -> Nic:
        """The NIC that a cluster's servers have in a fabric: the fabric's, else the cluster's, else the server's."""
        name = self.fabrics[fabric].nic or self.clusters[cluster].nic
        return self.server(cluster).nic if name is None else self._catalog.nic(name)

    def frontend_technology(self, fabric: str) -> Technology:
        """What the front-end network of a fabric speaks: its own, RoCEv2, or where it is shared the fabric's."""
        frontend = self.fabrics[fabric].frontend
        if frontend is None or frontend.network == "shared":
            return self.fabrics[fabric].technology
        return frontend.technology or "rocev2"

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
