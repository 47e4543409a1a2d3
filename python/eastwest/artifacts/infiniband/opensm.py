"""What OpenSM reads about a subnet: its options, root switches, partitions and the names of its nodes.

All of it is read by the OpenSM of linux-rdma (3.3; opensm(8)) as it stands, from one folder. Not here: which routing
engine suits (`routing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eastwest.artifacts.infiniband.routing import Routing
from eastwest.artifacts.infiniband.subnets import Subnet
from eastwest.artifacts.texts import text
from eastwest.spec.subnet import Engine

FOLDER = "/etc/opensm"
DEFAULT_PARTITION = 0x7FFF
"""The P_Key of the partition that all are in (InfiniBand specification 1.2.1, section 10.9.1.2), less its top bit."""
MTU_4096 = 5
"""4,096 B, as PortInfo has it (InfiniBand specification 1.2.1, table 146)."""


@dataclass(frozen=True)
class Partition:
    """A tenant: a name, its P_Key (15 bits) and the servers that are in it."""

    name: str
    key: int
    servers: frozenset[str]


@dataclass(frozen=True)
class Settings:
    """What a person chooses: a routing engine (None: what suits), 2^lmc LIDs a port, partitions beside the default."""

    engine: Engine | None = None
    lmc: int = 0
    partitions: tuple[Partition, ...] = ()


def options(subnet: Subnet, routing: Routing, settings: Settings, fabric: str, is_adaptive: bool) -> str:
    """The text of opensm.conf."""
    return text(
        "infiniband/opensm.conf.j2",
        what=f"{fabric}, subnet {subnet.name}" if subnet.name else fabric,
        folder=FOLDER,
        switches=len(subnet.switches),
        adapters=len(subnet.adapters),
        routing=routing,
        roots=_listed([switch.name for switch in routing.roots]),
        addresses=_addresses(settings.lmc),
        lmc=settings.lmc,
        is_adaptive=is_adaptive,
    )


def _addresses(lmc: int) -> str:
    if lmc == 0:
        return "One address (LID) a port, and so one path to it from anywhere."
    paths = 1 << lmc
    return (
        f"{paths} addresses (LIDs) a port: so many paths to it, which applications spread over (UCX_IB_LID_PATH_BITS)."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]}"


def roots(routing: Routing) -> str:
    """The text of the list of root switches: a GUID a line, with its name."""
    return "".join(f"0x{switch.guid:016x} # {switch.name}\n" for switch in routing.roots)


def node_names(subnet: Subnet) -> str:
    """The text of the node-name map, for OpenSM's log and for infiniband-diags."""
    return "".join(f'0x{node.guid:016x} "{node.name}"\n' for node in subnet.nodes)


def partitions(subnet: Subnet, settings: Settings) -> str:
    """The text of partitions.conf.

    Where there are none but the default, all are full members of it. Else adapters are its limited members, which
    reach the manager and full members alone, and full members of their own.
    """
    member = "limited" if settings.partitions else "full"
    default = f"Default=0x{DEFAULT_PARTITION:04x}, ipoib, mtu={MTU_4096}"
    lines = [
        "# P_Keys. A port that is a limited member of a partition reaches its full members alone.",
        f"{default} : ALL_CAS={member}, ALL_SWITCHES=full, SELF=full ;",
    ]
    for each in settings.partitions:
        guids = _members(subnet, each)
        head = f"{each.name}=0x{each.key:04x}, indx0, ipoib, mtu={MTU_4096}, defmember=full"
        lines += [f"# {each.name}: {len(each.servers)} servers, {len(guids)} ports", *_rules(head, guids)]
    return "\n".join(lines) + "\n"


PORTS_OF_A_RULE = 8
"""Ports named in one rule; a partition has as many rules as it needs, which OpenSM merges by P_Key."""


def _rules(head: str, guids: Sequence[int]) -> Iterator[str]:
    for first in range(0, len(guids), PORTS_OF_A_RULE):
        ports = ", ".join(f"0x{guid:016x}" for guid in guids[first : first + PORTS_OF_A_RULE])
        yield f"{head} : {ports} ;"


def _members(subnet: Subnet, partition: Partition) -> list[int]:
    """The GUIDs of the ports of a partition's servers in this subnet."""
    return [adapter.guid for adapter in subnet.adapters if adapter.server in partition.servers]
