"""What a study file says of a job around its steps: the data they are fed, checkpoints, and failures.

The same for every kind of workload. Not here: how long any of it takes (`study.datapath`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, InstanceOf, Strict, WithJsonSchema, model_validator

from eastwest import units
from eastwest.document import nearest
from eastwest.spec.values import Count, Entry, Rate, Size, Time, TimeOrZero, refuse

OPTIMAL = "optimal"
LLAMA_3_MTBF_S = 16384 * 54 * 86400 / 419
"""419 unexpected interruptions in 54 days on 16,384 GPUs, whatever their cause: The Llama 3 Herd of Models (arXiv
2407.21783), section 3.3.4. About 50,700 hours of a GPU."""


class Data(Entry):
    """What each step is fed: read from storage, prepared on CPUs, copied to the GPUs, while earlier steps compute."""

    samples: Annotated[int, Strict(), Field(ge=1, le=1_000_000_000)] | None = None
    """Samples of one step, over all servers: the global batch."""
    bytes: Size | None = None
    """One sample as it is stored."""
    loaded: Size | None = None
    """One sample as it goes to a GPU; as stored where left out."""
    cpu: Annotated[TimeOrZero, Field(json_schema_extra={"default": "0 s"})] = 0.0
    """Time of one CPU core to prepare one sample: to decode, augment, tokenise and batch it."""
    workers: Count | None = None
    """CPU cores of each server that prepare samples: of PyTorch, num_workers times the GPUs of a server."""
    prefetch: Annotated[int, Strict(), Field(ge=0, le=1_000_000)] | None = None
    """Batches that are under way or ready while a step computes; 0: none, so that times add up. Enough where left
    out."""
    read_rate: Rate | None = None
    """What one server reads, where not from the storage servers of the fabric: from its own disks, say."""

    @model_validator(mode="after")
    def _has_workers(self) -> Data:
        if self.cpu > 0.0 and self.workers is None:
            raise refuse("samples take CPU time: say on how many cores of each server, with workers: 64", at="cpu")
        return self


@dataclass(frozen=True)
class Steps:
    """So many steps, in place of a time."""

    count: int


_STEPS = re.compile(r"\s*([1-9][0-9]{0,8})\s+steps?\s*")


def _every(written: Any) -> Any:
    if written == OPTIMAL:
        return written
    if isinstance(written, str) and (counted := _STEPS.fullmatch(written)):
        return Steps(int(counted[1]))
    if isinstance(written, str) and written.strip().endswith(("step", "steps")):
        raise refuse(f"{written!r}: steps are a whole number from 1 to 999999999, as in 500 steps")
    try:
        return units.parse_time(written)
    except units.UnitError as error:
        raise refuse(
            f"{error}; or steps, as in 500 steps, or {OPTIMAL}", (OPTIMAL,), nearest(str(written), (OPTIMAL,))
        ) from None


Every = Annotated[
    float | Literal["optimal"] | InstanceOf[Steps],
    BeforeValidator(_every),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": OPTIMAL},
                {"type": "string", "pattern": r"^\s*[0-9.]", "examples": ["30 min", "500 steps"]},
            ],
            "description": "A time with its unit, a number of steps, or optimal.",
        }
    ),
]


class Checkpoint(Entry):
    """What is saved of the job, how often and how."""

    bytes: Size | None = None
    """One checkpoint of the whole job, which servers write in equal parts."""
    every: Every = "optimal"
    """Time of training from one checkpoint to the next, or so many steps; optimal: what leaves most of the time to work
    that counts."""
    mode: Literal["sync", "async"] = "sync"
    """sync: training stops until it is written; async: until it is copied to the host, and goes on while it is
    written."""
    write_rate: Rate | None = None
    """What one server writes, where not to the storage servers of the fabric."""
    read_rate: Rate | None = None
    """What one server reads when it restarts; as it writes where left out."""


class Reliability(Entry):
    """How often the job fails, and how long it takes to start again."""

    gpu_mtbf: Annotated[Time, Field(json_schema_extra={"default": "50700 h"})] = LLAMA_3_MTBF_S
    """Mean time between failures that stop the job, for each GPU: whatever fails, counted by GPU; of Llama 3's training
    where left out."""
    server_mtbf: Time | None = None
    """The same for each server, where failures are counted so too: both add up."""
    restart: Annotated[TimeOrZero, Field(json_schema_extra={"default": "10 min"})] = 600.0
    """From a failure until the job has servers again and starts to read its checkpoint."""


@dataclass(frozen=True)
class Sizes:
    """Samples of a step, the stored bytes of one, and those of a checkpoint; 0 where neither stated nor known."""

    samples: int
    sample_bytes: float
    checkpoint_bytes: float


class AroundSteps(Entry):
    """What any workload may say of the job around its steps."""

    data: Data | None = None
    """What its steps are fed: the rest of the data's path is fast enough where left out."""
    checkpoint: Checkpoint | None = None
    """What is saved, and how often; nothing where left out."""
    reliability: Reliability | None = None
    """How often it fails; with checkpoints as Llama 3's training did where left out."""

    derives_sizes: ClassVar[bool] = False
    """Whether a kind of workload knows its batch and its state, so that they may be left out here."""

    def sizes(self) -> Sizes:
        """The sizes as stated; a kind of workload that knows its own fills in the others."""
        data, checkpoint = self.data, self.checkpoint
        return Sizes(
            (data and data.samples) or 0, (data and data.bytes) or 0.0, (checkpoint and checkpoint.bytes) or 0.0
        )

    @model_validator(mode="after")
    def _is_complete(self) -> AroundSteps:
        needed = (("data", "samples"), ("data", "bytes"), ("checkpoint", "bytes"))
        for block, entry in () if self.derives_sizes else needed:
            if (stated := getattr(self, block)) is not None and getattr(stated, entry) is None:
                raise refuse(f"{block} needs its {entry!r}", at=block)
        return self

    @model_validator(mode="after")
    def _can_go_on(self) -> AroundSteps:
        if self.reliability is not None and self.checkpoint is None:
            message = "a job that fails goes on from a checkpoint: add one, as in checkpoint: { bytes: 1 TB }"
            raise refuse(message, at="reliability")
        return self
