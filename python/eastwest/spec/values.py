"""The single values of a study file: quantities with units, names of catalogue entries, counts, shares per tier.

Each is a type that pydantic reads and that says in the JSON schema how it is written. What they are put together to
is in `clusters`, `fabrics` and `workloads`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import ValidationInfo

from eastwest import units
from eastwest.catalog import Catalog
from eastwest.document import nearest
from eastwest.fabric import FRONTEND_TIERS, TIERS

Json = dict[str, Any]


class Entry(BaseModel):
    """A mapping of a study file: frozen, and without any entry that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Surroundings:
    """What a value may refer to: the catalogue, the study's own names, and the folder that the study lies in."""

    catalog: Catalog
    clusters: tuple[str, ...] = ()
    fabrics: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    folder: Path | None = None


def refuse(
    message: str, expected: Iterable[str] = (), near: str | None = None, at: str | tuple[str | int, ...] | None = None
) -> Exception:
    """The error that a validator raises; `at` names the entry below the value that is at fault, or the way to it."""
    context = {"message": message, "expected": tuple(expected), "nearest": near, "at": at}
    return PydanticCustomError("refused", "{message}", context)


def within(entry: str, error: PydanticCustomError) -> Exception:
    """The error of a validator of what stands below `entry`, as one of the mapping that the entry is in."""
    told = error.context or {}
    at = told["at"] if isinstance(told["at"], tuple) else (told["at"],)
    return refuse(told["message"], told["expected"], told["nearest"], (entry, *at))


def _quantity(parse: Callable[..., Any], example: str, description: str, *, zero: bool = False) -> tuple[Any, Any]:
    def read(written: Any) -> Any:
        try:
            return parse(written, zero=zero)
        except units.UnitError as error:
            raise refuse(str(error)) from None

    schema: Json = {"type": "string", "description": description, "pattern": r"^\s*[0-9.]", "examples": [example]}
    return BeforeValidator(read), WithJsonSchema(schema)


def _bytes(written: Any, *, zero: bool) -> float:
    value = units.parse_size(written, zero=zero)
    if 0.0 < value < 1.0:
        raise refuse(f"{written!r} is less than one byte")
    return value


def _known_name(what: str, known: Callable[[Surroundings], Iterable[str]]) -> tuple[Any, Any]:
    def read(written: Any, info: ValidationInfo) -> Any:
        if not isinstance(written, str):
            raise refuse(f"{written!r} is no name of a {what}")
        names = tuple(known(info.context)) if isinstance(info.context, Surroundings) else (written,)
        if written not in names:
            raise refuse(f"there is no {what} {written!r}", names, nearest(written, names))
        return written

    return BeforeValidator(read), WithJsonSchema({"type": "string", "description": f"Name of a {what}."})


def _ratio(written: Any) -> float:
    """Capacity down over capacity up: 4, or "4:1"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*:\s*(\d+(?:\.\d+)?)\s*", written) if isinstance(written, str) else None
    if match and float(match.group(2)) > 0:
        value = float(match.group(1)) / float(match.group(2))
    elif isinstance(written, int | float) and not isinstance(written, bool):
        value = float(written)
    else:
        raise refuse(f"{written!r} is no oversubscription: write capacity down to up, as in '4:1', or 4")
    if not 0.01 <= value <= 1000:
        raise refuse(f"an oversubscription of {written!r} is out of range: write it like '4:1' or 4")
    return value


def _for_all_tiers(written: Any) -> Any:
    return written if isinstance(written, dict) else dict.fromkeys(TIERS, written)


def _for_frontend(written: Any) -> Any:
    return written if isinstance(written, dict) else dict.fromkeys(FRONTEND_TIERS, written)


def _for_leaves(written: Any) -> Any:
    return written if isinstance(written, dict) else {"leaf": written}


def _by_tier(one: Json, tiers: tuple[str, ...], description: str) -> WithJsonSchema:
    per_tier: Json = {"type": "object", "properties": dict.fromkeys(tiers, one), "additionalProperties": False}
    return WithJsonSchema({"description": description, "anyOf": [one, per_tier]})


Rate = Annotated[float, *_quantity(units.parse_rate, "400 Gb/s", "A rate with its unit.")]
Size = Annotated[float, *_quantity(_bytes, "2 MB", "A size with its unit; GB is 10^9 bytes, GiB 2^30.")]
SizeOrZero = Annotated[float, *_quantity(_bytes, "2 MB", "A size with its unit, or 0 B.", zero=True)]
Time = Annotated[float, *_quantity(units.parse_time, "1.5 ms", "A time with its unit.")]
TimeOrZero = Annotated[float, *_quantity(units.parse_time, "1.5 ms", "A time with its unit, or 0 s.", zero=True)]
Length = Annotated[float, *_quantity(units.parse_length, "30 m", "A length with its unit.", zero=True)]
Price = Annotated[units.Money, *_quantity(units.parse_money, "2.50 USD", "An amount of money.", zero=True)]
Count = Annotated[int, Strict(), Field(ge=1, le=1_000_000)]
Seed = Annotated[int, Strict(), Field(ge=0, lt=2**63)]

Name = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A name given in the study: letters, digits, dots, dashes and underscores, so that it can be part of a file's name."""

ServerName = Annotated[str, *_known_name("server", lambda around: around.catalog.names("servers"))]
NicName = Annotated[str, *_known_name("NIC", lambda around: around.catalog.names("nics"))]
SwitchName = Annotated[str, *_known_name("switch", lambda around: around.catalog.names("switches"))]
ClusterName = Annotated[str, *_known_name("cluster", lambda around: around.clusters)]
FabricName = Annotated[str, *_known_name("fabric", lambda around: around.fabrics)]
WorkloadName = Annotated[str, *_known_name("workload", lambda around: around.workloads)]

_Tier = Literal["leaf", "spine", "core", "border"]
SwitchByTier = Annotated[
    dict[_Tier, SwitchName],
    BeforeValidator(_for_all_tiers),
    _by_tier({"type": "string"}, TIERS, "Switch of every tier, or of each."),
]
FrontendSwitches = Annotated[
    dict[Literal["access", "aggregation"], SwitchName],
    BeforeValidator(_for_frontend),
    _by_tier({"type": "string"}, FRONTEND_TIERS, "Switch of both tiers, or of each."),
]
CountByTier = Annotated[
    dict[_Tier, Count],
    BeforeValidator(_for_all_tiers),
    _by_tier({"type": "integer", "minimum": 1}, TIERS, "For every tier, or each."),
]
Ratio = Annotated[
    float,
    BeforeValidator(_ratio),
    WithJsonSchema({"type": ["string", "number"], "description": "Capacity down to up.", "examples": ["4:1", 4]}),
]
RatioByTier = Annotated[
    dict[Literal["leaf", "spine"], Annotated[float, BeforeValidator(_ratio)]],
    BeforeValidator(_for_leaves),
    _by_tier(
        {"type": ["string", "number"], "examples": ["4:1", 4]}, ("leaf", "spine"), "Of the leaves, or of each tier."
    ),
]
