"""A step run with every packet between servers simulated; inside servers NVLink and PCIe stay fluid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from eastwest.engine._native import EngineError
from eastwest.engine.defaults import EXACT_HEADERS, FRAMINGS, Framing, settings_for
from eastwest.engine.faults import changes
from eastwest.engine.links import port_names, rates_within
from eastwest.engine.messages import Messages
from eastwest.engine.network import Carriage, Floats, Network, Run, named
from eastwest.engine.packets import Choice, PacketNetwork, PacketSettings, Repeat, Transport
from eastwest.engine.program import native_mix
from eastwest.fabric import Fabric
from eastwest.workload import Step
from eastwest.workload.flows import flows

ACK_EVERY = 16_384
"""Bytes after which receivers acknowledge here: those of Ultra Ethernet's. InfiniBand's rules leave it to the receiver;
with RoCEv2 one for each packet would take 2 % of the way back."""


@dataclass(frozen=True)
class Wire:
    """How NICs and switches treat packets: the transport, how switches choose a port, and what is done about gaps."""

    transport: Transport
    choice: Choice
    repeat: Repeat = "go-back-n"
    entropies: int | None = None


def run_by_packet(
    network: Network,
    step: Step,
    gpu_of_rank: npt.NDArray[np.uint32],
    carriage: Carriage,
    wire: Wire,
    *,
    seeds: Sequence[int] = (0,),
    tolerance: float = 0.01,
) -> Run:
    """Runs `step` once for each seed, as `Network.run` does, packet by packet.

    What the carriage states of settings and events applies. Links carry all that crosses them, repeats and answers too;
    the busiest is named as the one that limits, for as long as it was busy; flows on links are not counted.

    Raises:
        UnreachableError: two ranks that must talk have no path; an `EngineError`, as any other below.
        EngineError: the step cannot be carried out, or not by packets, or takes too many.
        KeyboardInterrupt: Ctrl-C was pressed; nothing is kept.
    """
    if len(gpu_of_rank) != step.ranks:
        raise EngineError(f"the step has {step.ranks} ranks but {len(gpu_of_rank)} GPUs are given")
    fabric = network.fabric
    efficiency = fabric.links["efficiency"].to_numpy().astype(np.float64)
    with named(step, fabric):
        packets = PacketNetwork(fabric, wire_rates(fabric), network.tables)
        wrong = changes(carriage.events, fabric, carriage.routes_after_s, packets.rate_bps)
        arrays = network.native.run_packets(
            np.ascontiguousarray(gpu_of_rank, dtype=np.uint32),
            network.operations(step, gpu_of_rank),
            step.overlap_slowdown,
            native_mix(step, None),
            carriage,
            tolerance,
            list(seeds),
            packets.native,
            _settings(packets, wire, carriage),
            efficiency,
            wrong,
        )
    took, counts = arrays.pop("transfer_s"), arrays.pop("packets")
    names = port_names(fabric)
    return Run(**arrays, messages=tuple(Messages.of(*each, names) for each in zip(took, counts, strict=True)))


def _settings(packets: PacketNetwork, wire: Wire, carriage: Carriage) -> PacketSettings:
    """Settings whose full packet is that of the fabric's link layer, in payload and efficiency, unless stated."""
    plan = packets.fabric.plan["link_layer"]
    payload = int(plan["mtu_bytes"])
    header = round(payload / float(plan["efficiency"])) - payload
    framing = Framing(payload, header, FRAMINGS[wire.transport].control)
    habits: dict[str, Any] = {"repeat": wire.repeat, "ack_every": ACK_EVERY, "shares_contexts": True}
    if carriage.routes_after_s is not None:
        habits["patience_s"] = PacketSettings.patience_s + carriage.routes_after_s
    if plan["technology"] == "rocev2":
        habits |= EXACT_HEADERS
    if wire.entropies:
        habits["entropies"] = wire.entropies
    given = tuple((habits | dict(carriage.stated)).items())
    return settings_for(wire.transport, packets, flows([], [], 1), wire.choice, framing=framing, stated=given)


def wire_rates(fabric: Fabric) -> Floats:
    """Rates of links on the wire, bit/s: a NIC's ports are as fast as its PCIe lets them."""
    links = fabric.links
    payload = pl.col("rate_bps") * pl.col("efficiency")
    pcie = links.filter(pl.col("tier") == "pcie-nic").group_by("dst").agg(payload.sum().alias("pcie_bps"))
    limit: Floats = np.full(len(fabric.nodes), np.inf)
    limit[pcie["dst"].to_numpy()] = pcie["pcie_bps"].to_numpy()
    return rates_within(fabric, limit, links["efficiency"].to_numpy())
