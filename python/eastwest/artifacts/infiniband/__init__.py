"""InfiniBand: what the subnet manager reads, and the network as its simulator reads it, for each subnet of a fabric.

A fabric that is one subnet has its files in `infiniband/`, one of several in a folder each there. Not here: hosts
(`artifacts.hosts`); adaptive routing, which NVIDIA's own subnet manager sets up.
"""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.artifacts.file import File
from eastwest.artifacts.infiniband.opensm import Partition, Settings, node_names, options, partitions, roots
from eastwest.artifacts.infiniband.routing import Routing, routing
from eastwest.artifacts.infiniband.simulator import net_file, node_id
from eastwest.artifacts.infiniband.subnets import Adapter, Link, Subnet, Switch, subnets
from eastwest.artifacts.infiniband.torus import torus_options
from eastwest.artifacts.subject import Subject

__all__ = [
    "Adapter",
    "Link",
    "Routing",
    "Settings",
    "Subnet",
    "Switch",
    "files",
    "folder",
    "node_id",
    "routing",
    "subnets",
]


def files(subject: Subject) -> Iterator[File]:
    """The files of all InfiniBand subnets of a fabric; none where it speaks something else.

    Raises:
        StudyError: the study asks for what this fabric cannot have; names the line.
    """
    asked, settings = subject.asked, _settings(subject)
    if settings.engine == "torus-2QoS" and asked.shape != "torus":
        place = ("fabrics", subject.fabric, "subnet", "routing")
        raise subject.study.error_at(
            place, f"torus-2QoS routes a torus, and the shape is {asked.shape}: leave routing out"
        )
    for subnet in subnets(subject.plan):
        routed = routing(subnet, settings.engine, settings.lmc)
        at = folder(subnet)
        is_adaptive = asked.balancing == "adaptive"
        yield File(f"{at}/opensm.conf", options(subnet, routed, settings, subject.plan.name, is_adaptive))
        if routed.roots:
            yield File(f"{at}/root_guids.txt", roots(routed))
        yield File(f"{at}/partitions.conf", partitions(subnet, settings))
        if routed.is_torus:
            yield File(f"{at}/torus-2QoS.conf", torus_options(subnet, subject.asked.dims or ()))
        yield File(f"{at}/node-name-map.txt", node_names(subnet))
        yield File(f"{at}/ibsim.net", net_file(subnet))


def _settings(subject: Subject) -> Settings:
    """What the study says of the subnet manager.

    Raises:
        StudyError: a partition has a server that there is not; names the line.
    """
    asked = subject.asked.subnet
    if asked is None:
        return Settings()
    names = {host.number: host.name for host in subject.plan.hosts if host.kind == "server"}
    parts = []
    for name, key in asked.keys.items():
        spans = asked.partitions[name].servers
        last = max(last for _, last in spans)
        if last not in names:
            place = ("fabrics", subject.fabric, "subnet", "partitions", name, "servers")
            raise subject.study.error_at(place, f"there is no server {last}: they count from 0 to {max(names)}")
        servers = frozenset(names[number] for first, last in spans for number in range(first, last + 1))
        parts.append(Partition(name, key, servers))
    return Settings(asked.routing, asked.lmc, tuple(parts))


def folder(subnet: Subnet) -> str:
    """Where a subnet's files are in the folder of a build."""
    return f"infiniband/{subnet.name}" if subnet.name else "infiniband"
