"""The HTML report of a simulation: what the page's template is given, and the page made of it.

One file that opens from disk and asks for nothing. Not here: its plots (`charts`, `timeline`), or its look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jinja2
import numpy as np
import polars as pl
from markupsafe import Markup

from eastwest.report.figures import count, duration, factor, percent, rate
from eastwest.report.packets.charts import completion_chart, queue_chart, size_classes
from eastwest.report.packets.conditions import conditions, halts, left_out
from eastwest.report.packets.timeline import timeline_chart
from eastwest.report.page import Tile, plotly_code
from eastwest.simulation.bottleneck import bottlenecks
from eastwest.simulation.result import SimulationResult
from eastwest.simulation.tables import flows_table, ports_table
from eastwest.units import format_size

SLOWEST, PORTS = 12, 12
"""Rows of the tables of flows and of ports."""


@dataclass(frozen=True)
class Listing:
    """A table of the page: heads, of which the numeric stand right, and rows of cells."""

    heads: tuple[tuple[str, bool], ...]
    rows: Sequence[tuple[str, ...]]


def page(result: SimulationResult, title: str) -> str:
    """Give the report of a simulation as one HTML page, under a title."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eastwest.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    has_ended = len(result.fct_s) > 0
    return environment.get_template("simulation.html.j2").render(
        title=title,
        answer=_answer(result),
        tiles=_tiles(result) if has_ended else [],
        warnings=_warnings(result),
        completion=completion_chart(result) if has_ended else None,
        sizes=_sizes(result) if has_ended else None,
        timeline=timeline_chart(result),
        queues=queue_chart(result),
        flows=_slowest(result),
        ports=_ports(result),
        held_back=halts(result.settings).line if result.run.pauses else "",
        conditions=conditions(result),
        left_out=left_out(result),
        plotly=Markup(plotly_code()),
        safe=Markup,
    )


def _answer(result: SimulationResult) -> tuple[str, str]:
    """The finding in a sentence, and what it cost."""
    times, run = result.fct_s, result.run
    became = [
        f"{number:,} {what}"
        for number, what in (
            (run.drops, "dropped"),
            (run.trims, "trimmed"),
            (run.retransmits, "sent again"),
            (run.marks, "marked"),
        )
        if number
    ]
    pauses = f" {run.pauses:,} {halts(result.settings).many}." if run.pauses else ""
    of_packets = (
        f"Of {run.packets:,} packets of data {', '.join(became) or 'none was dropped, marked or sent again'}.{pauses}"
    )
    if not len(times):
        return f"None of {count(len(result.flows), 'flow')} ended.", of_packets
    median, slowest = float(np.median(times)), float(times[-1])
    return (
        f"The slowest of {count(len(times), 'flow')} takes {duration(slowest)}, "
        f"{slowest / median if median else 1.0:.2f} times the median of {duration(median)}.",
        of_packets,
    )


def _tiles(result: SimulationResult) -> list[Tile]:
    times = result.fct_s
    median, p99 = (float(each) for each in np.percentile(times, [50, 99]))
    slowdown = flows_table(result).filter(~pl.col("is_burst"))["slowdown"].drop_nulls().to_numpy()
    deepest = result.run.deepest_queue_bytes
    return [
        Tile("Median completion time", duration(median), f"of {count(len(times), 'flow')}"),
        Tile("99th percentile", duration(p99), f"{p99 / median if median else 1.0:.2f} times the median"),
        Tile(
            "Slower than alone",
            factor(float(np.median(slowdown))),
            f"in the median; at most {factor(float(slowdown.max()))}",
        ),
        Tile("Deepest queue", format_size(deepest), result.worst_ports()["by_queue"][0]["port"] if deepest else "none"),
    ]


def _warnings(result: SimulationResult) -> list[str]:
    found = []
    if result.unfinished:
        when = duration(result.run.simulated_s)
        found.append(f"{count(result.unfinished, 'flow')} of {len(result.flows):,} had not ended at {when}.")
    if result.run.failed:
        found.append(f"The senders of {count(result.run.failed, 'flow')} gave up.")
    if result.run.storms:
        found.append(f"The watchdog broke {count(result.run.storms, 'storm')} of pauses and dropped what waited.")
    return found


def _sizes(result: SimulationResult) -> Listing | None:
    """Completion times by size of flow; None where all flows are alike."""
    classes = size_classes(result)
    if len(classes) == 1:
        return None
    flows = flows_table(result)
    rows = []
    for each in classes:
        of_class = flows[each.flows]
        times, slowdown = of_class["fct_s"].drop_nulls().to_numpy(), of_class["slowdown"].drop_nulls().to_numpy()
        if len(times):
            median, p99, slowest = (float(value) for value in np.percentile(times, [50, 99, 100]))
            told = [duration(value) for value in (median, p99, slowest)]
            slow = [factor(value) for value in np.percentile(slowdown, [50, 99]).tolist()]
            rows.append((each.name, f"{len(of_class):,}", f"{len(times):,}", *told, *slow))
    heads = ("Size", "Flows", "Ended", "Median", "p99", "Slowest", "Slowdown, median", "Slowdown, p99")
    return Listing(tuple((head, head != "Size") for head in heads), rows)


def _slowest(result: SimulationResult) -> Listing:
    """The slowest flows, those that never ended first, and where each waited."""
    order = pl.col("fct_s").fill_null(float("inf"))
    worst = flows_table(result).sort(order, descending=True, maintain_order=True).head(SLOWEST)
    places = bottlenecks(result, worst["flow"].to_list())
    rows = []
    for flow, place in zip(worst.iter_rows(named=True), places, strict=True):
        waits = "" if place is None else duration(place.queue_s)
        took = flow["fct_s"]
        rows.append(
            (
                str(flow["flow"]),
                f"{flow['src']} > {flow['dst']}",
                format_size(flow["size_bytes"]),
                "never ended" if took is None else duration(took),
                "" if flow["slowdown"] is None else factor(flow["slowdown"]),
                f"{flow['retransmits']:,}",
                "" if place is None else place.port,
                waits,
                "" if place is None else percent(place.utilisation),
            )
        )
    heads = ("Flow", "From, to", "Size", "Took", "Slowdown", "Sent again", "Where it waited", "Queue there", "Busy")
    return Listing(tuple((head, head not in ("Flow", "From, to", "Where it waited")) for head in heads), rows)


def _ports(result: SimulationResult) -> Listing:
    """The ports with the deepest queues and those paused longest, what they carried and lost."""
    table = ports_table(result)
    worst = pl.concat(
        [
            table.sort(column, descending=True, maintain_order=True).filter(pl.col(column) > 0).head(PORTS // 2 * few)
            for column, few in (("deepest_queue_bytes", 1 if result.run.pauses else 2), ("paused_s", 1))
        ]
    ).unique("link", keep="first", maintain_order=True)
    rows = []
    for port in worst.iter_rows(named=True):
        waits = port["deepest_queue_bytes"] * 8 / port["rate_bps"]
        paused = port["paused_s"]
        rows.append(
            (
                port["port"],
                rate(port["rate_bps"]),
                percent(port["utilisation"]) if "utilisation" in port else "",
                format_size(port["deepest_queue_bytes"]),
                duration(waits),
                f"{port['pauses']:,}" if port["pauses"] else "",
                duration(paused) if paused else "",
                *(f"{port[what]:,}" if port.get(what) else "" for what in ("marks", "trims", "drops")),
            )
        )
    held = halts(result.settings).heads
    heads = ("Port", "Rate", "Busy", "Deepest queue", "To send it", *held, "Marks", "Trims", "Drops")
    empty = {head for place, head in enumerate(heads) if not any(row[place] for row in rows)}
    kept = [place for place, head in enumerate(heads) if head not in empty or head == "Port"]
    return Listing(
        tuple((heads[place], heads[place] != "Port") for place in kept),
        [tuple(row[place] for place in kept) for row in rows],
    )
