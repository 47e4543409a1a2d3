"""A schedule of one's own as a study file has it: steps in place, or in a YAML or CSV file beside the study."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Strict,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core.core_schema import ValidationInfo

from eastwest import workload
from eastwest.document import MistakesError, read
from eastwest.spec.values import Entry, Name, Size, Surroundings, refuse
from eastwest.workload import ScheduleError

MOST_STEPS = 20_000
LARGEST_BYTES = 16 << 20
COLUMNS = ("name", "from", "to", "bytes", "after")
_WHOLE = re.compile(r"[0-9]{1,9}")


def _as_name(written: Any) -> Any:
    return str(written) if isinstance(written, int) and not isinstance(written, bool) else written


_name: Any = {"type": ["string", "integer"]}
StepName = Annotated[
    Name, BeforeValidator(_as_name), WithJsonSchema({**_name, "description": "Name of a step, or its number."})
]
RankOfGroup = Annotated[int, Strict(), Field(ge=0)]


class ScheduleStep(Entry):
    """One message of a schedule."""

    name: StepName | None = None
    """What other steps call it; its number in the list, from 1, where left out."""
    sender: Annotated[RankOfGroup, Field(alias="from")]
    """Rank that sends, by its number within the group."""
    receiver: Annotated[RankOfGroup, Field(alias="to")]
    """Rank that receives."""
    bytes: Size
    """How much."""
    after: tuple[StepName, ...] = ()
    """Steps that must have ended, at the two ranks, before it starts."""


class Schedule(Entry):
    """Who sends what to whom, after what."""

    steps: Annotated[tuple[ScheduleStep, ...], Field(min_length=1, max_length=MOST_STEPS)]
    """Messages, in any order."""
    _file: str = PrivateAttr(default="")
    _lines: tuple[int | None, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _fits(self) -> Schedule:
        try:
            workload.in_turn(self.listed)
        except ScheduleError as error:
            raise refuse(error.message, at=("steps", error.step)) from None
        return self

    @property
    def listed(self) -> tuple[workload.ScheduleStep, ...]:
        """The steps, each with a name."""
        return tuple(
            workload.ScheduleStep(each.name or str(number), each.sender, each.receiver, each.bytes, each.after)
            for number, each in enumerate(self.steps, start=1)
        )

    def where(self, step: int) -> str:
        """Where a step stands, as a message begins; empty where that is in the study itself."""
        return _where(self._file, self._lines[step]) if self._file else ""


def _where(file: str, line: int | None) -> str:
    return f"{file!r}: " if line is None else f"{file!r}, line {line}: "


def _read(written: Any, info: ValidationInfo) -> Any:
    """The schedule of a file."""
    around = info.context
    if not isinstance(around, Surroundings) or around.folder is None:
        raise refuse("a schedule in a file needs a study in a folder")
    path = (around.folder / written).resolve()
    if not path.is_relative_to(around.folder.resolve()):
        raise refuse(f"{written!r} is outside the study's folder")
    if not path.is_file():
        raise refuse(f"there is no file {written!r} beside the study")
    if path.stat().st_size > LARGEST_BYTES:
        raise refuse(f"{written!r} is larger than {LARGEST_BYTES >> 20} MiB")
    rows = list(_rows_of_csv(path, written) if path.suffix.lower() == ".csv" else _rows_of_yaml(path, written))
    if not 0 < len(rows) <= MOST_STEPS:
        raise refuse(f"{written!r} has {len(rows):,} steps, not 1 to {MOST_STEPS:,}")
    steps = []
    for row, line in rows:
        try:
            steps.append(ScheduleStep.model_validate(row, context=around))
        except ValidationError as error:
            raise refuse(f"{_where(written, line)}{_told(error)}") from None
    schedule = Schedule.model_construct(steps=tuple(steps))
    try:
        workload.in_turn(schedule.listed)
    except ScheduleError as error:
        raise refuse(f"{_where(written, rows[error.step][1])}{error.message}") from None
    schedule._file, schedule._lines = written, tuple(line for _, line in rows)
    return schedule


def _told(error: ValidationError) -> str:
    """The first of a step's errors in a reader's words."""
    details = error.errors(include_url=False)[0]
    entry = str(details["loc"][0]) if details["loc"] else "the step"
    match details["type"]:
        case "missing":
            return f"the step lacks {entry!r}"
        case "extra_forbidden":
            return f"a step has no entry {entry!r}; it has {', '.join(COLUMNS)}"
        case _:
            return f"{entry}: {details['msg']}"


def _rows_of_csv(path: Path, file: str) -> Iterator[tuple[Any, int | None]]:
    """Rows of a CSV file with their lines; bytes without a unit, names of steps with blanks between them."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, restkey="", strict=True)
            for row in reader:
                given = {key.strip(): value.strip() for key, value in row.items() if key and value and value.strip()}
                if "" in row:
                    raise refuse(f"{_where(file, reader.line_num)}it has more cells than the first line")
                step: dict[str, Any] = dict(given)
                for end in ("from", "to"):
                    if _WHOLE.fullmatch(given.get(end, "")):
                        step[end] = int(given[end])
                if "bytes" in given:
                    step["bytes"] = f"{given['bytes']} B"
                if "after" in given:
                    step["after"] = given["after"].split()
                yield step, reader.line_num
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise refuse(f"{file!r} cannot be read as CSV: {error}") from None


def _rows_of_yaml(path: Path, file: str) -> Iterator[tuple[Any, int | None]]:
    """Entries of a YAML file's `steps` with their lines."""
    try:
        document = read(path, file)
    except MistakesError as error:
        mistake = error.mistakes[0]
        raise refuse(f"{_where(file, mistake.line)}{mistake.message}") from None
    steps = document.data.get("steps") if isinstance(document.data, dict) and len(document.data) == 1 else None
    if not isinstance(steps, list):
        raise refuse(f"{file!r} has the key steps alone, and below it a list")
    for number, step in enumerate(steps):
        _, line, _ = document.locate(("steps", number))
        yield step, line


def _kind(written: Any) -> str:
    return "a schedule's file" if isinstance(written, str) else "a schedule"


ScheduleWord = Annotated[
    Annotated[Schedule, Tag("a schedule")]
    | Annotated[
        Schedule,
        BeforeValidator(_read),
        WithJsonSchema({"type": "string", "description": "YAML or CSV file of steps beside the study."}),
        Tag("a schedule's file"),
    ],
    Discriminator(_kind),
]
