"""A simulation as a Perfetto trace, for ui.perfetto.dev: flows by sending host, the worst ports as counters.

Times are nanoseconds of simulated time. Not here: how a trace is written (`report.perfetto`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from eastwest.engine.links import port_names
from eastwest.report.packets.moments import moments
from eastwest.report.perfetto import Writer
from eastwest.simulation.result import SimulationResult
from eastwest.simulation.tables import flows_table
from eastwest.study.timeline import Slice
from eastwest.units import format_size

PS_PER_S = 1e12
BITS = 8.0
MOST_FLOWS = 20_000
"""Of more flows the slowest: a browser shows no more with ease."""
_PORTS = 16


def trace(result: SimulationResult, title: str) -> bytes:
    """Give a simulation as a serialised `perfetto.protos.Trace`."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    writer = Writer(Trace())
    top = writer.track(title, description=_about(result))
    end_ps = _ps(result.run.simulated_s)
    writer.slices(top, [Slice("simulation", "event", 0, end_ps)])
    for moment in moments(result):
        at = _ps(moment.at_s)
        writer.slices(writer.track(moment.text, top), [Slice(moment.text, "event", at, end_ps)])
    for host, lanes in _lanes(result).items():
        track = writer.track(host)
        for number, slices in enumerate(lanes):
            writer.slices(writer.track(f"flows {number + 1}" if number else "flows", track), slices)
    _counters(result, writer)
    text: bytes = writer.trace.SerializeToString(deterministic=True)
    return text


def _about(result: SimulationResult) -> str:
    flows = len(result.flows)
    shown = f"The {MOST_FLOWS:,} slowest of {flows:,} flows" if flows > MOST_FLOWS else f"{flows:,} flows"
    return f"{shown}, by sending host, from their start until the sender knew that all had arrived or the run ended."


def _lanes(result: SimulationResult) -> dict[str, list[list[Slice]]]:
    """Slices of flows by host, in as many rows as flows overlap there."""
    table = flows_table(result).filter(pl.col("start_s").is_not_null())
    end = pl.col("end_s").fill_null(result.run.simulated_s)
    slowest = table.sort(end - pl.col("start_s"), descending=True, maintain_order=True).head(MOST_FLOWS)
    lanes: dict[str, list[list[Slice]]] = {}
    for flow in slowest.with_columns(until_s=end).sort("src", "start_s", "flow").iter_rows(named=True):
        of_host = lanes.setdefault(flow["src"], [])
        start, until = _ps(flow["start_s"]), _ps(flow["until_s"])
        free = next((lane for lane in of_host if lane[-1].end_ps <= start), None)
        if free is None:
            free = []
            of_host.append(free)
        kind: Literal["flow", "unfinished"] = "unfinished" if flow["end_s"] is None else "flow"
        free.append(Slice(f"{flow['flow']} > {flow['dst']}, {format_size(flow['size_bytes'])}", kind, start, until))
    return lanes


def _counters(result: SimulationResult, writer: Writer) -> None:
    """Queue and throughput of the ports with the deepest queues, over time."""
    series = result.run.series
    if series is None:
        return
    names, deepest = port_names(result.network.fabric), result.run.ports.deepest_bytes.astype(np.float64)
    starts, lengths = series.starts_s(), series.lengths_s(result.run.simulated_s)
    times = [_ps(time_s) for time_s in (*starts.tolist(), result.run.simulated_s)]
    for head, unit, column in (("queues", "B", "deepest_bytes"), ("throughput", "Gb/s", "bytes")):
        parent = writer.track(f"{head} of the ports with the deepest queues")
        for port in np.argsort(-deepest, kind="stable")[:_PORTS].tolist():
            entries = series.ports.filter(pl.col("link") == port)
            values = np.zeros(len(starts))
            values[entries["sample"].to_numpy()] = entries[column].to_numpy()
            if column == "bytes":
                values *= BITS / lengths / 1e9
            if values.any():
                writer.counter(writer.track(names[port], parent, unit=unit), times, [*values.tolist(), 0.0])


def _ps(time_s: float) -> int:
    return round(time_s * PS_PER_S)
