"""The HTML report: what the page's template is given, and the page made of it.

One file that opens from disk: style, script and plotly stand in it, and a content security policy forbids it to ask
for anything else. Not here: the look, which is `templates/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from eastwest.report import charts, figures
from eastwest.report.answer import FIDELITIES, answer, slowdowns
from eastwest.report.cases import Case, cases_of, fabrics_of, told_apart
from eastwest.report.drawing import MARGIN, WIDTH, Band, Drawing, draw, load_of
from eastwest.report.figures import Scale, amount, percent, rate
from eastwest.report.inventory import built
from eastwest.study.result import FabricFacts, Row, StudyResult

_WAY = {
    "gpu": "GPU",
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "nic": "NIC",
    "leaf": "leaf",
    "spine": "spine",
    "core": "core",
}
"""What bytes pass on their way up, innermost first, and how it is spelled."""
_HEAT = (0.2, 0.4, 0.6, 0.8, 0.95)
"""Loads at which the colour changes; above the last a link is as good as full."""


@dataclass(frozen=True)
class Tile:
    """One figure that a reader takes away."""

    head: str
    figure: str
    text: str


@dataclass(frozen=True)
class Column:
    """A column of the comparison: how a cell reads, and by what it is sorted."""

    head: str
    text: Callable[[Row], str]
    key: Callable[[Row], float | str]
    numeric: bool = True
    bar: bool = False  # the cell shows its share of one as a bar


@dataclass(frozen=True)
class Picture:
    """A fabric with what is known of it: facts for people, its drawing, and of each band the load in each case."""

    name: str
    facts: str
    drawing: Drawing
    loads: tuple[tuple[tuple[float, float, float] | None, ...], ...]


def page(result: StudyResult) -> str:
    """Give the report of a result as one HTML page."""
    result = told_apart(result)
    cases, fabrics = cases_of(result), fabrics_of(result)
    step = Scale.of(row.step_s for row in result.rows)
    longest_s = max((max(row.step_s, row.step_p95_s) for row in result.rows), default=0.0)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eastwest.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "amount": amount, "heat": heat}
    return environment.get_template("report.html.j2").render(
        result=result,
        answer=answer(result),
        tiles=_tiles(result) if len(fabrics) > 1 else (),
        cases=cases,
        columns=_columns(result),
        charts=[charts.step_chart(case, step, longest_s) for case in cases],
        cost_chart=charts.cost_chart(cases, fabrics),
        tiers=_tiers(result),
        pictures=[_picture(facts, cases) for facts in result.fabrics if facts.sketch.get("boxes")],
        shown_case=_most_telling(cases),
        fidelities=[
            (name, *FIDELITIES[name])
            for name in dict.fromkeys(row.fidelity for row in result.rows)
            if name in FIDELITIES
        ],
        draws=max((row.draws for row in result.rows), default=1),
        prices=sorted(_prices(result)),
        legend=charts.seen_parts(result.rows),
        heat_steps=_HEAT,
        width=WIDTH,
        margin=MARGIN,
        # Plotly's own code, and our figures, which `charts` has made safe inside a script element.
        plotly=Markup(_plotly()),
        safe=Markup,
    )


def _plotly() -> str:
    """Give plotly's JavaScript, which its Python package carries (version and licence stand in its first lines)."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def heat(load: float) -> int:
    """Give the colour step of a load: 0 for a quiet link to 5 for a full one."""
    return sum(load >= step for step in _HEAT)


def _tiers(result: StudyResult) -> dict[str, tuple[str, str]]:
    """Give all directed tiers with their ends, in the order in which bytes pass them: up from the GPU, down to it."""
    order = {end: place for place, end in enumerate(_WAY)}

    def place(tier: str) -> tuple[bool, int]:
        here, there = (order.get(end, len(order)) for end in _ends(tier))
        return here > there, here if here < there else -here

    tiers = dict.fromkeys(load.tier for row in result.rows for load in row.tiers)
    return {tier: (_WAY.get(a, a), _WAY.get(b, b)) for tier in sorted(tiers, key=place) for a, b in [_ends(tier)]}


def _ends(tier: str) -> tuple[str, str]:
    here, _, there = tier.partition("-")
    return here, there


def _columns(result: StudyResult) -> list[Column]:
    rows = result.rows
    step = Scale.of(row.step_s for row in rows)
    exchange = Scale.of(row.communication_s for row in rows)
    columns = [
        Column("Fabric", lambda row: row.fabric, lambda row: row.fabric, numeric=False),
        Column("Cluster", lambda row: row.cluster, lambda row: row.cluster, numeric=False),
        Column(f"Step ({step.unit})", lambda row: step.text(row.step_s), lambda row: row.step_s),
        Column("p95", lambda row: _tail(step, row.step_s, row.step_p95_s), lambda row: row.step_p95_s),
        Column(f"Ideal step ({step.unit})", lambda row: step.text(row.ideal_step_s), lambda row: row.ideal_step_s),
        Column(
            f"Exchange ({exchange.unit})",
            lambda row: exchange.text(row.communication_s),
            lambda row: row.communication_s,
        ),
        Column(f"Exposed ({exchange.unit})", lambda row: exchange.text(row.exposed_s), lambda row: row.exposed_s),
        Column("p95", lambda row: _tail(exchange, row.exposed_s, row.exposed_p95_s), lambda row: row.exposed_p95_s),
        Column("Ideal over actual", lambda row: percent(row.closeness), lambda row: row.closeness),
        Column("Network share", lambda row: percent(row.exposed_share), lambda row: row.exposed_share, bar=True),
        Column("GPU idle", lambda row: percent(row.gpu_idle_share), lambda row: row.gpu_idle_share),
    ]
    if not any(step.text(row.step_s) != step.text(row.step_p95_s) for row in rows):
        columns = [column for column in columns if column.head != "p95"]
    if len({row.cluster for row in rows}) == 1:
        columns = [column for column in columns if column.head != "Cluster"]
    currencies = {row.cost.currency for row in rows if row.cost.idle_cost_per_day is not None}
    if currencies:
        head = f"Idle GPUs ({' or '.join(sorted(currencies))} a day)"
        columns.append(Column(head, lambda row: amount(_cost(row)), _cost))
    else:
        columns.append(Column("Idle GPU-hours a day", lambda row: amount(_hours(row)), _hours))
    return columns


def _tail(scale: Scale, median_s: float, p95_s: float) -> str:
    return scale.text(p95_s) if scale.text(p95_s) != scale.text(median_s) else ""


def _cost(row: Row) -> float:
    return row.cost.idle_cost_per_day or 0.0


def _hours(row: Row) -> float:
    return row.cost.idle_gpu_hours_per_day


def _tiles(result: StudyResult) -> list[Tile]:
    """Give the best fabric against the worst in four figures, as means over the cases."""
    slowdown = slowdowns(result)
    best, worst = min(slowdown, key=lambda name: slowdown[name]), max(slowdown, key=lambda name: slowdown[name])

    def mean(value: Callable[[Row], float], fabric: str) -> float:
        values = [value(row) for row in result.rows if row.fabric == fabric]
        return sum(values) / len(values)

    step = Scale.of(row.step_s for row in result.rows)
    against = f"against {{}} on {worst}"
    tiles = [
        Tile("Fastest fabric", best, f"of {len(slowdown)}; slowest is {worst}"),
        Tile(
            "Mean step",
            step.with_unit(mean(lambda row: row.step_s, best)),
            against.format(step.with_unit(mean(lambda row: row.step_s, worst))),
        ),
        Tile(
            "GPUs idle",
            percent(mean(lambda row: row.gpu_idle_share, best)),
            against.format(percent(mean(lambda row: row.gpu_idle_share, worst))),
        ),
    ]
    if all(row.cost.idle_cost_per_day is not None for row in result.rows):
        currency = result.rows[0].cost.currency
        tiles.append(
            Tile(
                "Idle GPUs cost a day",
                f"{amount(mean(_cost, best))} {currency}",
                against.format(f"{amount(mean(_cost, worst))} {currency}"),
            )
        )
    return tiles


def _prices(result: StudyResult) -> set[str]:
    """Give the price of a GPU-hour that the costs imply, in words."""
    return {
        f"{row.cost.idle_cost_per_day / _hours(row):.2f} {row.cost.currency} a GPU-hour"
        for row in result.rows
        if row.cost.idle_cost_per_day is not None and _hours(row) > 0
    }


def _most_telling(cases: tuple[Case, ...]) -> int:
    """Give the number of the case in which the network takes most: there fabrics differ, and drawings show it."""
    hardness = [max(row.exposed_share for row in case.rows) for case in cases]
    return hardness.index(max(hardness)) if hardness else 0


def _picture(facts: FabricFacts, cases: tuple[Case, ...]) -> Picture:
    drawing = draw(facts.sketch)
    rows = [next((row for row in case.rows if row.fabric == facts.name), None) for case in cases]

    def loads(band: Band) -> tuple[tuple[float, float, float] | None, ...]:
        return tuple(load_of(band, row.tiers) if row else None for row in rows)

    return Picture(facts.name, _facts(facts.summary), drawing, tuple(loads(band) for band in drawing.bands))


def _facts(summary: dict[str, Any]) -> str:
    """Say in one line what the drawing does not: oversubscription, bisection and spare ports."""
    spare = sum(ports["spare"] for ports in summary["ports"].values())
    return ", ".join(
        [
            figures.count(summary["switches_total"], "switch"),
            built(summary),
            f"{rate(summary['bisection_bps'])} bisection",
            figures.count(spare, "spare port"),
        ]
    )
