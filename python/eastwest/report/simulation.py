"""A simulation of flows in a terminal: completion times and counts."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from eastwest.simulation.result import SimulationResult
from eastwest.units import format_size, format_time


def simulation_table(result: SimulationResult) -> Table:
    """Two columns: what, and how much."""
    run, table = result.run, Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    found, bursts = result.to_json()["fct_s"], result.burst_fct_s
    by_class = {f"class {each['name']}": _class(each) for each in result.by_class()} if result.settings.classes else {}
    rows = {
        "flows": f"{result.given:,}",
        **{
            f"completion time, {name}": format_time(value) if value is not None else "none ended"
            for name, value in found.items()
        },
        **(
            {
                "flows of bursts": f"{len(result.flows) - result.given:,}",
                "completion time of bursts, max": format_time(float(bursts[-1])) if len(bursts) else "none ended",
            }
            if len(result.flows) > result.given
            else {}
        ),
        **({"flows lost with a NIC": f"{run.lost_flows:,}"} if run.lost_flows else {}),
        "packets of data": f"{run.packets:,}",
        "sent again": f"{run.retransmits:,}",
        "trimmed": f"{run.trims:,}",
        "dropped": f"{run.drops:,}",
        **({"lost to bit errors": f"{run.bit_errors:,}"} if run.bit_errors else {}),
        "marked": f"{run.marks:,}",
        **({"given up": f"{run.failed:,}"} if run.failed else {}),
        ("waits for credits" if result.settings.transport == "infiniband" else "pauses"): (
            f"{run.pauses:,}, {format_time(run.paused_s)} in all" if run.pauses else "0"
        ),
        **by_class,
        "deepest queue": format_size(run.deepest_queue_bytes),
        "link-hops": f"{run.link_hops:,}",
        **({"captured": f"{len(run.capture):,}"} if run.capture is not None else {}),
        "wall time": f"{result.wall_s:.3g} s, {run.link_hops / result.wall_s / 1e6:.1f} M link-hops a second",
        "largest memory": format_size(result.peak_rss_bytes),
    }
    for what, value in rows.items():
        table.add_row(what, value)
    return table


def _class(found: dict[str, Any]) -> str:
    """What became of a traffic class, in a line."""
    fct, counts = found["fct_s"], {"dropped": "drops", "trimmed": "trims", "marked": "marks", "pauses": "pauses"}
    times = f"{format_time(fct['median'])}, last {format_time(fct['max'])}" if fct["max"] is not None else "none ended"
    told = [f"{found[key]:,} {what}" for what, key in counts.items() if found[key]]
    return ", ".join([f"{found['flows']:,} flows", f"median {times}", *told])
