"""What schedulers are told of a fabric: Slurm's topology files, and the labels by which Kubernetes knows places.

All come from the same groups of servers (`locality`) and from the domains whose GPUs share an NVLink switch. Slurm
reads one topology.conf, for one plug-in: `topology/tree` follows the network, `topology/block` the domains
(topology.conf(5), SchedMD). Kubernetes knows no places itself: the labels are topograph's (NVIDIA/topograph, its
engine k8s), which schedulers that look for them read. Not here: who is near whom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eastwest.artifacts.file import File
from eastwest.artifacts.inventory.hostlist import hostlist
from eastwest.artifacts.inventory.locality import Group, groups
from eastwest.artifacts.plan import Plan
from eastwest.artifacts.texts import text

Tiers = Sequence[Sequence[Group]]
Blocks = Sequence[Sequence[int]]

LABEL = "network.topology.nvidia.com"
_LEVELS = ("leaf", "spine", "core")
"""topograph's words for tiers from the servers up."""


def files(plan: Plan) -> Iterator[File]:
    """The files of a plan's servers; none of blocks where each server is an NVLink domain of its own."""
    servers = sorted((host for host in plan.hosts if host.kind == "server"), key=lambda host: host.number)
    names, tiers = [server.name for server in servers], groups(plan.fabric)
    blocks = domains(len(names), int(plan.fabric.plan["server"]["nvlink_domain_servers"]))
    yield File("inventory/slurm/tree/topology.conf", slurm_tree(tiers, names))
    if blocks:
        yield File("inventory/slurm/block/topology.conf", slurm_blocks(blocks, names))
    labelled = [{"name": name, "labels": of} for name, of in zip(names, labels(tiers, blocks, len(names)), strict=True)]
    told = text("inventory/node-labels.yaml.j2", fabric=plan.name, servers=labelled)
    yield File("inventory/kubernetes/node-labels.yaml", told)
    yield File("inventory/kubernetes/topograph.yaml", topograph(plan.name, tiers, blocks, names))


def domains(servers: int, of_domain: int) -> tuple[tuple[int, ...], ...]:
    """The servers of each NVLink domain, `of_domain` in a row; none where a server is a domain of its own."""
    if of_domain < 2:
        return ()
    return tuple(tuple(range(first, min(first + of_domain, servers))) for first in range(0, servers, of_domain))


def slurm_tree(tiers: Tiers, names: Sequence[str]) -> str:
    """topology.conf for topology/tree: a switch a group, whose children are servers or the groups below."""
    lines = ["# TopologyPlugin=topology/tree. A switch here is a group of servers that one tier joins, over all rails."]
    for place, of_tier in enumerate(tiers):
        for number, group in enumerate(of_tier):
            if place == 0:
                lines.append(f"SwitchName={group.name} Nodes={hostlist(names[server] for server in group.servers)}")
                continue
            below = hostlist(each.name for each in tiers[place - 1] if each.parent == number)
            lines.append(f"SwitchName={group.name} Switches={below}")
    return "\n".join((*lines, ""))


def slurm_blocks(blocks: Blocks, names: Sequence[str]) -> str:
    """topology.conf for topology/block: a block an NVLink domain; base blocks, then two, four, ... of them at a time.

    Topograph infers the same sizes (its engine slurm): the smallest domain, doubled while so many are there.
    """
    lines = ["# TopologyPlugin=topology/block. A block is the servers whose GPUs share NVLink switches."]
    lines += [
        f"BlockName={domain_name(number)} Nodes={hostlist(names[server] for server in block)}"
        for number, block in enumerate(blocks)
    ]
    base = min(len(block) for block in blocks)
    sizes = [base << power for power in range(max(len(blocks), 1).bit_length()) if 1 << power <= len(blocks)]
    return "\n".join((*lines, f"BlockSizes={','.join(str(size) for size in sizes)}", ""))


def domain_name(number: int) -> str:
    """What an NVLink domain is called."""
    return f"nvl-{number}"


def labels(tiers: Tiers, blocks: Blocks, servers: int) -> list[dict[str, str]]:
    """The labels of each server: its group of each tier, from the leaf up, and its NVLink domain."""
    found: list[dict[str, str]] = [{} for _ in range(servers)]
    for level, of_tier in zip(_LEVELS, tiers, strict=False):
        for group in of_tier:
            for server in group.servers:
                found[server][f"{LABEL}/{level}"] = group.name
    for number, block in enumerate(blocks):
        for server in block:
            found[server][f"{LABEL}/accelerator"] = domain_name(number)
    return found


def topograph(fabric: str, tiers: Tiers, blocks: Blocks, names: Sequence[str]) -> str:
    """The model that topograph's test provider reads: groups, and under them the servers of each NVLink domain."""
    switches = [
        [
            {"name": group.name, "below": [each.name for each in below if each.parent == number]}
            for number, group in enumerate(of_tier)
        ]
        for of_tier, below in zip(tiers, ((), *tiers), strict=False)
    ]
    domain_of = {server: domain_name(number) for number, block in enumerate(blocks) for server in block}
    found: dict[tuple[str, str], list[str]] = {}
    for group in tiers[0]:
        for server in group.servers:
            found.setdefault((group.name, domain_of.get(server, "")), []).append(names[server])
    told = [{"switch": switch, "domain": domain, "nodes": nodes} for (switch, domain), nodes in found.items()]
    return text("inventory/topograph.yaml.j2", fabric=fabric, tiers=switches, blocks=told)
