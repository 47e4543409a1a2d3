"""The subnets of a lab, each with what it was built as and what runs for it. Not here: their fate (`driver`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from eastwest.lab.infiniband import reading
from eastwest.lab.infiniband.simulator import Simulated
from eastwest.lab.registry import Lab
from eastwest.observe.forwarding import Tables, read_records, read_tables
from eastwest.observe.subnet import Node, Subnet, parse_subnet, read_subnet

SPARE = 16
"""Room that ibsim is given beyond what there is."""


@dataclass(frozen=True)
class Managed:
    """One subnet: `built` is the network as ibsim was to play it, `manager` the node on which OpenSM runs."""

    run: Simulated
    built: Subnet
    manager: Node

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """What ibsim calls its nodes, by what they call themselves."""
        return {node.name: node_id(node) for node in self.built.nodes.values()}

    def start(self) -> None:
        """Starts simulator and manager.

        Raises:
            LabError: one of them ended or was silent for too long; says what it wrote.
        """
        nodes = self.built.nodes.values()
        ports = sum((node.ports or 0) + 1 for node in nodes)
        switches = sum(node.kind == "switch" for node in nodes)
        self.run.start(len(nodes) + SPARE, switches + SPARE, ports + SPARE)

    def read(self) -> tuple[Subnet, Tables]:
        """What ibnetdiscover finds, and the switches' tables.

        Raises:
            LabError: a program that asks for them fails.
        """
        seen = parse_subnet(self.run.ask(["ibnetdiscover"]), "ibnetdiscover")
        tables = read_tables(self.run.ask(["dump_fts", "-n"]), "dump_fts")
        if reading.has_gap(tables, seen):
            tables = reading.filled(tables, read_records(self.run.ask(["saquery", "LFTR"]), "saquery LFTR"), seen)
        return seen, tables


def subnets(lab: Lab) -> Iterator[Managed]:
    """The subnets of a lab, by the files that were built."""
    root = lab.built / "infiniband"
    for options in sorted(root.glob("**/opensm.conf")):
        files = options.parent
        name = "" if files == root else files.name
        built = read_subnet(files / "ibsim.net")
        manager = next(node for node in built.nodes.values() if node.kind == "ca")
        run = Simulated(
            name=name,
            files=files,
            folder=lab.folder / "subnets" / (name or "subnet"),
            socket=f"eastwest-{lab.name}-{name}",
            manager=node_id(manager),
            inside=lab.inside,
        )
        yield Managed(run, built, manager)


def node_id(node: Node) -> str:
    """What ibsim calls a node."""
    return f"{'S' if node.kind == 'switch' else 'H'}-{node.guid:016x}"
