"""The HTML report: what the page's template is given, and the page made of it.

One file that opens from disk: style, script and plotly stand in it, and a content security policy forbids it to ask
for anything else. Not here: the look, which is `templates/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean
from typing import Any

import jinja2
from markupsafe import Markup

from eastwest.report import charts, curves, figures, gantt, jobs, messages, path, training
from eastwest.report.answer import FIDELITIES, answer, slowdowns
from eastwest.report.cases import TIE, Case, cases_of, fabrics_of, rows_of, scales_of, told_apart
from eastwest.report.columns import columns_of
from eastwest.report.drawing import WIDTH, Band, Drawing, draw
from eastwest.report.figures import NBSP, Scale, amount, percent, rate
from eastwest.report.inventory import built
from eastwest.report.limits import reasons_of, sentence
from eastwest.report.loads import HEAT, band_of, load_of, pairs_of
from eastwest.report.sweep import told_in_full
from eastwest.study.result import FabricFacts, Row, StudyResult


@dataclass(frozen=True)
class Tile:
    """One figure that a reader takes away."""

    head: str
    figure: str
    text: str


@dataclass(frozen=True)
class Picture:
    """A fabric with what is known of it: facts for people, its drawing, and of each band the load in each case."""

    name: str
    facts: str
    drawing: Drawing
    loads: tuple[tuple[dict[str, str | int] | None, ...], ...]


MOST_BARS = 60
"""Of more results than these in one case, no eye compares the bars: the comparison below can be sorted."""


def page(result: StudyResult) -> str:
    """Give the report of a result as one HTML page."""
    over, trained, heads = curves.lines(result), training.trained(result), training.heads_of(result)
    result = told_apart(told_in_full(result))
    cases, fabrics = cases_of(result), fabrics_of(result)
    has_bars = max((len(case.rows) for case in cases), default=0) <= MOST_BARS and len(cases) <= MOST_BARS
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eastwest.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "factor": jobs.factor, "times": jobs.times, "sentence": sentence}
    return environment.get_template("report.html.j2").render(
        result=result,
        answer=answer(result),
        tiles=_tiles(result, cases),
        compares=len(fabrics) > 1,
        cases=cases,
        columns=columns_of(result),
        reasons=reasons_of(result),
        curves=over,
        gantts=gantt.gantts(result.timelines),
        messages=messages.messages_of(result),
        messages_chart=messages.messages_chart(result),
        messages_heads=messages.HEADS,
        messages_explained=messages.EXPLANATION,
        trained=trained,
        trained_heads=heads,
        trained_explained=training.EXPLANATION,
        paths=path.told_of(result),
        paths_heads=path.HEADS,
        paths_explained=path.EXPLANATION,
        paths_charts=[chart for chart in (path.stages_chart(result), path.hours_chart(result)) if chart],
        mixes=jobs.mixes_of(result),
        mixes_explained=jobs.EXPLANATION,
        charts=_step_charts(result, cases) if has_bars else [],
        cost_chart=charts.cost_chart(cases, fabrics) if has_bars and _has_costs_to_compare(result) else None,
        took=(figures.count(len(result.rows), "result"), _took(result.wall_s), _took(result.engine_s)),
        has_tails=any(charts.has_tail(row) for row in result.rows),
        pairs=pairs_of(result) if any(load.max > 0 for row in result.rows for load in row.tiers) else (),
        load_of=load_of,
        pictures=[_picture(facts, cases) for facts in result.fabrics if facts.sketch.get("boxes")],
        shown_case=_most_telling(cases),
        fidelities=[
            (name, *FIDELITIES[name])
            for name in dict.fromkeys(row.fidelity for row in result.rows)
            if name in FIDELITIES
        ],
        draws=max((row.draws for row in result.rows), default=1),
        batching_error=_largest([row.batching_error for row in result.rows]),
        prices=sorted(_prices(result)),
        legend=charts.seen_parts(result.rows),
        heat_steps=HEAT,
        width=WIDTH,
        # Plotly's own code, and our figures, which `charts` has made safe inside a script element.
        plotly=Markup(plotly_code()),
        safe=Markup,
    )


def _step_charts(result: StudyResult, cases: tuple[Case, ...]) -> list[charts.Chart]:
    """Chart each case; those of one workload share an axis, so that they can be compared."""
    scales = scales_of(result)
    longest_s: dict[str, float] = {}
    for row in result.rows:
        longest_s[row.workload] = max(longest_s.get(row.workload, 0.0), row.step_s, row.step_p95_s)
    return [charts.step_chart(case, scales[case.workload].step, longest_s[case.workload]) for case in cases]


def plotly_code() -> str:
    """Give plotly's JavaScript, which its Python package carries (version and licence stand in its first lines)."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _cost(row: Row) -> float:
    return row.cost.idle_cost_per_day or 0.0


def _hours(row: Row) -> float:
    return row.cost.idle_gpu_hours_per_day


def _tiles(result: StudyResult, cases: tuple[Case, ...]) -> list[Tile]:
    """Give the best fabric against the worst: the step of the first case, idle GPUs and their cost over all cases."""
    slowdown = slowdowns(result)
    if max(slowdown.values(), default=1.0) <= 1 + TIE:
        return []
    best, worst = min(slowdown, key=lambda name: slowdown[name]), max(slowdown, key=lambda name: slowdown[name])
    over = "on average, " if len(cases) > 1 else ""

    def mean(value: Callable[[Row], float], fabric: str) -> float:
        return fmean(value(row) for row in rows_of(result, fabric))

    def tile(head: str, text: Callable[[str], str], over: str = "") -> Tile:
        return Tile(head, text(best), f"{over}against {text(worst)} on {worst}")

    case, scale = cases[0], scales_of(result)[cases[0].workload].step
    steps = {row.fabric: scale.with_unit(row.step_s) for row in case.rows}
    tiles = [
        Tile("Fastest fabric", best, f"of {len(slowdown)}; slowest is {worst}"),
        tile(f"Step of {case.name}", lambda fabric: steps[fabric]),
        tile("GPUs idle", lambda fabric: percent(mean(lambda row: row.gpu_idle_share, fabric)), over),
    ]
    if all(row.cost.idle_cost_per_day is not None for row in result.rows):
        currency = result.rows[0].cost.currency
        tiles.append(
            tile("Idle GPUs cost a day", lambda fabric: f"{amount(mean(_cost, fabric))}{NBSP}{currency}", over)
        )
    return tiles


def _has_costs_to_compare(result: StudyResult) -> bool:
    return len(result.rows) > 1 and any(_hours(row) for row in result.rows)


def _took(time_s: float) -> str:
    return Scale.of([time_s]).with_unit(time_s)


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

    def loads(band: Band) -> tuple[dict[str, str | int] | None, ...]:
        return tuple(band_of(load for load in row.tiers if load.tier in band.tiers) if row else None for row in rows)

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


def _largest(errors: list[float | None]) -> float | None:
    """The largest of errors; None where one of them is not known."""
    known = [error for error in errors if error is not None]
    return max(known, default=0.0) if len(known) == len(errors) else None
