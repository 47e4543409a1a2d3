"""A simulation as tables: flows, ports, and both over time. Sizes are bytes, times seconds, rates bit/s.

What never came to pass is null. Not here: files of them (`report`).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.engine.links import port_names
from eastwest.engine.packets import PacketNetwork, PacketSettings
from eastwest.simulation.result import SimulationResult
from eastwest.workload.flows import Flows

BITS = 8.0
_TIMES = ("start_s", "received_s", "end_s", "fct_s", "ideal_s", "slowdown")


def flows_table(result: SimulationResult) -> pl.DataFrame:
    """A row a flow: `flow`, `src` and `dst` (hosts), `size_bytes`; when it started, was all received, and ended.

    `fct_s` runs until the sender knew, `ideal_s` is what it would take alone, `slowdown` their ratio, and `retransmits`
    its packets that were sent again. `is_burst` tells flows of bursts from those that were given.
    """
    run, given = result.run, result.flows
    names = result.network.fabric.nodes["name"].gather(result.network.hosts)
    alone = ideal_s(result.network, given, result.settings)
    table = pl.DataFrame(
        {
            "flow": np.arange(len(given), dtype=np.uint32),
            "src": names.gather(given.source),
            "dst": names.gather(given.destination),
            "size_bytes": given.size_bytes,
            "start_s": run.start_s,
            "received_s": run.received_s,
            "end_s": run.end_s,
            "fct_s": run.end_s - run.start_s,
            "ideal_s": alone,
            "slowdown": (run.end_s - run.start_s) / alone,
            "retransmits": run.flow_retransmits,
            "is_burst": np.arange(len(given)) >= result.given,
        }
    )
    return table.with_columns(pl.col(_TIMES).fill_nan(None))


def ideal_s(network: PacketNetwork, flows: Flows, settings: PacketSettings) -> NDArray[np.float64]:
    """Time that each flow would take alone, between its NICs' ports, were the network without limits. Shape (flows,).

    Its packets one after the other at the rate of the slower NIC, headers included. The last full one goes the whole
    way, stored at each switch or not, with what is left behind it. Then the answer comes back.
    """
    if not len(flows):
        return np.zeros(0)
    size = flows.size_bytes.astype(np.float64)
    packets = np.maximum(np.ceil(size / settings.payload), 1.0)
    last = size - (packets - 1) * settings.payload + settings.header
    full = settings.full
    rate = np.minimum(*(_host_rates(network)[ends] for ends in (flows.source, flows.destination)))
    # beyond what a switch must have of a packet the round trip grows by as much for each byte of it
    least = settings.cut_through or 0
    short, whole = (
        network.round_trips_s(flows, there, settings.control, settings.cut_through) for there in (least, full)
    )
    several: NDArray[np.float64] = whole + ((packets - 2) * full + last) / rate
    return np.where(packets > 1, several, short + (whole - short) * (last - least) / (full - least))


def ports_table(result: SimulationResult) -> pl.DataFrame:
    """A row a cable and direction, what became of the port at its beginning over the whole run.

    `link`, `port` (as in "leaf-0 > spine-1"), `src`, `dst`, `tier`, `rate_bps`, `deepest_queue_bytes`, `pauses` that
    its other end asked for, `paused_s`; and of a run that was sampled `bytes`, `packets`, `utilisation` (of its rate,
    over the run), `marks`, `drops` and `trims`.
    """
    fabric, run = result.network.fabric, result.run
    nodes, links = fabric.nodes["name"], fabric.links
    table = pl.DataFrame(
        {
            "link": np.arange(len(links), dtype=np.uint32),
            "port": port_names(fabric),
            "src": nodes.gather(links["src"]),
            "dst": nodes.gather(links["dst"]),
            "tier": links["tier"],
            "rate_bps": result.network.rate_bps,
            "deepest_queue_bytes": run.ports.deepest_bytes,
            "pauses": run.ports.pauses,
            "paused_s": run.ports.paused_s,
        }
    )
    if run.series is not None:
        share = pl.col("bytes") * BITS / pl.col("rate_bps") / (run.simulated_s or 1.0)
        table = table.join(run.series.totals, on="link", maintain_order="left").with_columns(utilisation=share)
    return table.filter(links["cable"] >= 0)


def series_table(result: SimulationResult) -> pl.DataFrame:
    """A row a port and interval in which it did anything: `start_s`, `length_s`, `link`, `port`, `bytes`, and the rest.

    `throughput_bps`, `deepest_queue_bytes`, `queue_bytes` at the end, `paused_s`, `marks`, `drops`, `trims`. None where
    the run was not sampled.
    """
    series = result.run.series
    if series is None:
        return pl.DataFrame()
    names = pl.DataFrame({"port": port_names(result.network.fabric)}).with_row_index("link")
    return (
        series.ports.join(_intervals(result), on="sample", maintain_order="left")
        .join(names, on="link", maintain_order="left")
        .select(
            "start_s",
            "length_s",
            "link",
            "port",
            "bytes",
            (pl.col("bytes") * BITS / pl.col("length_s")).alias("throughput_bps"),
            pl.col("deepest_bytes").alias("deepest_queue_bytes"),
            pl.col("waiting_bytes").alias("queue_bytes"),
            "paused_s",
            "marks",
            "drops",
            "trims",
        )
    )


def network_series_table(result: SimulationResult) -> pl.DataFrame:
    """A row an interval: `start_s`, `length_s`, packets `delivered`, `retransmits`, `cnps`; `drops`, `trims`, `marks`.

    And at its end the `flows` under way, their entropy values (`paths`), and how many are `avoided` or `retired`. Empty
    where the run was not sampled.
    """
    series = result.run.series
    if series is None:
        return pl.DataFrame()
    lost = series.ports.group_by("sample").agg(pl.col("drops", "trims", "marks").cast(pl.UInt64).sum())
    return (
        _intervals(result)
        .join(series.network, on="sample", maintain_order="left")
        .join(lost, on="sample", how="left", maintain_order="left")
        .with_columns(pl.col("drops", "trims", "marks").fill_null(0))
        .drop("sample")
    )


def flow_series_table(result: SimulationResult) -> pl.DataFrame:
    """A row a flow and interval: `start_s`, `length_s`, `flow`, `delivered_bytes`, `throughput_bps`, and its paths.

    Empty where flows were too many to follow each.
    """
    series = result.run.series
    if series is None or series.flows.is_empty():
        return pl.DataFrame()
    return series.flows.join(_intervals(result), on="sample", maintain_order="left").select(
        "start_s",
        "length_s",
        "flow",
        "delivered_bytes",
        (pl.col("delivered_bytes") * BITS / pl.col("length_s")).alias("throughput_bps"),
        "paths",
        "avoided",
        "retired",
    )


def _intervals(result: SimulationResult) -> pl.DataFrame:
    series = result.run.series
    if series is None:
        return pl.DataFrame()
    table = pl.DataFrame({"start_s": series.starts_s(), "length_s": series.lengths_s(result.run.simulated_s)})
    return table.with_row_index("sample")


def _host_rates(network: PacketNetwork) -> NDArray[np.float64]:
    """Rate of all ports of each host together, bytes a second. Shape (hosts,)."""
    links = network.fabric.links
    is_cabled = links["cable"].to_numpy() >= 0
    nodes = len(network.fabric.nodes)
    of_node = np.bincount(links["src"].to_numpy()[is_cabled], network.rate_bps[is_cabled] / BITS, nodes)
    rates: NDArray[np.float64] = of_node[network.hosts].astype(np.float64)
    return rates
