"""`eastwest simulate`: flows on a network, packet by packet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from eastwest.engine.series import Sampling


def add(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("simulate", help="Simulate flows on a network, packet by packet.")(run)


def run(
    flows: Annotated[
        Path, typer.Option("--flows", metavar="FILE", help="Flows: htsim's .cm, or HPCC's ns-3 flow file.")
    ],
    topology: Annotated[
        Path | None,
        typer.Option("--topology", metavar="FILE", help="A network: htsim's .topo, or HPCC's ns-3 topology."),
    ] = None,
    study: Annotated[
        str, typer.Option(metavar="STUDY", help="In place of --topology: a study, of which --fabric is taken.")
    ] = "",
    fabric: Annotated[str, typer.Option(metavar="NAME", help="The fabric of --study.")] = "",
    transport: Annotated[
        Literal["uet", "mrc", "rocev2", "infiniband", "dctcp"], typer.Option(help="What the hosts speak.")
    ] = "uet",
    balancing: Annotated[
        Literal[
            "hash",
            "random",
            "shortest-queue",
            "shorter-of-two",
            "least-congested",
            "wcmp",
            "flowlet",
            "pinned",
            "source",
        ],
        typer.Option(help="How a switch chooses a port: by a hash of flow and entropy, by its queues, by flowlets."),
    ] = "hash",
    settings_file: Annotated[
        Path | None,
        typer.Option("--settings", metavar="FILE", help="YAML file of packet settings that differ from the defaults."),
    ] = None,
    start_unit: Annotated[
        Literal["ps", "ns", "us"], typer.Option(help="Unit of the start times in a .cm file.")
    ] = "ps",
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seeds hashes, entropy values and draws.")] = 0,
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="Simulated time at which to stop, as in '10 ms'.")
    ] = "",
    event: Annotated[
        list[str] | None,
        typer.Option(
            "--event", metavar="EVENT", help="What goes wrong, as in 'down spine-3 at 50 us for 1 ms'; may be repeated."
        ),
    ] = None,
    routes_after: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How long switches take to find new routes, or bgp-bfd, bgp or opensm; never where left out.",
        ),
    ] = "",
    capture: Annotated[
        list[str] | None,
        typer.Option(
            "--capture",
            metavar="LINK",
            help="Capture what leaves by a link, as in 'leaf-0 spine-1' (both ways) or 'leaf-0 > spine-1'; with "
            "--transport rocev2; may be repeated.",
        ),
    ] = None,
    pcap: Annotated[Path | None, typer.Option("--pcap", metavar="FILE", help="Where --capture writes.")] = None,
    capture_limit: Annotated[int, typer.Option(min=1, help="Packets after which --capture only counts.")] = 100_000,
    snap_length: Annotated[int, typer.Option(min=70, max=65_535, help="Most bytes of each packet in --pcap.")] = 65_535,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write report.html, tables, summary.json and a Perfetto trace there.",
        ),
    ] = None,
    sample: Annotated[
        str,
        typer.Option("--sample", metavar="TIME", help="Shortest interval of what --out shows over time, as in '1 us'."),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulates flows."""
    import json
    import math

    from rich.console import Console

    from eastwest import simulation
    from eastwest.engine import EngineError
    from eastwest.engine.control_planes import routes_delay
    from eastwest.engine.packets import PacketNetwork, PacketSettings
    from eastwest.errors import InputError
    from eastwest.report import check_folder
    from eastwest.report.simulation import simulation_table

    until_s, routes_after_s = _time("--until", until), _time("--routes-after", routes_after, routes_delay)
    if (topology is None) == (not study) or bool(study) != bool(fabric):
        raise InputError("name the network with --topology FILE, or with --study STUDY and --fabric NAME")
    if topology is None:
        net, tables = simulation.study_network(study, fabric)
    else:
        net, tables = simulation.read_topology(topology), None
    given = simulation.read_flows(flows, net, start_unit)
    asked = simulation.FileSettings() if settings_file is None else simulation.read_settings(settings_file, transport)
    routes_after_s = asked.routes_after_s if routes_after_s is None else routes_after_s
    if "choice" in dict(asked.stated) and balancing != "shortest-queue":
        ways = "adaptive says by which queues switches choose: with --balancing shortest-queue alone"
        raise InputError(f"{settings_file}: {ways}, not {balancing}")
    stated, rates = asked.stated, None
    if routes_after_s is not None:  # nothing new may arrive until then
        stated = (("patience_s", PacketSettings.patience_s + routes_after_s), *stated)
    if asked.pcie_bps is not None:
        rates = simulation.limited_rates(net, asked.pcie_bps, transport, stated)
    failed = simulation.read_failures(flows, net)
    apart = {change.link for change in failed}
    events = (*asked.events, *(event or ()))
    simulation.check_events(asked, net, rates)
    wrong = simulation.changes(events, net, routes_after_s, rates, seed)
    wrong = [*failed, *(change for change in wrong if change.link not in apart)]
    for doubt in simulation.doubts(flows, given, net, start_unit):
        sys.stderr.write(f"{doubt}\n")
    all_flows = simulation.with_bursts(given, events, net, seed)
    if (pcap is None) != (not capture):
        raise InputError("--capture LINK and --pcap FILE go together: name both")
    if pcap and not pcap.absolute().parent.is_dir():
        raise InputError(f"--pcap: there is no folder {pcap.parent}")
    if pcap and pcap.exists() and not pcap.is_file():
        raise InputError(f"--pcap: {pcap} cannot be written: it is there already, and no file; name another")
    sampling = _sampling(out, sample, len(net.links))
    if out is not None:
        check_folder(out)
    recorded = simulation.capturing(capture, net, transport, capture_limit) if capture else None
    try:
        network = PacketNetwork(net, rates, tables)
        settings = simulation.settings_for(transport, network, all_flows, balancing, seed, stated=stated)
        result = simulation.simulate(
            network,
            all_flows,
            settings,
            math.inf if until_s is None else until_s,
            wrong,
            recorded,
            sampling,
            given=len(given),
        )
    except EngineError as error:
        raise InputError(f"{topology or fabric}: {error}") from None
    if pcap:
        simulation.write_pcap(result, net, pcap, snap_length)
    if out is not None:
        from eastwest.report.packets import write_simulation

        title = f"{flows.stem} on {fabric or net.plan.get('name') or (topology or flows).stem}"
        sys.stderr.write(f"report: {write_simulation(result, out, title)}\n")
    if as_json:
        json.dump(result.to_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(simulation_table(result))
    if result.run.capture and result.run.capture.missed:
        more = f"{result.run.capture.missed:,} more packets left by the captured links"
        sys.stderr.write(f"{pcap} holds the first {capture_limit:,} packets; {more} (--capture-limit)\n")
    if result.unfinished:
        sys.stderr.write(
            f"{result.unfinished} of {len(all_flows)} flows had not ended at {result.run.simulated_s:g} s\n"
        )
        raise typer.Exit(1)


def _sampling(out: Path | None, every: str, links: int) -> Sampling | None:
    from eastwest.engine.series import Sampling
    from eastwest.errors import InputError

    if out is None and every:
        raise InputError("--sample says how finely --out shows a run over time: name a folder with --out")
    return Sampling.of(links, _time("--sample", every)) if out is not None else None


def _time(option: str, text: str, parse: Callable[[str], float] | None = None) -> float | None:
    from eastwest.errors import InputError
    from eastwest.units import UnitError, parse_time

    try:
        return (parse or parse_time)(text) if text else None
    except UnitError as error:
        raise InputError(f"{option}: {error}") from None
