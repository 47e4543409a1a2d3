"""Sweeps: a value that is a list or a range stands for one study each, and every combination is run.

An entry (a cluster, a fabric, a workload, a mix) with swept values becomes as many entries, its variants; what one
chose is kept, and where in the file. A list is a sweep wherever the schema has no list; where it has one, `{each:
[...]}` sweeps. Not here: the values of a range (`ranges`), and how chosen values are shown (`parameters`).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticCustomError

from eastwest.document import Document, Mistake, Place, name_of
from eastwest.spec import ranges
from eastwest.spec.accepts import has_entry, is_known, takes_list
from eastwest.spec.values import refuse

SECTIONS = ("clusters", "fabrics", "workloads", "mixes")
SETTINGS = ("seeds", "tolerance")
"""Entries of the study itself that can be swept."""

MOST_COMBINATIONS = 10_000
"""More variants of an entry, or more results of a study, are taken for a mistake."""

FIXED = frozenset({"like", "name"})
"""What other entries refer to by its one value."""

EACH = "each"
LONGEST_NAME = 64


@dataclass(frozen=True)
class Choice:
    """One value chosen of a swept one: `path` to it within its entry, and from there `item` to where it is written."""

    path: Place
    value: Any
    item: Place = ()


@dataclass(frozen=True)
class Variant:
    """One variant of an entry; an entry without swept values has one, without choices."""

    base: str
    choices: tuple[Choice, ...] = ()

    def place(self, rest: Place) -> Place:
        """The place within the entry, as written, of the place `rest` within the variant."""
        items = {choice.path: choice.item for choice in self.choices}
        place: Place = ()
        for end, step in enumerate(rest, start=1):
            place = (*place, step, *items.get(rest[:end], ()))
        return place


@dataclass(frozen=True)
class Sweep:
    """The variants of every entry by section and name, and of the study's own settings.

    `wrong` are the places of sweeps that could not be read, which has been told.
    """

    variants: Mapping[str, Mapping[str, Variant]] = field(default_factory=dict)
    settings: tuple[Variant, ...] = (Variant(""),)
    wrong: tuple[Place, ...] = ()

    def variant(self, section: str, name: str) -> Variant:
        """What a name in an expanded section stands for."""
        return self.variants.get(section, {}).get(name) or Variant(name)

    def of(self, section: str, base: str) -> tuple[str, ...]:
        """Names of the variants of an entry."""
        return tuple(name for name, each in self.variants.get(section, {}).items() if each.base == base) or (base,)


def expand(document: Document, data: dict[str, Any], mistakes: list[Mistake]) -> tuple[dict[str, Any], Sweep]:
    """A study's values with every swept entry replaced by its variants, and what they are.

    `data` is what the document holds, with what fabrics inherit filled in. An entry whose sweep is wrong, which is
    told, keeps its first variant. Settings are left as they are: `Sweep.settings` has their values.
    """
    expanded = dict(data)
    wrong: list[Place] = []

    def variants_of(place: Place, entry: Any) -> list[tuple[Any, tuple[Choice, ...]]]:
        return _variants(document, place, entry, mistakes, wrong)

    variants: dict[str, dict[str, Variant]] = {}
    for section in SECTIONS:
        if isinstance(data.get(section), dict):
            expanded[section], variants[section] = {}, {}
            for base, entry in data[section].items():
                for number, (value, choices) in enumerate(variants_of((section, base), entry), 1):
                    taken = data[section].keys() | variants[section].keys()
                    name = _name(base, choices, number, taken) if choices else base
                    expanded[section][name], variants[section][name] = value, Variant(base, choices)
    settings = {key: data[key] for key in SETTINGS if key in data}
    found = variants_of((), settings)
    return expanded, Sweep(variants, tuple(Variant("", choices) for _, choices in found), tuple(wrong))


@dataclass(frozen=True)
class _Swept:
    """A swept value: each option, and the way from here to where it is written."""

    options: tuple[tuple[Place, Any], ...]


def _variants(
    document: Document, place: Place, entry: Any, mistakes: list[Mistake], wrong: list[Place]
) -> list[tuple[Any, tuple[Choice, ...]]]:
    """Every variant of an entry with its choices; only the first where there are too many, which is told."""
    tree = _Reading(document, place, mistakes, wrong).tree(entry, (), ()) if isinstance(entry, dict) else entry
    if (count := _count(tree)) > MOST_COMBINATIONS:
        what = f"of {place[-1]!r}" if place else "of seeds and tolerance"
        message = f"{count:,} combinations {what} are more than the {MOST_COMBINATIONS:,} that a study may have"
        mistakes.append(document.mistake(place, message))
        return [(_first(tree), ())]
    return list(_combinations(tree, ()))


@dataclass(frozen=True)
class _Reading:
    """Finds what is swept in one entry, which stands at `place`."""

    document: Document
    place: Place
    mistakes: list[Mistake]
    wrong: list[Place]

    def tree(self, value: Any, path: Place, written: Place) -> Any:
        """A value with `_Swept` in place of what is swept.

        `path` leads to it within a variant, `written` within the entry as written.
        """
        try:
            options = _options(value, (*self.place, *path))
        except PydanticCustomError as error:
            self._tell(error, value, written)
            return value
        if options is not None:
            return _Swept(tuple((item, self._inside(each, path, (*written, *item))) for item, each in options))
        return self._inside(value, path, written)

    def _inside(self, value: Any, path: Place, written: Place) -> Any:
        if isinstance(value, dict):
            return {
                key: each if key in FIXED else self.tree(each, (*path, key), (*written, key))
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.tree(each, (*path, index), (*written, index)) for index, each in enumerate(value)]
        return value

    def _tell(self, error: PydanticCustomError, value: Any, written: Place) -> None:
        details = error.context or {}
        place = (*self.place, *written)
        self.wrong.append(place)
        if isinstance(value, dict) and details["at"] in value:
            place = (*place, details["at"])
        self.mistakes.append(self.document.mistake(place, details["message"], details["expected"], details["nearest"]))


def _options(value: Any, place: Place) -> list[tuple[Place, Any]] | None:
    """What a swept value may be, and the way to each; None where it is not swept.

    Raises:
        PydanticCustomError: it is a sweep that cannot be read.
    """
    if isinstance(value, list) and is_known(place) and not takes_list(place):
        return [((index,), each) for index, each in enumerate(_distinct(value))]
    if not isinstance(value, dict) or not is_known(place):
        return None
    if set(value) == {EACH} and not has_entry(place, EACH):
        if not isinstance(value[EACH], list):
            raise refuse(f"each lists values to try; this is {name_of(value[EACH])}", at=EACH)
        return [((EACH, index), each) for index, each in enumerate(_distinct(value[EACH]))]
    if ranges.is_range(value) and not has_entry(place, "from"):
        return [((), each) for each in ranges.values(value)]
    return None


def _distinct(values: list[Any]) -> list[Any]:
    if not values:
        raise refuse("a list of values to try is empty")
    again = next((each for index, each in enumerate(values) if each in values[:index]), None)
    if again is not None:
        raise refuse(f"{again!r} is listed twice among the values to try")
    return values


def _count(tree: Any) -> int:
    match tree:
        case _Swept(options):
            return sum(_count(each) for _, each in options)
        case dict():
            return math.prod(_count(each) for each in tree.values())
        case list():
            return math.prod(_count(each) for each in tree)
        case _:
            return 1


def _first(tree: Any) -> Any:
    match tree:
        case _Swept(options):
            return _first(options[0][1])
        case dict():
            return {key: _first(each) for key, each in tree.items()}
        case list():
            return [_first(each) for each in tree]
        case _:
            return tree


def _combinations(tree: Any, path: Place) -> Iterator[tuple[Any, tuple[Choice, ...]]]:
    """Every plain value that a tree stands for, the last swept one changing fastest."""
    match tree:
        case _Swept(options):
            for item, option in options:
                for value, choices in _combinations(option, path):
                    yield value, (Choice(path, value, item), *choices)
        case dict():
            for chosen in itertools.product(*(tuple(_combinations(each, (*path, key))) for key, each in tree.items())):
                yield {key: value for key, (value, _) in zip(tree, chosen, strict=True)}, _together(chosen)
        case list():
            for chosen in itertools.product(*(tuple(_combinations(each, (*path, i))) for i, each in enumerate(tree))):
                yield [value for value, _ in chosen], _together(chosen)
        case _:
            yield tree, ()


def _together(chosen: tuple[tuple[Any, tuple[Choice, ...]], ...]) -> tuple[Choice, ...]:
    return tuple(itertools.chain.from_iterable(choices for _, choices in chosen))


def _name(base: str, choices: tuple[Choice, ...], number: int, taken: Set[str]) -> str:
    """A name for a variant, fit for a file: `roce.link-200Gbps`, numbered where that is long or taken."""
    values = (f"{choice.path[-1]}-{choice.value}".replace("b/s", "bps").replace(" ", "") for choice in choices)
    name = ".".join((base, *(re.sub(r"[^A-Za-z0-9._]+", "-", value).strip("-") for value in values)))
    if len(name) <= LONGEST_NAME and name not in taken:
        return name
    return next(name for count in itertools.count(number) if (name := f"{base[:50]}.{count}") not in taken)
