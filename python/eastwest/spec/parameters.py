"""What is swept, as columns of a result: their names, and their values where a fabric, a cluster and a workload meet.

A column bears the swept key's own name, with the keys above it where it would not be told apart otherwise. A fabric
that states a swept key without sweeping it has its value in the same column. Not here: how sweeps are found (`sweep`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eastwest import units
from eastwest.document import Place
from eastwest.spec.sweep import SETTINGS, Sweep, Variant

OF = {"clusters": "cluster", "fabrics": "fabric", "workloads": "workload", "mixes": "mix"}
RESERVED = frozenset({*OF.values(), "job", "study", "placement", "fidelity"})
"""Columns of every result."""

Key = tuple[str, ...]
"""Way to a value within an entry; an operation goes by its name, and so does a job."""


@dataclass(frozen=True)
class Parameter:
    """A swept value: its column's `name`, what it is a value `of` (cluster, fabric, workload, mix, study), and itself.

    `value` is in base units (bit/s, bytes, seconds, metres) where it is a quantity, of the `kind` named; a ratio is a
    number; what is no number is text, and None where a default was chosen. `text` is for people.
    """

    name: str
    of: str
    value: float | int | str | None
    text: str
    kind: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether values of it can be put on an axis."""
        return isinstance(self.value, int | float)


def parameter(name: str, of: str, written: Any) -> Parameter:
    """The parameter that stands for a value as written."""
    if isinstance(written, bool):
        return Parameter(name, of, str(written).lower(), str(written).lower())
    if isinstance(written, int | float):
        return Parameter(name, of, written, f"{written:,}" if isinstance(written, int) else f"{written:g}")
    if written is None:
        return Parameter(name, of, None, "default")
    if not isinstance(written, str):
        text = json.dumps(written, ensure_ascii=False).replace('"', "")
        return Parameter(name, of, text, text)
    if ratio := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*:\s*(\d*\.?\d+)\s*", written):
        return Parameter(name, of, float(ratio[1]) / float(ratio[2]), written)
    if measured := units.measure(written):
        return Parameter(name, of, measured[0], written, measured[1].name)
    return Parameter(name, of, written, written)


@dataclass(frozen=True)
class Columns:
    """The columns of a study's sweep: name by section and key, in the order of the file; `data` has the variants."""

    names: Mapping[tuple[str, Key], str] = field(default_factory=dict)
    sweep: Sweep = field(default_factory=Sweep)
    data: Mapping[str, Any] = field(default_factory=dict)

    def of(self, entries: Mapping[str, str], setting: Variant) -> tuple[Parameter, ...]:
        """The parameters where entries meet: the variant of each section by name."""
        found: dict[str, Parameter] = {}
        chosen = {
            (section, _key(choice.path, self.data[section][name])): choice.value
            for section, name in entries.items()
            for choice in self.sweep.variant(section, name).choices
        }
        for (section, key), name in self.names.items():
            if (section, key) in chosen:
                found[name] = parameter(name, OF[section], chosen[section, key])
            elif section in entries and name not in found:
                stated = _stated(self.data[section][entries[section]], key)
                if stated is not _NOWHERE:
                    found[name] = parameter(name, OF[section], stated)
        settings = (parameter(str(choice.path[0]), "study", choice.value) for choice in setting.choices)
        return (*found.values(), *settings)


def columns(sweep: Sweep, data: Mapping[str, Any]) -> Columns:
    """The columns of a sweep over `data`, a study with its variants."""
    swept: dict[tuple[str, Key], None] = {}
    crowded: set[Key] = set()
    for section, variants in sweep.variants.items():
        for name, variant in variants.items():
            keys = [_key(choice.path, data[section][name]) for choice in variant.choices]
            swept |= {(section, key): None for key in keys}
            crowded |= {key for key, count in Counter(_short(key) for key in keys).items() if count > 1}
    short = {at: _short(at[1]) if _short(at[1]) not in crowded else at[1][1:] for at in swept}
    sections: dict[Key, set[str]] = {}
    for (section, _), key in short.items():
        sections.setdefault(key, set()).add(section)
    names = {
        at: f"{OF[at[0]]}.{'.'.join(key)}" if len(sections[key]) > 1 or _is_taken(key) else ".".join(key)
        for at, key in short.items()
    }
    return Columns(names, sweep, data)


def _is_taken(key: Key) -> bool:
    return ".".join(key) in RESERVED or ".".join(key) in SETTINGS


def _key(path: Place, entry: Any) -> Key:
    """The way to a value, with an operation's or a job's name in place of its number."""
    match path:
        case ("operations" | "jobs" as list_of, int(number), *rest):
            item = entry[list_of][number]
            return (list_of, str(item.get("name", item.get("workload", number))), *map(str, rest))
        case _:
            return tuple(map(str, path))


def _short(key: Key) -> Key:
    """The key without the operation or job that it is of."""
    return key[2:] if key[0] in ("operations", "jobs") and len(key) > 2 else key


_NOWHERE = object()


def _stated(entry: Any, key: Key) -> Any:
    """What an entry states at a key."""
    value = entry
    for step in key:
        if isinstance(value, list):
            value = next((each for each in value if isinstance(each, dict) and each.get("name") == step), None)
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return _NOWHERE
    return value
