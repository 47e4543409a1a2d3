"""`eastwest lab`: a fabric's control plane running on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from eastwest.lab.driver import NodeState

from eastwest.cli.lab_paths import paths

_NAMED = 10
"""Of more pairs, or of more that is wrong, only so many are named."""

Name = Annotated[str | None, typer.Option("--lab", metavar="NAME", help="Which lab, where there are several.")]

lab = typer.Typer(
    name="lab",
    help="Run a fabric's control plane on this machine: namespaces with FRR, ibsim with OpenSM, SRv6.",
    no_args_is_help=True,
)


def add(app: typer.Typer) -> None:
    """Adds the verb and its own."""
    lab.command("paths")(paths)
    app.add_typer(lab)


@lab.callback()
def _find_daemons() -> None:
    """Finds daemons where no user's PATH has them, as after `su`."""
    from eastwest.lab.machine import SBIN

    os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", os.defpath), *SBIN))


@lab.command()
def up(
    study: Annotated[str, typer.Argument(help="A study file, or the name of a bundled study.")],
    fabric: Annotated[str, typer.Option("--fabric", "-f", help="Name of the fabric in the study.")],
    cluster: Annotated[str | None, typer.Option("--cluster", help="Cluster, where the fabric fits several.")] = None,
    name: Annotated[str | None, typer.Option("--lab", metavar="NAME", help="Name of the lab; the fabric's.")] = None,
    built: Annotated[
        Path | None,
        typer.Option("--built", metavar="DIR", help="Run what `eastwest build` wrote there, changed or not."),
    ] = None,
    rate_scale: Annotated[
        float | None,
        typer.Option("--rate-scale", min=0, help="How many times slower links are; 0 for as fast as they go."),
    ] = None,
    patience: Annotated[float, typer.Option("--patience", min=0, help="Seconds to wait until it has settled.")] = 60,
) -> None:
    """Bring a fabric up as a lab, and wait until its control plane has settled."""
    from eastwest import spec as specification
    from eastwest.lab import labs
    from eastwest.lab.machine import TBF

    running, settled = labs.up(specification.load(study), fabric, cluster, name, rate_scale, patience, built)
    there = running.lab
    told = f"lab {there.name}: {len(running.nodes.switches)} switches, {len(running.nodes.hosts)} servers"
    if TBF in running.driver.features:
        told += f", links {there.rate_scale:,.5g} times slower" if there.rate_scale else ", links as fast as they go"
    sys.stdout.write(f"{told}; up after {settled.seconds:.1f} s\n")
    _tell(settled.wrong)


@lab.command()
def status(
    name: Name = None,
    wait: Annotated[
        float | None, typer.Option("--wait", metavar="SECONDS", help="Wait so long until nothing is wrong.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show how every node of a lab is; exit code 1 where something is wrong."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from eastwest.lab import labs
    from eastwest.lab.table import state_table

    running = labs.found(name)
    if wait is not None:
        labs.settle(running, wait)
    state = running.state()
    if as_json:
        about = {key: getattr(running.lab, key) for key in ("name", "driver", "study", "fabric", "rate_scale")}
        json.dump({**about, "nodes": [asdict(each) for each in state]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(state_table(running.lab, state))
    if any(each.wrong for each in state):
        raise typer.Exit(1)


@lab.command("list")
def list_() -> None:
    """List the labs of this machine."""
    from eastwest.lab import registry

    for name in registry.names():
        there = registry.find(name)
        what = f"{there.driver}, {there.fabric} of {there.study}" if there.is_alive else "dead: take it down"
        sys.stdout.write(f"{name}: {what}\n")


@lab.command(
    "exec",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False},
)
def exec_(
    node: Annotated[str, typer.Argument(help="A switch or a server.")],
    command: Annotated[list[str], typer.Argument(help="Command with its arguments.")],
    name: Name = None,
) -> None:
    """Run a command in a node, as in: eastwest lab exec leaf-u0-r0 vtysh -c 'show bgp summary'."""
    from eastwest.lab import labs

    running = labs.found(name)
    command = command[1:] if command[0] == "--" else command
    words = running.lab.on(running.nodes.named(node).name, command)
    sys.stdout.flush()
    os.execvp(words[0], words)


@lab.command()
def down(name: Name = None) -> None:
    """Take a lab down, running or dead: nothing of it is left."""
    from eastwest.lab import labs

    sys.stdout.write(f"lab {labs.down(name)} is down\n")


@lab.command()
def routes(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File for them, as a study's `routes` has it.")
    ],
    name: Name = None,
) -> None:
    """Write what the control plane chose as forwarding tables, for `eastwest study --routes`."""
    from eastwest.lab import labs, tables

    running = labs.found(name)
    rows = running.driver.routes(running.lab, running.nodes)
    tables.write(rows, out)
    sys.stdout.write(f"{len(rows):,} routes: {out}\n")


@lab.command()
def reach(name: Name = None) -> None:
    """Try every server's every NIC against all others of its rail; exit code 1 where some do not reach each other."""
    from eastwest.lab import labs, traffic
    from eastwest.lab.convergence import all_pairs, need_data

    running = labs.found(name)
    pairs = all_pairs(running.nodes)
    need_data(running, pairs)
    lost = traffic.unreached(running.lab, pairs)
    sys.stdout.write(f"{len(pairs) - len(lost):,} of {len(pairs):,} pairs reach each other, there and back\n")
    for pair in lost[:_NAMED]:
        sys.stderr.write(f"not {pair}\n")
    if lost:
        raise typer.Exit(1)


@lab.command()
def flow(
    source: Annotated[str, typer.Argument(help="A server, or one of its NICs as in server-000:rail1.")],
    destination: Annotated[str, typer.Argument(help="Another.")],
    protocol: Annotated[
        Literal["tcp", "udp"], typer.Option(help="TCP fills what there is; UDP sends at --rate.")
    ] = "tcp",
    flows: Annotated[
        int, typer.Option("--flows", min=1, max=1024, help="Connections, for ECMP to deal over paths.")
    ] = 1,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=3600)] = 3,
    rate: Annotated[str, typer.Option("--rate", help="Of UDP, all flows together.")] = "10 Mb/s",
    name: Name = None,
) -> None:
    """Send from one server to another, and show what each link carried."""
    from rich.console import Console

    from eastwest.lab import labs, traffic
    from eastwest.lab.convergence import need_data, pair_of
    from eastwest.lab.table import carried_table
    from eastwest.units import parse_rate

    running = labs.found(name)
    pair = pair_of(running.nodes, source, destination)
    need_data(running, [pair])
    names = [node.name for node in running.nodes.all]
    sent = traffic.flow(running.lab, pair, protocol, flows, seconds, parse_rate(rate), names)
    Console().print(carried_table(running.nodes, pair, sent))


@lab.command()
def fail(
    what: Annotated[list[str], typer.Argument(metavar="WHAT...", help="A node; NODE:INTERFACE; or two nodes.")],
    count: Annotated[int | None, typer.Option("--count", help="So many of the cables between two nodes.")] = None,
    silently: Annotated[bool, typer.Option("--silently", help="With no loss of carrier: BFD must notice.")] = False,
    measure: Annotated[bool, typer.Option("--measure", help="Probe all the while, and say for how long.")] = False,
    name: Name = None,
) -> None:
    """Make a link or a node fail, as in: fail leaf-u0-r0 spine-00, or fail spine-01 --measure."""
    from eastwest.lab import faults, labs
    from eastwest.lab.convergence import measured

    running = labs.found(name)
    fault = faults.named(running.nodes, what, count, silently)
    if measure:
        sys.stdout.write(f"{measured(running, fault)}\n")
    else:
        running.driver.fail(running.lab, running.nodes, fault)


@lab.command()
def heal(
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="Wait so long until nothing is wrong.")] = 60,
    name: Name = None,
) -> None:
    """Bring back all that has failed."""
    from eastwest.lab import labs

    running = labs.found(name)
    running.driver.heal(running.lab, running.nodes)
    settled = labs.settle(running, wait)
    sys.stdout.write(f"healed after {settled.seconds:.1f} s\n")
    _tell(settled.wrong)


@lab.command()
def capture(
    interface: Annotated[str, typer.Argument(metavar="NODE:INTERFACE", help="Where, as in leaf-u0-r0:Ethernet64.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Capture file, for Wireshark or tshark.")],
    seconds: Annotated[float, typer.Option("--seconds", min=1, max=3600)] = 5,
    name: Name = None,
) -> None:
    """Record what passes an interface."""
    from eastwest.lab import labs

    running = labs.found(name)
    running.driver.capture(running.lab, interface, seconds, out)
    sys.stdout.write(f"capture: {out}\n")


def _tell(wrong: tuple[NodeState, ...]) -> None:
    """Says what is wrong and ends with exit code 1 where something is."""
    told = [f"{each.node}: {text}\n" for each in wrong for text in each.wrong]
    sys.stderr.writelines(told[:_NAMED])
    if len(told) > _NAMED:
        sys.stderr.write(f"and {len(told) - _NAMED:,} more: eastwest lab status\n")
    if wrong:
        raise typer.Exit(1)
