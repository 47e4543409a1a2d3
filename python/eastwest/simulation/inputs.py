"""Which format a file has, and the flows and networks read from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eastwest.engine.faults import changes
from eastwest.engine.network import Floats
from eastwest.engine.packets import LinkChange
from eastwest.errors import InputError
from eastwest.fabric import Fabric, Routes
from eastwest.fabric.formats import read_htsim_failures, read_htsim_topology, read_ns3_topology
from eastwest.spec import FileSettings
from eastwest.textfile import lines
from eastwest.workload.flows import Flows
from eastwest.workload.formats import read_htsim_flows, read_ns3_flows

SOONEST_S, LATEST_S = 1e-6, 1.0
"""Outside of which the last start of a `.cm` file makes one doubt its unit."""


def read_topology(path: Path) -> Fabric:
    """The network of an htsim `.topo` or an HPCC ns-3 topology file: the latter begins with numbers.

    Raises:
        InputError: the file is neither, or is broken; names the line.
    """
    return read_ns3_topology(path) if _begins_with_a_number(path) else read_htsim_topology(path)


def study_network(study: str, name: str, cluster: str | None = None) -> tuple[Fabric, Routes | None]:
    """The network of one fabric of a study, and its forwarding tables where a file gives them.

    Raises:
        InputError: there is no such study, fabric or cluster, or it cannot be built; names the line.
    """
    from eastwest import spec
    from eastwest.study.fabrics import with_tables

    return with_tables(spec.load(study), name, cluster)


def read_flows(path: Path, fabric: Fabric, start_unit: str) -> Flows:
    """The flows of an htsim `.cm` or an HPCC ns-3 flow file, between hosts of a fabric.

    Raises:
        InputError: the file is neither, is broken, is for another number of hosts, or names one that no cable joins to
            the network; names the line.
    """
    flows = _of_hosts(path, fabric, start_unit)
    hosts = fabric.nodes.filter(fabric.nodes["kind"] == "nic")
    is_joined = np.isin(hosts["node"], fabric.links.filter(fabric.links["cable"] >= 0)["src"])
    for host in np.concatenate([flows.source, flows.destination]):
        if not is_joined[host]:
            raise InputError(f"{path}: {hosts['name'][int(host)]} sends or receives, and no cable joins it to a switch")
    return flows


def _of_hosts(path: Path, fabric: Fabric, start_unit: str) -> Flows:
    """The flows of a file, by host of a fabric."""
    names = fabric.nodes.filter(fabric.nodes["kind"] == "nic")["name"].to_list()
    if not _begins_with_a_number(path):
        flows, hosts = read_htsim_flows(path, start_unit)
        if hosts > len(names):
            raise InputError(f"{path}: the flows are for {hosts} hosts and the network has {len(names)}")
        return flows
    flows = read_ns3_flows(path)
    place = {name: index for index, name in enumerate(names)}
    ends = []
    for turn, node in enumerate(np.concatenate([flows.source, flows.destination]).tolist()):
        if f"host-{node}" not in place:
            row = list(lines(path))[1 + turn % len(flows)]
            raise row.refuse(f"node {node} is no host of the network")
        ends.append(place[f"host-{node}"])
    source, destination = np.array(ends, dtype=np.uint32).reshape(2, -1)
    return Flows(
        source,
        destination,
        flows.size_bytes,
        flows.start_s,
        flows.start_trigger,
        flows.sent_trigger,
        flows.received_trigger,
        flows.triggers,
        flows.priority,
    )


def read_failures(path: Path, fabric: Fabric) -> list[LinkChange]:
    """What an htsim `.cm` says has failed: down from the start, with routes that avoid it.

    Raises:
        InputError: a line names a switch or link that there is not, or is broken.
    """
    if _begins_with_a_number(path):
        return []
    return [LinkChange(0.0, link, "down", routes_after_s=0.0) for link in read_htsim_failures(path, fabric)]


def check_events(asked: FileSettings, fabric: Fabric, rate_bps: Floats | None = None) -> None:
    """Whether what goes wrong by a file of settings names what is there; `rate_bps` are rates other than the fabric's.

    Raises:
        InputError: it does not; names the line.
    """
    for number, event in enumerate(asked.events):
        try:
            changes([event], fabric, None, rate_bps)
        except InputError as error:
            raise asked.error_at(("events", number), str(error)) from None


def doubts(path: Path, flows: Flows, fabric: Fabric, start_unit: str) -> list[str]:
    """What may be meant otherwise than it was read, in an htsim `.cm`: the unit of starts, and the number of hosts."""
    if _begins_with_a_number(path) or not len(flows):
        return []
    found = []
    last_s = float(flows.start_s.max())
    other = "us" if start_unit != "us" else "ps"
    if (start_unit != "us" and 0.0 < last_s < SOONEST_S) or (start_unit == "us" and last_s > LATEST_S):
        found.append(f"{path}: read in {start_unit}, the last flow starts at {last_s:g} s: --start-unit {other}?")
    hosts = len(fabric.nodes.filter(fabric.nodes["kind"] == "nic"))
    stated = next(line for line in lines(path) if line.words[0].lower() == "nodes").count(1, "Nodes")
    if stated != hosts:
        found.append(f"{path}: the flows are for {stated} hosts and the network has {hosts}: the first ones are used")
    return found


def _begins_with_a_number(path: Path) -> bool:
    first = next(lines(path), None)
    return first is not None and first.words[0].isdigit()
