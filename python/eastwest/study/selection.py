"""Which combinations of a study are run: all, or those that meet conditions, as in `fabric=roce,link>=200 Gb/s`.

Conditions stand between commas, and all must hold. One is a column, a comparison and a value; `=` and `!=` take several
values with `|` between them. Columns are fabric, cluster, workload, placement, mix and whatever is swept.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eastwest.document import nearest
from eastwest.errors import InputError
from eastwest.spec import MOST_COMBINATIONS, Parameter, Placement, Study, parameter

ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONDITION = re.compile(r"\s*([\w.-]+)\s*(!=|<=|>=|=|<|>)\s*(\S.*?)\s*")
_COMMA = re.compile(r",(?![^{\[]*[}\]])")
"""One that is not inside a mapping or a list."""


@dataclass(frozen=True)
class Combination:
    """One case to run: the study in one of its settings, and names as it has them, of variants where it is a sweep."""

    study: Study
    fabric: str
    cluster: str
    workload: str
    placement: Placement

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The values of what is swept."""
        return self.study.parameters(self.fabric, self.cluster, self.workload)


@dataclass(frozen=True)
class Mixture:
    """One mix of jobs to run on one fabric and cluster; names as in `Combination`."""

    study: Study
    fabric: str
    cluster: str
    mix: str

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The values of what is swept."""
        return self.study.parameters(self.fabric, self.cluster, mix=self.mix)


def chosen(study: Study, where: str = "") -> tuple[list[Combination], list[Mixture]]:
    """What to run, in the study's order: workloads one at a time, and mixes of them.

    A condition on a workload or a placement leaves the mixes out, one on a mix leaves the others out.

    Raises:
        InputError: `where` cannot be read or leaves nothing, or there are more than `MOST_COMBINATIONS`.
    """
    axes, asked = _narrowed(study, where)
    mixes = [] if asked & {"workload", "placement"} else _mixtures(axes)
    if "mix" not in asked:
        return _combinations(study, axes, where, others=len(mixes)), mixes
    if not mixes:
        raise InputError(f"{study.file}: no mix meets {where!r}")
    return [], mixes


def combinations(study: Study, where: str = "") -> list[Combination]:
    """The combinations to run, one workload at a time, in the study's order.

    Raises:
        InputError: `where` cannot be read or leaves nothing, or there are more than `MOST_COMBINATIONS`.
    """
    return _combinations(study, _narrowed(study, where)[0], where)


def _narrowed(study: Study, where: str) -> tuple[dict[str, list[_Choice]], set[str]]:
    """What meets the conditions along each axis, and the axes that they name."""
    axes, asked = _axes(study), set()
    for text in _COMMA.split(where) if where.strip() else ():
        try:
            condition = _condition(text, axes)
        except InputError:
            if either := _either(where):  # what the first such condition left has nothing for the second
                raise InputError(f"{study.file}: no combination meets {where!r}{either}") from None
            raise
        asked.add(condition.axis)
        axes[condition.axis] = [each for each in axes[condition.axis] if condition.holds(each.columns)]
    return axes, asked


def _mixtures(axes: dict[str, list[_Choice]]) -> list[Mixture]:
    settings, mixes, fabrics, clusters = (
        [choice.item for choice in axes[axis]] for axis in ("study", "mix", "fabric", "cluster")
    )
    return [
        Mixture(setting, fabric, cluster, mix)
        for setting in settings
        for mix in mixes
        for fabric in fabrics
        for cluster in setting.clusters_of(fabric)
        if cluster in clusters and cluster in setting.clusters_of_mix(mix)
    ]


def _combinations(study: Study, axes: dict[str, list[_Choice]], where: str, others: int = 0) -> list[Combination]:
    """Every combination along the axes; `others` are run besides."""
    settings, workloads, placements, fabrics, clusters = (
        [choice.item for choice in axes[axis]] for axis in ("study", "workload", "placement", "fabric", "cluster")
    )
    joined = {fabric: [each for each in study.clusters_of(fabric) if each in clusters] for fabric in fabrics}
    count = sum(map(len, joined.values())) * len(settings) * len(workloads) * len(placements)
    if count + others == 0:
        raise InputError(f"{study.file}: no combination meets {where!r}")
    if (count := count + others) > MOST_COMBINATIONS:
        raise InputError(
            f"{study.file}: {count:,} combinations; at most {MOST_COMBINATIONS:,} are run: shorten a list or a range, "
            "or choose some with --where"
        )
    return [
        Combination(setting, fabric, cluster, workload, placement)
        for setting in settings
        for workload in workloads
        for placement in placements
        for fabric in fabrics
        for cluster in joined[fabric]
    ]


@dataclass(frozen=True)
class _Choice:
    """One of the things along an axis, with the columns in which it shows."""

    item: Any
    columns: tuple[Parameter, ...]


def _axes(study: Study) -> dict[str, list[_Choice]]:
    def named(axis: str, section: str, names: Iterable[str]) -> list[_Choice]:
        return [
            _Choice(name, (_word(axis, study.base(section, name)), *_own(axis, study.parameters(**{axis: name}))))
            for name in names
        ]

    return {
        "study": [_Choice(each, _own("study", each.parameters())) for each in study.each_setting()],
        "fabric": named("fabric", "fabrics", study.fabrics),
        "cluster": named("cluster", "clusters", study.clusters),
        "workload": named("workload", "workloads", study.workloads),
        "mix": named("mix", "mixes", study.mixes),
        "placement": [_Choice(each, (_word("placement", str(each)),)) for each in study.placements],
    }


def _own(axis: str, parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    return tuple(each for each in parameters if each.of == axis)


def _word(axis: str, text: str) -> Parameter:
    return Parameter(axis, axis, text, text)


@dataclass(frozen=True)
class _Condition:
    axis: str
    column: str
    sign: str
    values: tuple[Parameter, ...]

    def holds(self, columns: Iterable[Parameter]) -> bool:
        """Whether it holds for something in these columns; not where its own is missing."""
        found = next((each for each in columns if each.name == self.column), None)
        if found is None:
            return False
        if self.sign in ORDERS:
            return all(ORDERS[self.sign](_number(found), _number(each)) for each in self.values)
        return any(_same(found, each) for each in self.values) == (self.sign == "=")


def _condition(text: str, axes: dict[str, list[_Choice]]) -> _Condition:
    written = _CONDITION.fullmatch(text)
    if written is None:
        raise InputError(f"--where {text.strip()!r}: write a column, a comparison and a value, as in link>=200 Gb/s")
    column, sign, right = written.groups()
    known: dict[str, tuple[str, list[Parameter]]] = {}
    for axis, choices in axes.items():
        for each in (each for choice in choices for each in choice.columns):
            known.setdefault(each.name, (axis, []))[1].append(each)
    if column not in known:
        near = nearest(column, known)
        meant = f"; did you mean {near!r}?" if near else ""
        raise InputError(f"--where {text.strip()!r}: no column {column!r}{meant} (there are: {', '.join(known)})")
    axis, found = known[column]
    values = tuple(parameter(column, axis, _plain(each.strip())) for each in right.split("|"))
    for value in values:
        if mistake := _mistake(value, sign, found):
            raise InputError(f"--where {text.strip()!r}: {mistake}")
    return _Condition(axis, column, sign, values)


def _either(where: str) -> str:
    """What was meant where a column is to be one value and another at once; empty where none is."""
    values: dict[str, list[str]] = {}
    for text in _COMMA.split(where):
        if (written := _CONDITION.fullmatch(text)) and written[2] == "=":
            values.setdefault(written[1], []).append(written[3])
    twice = [f"{column}={'|'.join(each)}" for column, each in values.items() if len(each) > 1]
    return f": all conditions must hold; for either of several values write {','.join(twice)}" if twice else ""


def _mistake(value: Parameter, sign: str, found: Sequence[Parameter]) -> str:
    """What is wrong with comparing what was `found` in a column with a value; empty where nothing is."""
    examples = list(dict.fromkeys(each.text for each in found))
    there = ", ".join(examples[:8]) + (", ..." if len(examples) > 8 else "")
    if sign in ORDERS:
        if any(math.isnan(_number(each)) for each in found):
            return f"{value.name} is not a number everywhere ({there}): compare it with = or !="
        if value.kind != found[0].kind or math.isnan(_number(value)):
            return f"{value.text!r} cannot be compared with {there}"
    elif not any(_same(each, value) for each in found):
        near = nearest(value.text, examples)
        return f"{value.name} is never {value.text!r}{f'; did you mean {near!r}?' if near else ''} (it is: {there})"
    return ""


def _number(value: Parameter) -> float:
    """The value as a number; not a number where it is none, which no comparison holds for."""
    return float(value.value) if isinstance(value.value, int | float) else math.nan


def _same(one: Parameter, other: Parameter) -> bool:
    if isinstance(one.value, int | float) and isinstance(other.value, int | float):
        return math.isclose(one.value, other.value, rel_tol=1e-9) and one.kind == other.kind
    return one.text == other.text


def _plain(text: str) -> int | float | str:
    """A number where the text is one, as YAML would have it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def one(study: Study, fabric: str, workload: str | None = None, where: str = "") -> Combination:
    """The combination of a fabric and a workload (any, where None); the first placement where there are several.

    Raises:
        InputError: there is none, or more than one.
    """
    check_names(study, fabric, workload)
    named = f"fabric={fabric}" + (f",workload={workload}" if workload else "")
    found = combinations(study, f"{named},{where}" if where.strip() else named)
    first = found[0]
    ways = {(each.fabric, each.cluster, each.workload if workload else "", each.study.seeds) for each in found}
    if len(ways) > 1:
        names = list(dict.fromkeys(p.name for each in found for p in each.parameters if p.of != "workload" or workload))
        if len({study.base("clusters", each.cluster) for each in found}) > 1:
            names.insert(0, "cluster")
        raise InputError(
            f"{study.file}: {named} leaves {len(ways)} combinations: choose one by {', '.join(names)} with --where"
        )
    return first


def check_names(study: Study, fabric: str, workload: str | None = None) -> None:
    """Raises `InputError` where the study has no such fabric, or no such workload."""
    for what, name, there in (("fabric", fabric, study.fabrics), ("workload", workload, study.workloads)):
        known = tuple(dict.fromkeys(study.base(f"{what}s", each) for each in there))
        if name and name not in known:
            near = nearest(name, known)
            meant = f"; did you mean {near!r}?" if near else ""
            raise InputError(f"{study.file}: no {what} {name!r}{meant} (it has: {', '.join(known)})")
