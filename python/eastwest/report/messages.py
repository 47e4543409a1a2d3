"""What a study by packets tells of the network: how long messages take, their tail, the worst queues and pauses.

Not here: runs of flows (`packets`), which also tell what happened when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eastwest.engine.messages import PERCENTILES, Messages, WorstPort
from eastwest.report.charts import SERIES, Chart, figure_json, plain
from eastwest.report.figures import duration, factor, fine
from eastwest.study.result import Row, StudyResult
from eastwest.units import format_size

MOST_LINES = 8
"""Of more results than these the first are drawn: the table has them all."""
_HEIGHT_PX = 360
EXPLANATION = (
    "Messages between servers, from when a queue pair began to send one until all of it had arrived, in the median "
    "draw. Tail: the 99th percentile over the median. Ports are held back by pauses, or for want of credits. NVLink "
    "and PCIe inside servers are fluid here: what waits there shows in the step, not in these figures."
)


@dataclass(frozen=True)
class Told:
    """What one result tells of its messages, as cells under `HEADS`."""

    name: str
    cells: tuple[str, ...]


HEADS = (
    "Messages",
    "Median",
    "p99",
    "Slowest",
    "Tail",
    "Deepest queue",
    "Held back longest",
    "Times in all",
    "Lost and repeated",
)


def messages_of(result: StudyResult) -> list[Told]:
    """What each result by packets tells, in the result's order."""
    return [Told(_name(row), _cells(found)) for row, found in _by_packets(result)]


def messages_chart(result: StudyResult) -> Chart | None:
    """The share of messages that have arrived within a time, a line a result; None where there is none by packets."""
    found = _by_packets(result)[:MOST_LINES]
    if not found:
        return None
    scale = fine([messages.max_s for _, messages in found])
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(_name(row)),
            "x": [time_s / scale.seconds for time_s in messages.percentiles_s],
            "y": list(PERCENTILES),
            "line": {"width": 2.2, "color": SERIES[number % len(SERIES)]},
            "hovertemplate": f"%{{y:.1f}} % within %{{x:.4g}} {scale.unit}<extra>{plain(_name(row))}</extra>",
        }
        for number, (row, messages) in enumerate(found)
    ]
    row, worst = max(found, key=lambda each: each[1].tail)
    title = (
        f"The longest tail: on {row.fabric} the 99th percentile of the messages of {row.workload} takes "
        f"{factor(worst.tail)} the median"
    )
    words = "; ".join(
        f"{_name(row)} median {duration(messages.median_s)}, p99 {duration(messages.p99_s)}" for row, messages in found
    )
    return Chart(title, figure_json(traces, _layout(scale.unit, found)), _HEIGHT_PX, f"{title}. {words}.")


def _by_packets(result: StudyResult) -> list[tuple[Row, Messages]]:
    return [(row, row.packets) for row in result.rows if row.packets is not None and row.packets.messages]


def _name(row: Row) -> str:
    return f"{row.workload}, {row.placement}, on {row.fabric}"


def _cells(found: Messages) -> tuple[str, ...]:
    lost = {"dropped": found.drops, "trimmed": found.trims, "sent again": found.retransmits, "marked": found.marks}
    return (
        f"{found.messages:,}",
        *(duration(time_s) for time_s in (found.median_s, found.p99_s, found.max_s)),
        factor(found.tail),
        _worst(found.deepest_queues, lambda port: format_size(port.deepest_queue_bytes)),
        _worst(found.longest_paused, lambda port: duration(port.paused_s)),
        f"{found.pauses:,}",
        ", ".join(f"{number:,} {what}" for what, number in lost.items() if number) or "none",
    )


def _worst(ports: Sequence[WorstPort], figure: Any) -> str:
    return f"{figure(ports[0])}: {ports[0].port}" if ports else "none"


def _layout(unit: str, found: Sequence[tuple[Row, Messages]]) -> dict[str, Any]:
    is_logarithmic = max(messages.max_s for _, messages in found) > 20 * min(messages.median_s for _, messages in found)
    return {
        "height": _HEIGHT_PX,
        "margin": {"l": 10, "r": 14, "t": 12 + 20 * len(found), "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "xaxis": {
            "title": {"text": f"time of a message ({unit})", "standoff": 6, "font": {"size": 13}},
            "zeroline": False,
            "fixedrange": True,
            **({"type": "log"} if is_logarithmic else {"rangemode": "tozero"}),
        },
        "yaxis": {
            "title": {"text": "messages that have arrived (%)"},
            "range": [0, 101.5],
            "automargin": True,
            "zeroline": False,
            "fixedrange": True,
        },
    }
