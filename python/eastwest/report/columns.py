"""The columns of the page's comparison: how a result reads in each, and by what it is sorted.

A column that would tell nothing new is left out: one that is empty, or that says in every row what its twin says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from eastwest.report import path
from eastwest.report.cases import scales_of
from eastwest.report.figures import NBSP, Scale, amount, percent
from eastwest.study.result import Row, StudyResult
from eastwest.units import format_time


@dataclass(frozen=True)
class Column:
    """A column: its head, how a cell reads, and by what it is sorted."""

    head: str
    text: Callable[[Row], str]
    key: Callable[[Row], float | str]
    numeric: bool = True
    bar: bool = False  # the cell shows its share of one as a bar


def columns_of(result: StudyResult) -> list[Column]:
    """Give the columns that a result needs, all but those on what limits it; times carry their unit in each cell."""
    rows, scales = result.rows, scales_of(result)

    def step(row: Row) -> Scale:
        return scales[row.workload].step

    def whole(row: Row) -> Scale:
        return scales[row.workload].communication

    def exposed(row: Row) -> Scale:
        return scales[row.workload].exposed

    def alike(one: Column, other: Column) -> bool:
        return all(one.text(row) == other.text(row) for row in rows)

    fabric = Column("Fabric", lambda row: row.fabric, lambda row: row.fabric, numeric=False)
    cluster = Column("Cluster", lambda row: row.cluster, lambda row: row.cluster, numeric=False)
    columns = [fabric, cluster] if len({row.cluster for row in rows}) > 1 else [fabric]
    columns += [
        _time("Step", step, lambda row: row.step_s),
        _tail("Step p95", step, lambda row: row.step_s, lambda row: row.step_p95_s),
        _time("Ideal step", step, lambda row: row.ideal_step_s),
    ]
    communication = _time("Communi\N{SOFT HYPHEN}cation", whole, lambda row: row.communication_s)
    exposure = _time("Exposed", exposed, lambda row: row.exposed_s)
    columns += [exposure] if alike(communication, exposure) else [communication, exposure]
    columns += [
        _tail("Exposed p95", exposed, lambda row: row.exposed_s, lambda row: row.exposed_p95_s),
        Column("Against ideal", lambda row: percent(row.closeness), lambda row: row.closeness),
    ]
    share = Column("Network share", lambda row: percent(row.exposed_share), lambda row: row.exposed_share, bar=True)
    idle = Column("GPU idle", lambda row: percent(row.gpu_idle_share), lambda row: row.gpu_idle_share)
    columns += [replace(share, head="Network share, GPUs idle")] if alike(share, idle) else [share, idle]
    columns += [
        Column("Pace", lambda row: format_time(row.pace_s) if row.data_path else "", lambda row: row.pace_s),
        Column("Set by", _set_by, _set_by, numeric=False),
        Column("Goodput", path.goodput, path.goodput),
    ]
    columns.append(_money(result))
    return [column for column in columns if any(column.text(row) for row in rows)]


def _set_by(row: Row) -> str:
    return row.data_path.limited_by if row.data_path else ""


def _time(head: str, scale: Callable[[Row], Scale], value: Callable[[Row], float]) -> Column:
    return Column(head, lambda row: scale(row).with_unit(value(row)), value)


def _tail(
    head: str, scale: Callable[[Row], Scale], median: Callable[[Row], float], p95: Callable[[Row], float]
) -> Column:
    """Give a 95th percentile, told where it differs from the median as shown."""

    def text(row: Row) -> str:
        usual, tail = (scale(row).with_unit(value(row)) for value in (median, p95))
        return tail if tail != usual else ""

    return Column(head, text, p95)


def _money(result: StudyResult) -> Column:
    """Give what idle GPUs cost; hours of theirs where the study names no price."""
    currencies = {row.cost.currency for row in result.rows if row.cost.idle_cost_per_day is not None}
    if not currencies:
        return Column(
            "Idle GPU-hours a day",
            lambda row: amount(row.cost.idle_gpu_hours_per_day),
            lambda row: row.cost.idle_gpu_hours_per_day,
        )
    unit = f"{' or '.join(sorted(currencies))} a day".replace(" ", NBSP)
    return Column(
        f"Idle GPUs ({unit})",
        lambda row: amount(row.cost.idle_cost_per_day or 0.0),
        lambda row: row.cost.idle_cost_per_day or 0.0,
    )
