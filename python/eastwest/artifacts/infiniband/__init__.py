"""InfiniBand: what the subnet manager reads, and the network as its simulator reads it, for each subnet of a fabric.

A fabric that is one subnet has its files in `infiniband/`, one of several in a folder each there. Not here: hosts
(`artifacts.hosts`); adaptive routing, which NVIDIA's own subnet manager sets up.
"""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.artifacts.file import File
from eastwest.artifacts.infiniband.opensm import Settings, node_names, options, partitions, roots
from eastwest.artifacts.infiniband.routing import Routing, routing
from eastwest.artifacts.infiniband.simulator import net_file, node_id
from eastwest.artifacts.infiniband.subnets import Adapter, Link, Subnet, Switch, subnets
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
    """The files of all InfiniBand subnets of a fabric; none where it speaks something else."""
    asked = subject.asked
    settings = Settings() if asked.subnet is None else Settings(asked.subnet.routing, asked.subnet.lmc)
    for subnet in subnets(subject.plan):
        routed = routing(subnet, settings.engine)
        at = folder(subnet)
        is_adaptive = asked.balancing == "adaptive"
        yield File(f"{at}/opensm.conf", options(subnet, routed, settings, subject.plan.name, is_adaptive))
        if routed.roots:
            yield File(f"{at}/root_guids.txt", roots(routed))
        yield File(f"{at}/partitions.conf", partitions(subnet, settings))
        yield File(f"{at}/node-name-map.txt", node_names(subnet))
        yield File(f"{at}/ibsim.net", net_file(subnet))


def folder(subnet: Subnet) -> str:
    """Where a subnet's files are in the folder of a build."""
    return f"infiniband/{subnet.name}" if subnet.name else "infiniband"
