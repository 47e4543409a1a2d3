"""One fabric as built, for a terminal: switches and ports by tier, cables by pair of tiers, what they amount to.

Takes the values of `fabric.summary`. Not here: the counting itself.
"""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eastwest.report.figures import count, rate

_FRONTEND = {"frontend_nics": "front-end NIC", "storage_servers": "storage server"}


def inventory(summary: dict[str, Any]) -> RenderableType:
    """Give two tables and the sentences that management asks for."""
    switches = _table("tier", "switches", "ports", "used", "spare")
    for tier, number in summary["switches"].items():
        if number:
            ports = summary["ports"][tier]
            switches.add_row(tier, *(f"{value:,}" for value in (number, ports["total"], ports["used"], ports["spare"])))
    cables = _table("cables", "number")
    for tiers, number in summary["cables"].items():
        if number:
            cables.add_row(tiers.replace("-", " to "), f"{number:,}")
    inside = [count(summary["servers"], "server"), count(summary["gpus"], "GPU"), count(summary["nics"], "NIC")]
    inside += [count(summary[key], word) for key, word in _FRONTEND.items() if summary[key]]
    if 0 < summary["nvlink_domains"] < summary["servers"]:
        inside.append(count(summary["nvlink_domains"], "NVLink domain"))
    if summary["planes"] > 1:
        inside.append(count(summary["planes"], "plane"))
    if summary["sites"] > 1:
        inside.append(count(summary["sites"], "site"))
    return Group(
        Text.assemble((summary["name"], "bold"), ": ", ", ".join(inside)),
        Text(),
        switches,
        Text(),
        cables,
        Text(),
        Text(_bisection(summary["bisection_bps"])),
        Text(f"As built: {built(summary)}."),
    )


def _bisection(bps: float | None) -> str:
    return "Bisection: not known of a custom network." if bps is None else f"Bisection: {rate(bps)} in one direction."


def built(summary: dict[str, Any]) -> str:
    """Say how oversubscribed a fabric is, and where, from the counted links: `4:1 oversubscribed at the leaf`."""
    ratios = summary["oversubscription"]
    if summary["bisection_bps"] is not None and (ratios["overall"] or 1.0) <= 1.0:
        return "non-blocking"
    narrow = [f"{ratios[tier]:.3g}:1 at the {tier}" for tier in ("leaf", "spine") if (ratios[tier] or 1.0) > 1.0]
    if not narrow and ratios["overall"] is None:
        return "no tier oversubscribed"
    return f"oversubscribed {', '.join(narrow) or format(ratios['overall'], '.3g') + ':1'}"


def _table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    return table
