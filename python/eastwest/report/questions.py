"""Scaling, message-size curves and sensitivity for a terminal: a table each, and what it shows in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eastwest.report.figures import NBSP, Scale, percent
from eastwest.report.limits import in_short
from eastwest.study.curve import Curve
from eastwest.study.scaling import Scaling
from eastwest.study.sensitivity import Sensitivity

_BAR = 20


def _table(*heads: tuple[str, str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head, side in heads:
        table.add_column(head, justify="left" if side == "left" else "right", vertical="bottom")
    return table


def scaling_table(scaling: Scaling) -> RenderableType:
    """Give how a workload scales: one table for each placement and whatever else is swept."""
    parts: list[RenderableType] = []
    for curve in scaling.curves:
        table = _table(
            ("servers", "right"), ("GPUs", "right"), ("step", "right"), ("net", "right"), ("times\nas fast", "right"),
            ("of\nlinear", "right"), ("bottleneck", "left"),
        )  # fmt: skip
        scale = _fine([size.step_s for size in curve.sizes])
        for size in curve.sizes:
            table.add_row(
                f"{size.servers:,}",
                f"{size.gpus:,}",
                scale.with_unit(size.step_s),
                percent(size.exposed_share),
                f"{size.speedup:.2f}",
                percent(size.efficiency),
                in_short(size.bottleneck),
            )
        kind = ", strong scaling" if scaling.is_strong else ""
        title = Text(f"{scaling.workload} on {scaling.fabric}, {curve.name}{kind}", "bold underline")
        parts += [title, table, Text()]
        parts += [Text(finding, "bold") for finding in curve.findings]
        parts.append(Text())
    foot = "Each GPU has the same work at every size; times as fast: work done in all, over that of the smallest size."
    if scaling.is_strong:
        foot = (
            "All GPUs together have the same work at every size; times as fast: the smallest size's step over this one."
        )
    return Group(*parts, Text(foot, "dim"))


def curve_table(curve: Curve) -> RenderableType:
    """Give a collective over message sizes, in nccl-tests' columns."""
    table = _table(
        ("size", "right"), ("time\nus", "right"), ("algbw\nGB/s", "right"), ("busbw\nGB/s", "right"), ("", "left"),
        *([("algorithm\nand protocol", "left")] if curve.chooses else []),
    )  # fmt: skip
    most = max(point.busbw for point in curve.points)
    for point in curve.points:
        table.add_row(
            f"{point.size_bytes:,.0f}",
            f"{point.time_s * 1e6:,.2f}",
            f"{point.algbw / 1e9:.2f}",
            f"{point.busbw / 1e9:.2f}",
            "▇" * round(_BAR * point.busbw / most),
            *([" ".join(filter(None, (point.algorithm, point.protocol)))] if curve.chooses else []),
        )
    title = f"{curve.collective} ({curve.algorithm}) among {curve.gpus:,} GPUs on {curve.fabric}, {curve.placement}"
    return Group(
        Text(title, "bold underline"),
        table,
        Text(),
        Text(half_of_best(curve), "bold"),
        Text("size in bytes; bars: bus bandwidth, over the best here.", "dim"),
    )


def half_of_best(curve: Curve) -> str:
    """Say from which size on half of the best bus bandwidth is reached, as far as the sizes asked for can tell."""
    points = sorted(curve.points, key=lambda point: point.size_bytes)
    most = max(point.busbw for point in points)
    half = next(point for point in points if point.busbw >= most / 2)
    best, size = f"{most / 1e9:.1f} GB/s", f"{half.size_bytes:,.0f} bytes"
    if len(points) == 1:
        return f"{size} reach a bus bandwidth of {best}."
    if half is points[0]:
        return f"The smallest of these sizes, {size}, already reaches half of the best bus bandwidth, {best}."
    return f"Half of the best bus bandwidth, {best}, is reached at {size}."


def sensitivity_table(found: Sensitivity) -> RenderableType:
    """Give what more of each resource would buy, most first."""
    table = _table(("resource", "left"), ("change", "right"), ("step", "right"), ("faster", "right"))
    scale = _fine([found.step_s])
    for gain in found.gains:
        table.add_row(
            gain.resource,
            gain.change.replace("%", f"{NBSP}%"),
            scale.with_unit(gain.step_s),
            f"{gain.gain * 100:.2f}{NBSP}%",
        )
    best = found.gains[0]
    told = (
        f"{best.change.replace('%', ' %')} {best.resource} would buy most: a step {best.gain * 100:.1f} % shorter."
        if best.gain > 0
        else "None of them would shorten the step."
    )
    takes = "from one step to the next it takes" if found.is_fed else "a step takes"
    title = f"{found.workload} on {found.fabric}, {found.placement}: {takes} {scale.with_unit(found.step_s)}"
    return Group(Text(title, "bold underline"), table, Text(), Text(told, "bold"))


def _fine(times_s: Sequence[float]) -> Scale:
    """Give a unit and decimals in which small differences show."""
    scale = Scale.of(times_s)
    return replace(scale, decimals=scale.decimals + 1)
