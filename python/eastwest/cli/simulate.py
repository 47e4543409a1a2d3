"""`eastwest simulate`: flows on a network, packet by packet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("simulate", help="Simulate flows on a network, packet by packet.")(run)


def run(
    topology: Annotated[
        Path, typer.Option("--topology", metavar="FILE", help="A network: htsim's .topo, or HPCC's ns-3 topology.")
    ],
    flows: Annotated[
        Path, typer.Option("--flows", metavar="FILE", help="Flows: htsim's .cm, or HPCC's ns-3 flow file.")
    ],
    transport: Annotated[Literal["uet", "rocev2"], typer.Option(help="What the hosts speak.")] = "uet",
    balancing: Annotated[
        Literal["hash", "random", "shortest-queue"],
        typer.Option(help="How a switch chooses a port: by a hash of flow and entropy, any, the emptiest."),
    ] = "hash",
    start_unit: Annotated[
        Literal["ps", "ns", "us"], typer.Option(help="Unit of the start times in a .cm file.")
    ] = "ps",
    seed: Annotated[int, typer.Option(min=0, help="Seeds hashes, entropy values and draws.")] = 0,
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="Simulated time at which to stop, as in '10 ms'.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulates flows."""
    import json
    import math

    from rich.console import Console

    from eastwest import simulation
    from eastwest.engine import EngineError
    from eastwest.engine.packets import PacketNetwork
    from eastwest.errors import InputError
    from eastwest.report.simulation import simulation_table
    from eastwest.units import UnitError, parse_time

    try:
        until_s = parse_time(until) if until else math.inf
    except UnitError as error:
        raise InputError(f"--until: {error}") from None
    fabric = simulation.read_topology(topology)
    given = simulation.read_flows(flows, fabric, start_unit)
    try:
        network = PacketNetwork(fabric)
        settings = simulation.settings_for(transport, network, given, balancing, seed)
        result = simulation.simulate(network, given, settings, until_s)
    except EngineError as error:
        raise InputError(f"{topology}: {error}") from None
    if as_json:
        json.dump(result.to_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(simulation_table(result))
    if result.unfinished:
        sys.stderr.write(f"{result.unfinished} of {len(given)} flows had not ended at {result.run.simulated_s:g} s\n")
        raise typer.Exit(1)
