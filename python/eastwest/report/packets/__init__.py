"""A simulation of packets for people and for other tools: one HTML page, tables, a summary and a Perfetto trace.

Not here: the figures themselves (`simulation`).
"""

from __future__ import annotations

import json
from pathlib import Path

from eastwest.simulation.result import SimulationResult
from eastwest.simulation.tables import (
    flow_series_table,
    flows_table,
    network_series_table,
    ports_table,
    series_table,
)
from eastwest.study.result import replacing, write_table

REPORT = "report.html"


def write_simulation(result: SimulationResult, folder: Path, title: str) -> Path:
    """Write all that is known of a simulation to a folder, made if need be, and give the path of the report.

    Each file is written whole or not at all: report.html, summary.json, trace.perfetto, flows.parquet, ports.parquet;
    of a run that was sampled series.parquet (ports over time) and series_network.parquet, and series_flows.parquet
    where flows were few enough to follow each.
    """
    from eastwest.report.packets.page import page
    from eastwest.report.packets.trace import trace

    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "flows": flows_table(result),
        "ports": ports_table(result),
        "series": series_table(result),
        "series_network": network_series_table(result),
        "series_flows": flow_series_table(result),
    }
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        if not table.width:
            # what an earlier run left is not of this one
            path.unlink(missing_ok=True)
            continue
        write_table(table, path)
    for name, content in (
        ("summary.json", f"{json.dumps(result.to_json(), indent=2)}\n".encode()),
        ("trace.perfetto", trace(result, title)),
        (REPORT, page(result, title).encode()),
    ):
        with replacing(folder / name) as temporary:
            temporary.write_bytes(content)
    return folder / REPORT
