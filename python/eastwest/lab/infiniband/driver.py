"""The InfiniBand lab's driver: simulators and subnet managers started, asked, and their cables cut and joined."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from eastwest.lab.driver import Fault, NodeState, RouteRow, down_wires
from eastwest.lab.failure import LabError, MissingError
from eastwest.lab.infiniband import reading
from eastwest.lab.infiniband.managed import Managed, node_id, subnets
from eastwest.lab.infiniband.simulator import PRELOADED
from eastwest.lab.machine import Feature, Tool
from eastwest.lab.nodes import Nodes
from eastwest.lab.registry import Lab

CUT = "cut.json"
"""In the lab's folder: numbers of the cables that were cut."""

ENTER = """\
#!/bin/sh
# enter NODE COMMAND...: runs a command as on a node of this lab, on the network that is simulated for it.
node=$1; shift
read -r SIM_HOST IBSIM_SOCKNAME <'{folder}/nodes/'"$node" || exit 1
export SIM_HOST IBSIM_SOCKNAME LD_PRELOAD='{preloaded}' OSM_CACHE_DIR='{scratch}' OSM_TMP_DIR='{scratch}'
cd '{scratch}' && exec "$@"
"""


class InfiniBand:
    """Labs of InfiniBand fabrics."""

    name = "infiniband"
    parts: tuple[str, ...] = ("infiniband",)
    tools: tuple[Tool, ...] = (
        Tool("ibsim", "ibsim-utils"),
        Tool("opensm", "opensm"),
        Tool("ibnetdiscover", "infiniband-diags"),
        Tool("dump_fts", "infiniband-diags"),
        Tool("saquery", "infiniband-diags"),
    )
    features: tuple[Feature, ...] = ()
    carries_data = False

    def start(self, lab: Lab, nodes: Nodes) -> None:
        """Starts the simulator and the manager of each subnet, and waits until all is routed.

        Raises:
            MissingError: there is no library that leads programs to the simulator.
            LabError: one of them ended or was silent for too long; says what it wrote.
        """
        if not Path(PRELOADED).exists():
            raise MissingError(
                f"there is no {PRELOADED}: install what brings it, "
                "sudo apt-get install --no-install-recommends libumad2sim0"
            )
        scratch, places = lab.folder / "run", lab.folder / "nodes"
        for folder in (scratch, places):
            folder.mkdir(exist_ok=True)
        enter = lab.folder / "enter"
        enter.write_text(ENTER.format(folder=lab.folder, preloaded=PRELOADED, scratch=scratch), encoding="utf-8")
        enter.chmod(0o755)
        for subnet in subnets(lab):
            for node in subnet.built.nodes.values():
                place = places / node.name.partition(" ")[0]
                if not place.exists():  # a host with several adapters speaks through its first
                    place.write_text(f"{node_id(node)} {subnet.run.socket}\n", encoding="utf-8")
            subnet.start()
        lost = {node.name for node in nodes.all} - {place.name for place in places.iterdir()}
        if lost:
            raise LabError(f"{min(lost)} is in no InfiniBand subnet of the build")

    def state(self, lab: Lab, nodes: Nodes) -> list[NodeState]:
        """Links of every node, routes of switches; wrong is what differs from the plan, and who cannot be reached."""
        return _by_node(state for subnet in subnets(lab) for state in _states(subnet, nodes))

    def fail(self, lab: Lab, nodes: Nodes, fault: Fault) -> None:
        """Cuts cables, and all cables of nodes; OpenSM learns of it by a trap and routes anew.

        Raises:
            LabError: it was to be silent, or would cut off the host on which a subnet manager runs.
        """
        if fault.is_silent:
            raise LabError("InfiniBand's switches tell the manager of every link that goes down: leave out --silently")
        cut = _cut(lab)
        wires = [wire for wire in down_wires(nodes, fault) if wire.number not in cut]
        ends = [(reading.plug(nodes, wire.a), reading.plug(nodes, wire.b)) for wire in wires]
        ran = list(subnets(lab))
        for subnet in ran:
            manager = subnet.manager.name
            if any(manager in (a.node, b.node) for a, b in ends):
                raise LabError(f"the subnet manager runs on {manager}, which would be cut off: fail something else")
        for subnet in ran:
            ids = subnet.ids
            subnet.run.tell([f'Unlink "{ids[a.node]}"[{a.port}]' for a, _ in ends if a.node in ids])
        _write_cut(lab, cut | {wire.number for wire in wires})

    def heal(self, lab: Lab, nodes: Nodes) -> None:
        """Joins all cables again that were cut, and waits until OpenSM has looked at the subnet anew."""
        cut = _cut(lab)
        wires = [wire for wire in nodes.wires if wire.number in cut]
        ends = [(reading.plug(nodes, wire.a), reading.plug(nodes, wire.b)) for wire in wires]
        for subnet in subnets(lab):
            ids, before = subnet.ids, subnet.run.sweeps()
            mine = [(a, b) for a, b in ends if a.node in ids]
            subnet.run.tell([f'Link "{ids[a.node]}"[{a.port}] "{ids[b.node]}"[{b.port}]' for a, b in mine])
            if mine:
                subnet.run.settle(before)
        _write_cut(lab, set())

    def routes(self, lab: Lab, nodes: Nodes) -> list[RouteRow]:
        """The switches' forwarding tables, read back from them."""
        return reading.rows(nodes, [subnet.read() for subnet in subnets(lab)])

    def capture(self, lab: Lab, end: str, seconds: float, out: Path) -> None:
        """Nothing is captured: the simulator carries no data."""
        del lab, seconds, out
        raise LabError(f"{end}: ibsim carries management packets alone, so there is no traffic to capture")


def _cut(lab: Lab) -> set[int]:
    try:
        return set(json.loads((lab.folder / CUT).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return set()


def _write_cut(lab: Lab, cables: Collection[int]) -> None:
    (lab.folder / CUT).write_text(json.dumps(sorted(cables)), encoding="utf-8")


def _states(subnet: Managed, nodes: Nodes) -> Iterator[NodeState]:
    """How switches and adapters of one subnet are."""
    seen, tables = subnet.read()
    wrong = reading.differences(nodes, seen, subnet.ids.keys())
    lost = reading.unreached(seen, tables)
    there = {node.name: node for node in seen.nodes.values()}
    links = Counter(end.guid for cable in seen.cables for end in (cable.a, cable.b))
    for built in subnet.built.nodes.values():
        told = [each.what for each in wrong if built.name in each.nodes]
        node = there.get(built.name)
        figures = {"links": links[node.guid] if node else 0}
        if built.kind == "switch":
            figures["routes"] = reading.hosts_reached(seen, tables.get(built.guid, {}))
            if lost.get(built.guid):
                told.append(f"no path from here arrives at {lost[built.guid]} adapters")
        yield NodeState(built.name, figures, tuple(told))


def _by_node(states: Iterable[NodeState]) -> list[NodeState]:
    """One state for all adapters of a host, and of a node that is in several subnets."""
    nodes: dict[str, NodeState] = {}
    for state in states:
        name = state.node.partition(" ")[0]
        before = nodes.get(name, NodeState(name, {}))
        figures = {key: before.figures.get(key, 0) + value for key, value in state.figures.items()}
        nodes[name] = NodeState(name, figures, (*before.wrong, *state.wrong))
    return list(nodes.values())


INFINIBAND = InfiniBand()
