"""What a study found, as plain frozen values, and those values as JSON, a table and Parquet.

Times are seconds, shares and loads fractions of one, money in the currency of the study. Not here: how the values
come about (the study's join fills them), or how they are shown to people (`report`).
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eastwest.engine import Messages
from eastwest.engine.messages import PERCENTILES
from eastwest.errors import InputError
from eastwest.spec.parameters import Parameter
from eastwest.study.stages import DataPath
from eastwest.study.timeline import Timeline
from eastwest.study.training import TrainingFacts
from eastwest.workload import Algorithm, Protocol

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Bottleneck:
    """What limits the communication: `where` in a few words, `why` in one sentence, and how busy it is (0 to 1)."""

    where: str
    utilisation: float
    why: str


@dataclass(frozen=True)
class TierLoad:
    """Utilisation (0 to 1) of the links of one directed tier, such as `leaf-spine`, while they communicate."""

    tier: str
    mean: float
    p99: float
    max: float


@dataclass(frozen=True)
class Cost:
    """What idle GPUs cost a day; `idle_cost_per_day` is None where the study names no price."""

    currency: str
    idle_gpu_hours_per_day: float
    idle_cost_per_day: float | None


@dataclass(frozen=True)
class Chosen:
    """What NCCL would choose for an operation; `protocol` is None where its tuning has no model of it."""

    operation: str
    algorithm: Algorithm
    protocol: Protocol | None
    channels: int

    def __str__(self) -> str:
        protocol = "" if self.protocol is None else f", {self.protocol}"
        return f"{self.algorithm}{protocol}, {self.channels} {'channel' if self.channels == 1 else 'channels'}"


@dataclass(frozen=True)
class Outage:
    """What a failure does to a job until routes have been recomputed: shares from 0 to 1, means over hash seeds.

    `connections`: of those between servers, the ones with paths over what is down; `lost`: of their bytes, those on
    such paths; `ranks`: those that wait for them in a collective or a message. `ends` says whether a step ends
    meanwhile, and `why` in a few words what becomes of it.
    """

    connections: float
    lost: float
    ranks: float
    ends: bool
    why: str


@dataclass(frozen=True)
class Row:
    """One workload, placed one way, on one fabric.

    Plain figures are the median over hash seeds, `_p95` the 95th percentile; `draws` counts the seeds. `closeness` is
    ideal over actual communication: 1 where the fabric costs nothing, more where packets overlap latencies that `ideal`
    adds up. `batching_error` is the largest relative error
    that taking completions together can have caused, as far as the engine bounds it; None where its bound says
    nothing, as for very uneven transfers. `failures` says what has failed in the fabric, `events` what goes wrong while
    the step runs, and `slowdown` the step over that without either; None where there is neither. `outage` is what comes
    before routes have been recomputed; None where nothing is down, or where there are too many connections to follow
    each. `choices` are those that the study left to NCCL. `packets` tells of messages and packets in the median draw,
    where every packet was simulated. `data_path` tells how steps follow each other, where the workload says what they
    are fed or what is saved.
    """

    fabric: str
    cluster: str
    workload: str
    placement: str
    fidelity: str
    step_s: float
    step_p95_s: float
    compute_s: float
    communication_s: float
    communication_p95_s: float
    overlapped_s: float
    exposed_s: float
    exposed_p95_s: float
    exposed_share: float
    gpu_idle_share: float
    ideal_communication_s: float
    ideal_step_s: float
    closeness: float
    bottleneck: Bottleneck
    tiers: tuple[TierLoad, ...]
    cost: Cost
    draws: int
    batching_error: float | None = 0.0
    parameters: tuple[Parameter, ...] = ()
    failures: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    slowdown: float | None = None
    outage: Outage | None = None
    choices: tuple[Chosen, ...] = ()
    packets: Messages | None = None
    training: TrainingFacts | None = None
    data_path: DataPath | None = None

    @property
    def pace_s(self) -> float:
        """From one step to the next: the step, where nothing is said of what feeds it."""
        return self.step_s if self.data_path is None else self.data_path.pace_s

    @property
    def held_by(self) -> str:
        """What GPUs wait for most: what feeds their steps, what limits a training job, or the exchange."""
        path = self.data_path
        if path is not None:
            hours = path.gpu_hours_a_month
            if hours.data > max(hours.network, hours.bubbles):
                return path.limited_by
        return self.training.limit if self.training else self.bottleneck.where


@dataclass(frozen=True)
class Stopped:
    """One workload, placed one way, or one mix that cannot run on a fabric: as it is, or with what has failed there.

    Of a mix, `workload` and `placement` are empty. `gpus` are the names of those that failures cut off from the others;
    `why` is a sentence for people.
    """

    fabric: str
    cluster: str
    workload: str
    placement: str
    failures: tuple[str, ...]
    gpus: tuple[str, ...]
    why: str
    parameters: tuple[Parameter, ...] = ()
    mix: str = ""


@dataclass(frozen=True)
class JobRow:
    """One job of a mix, on one fabric: its step beside the other jobs and all traffic, and alone on the same GPUs.

    Times are medians over hash seeds, `_p95_s` the 95th percentile. `slowdown` is `step_s` over `alone_s`, `steps` how
    many whole steps the median draw had time for, `shared_with` who else loads the link that the bottleneck is about.
    `choices` are those that the study left to NCCL.
    """

    fabric: str
    cluster: str
    mix: str
    job: str
    workload: str
    placement: str
    servers: int
    gpus: int
    fidelity: str
    step_s: float
    step_p95_s: float
    alone_s: float
    slowdown: float
    steps: int
    bottleneck: Bottleneck
    shared_with: tuple[str, ...]
    draws: int
    parameters: tuple[Parameter, ...] = ()
    choices: tuple[Chosen, ...] = ()


@dataclass(frozen=True)
class FabricFacts:
    """One candidate fabric for a cluster.

    `summary` is what `fabric.summary` counts, `sketch` what `study.sketch` keeps of it to draw it from, `parameters`
    the values of what is swept of both.
    """

    name: str
    summary: dict[str, Any]
    sketch: dict[str, Any]
    cluster: str = ""
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class StudyResult:
    """Everything that a study found. `wall_s` is the whole run, `engine_s` the part spent in the Rust engine.

    `description` is what the study says of itself, `notes` are sentences for people on what the figures show, `sources`
    where the catalogue's figures were read, and `tolerance` the share of the remaining time within which the fluid
    engine takes completions together (0: exact). `stopped` are the cases that cannot run, `jobs` tells how the
    jobs of mixes fare, and `timelines`, where they were asked for, what happens when in each case.
    """

    study: str
    rows: tuple[Row, ...]
    fabrics: tuple[FabricFacts, ...]
    warnings: tuple[str, ...]
    seeds: tuple[int, ...]
    wall_s: float
    engine_s: float
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tolerance: float = 0.0
    description: str = ""
    stopped: tuple[Stopped, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    timelines: tuple[Timeline, ...] = ()


def to_json(result: StudyResult) -> dict[str, Any]:
    """The result as JSON values; sketches are left out, since the fabric's own tables say more."""
    return {
        "study": result.study,
        "description": result.description,
        "results": [_row(row) for row in result.rows],
        "jobs": [_row(job) for job in result.jobs],
        "stopped": [_row(each) for each in result.stopped],
        "fabrics": [
            {
                "name": fabric.name,
                "cluster": fabric.cluster,
                "parameters": _values(fabric.parameters),
                **fabric.summary,
            }
            for fabric in result.fabrics
        ],
        "warnings": list(result.warnings),
        "notes": list(result.notes),
        "sources": list(result.sources),
        "seeds": list(result.seeds),
        "tolerance": result.tolerance,
        "wall_s": result.wall_s,
        "engine_s": result.engine_s,
    }


def _row(row: Row | Stopped | JobRow) -> dict[str, Any]:
    values = {**asdict(row), "parameters": _values(row.parameters)}
    if isinstance(row, Row) and row.packets is not None:
        values["packets"] = _packets(row.packets)
    return values


_LISTS = ("percentiles_s", "deepest_queues", "longest_paused")
"""What packets tell in lists, for which a column has no room."""


def _packets(found: Messages) -> dict[str, Any]:
    """Times are null where there was no message; the distribution is a list of pairs, percentage and time."""
    values = {**asdict(found), "tail": found.tail}
    values["percentiles_s"] = list(zip(PERCENTILES, found.percentiles_s, strict=False))
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


def _values(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    return {each.name: each.value for each in parameters}


def to_table(result: StudyResult) -> pl.DataFrame:
    """One row a result, flat columns: what is swept, `bottleneck_where`, `load_leaf_spine_max` and so on.

    A tier that a fabric does not have is null there, and so is what is swept elsewhere. A swept column that is not all
    numbers is all text.
    """
    import polars as pl

    words = {each.name for row in result.rows for each in row.parameters if not each.is_numeric}
    return pl.DataFrame([_flat(result.study, row, words) for row in result.rows], infer_schema_length=None)


def jobs_table(result: StudyResult) -> pl.DataFrame:
    """One row a job of a mix, flat columns as in `to_table`."""
    import polars as pl

    words = {each.name for job in result.jobs for each in job.parameters if not each.is_numeric}

    def flat(job: JobRow) -> dict[str, Any]:
        values = asdict(job)
        values["choices"] = _told(job.choices)
        bottleneck = values.pop("bottleneck")
        del values["parameters"]
        swept = {each.name: each.text if each.name in words else each.value for each in job.parameters}
        case = {"study": result.study} | {key: values.pop(key) for key in ("fabric", "cluster", "mix", "job")}
        return case | swept | values | {f"bottleneck_{key}": value for key, value in bottleneck.items()}

    return pl.DataFrame([flat(job) for job in result.jobs], infer_schema_length=None)


def _flat(study: str, row: Row, words: set[str]) -> dict[str, Any]:
    values = asdict(row)
    case = {"study": study} | {key: values.pop(key) for key in ("fabric", "cluster", "workload", "placement")}
    del values["parameters"]
    values["failures"] = "; ".join(values["failures"])
    values["events"] = "; ".join(values["events"])
    values["choices"] = _told(row.choices)
    values |= {f"outage_{key}": value for key, value in (values.pop("outage") or {}).items()}
    swept = {each.name: each.text if each.name in words else each.value for each in row.parameters}
    values = case | swept | values
    packets = values.pop("packets")
    values |= (
        {}
        if row.packets is None or packets is None
        else {f"packets_{k}": v for k, v in _packets(row.packets).items() if k not in _LISTS}
    )
    values |= _flat_path(values.pop("data_path")) | _flat_training(values.pop("training"))
    bottleneck, tiers, cost = values.pop("bottleneck"), values.pop("tiers"), values.pop("cost")
    values |= {f"bottleneck_{key}": value for key, value in bottleneck.items()} | cost
    for load in tiers:
        tier = load["tier"].replace("-", "_")
        values |= {f"load_{tier}_{key}": load[key] for key in ("mean", "p99", "max")}
    return values


def _flat_path(path: dict[str, Any] | None) -> dict[str, Any]:
    """Columns of the data's path: `path_pace_s`, `path_storage_s`, `path_goodput`, `path_lost_work_gpu_hours`."""
    if path is None:
        return {}
    stages, hours, checkpoints = (path.pop(key) for key in ("stages", "gpu_hours_a_month", "checkpoints"))
    values = path | {f"{stage['name'].replace(' ', '_')}_s": stage["seconds"] for stage in stages}
    values |= {f"{key}_gpu_hours_a_month": value for key, value in hours.items()}
    values |= {key if key == "goodput" else f"checkpoint_{key}": value for key, value in (checkpoints or {}).items()}
    return {f"path_{key}": value for key, value in values.items()}


def _flat_training(facts: dict[str, Any] | None) -> dict[str, Any]:
    """Columns of a training job: `training_mfu`, `training_exposed_tensor_s`, `training_memory_weights`."""
    if facts is None:
        return {}
    exposed, memory = facts.pop("exposed_s"), facts.pop("memory")
    values = facts | {f"exposed_{kind}_s": value for kind, value in exposed.items()}
    values |= {f"memory_{part}": value for part, value in memory.items()}
    return {f"training_{key}": value for key, value in values.items()}


def _told(choices: tuple[Chosen, ...]) -> str:
    return "; ".join(f"{each.operation}: {each}" for each in choices)


def write_parquet(result: StudyResult, path: Path) -> None:
    """Write `to_table` to `path`, whole or not at all."""
    write_table(to_table(result), path)


def write_jobs_parquet(result: StudyResult, path: Path) -> None:
    """Write `jobs_table` to `path`, whole or not at all."""
    write_table(jobs_table(result), path)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet to `path`, whole or not at all.

    Raises:
        InputError: it cannot be written, for want of room on the disk perhaps.
    """
    from polars.exceptions import ComputeError

    with replacing(path) as temporary:
        try:
            table.write_parquet(temporary)
        except ComputeError as error:  # of a table that is computed, only writing can fail
            raise InputError(f"{path}: cannot be written: {error}. Name another place with --out.") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Lend a temporary name beside `path`; it takes `path`'s place when the block ends well and vanishes otherwise."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes the file private; a report is as readable as any file that its owner writes.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
