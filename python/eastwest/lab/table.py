"""How a lab's nodes are, and what its links carried, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from eastwest.lab.driver import NodeState
from eastwest.lab.nodes import End, Nodes, Wire
from eastwest.lab.registry import Lab
from eastwest.lab.traffic import Carried, Pair
from eastwest.units import format_rate

LEAST_SHARE = 0.005
"""Links that carried less than this share of the one that carried most have only the control plane's packets."""


def state_table(lab: Lab, state: Sequence[NodeState]) -> Table:
    """One row a node, one column a figure."""
    figures = list(dict.fromkeys(name for each in state for name in each.figures))
    table = Table(title=f"lab {lab.name}: {lab.fabric} of {lab.study}", title_justify="left", box=None)
    table.add_column("node")
    for name in figures:
        table.add_column(name, justify="right")
    table.add_column("wrong")
    for each in state:
        counted = (f"{each.figures[name]:,}" if name in each.figures else "" for name in figures)
        table.add_row(each.node, *counted, "; ".join(each.wrong))
    return table


def carried_table(nodes: Nodes, pair: Pair, sent: Carried) -> Table:
    """What each link between switches and to the servers carried of a flow, those that carried most of it first."""
    payload = sum(sent.arrived.values())
    table = Table(
        title=f"{pair}: {payload / 1e6:,.1f} MB arrived at {format_rate(sent.rate_bps)}, in {len(sent.arrived)} flows",
        title_justify="left",
        box=None,
    )
    table.add_column("link")
    table.add_column("MB", justify="right")
    table.add_column("of it", justify="right")
    links = {(end.node, end.interface): f"{end} to {other}" for wire in nodes.wires for end, other in _ways(wire)}
    most = max(sent.interfaces.values(), default=0)
    for end, count in sorted(sent.interfaces.items(), key=lambda item: (-item[1], item[0])):
        if end in links and count >= LEAST_SHARE * most:
            table.add_row(links[end], f"{count / 1e6:,.2f}", f"{100 * count / max(most, 1):.0f} %")
    return table


def _ways(wire: Wire) -> tuple[tuple[End, End], tuple[End, End]]:
    return (wire.a, wire.b), (wire.b, wire.a)
