"""A step from a file beside the study, as a study names it. What such a file holds: `eastwest.workload.step_file`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, InstanceOf, Strict, WithJsonSchema, model_validator
from pydantic_core.core_schema import ValidationInfo

from eastwest.errors import InputError
from eastwest.spec.datapath import AroundSteps
from eastwest.spec.tuning import AlgorithmWord, ProtocolWord, tuning
from eastwest.spec.values import Count, Surroundings, refuse
from eastwest.workload import KINDS, Algorithm, CollectiveKind, StepFile, Tuning, read_step
from eastwest.workload.nccl import METHOD_KINDS, METHOD_OF


@lru_cache(maxsize=8)
def _once(path: Path, called: str, _size: int, _changed: int) -> StepFile:
    """The step of a file, which a sweep would otherwise read again for each of its values."""
    return read_step(path, called)


def _read(written: Any, info: ValidationInfo) -> Any:
    around = info.context
    if not isinstance(written, str):
        raise refuse("name a file that `eastwest import` wrote, beside the study")
    if not isinstance(around, Surroundings) or around.folder is None:
        raise refuse("an imported step is in a file, which needs a study in a folder")
    try:
        path = (around.folder / written).resolve()
        is_inside = path.is_relative_to(around.folder.resolve())
        is_there = is_inside and path.is_file()
    except (OSError, ValueError):
        raise refuse(f"{written[:80]!r} is no usable file name") from None
    if not is_inside:
        raise refuse(f"{written!r} is outside the study's folder")
    if not is_there:
        raise refuse(f"there is no file {written!r} beside the study; `eastwest import` writes one")
    about = path.stat()
    try:
        return _once(path, written, about.st_size, about.st_mtime_ns)
    except InputError as error:
        raise refuse(str(error)) from None


StepFileWord = Annotated[
    InstanceOf[StepFile],
    BeforeValidator(_read),
    WithJsonSchema({"type": "string", "description": "File beside the study, as `eastwest import` writes it."}),
]


class Imported(AroundSteps):
    """A step from a trace or another tool's file, by way of `eastwest import`."""

    kind: Literal["imported"]
    file: StepFileWord
    """What `eastwest import` wrote."""
    overlap_slowdown: Annotated[float, Strict(), Field(ge=1.0, le=1000.0)] = 1.0
    """Factor by which compute takes longer while a communication runs on the same GPU."""
    compute_factor: Annotated[float, Strict(), Field(gt=0.0, le=1000.0)] = 1.0
    """Factor on all compute times: 0.5 for GPUs twice as fast as those of the trace."""
    algorithm: AlgorithmWord | None = None
    """Who sends what to whom, of the collectives that it can carry out; auto: NCCL's choice."""
    protocol: ProtocolWord | None = None
    """NCCL's protocol, of the collectives for which it has one; auto: the one that NCCL would choose."""
    channels: Count | None = None
    """Parallel channels of each collective; 16 for rings and trees, 1 for the others, where left out."""

    @model_validator(mode="after")
    def _fits(self) -> Imported:
        kinds = {each.kind for each in self.file.step.operations if hasattr(each, "kind")}
        word = self.algorithm
        if word is not None and word != "auto" and kinds and kinds.isdisjoint(KINDS[word]):
            fitting = [each for each, carried in KINDS.items() if not kinds.isdisjoint(carried)]
            raise refuse(f"{word} carries out none of the file's {', '.join(sorted(kinds))}", fitting, at="algorithm")
        return self

    @property
    def is_nccl(self) -> bool:
        """Whether messages are sent as NCCL does, with what that costs."""
        return "auto" in (self.algorithm, self.protocol)

    def algorithm_of(self, kind: CollectiveKind, default: Algorithm) -> Algorithm:
        """The algorithm of a collective: the one asked for, where it carries that out, else the `default`."""
        asked = self.algorithm
        return asked if asked is not None and asked != "auto" and kind in KINDS[asked] else default

    def tuning_of(self, kind: CollectiveKind, resolved: Algorithm) -> Tuning | None:
        """What is left to NCCL, of a collective by the `resolved` algorithm."""
        word: AlgorithmWord = "auto" if self.algorithm == "auto" else resolved
        has_protocol = kind != "all-to-all" and (
            word == "auto" or (word in METHOD_OF and kind in METHOD_KINDS[METHOD_OF[word]])
        )
        return tuning(word, self.protocol if has_protocol else None, self.channels, resolved)
