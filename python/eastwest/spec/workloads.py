"""Workloads and placements as a study file describes them. What they turn into is `eastwest.workload`'s matter."""

from __future__ import annotations

import csv
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag, WithJsonSchema, model_validator
from pydantic_core.core_schema import ValidationInfo

from eastwest import fabric
from eastwest.document import name_of, nearest
from eastwest.spec.datapath import AroundSteps
from eastwest.spec.imported import Imported
from eastwest.spec.schedules import ScheduleWord
from eastwest.spec.training import Training
from eastwest.spec.tuning import AlgorithmWord, ProtocolWord, check, tuning
from eastwest.spec.values import (
    ClusterName,
    Count,
    Entry,
    FabricName,
    Json,
    Name,
    Seed,
    Size,
    SizeOrZero,
    Surroundings,
    Time,
    TimeOrZero,
    refuse,
)
from eastwest.workload import Algorithm, Carries, CollectiveKind, Side, Tuning

RING_CHANNELS = 16
"""Channels of a ring where left out: two a NIC in a server of eight, as NCCL finds on such servers."""
KINDS_OF_OPERATION = ("compute", "collective", "send_recv", "schedule", "storage")
LARGEST_MATRIX_BYTES = 64 << 20
_BYTES = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+]?[0-9]+)?")


class Placement(Entry):
    """Where ranks run: server by server (packed), rail by rail, or whole servers shuffled with a seed (scattered)."""

    kind: fabric.Placement
    seed: Seed = 0

    def __str__(self) -> str:
        return f"{self.kind}-{self.seed}" if self.seed else self.kind


def _placement(written: Any) -> Any:
    if isinstance(written, dict) and set(written) == {"scattered"} and isinstance(written["scattered"], dict):
        unknown = next((key for key in written["scattered"] if key != "seed"), None)
        if unknown is not None:
            raise refuse(
                f"unknown entry {unknown!r} in scattered", ("seed",), nearest(unknown, ("seed",)), at="scattered"
            )
        return {"kind": "scattered", **written["scattered"]}
    words = ("packed", "by-rail", "scattered")
    if written not in words:
        shown = repr(written) if isinstance(written, str) else name_of(written)
        raise refuse(f"{shown} is no placement", (*words, "{scattered: {seed: 1}}"), nearest(written, words))
    return {"kind": written}


_seeded: Json = {
    "type": "object",
    "properties": {"seed": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}
PlacementWord = Annotated[
    Placement,
    BeforeValidator(_placement),
    WithJsonSchema(
        {
            "description": "Where ranks run.",
            "anyOf": [
                {"enum": ["packed", "by-rail", "scattered"]},
                {
                    "type": "object",
                    "properties": {"scattered": _seeded},
                    "required": ["scattered"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]


class Group(Entry):
    """Ranks that communicate: all of them (size None), or groups of `size` ranks that are `stride` apart."""

    size: Annotated[int, Strict(), Field(ge=2)] | None
    stride: Count = 1


def _group(written: Any) -> Any:
    if isinstance(written, dict):
        return written
    if written == "all":
        return {"size": None}
    if isinstance(written, bool) or not isinstance(written, int):
        raise refuse(f"{written!r} is no group: write all, a number of ranks, or {{size: 16, stride: 8}}")
    return {"size": written}


_size: Json = {"type": "integer", "minimum": 2}
_stride: Json = {"type": "integer", "minimum": 1}
GroupWord = Annotated[
    Group,
    BeforeValidator(_group),
    WithJsonSchema(
        {
            "description": "Ranks that communicate: all, groups of so many neighbours, or groups with a stride.",
            "anyOf": [
                {"const": "all"},
                _size,
                {
                    "type": "object",
                    "properties": {"size": _size, "stride": _stride},
                    "required": ["size"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]
ALL = Group(size=None)


def default_algorithm(kind: CollectiveKind) -> Algorithm:
    """An all-to-all goes straight to every rank; anything else round a ring that keeps to the rails."""
    return "direct" if kind == "all-to-all" else "rail-ring"


def default_channels(algorithm: Algorithm) -> int:
    """Rings and trees spread over channels; other algorithms need one."""
    return RING_CHANNELS if algorithm in ("ring", "rail-ring", "tree") else 1


class Carrying(Entry):
    """How a collective is carried out, and among whom."""

    algorithm: AlgorithmWord | None = None
    """Who sends what to whom; direct for an all-to-all and rail-ring for the others where left out; auto: NCCL's."""
    protocol: ProtocolWord | None = None
    """NCCL's protocol, with what it costs: ll, ll128 or simple; auto: the one that NCCL would choose."""
    channels: Count | None = None
    """Parallel channels; 16 for rings and trees, 1 for the others, where left out; NCCL's where it chooses."""
    group: GroupWord = ALL
    """Ranks that take part in one."""

    def algorithm_of(self, kind: CollectiveKind) -> Algorithm:
        """The algorithm, chosen by the kind where the study leaves it out, or to NCCL."""
        return default_algorithm(kind) if self.algorithm is None or self.algorithm == "auto" else self.algorithm

    def tuning_of(self, kind: CollectiveKind) -> Tuning | None:
        """What is left to NCCL; None where nothing is."""
        return tuning(self.algorithm, self.protocol, self.channels, self.algorithm_of(kind))


class Collective(Carrying):
    """A collective whose size is solved for."""

    kind: CollectiveKind
    """What the ranks end up with."""

    @model_validator(mode="after")
    def _fits(self) -> Collective:
        check(self.kind, self.algorithm, self.protocol)
        return self

    @property
    def resolved_algorithm(self) -> Algorithm:
        """The algorithm, chosen by the kind where the study leaves it out."""
        return self.algorithm_of(self.kind)

    @property
    def resolved_channels(self) -> int:
        """The channels, chosen by the algorithm where the study leaves them out."""
        return self.channels or default_channels(self.resolved_algorithm)

    @property
    def tuning(self) -> Tuning | None:
        """What is left to NCCL."""
        return self.tuning_of(self.kind)


class MeasuredOn(Entry):
    """Where a step was measured."""

    fabric: FabricName
    """Fabric of this study."""
    cluster: ClusterName | None = None
    """Its cluster, where the fabric fits several."""
    placement: PlacementWord = Placement(kind="packed")
    """Where the ranks ran."""


class Measured(AroundSteps):
    """A step known by its times: the exchange is sized so that the engine gives them on the fabric measured.

    Times are seconds once read.
    """

    kind: Literal["measured"]
    measured_on: MeasuredOn
    step: Time
    """Time of one training step."""
    exposed: TimeOrZero
    """Time of it in which GPUs wait for the network; zero needs the `communication` that compute hides."""
    communication: Time | None = None
    """Time of the exchange in all; its exposed part where left out."""
    collective: Collective

    @property
    def communication_s(self) -> float:
        """Time of the exchange in all, overlapped part included."""
        return self.exposed if self.communication is None else self.communication

    @model_validator(mode="after")
    def _adds_up(self) -> Measured:
        if self.exposed > self.step:
            raise refuse("the exposed part is longer than the step", at="exposed")
        if self.communication_s == 0.0:
            raise refuse("nothing is exposed: say how long the communication is that compute hides", at="exposed")
        if self.communication_s < self.exposed:
            raise refuse("communication in all is shorter than its exposed part", at="communication")
        if self.communication_s > self.step:
            raise refuse("communication in all is longer than the step", at="communication")
        return self


class ComputeOperation(Entry):
    """Every rank computes."""

    name: Name
    compute: TimeOrZero
    """How long, on an undisturbed GPU."""
    after: tuple[str, ...] = ()
    """Earlier operations that must be done first."""


def _matrix(written: Any, info: ValidationInfo) -> Any:
    """Rows of sizes, or the name of a CSV file of bytes beside the study."""
    if not isinstance(written, str):
        return written
    around = info.context
    if not isinstance(around, Surroundings) or around.folder is None:
        raise refuse("a matrix in a file needs a study in a folder")
    path = (around.folder / written).resolve()
    if not path.is_relative_to(around.folder.resolve()):
        raise refuse(f"{written!r} is outside the study's folder")
    if not path.is_file():
        raise refuse(f"there is no file {written!r} beside the study")
    if path.stat().st_size > LARGEST_MATRIX_BYTES:
        raise refuse(f"{written!r} is larger than {LARGEST_MATRIX_BYTES >> 20} MiB")
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise refuse(f"{written!r} cannot be read as CSV: {error}") from None
    for line, row in enumerate(rows, start=1):
        for column, cell in enumerate(row, start=1):
            if not _BYTES.fullmatch(cell.strip()):
                where = f"{written!r}, row {line}, column {column}"
                raise refuse(f"{where}: {cell!r} is no number of bytes; write 1000000, without a unit")
    for line, row in enumerate(rows, start=1):
        if len(row) != len(rows):
            found = f"{written!r}, row {line}: {len(row)} columns"
            raise refuse(f"{found}, where a matrix of {len(rows)} rows has as many columns")
    return [[f"{cell.strip()} B" for cell in row] for row in rows]


def _has_traffic(matrix: tuple[tuple[float, ...], ...]) -> bool:
    """Whether some rank has bytes for another."""
    return any(size for source, row in enumerate(matrix) for target, size in enumerate(row) if source != target)


Matrix = Annotated[
    tuple[tuple[SizeOrZero, ...], ...],
    BeforeValidator(_matrix),
    WithJsonSchema(
        {
            "description": "Bytes from each rank of a group (row) to each other (column): sizes, or a CSV file.",
            "anyOf": [
                {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
                {"type": "string", "description": "CSV file of bytes beside the study."},
            ],
        }
    ),
]


class Skew(Entry):
    """Experts of unequal popularity: by Zipf's law, in an order of ranks that is drawn."""

    zipf: Annotated[float, Field(ge=0.0, le=10.0)]
    """Exponent: the k-th most popular rank draws tokens in proportion to k^-zipf; 0 is even."""
    seed: Seed = 0
    """Which rank is how popular: another seed, another order."""
    side: Side = "receivers"
    """receivers: popular ranks receive most, as in a dispatch; senders: they send most, as in the way back."""


class CollectiveOperation(Carrying):
    """Groups of ranks run a collective."""

    name: Name
    collective: CollectiveKind
    """What the ranks end up with."""
    bytes: Size | None = None
    """Buffer of one rank, as in the size column of nccl-tests."""
    matrix: Matrix | None = None
    """For an uneven all-to-all, in place of bytes."""
    skew: Skew | None = None
    """For an all-to-all of which some ranks get more than others."""
    root: Annotated[int, Strict(), Field(ge=0)] = 0
    """For a broadcast or a reduce: which rank of the group it comes from or ends at."""
    carries: Carries | None = None
    """What its bytes are of: a rank's part of the batch, which shrinks in strong scaling, or the model."""
    queue: Name = "collectives"
    """Communicator: operations of one queue run one after another."""
    after: tuple[str, ...] = ()
    """Earlier operations that must be done first."""

    @model_validator(mode="after")
    def _fits(self) -> CollectiveOperation:
        check(self.collective, self.algorithm, self.protocol)
        if self.matrix is None and self.bytes is None:
            raise refuse(f"operation {self.name!r} lacks its bytes")
        if self.matrix is not None:
            if self.bytes is not None:
                raise refuse("give bytes or a matrix, not both", at="matrix")
            if self.collective != "all-to-all":
                raise refuse(f"a matrix is for an all-to-all, not for {self.collective}", at="matrix")
            if any(len(row) != len(self.matrix) for row in self.matrix):
                raise refuse("a matrix has as many columns as rows", at="matrix")
        if self.skew is not None:
            if self.matrix is not None:
                raise refuse("a matrix says already who gets how much: give it or a skew, not both", at="skew")
            if self.collective != "all-to-all":
                raise refuse(f"a skew is for an all-to-all, not for {self.collective}", at="skew")
        if self.algorithm == "bruck" and (self.matrix is not None or self.skew is not None):
            raise refuse("bruck sends equal blocks: an uneven all-to-all goes direct or by pxn", at="algorithm")
        if self.matrix is not None and len(self.matrix) > 1 and not _has_traffic(self.matrix):
            raise refuse("nobody sends anything to anybody: the matrix is zero but for what ranks keep", at="matrix")
        if self.root and self.collective not in ("broadcast", "reduce"):
            raise refuse(f"a root is for a broadcast or a reduce, not for {self.collective}", at="root")
        return self

    @property
    def resolved_algorithm(self) -> Algorithm:
        """The algorithm, chosen by the kind where the study leaves it out."""
        return self.algorithm_of(self.collective)

    @property
    def resolved_channels(self) -> int:
        """The channels, chosen by the algorithm where the study leaves them out."""
        return self.channels or default_channels(self.resolved_algorithm)

    @property
    def tuning(self) -> Tuning | None:
        """What is left to NCCL."""
        return self.tuning_of(self.collective)


Rank = Annotated[int, Strict(), Field(ge=0)]


class SendRecv(Entry):
    """Who sends to whom: pairs of ranks (sender, receiver), or every rank to the one `shift` further on."""

    pairs: tuple[tuple[Rank, Rank], ...] | None = None
    """Sender and receiver of each message, as in [[0, 8], [8, 0]]."""
    shift: Annotated[int, Strict()] | None = None
    """How many ranks further on, around the end, each rank's receiver is; below 0 for further back."""

    @model_validator(mode="after")
    def _one_of_both(self) -> SendRecv:
        if (self.pairs is None) == (self.shift is None):
            raise refuse("give either pairs or a shift")
        if self.shift == 0 or self.pairs == ():
            raise refuse("nobody sends to anybody")
        return self


class SendRecvOperation(Entry):
    """Ranks send messages to each other."""

    name: Name
    send_recv: SendRecv
    bytes: Size
    """Size of each message."""
    protocol: Literal["auto"] | None = None
    """`auto`: with what NCCL's sends and receives cost; without it, paths and bytes alone."""
    queue: Name = "messages"
    """Communicator: operations of one queue run one after another."""
    after: tuple[str, ...] = ()
    """Earlier operations that must be done first."""


class ScheduleOperation(Entry):
    """Groups of ranks send messages by a schedule of one's own."""

    name: Name
    schedule: ScheduleWord
    """Steps: who sends what to whom, after what; or a file of them beside the study."""
    group: GroupWord = ALL
    """Ranks that run it among themselves."""
    after: tuple[str, ...] = ()
    """Earlier operations that must be done first."""


class StorageTraffic(Entry):
    """What each server reads from the storage servers of the fabric, or writes to them."""

    read: Size | None = None
    """Bytes that each server reads, as it loads data."""
    write: Size | None = None
    """Bytes that each server writes, as for a checkpoint."""

    @model_validator(mode="after")
    def _one_of_both(self) -> StorageTraffic:
        if (self.read is None) == (self.write is None):
            raise refuse("say either what each server reads or what it writes")
        return self


class StorageOperation(Entry):
    """Servers read from storage, or write to it; their ranks wait, and compute meanwhile goes on undisturbed."""

    name: Name
    storage: StorageTraffic
    queue: Name = "storage"
    """Operations of one queue run one after another."""
    after: tuple[str, ...] = ()
    """Earlier operations that must be done first."""


def _operation_kind(written: Any) -> str | None:
    keys = written if isinstance(written, dict) else ()
    return next((f"an operation: {word}" for word in KINDS_OF_OPERATION if word in keys), None)


Operation = Annotated[
    Annotated[ComputeOperation, Tag("an operation: compute")]
    | Annotated[CollectiveOperation, Tag("an operation: collective")]
    | Annotated[SendRecvOperation, Tag("an operation: send_recv")]
    | Annotated[ScheduleOperation, Tag("an operation: schedule")]
    | Annotated[StorageOperation, Tag("an operation: storage")],
    Discriminator(
        _operation_kind,
        custom_error_type="operation",
        custom_error_message="an operation has one of compute, collective, send_recv, schedule or storage",
    ),
]


class Operations(AroundSteps):
    """A step as a list of operations with dependencies; operations in different queues overlap."""

    kind: Literal["operations"]
    overlap_slowdown: Annotated[float, Strict(), Field(ge=1.0, le=1000.0)] = 1.0
    """Factor by which compute takes longer while a communication runs on the same GPU."""
    operations: Annotated[tuple[Operation, ...], Field(min_length=1)]
    """In the order in which every rank issues them."""


def _workload(written: Any) -> Any:
    words = ("measured", "operations", "imported", "training")
    if not isinstance(written, dict):
        raise refuse(f"a workload is a mapping, not {name_of(written)}")
    if "kind" not in written:
        raise refuse("a workload states its kind", words)
    if written["kind"] not in words:
        raise refuse(f"{written['kind']!r} is no kind of workload", words, nearest(written["kind"], words), at="kind")
    return written


Workload = Annotated[
    Annotated[Measured, Tag("a workload: measured")]
    | Annotated[Operations, Tag("a workload: operations")]
    | Annotated[Imported, Tag("a workload: imported")]
    | Annotated[Training, Tag("a workload: training")],
    Discriminator(lambda written: f"a workload: {written['kind']}" if isinstance(written, dict) else None),
    BeforeValidator(_workload),
]
