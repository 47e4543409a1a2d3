"""Lays a fabric's tables: gives nodes, cages, ports, cables and links their numbers.

Order: the servers' blocks of nodes, NVLink switches that several of them share, switches tier by tier, then the hosts
of a front-end network, which so moves no number of another node. A switch's ports down come first, those up behind all
that a full unit would use down, the spare ones where they remain. Links 2k and 2k + 1 are the two directions of cable
k, and those inside servers follow in the same pairs, so the reverse of link l is l ^ 1. All in numpy: a million ports
take about a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.cabling import Cabled, cable, turn
from eastwest.fabric.equipment import Equipment, Numbers, Placed, place
from eastwest.fabric.hosts import PlacedHosts, place_hosts
from eastwest.fabric.inside import KIND, Inside, inside
from eastwest.fabric.plan import FabricPlan, Tier
from eastwest.fabric.shapes import Wiring
from eastwest.fabric.tables import CABLES, CAGES, LINKS, NODE_KINDS, NODES, PORTS, Fabric, both_ways, numbered


def lay(plan: FabricPlan, wiring: Wiring, equipment: Mapping[Tier, Equipment]) -> Fabric:
    """The tables of a wiring, with the devices, rates and lengths of its plan."""
    block = inside(plan.server, plan.nic)
    nics = plan.servers * plan.server.nics
    placed = place(
        {tier: (switches, equipment[tier]) for tier, switches in wiring.tiers.items()},
        first_node=plan.servers * block.nodes + _shared_nvswitches(plan, block),
        first_port=nics * plan.planes,
        first_cage=nics,
    )
    hosts = place_hosts(plan, wiring, _after(placed))
    cabled = cable(plan, wiring, _nic_nodes(plan, block), placed, hosts)
    return Fabric(
        name=plan.name,
        plan=plan.as_json(),
        nodes=_nodes(plan, wiring, block, placed, hosts),
        ports=_ports(plan, block, placed, cabled, hosts),
        cages=_cages(plan, block, placed, hosts),
        cables=_cables(cabled),
        links=_links(plan, block, placed, cabled, hosts),
    )


def _after(placed: Mapping[Tier, Placed]) -> tuple[int, int, int]:
    """The first numbers of a node, a port and a cage behind those of all switches."""
    last = list(placed.values())[-1]
    return (
        last.first_node + len(last.switches),
        int(last.first_port[-1] + last.ports_of[-1]),
        int(last.first_cage[-1] + last.cages_of[-1]),
    )


def _shared_nvswitches(plan: FabricPlan, block: Inside) -> int:
    return -(-plan.servers // plan.server.nvlink_domain_servers) if block.shares_nvswitch else 0


def _nic_nodes(plan: FabricPlan, block: Inside) -> Numbers:
    within = block.first_nic + np.arange(plan.server.nics)
    nodes: Numbers = (np.arange(plan.servers)[:, None] * block.nodes + within).reshape(-1)
    return nodes


def _nodes(
    plan: FabricPlan, wiring: Wiring, block: Inside, placed: Mapping[Tier, Placed], hosts: PlacedHosts | None
) -> pl.DataFrame:
    servers = np.arange(plan.servers, dtype=np.int32)
    site = np.full(plan.servers, -1, dtype=np.int32) if wiring.site_of_server is None else wiring.site_of_server
    device = {"gpu": plan.server.gpu.name, "nic": plan.nic.name}
    kinds = [NODE_KINDS[code] for code in block.kind]
    inner = pl.DataFrame(
        {
            "kind": _repeat(kinds, plan.servers),
            "tier": pl.repeat("server", plan.servers * block.nodes, eager=True),
            "device": _repeat([device.get(kind, plan.server.name) for kind in kinds], plan.servers),
            "server": np.repeat(servers, block.nodes),
            "index": np.tile(block.index, plan.servers),
            "unit": np.repeat(wiring.unit_of_server, block.nodes),
            "pod": np.repeat(wiring.pod_of_server, block.nodes),
            "rail": np.tile(np.where(block.kind == KIND["nic"], block.index, -1).astype(np.int32), plan.servers),
            "plane": pl.repeat(-1, plan.servers * block.nodes, eager=True, dtype=pl.Int32),
            "site": np.repeat(site, block.nodes),
        }
    )
    names = "server-" + _padded(servers) if wiring.server_names is None else pl.Series(wiring.server_names)
    of_server = pl.format("{}/{}", pl.lit(names.gather(np.repeat(servers, block.nodes))), pl.col("kind"))
    in_server = pl.format("{}-{}", of_server, "index")
    frames = [
        inner.with_columns(pl.when(pl.col("kind") == "nvswitch").then(of_server).otherwise(in_server).alias("name"))
    ]
    if block.shares_nvswitch:
        frames.append(_nvswitch_nodes(plan, block))
    frames += [_switch_nodes(tier) for tier in placed.values()]
    if hosts is not None:
        frames.append(hosts.table(plan, wiring, names))
    return numbered(pl.concat(frames, how="diagonal"), "node", NODES)


def _nvswitch_nodes(plan: FabricPlan, block: Inside) -> pl.DataFrame:
    """The switches of NVLink domains of several servers: "domain-3/nvswitch"."""
    number = np.arange(_shared_nvswitches(plan, block), dtype=np.int32)
    outside = pl.Series(np.full(len(number), -1, dtype=np.int32))
    return pl.DataFrame(
        {
            "kind": pl.repeat("nvswitch", len(number), eager=True),
            "tier": pl.repeat("server", len(number), eager=True),
            "device": pl.repeat(plan.server.name, len(number), eager=True),
            "index": number,
            **dict.fromkeys(("server", "unit", "pod", "rail", "plane", "site"), outside),
            "name": "domain-" + _padded(number) + "/nvswitch",
        }
    )


def _switch_nodes(placed: Placed) -> pl.DataFrame:
    count, of = len(placed.switches), placed.switches
    return pl.DataFrame(
        {
            "name": _switch_names(placed) if of.names is None else pl.Series(of.names),
            "kind": pl.repeat("switch", count, eager=True),
            "tier": pl.repeat(placed.tier, count, eager=True),
            "device": pl.Series([device.name for device in placed.equipment.devices]).gather(placed.equipment.kind_of),
            "server": pl.repeat(-1, count, eager=True, dtype=pl.Int32),
            "index": np.arange(count, dtype=np.int32),
            "unit": of.unit,
            "pod": of.pod,
            "rail": of.rail,
            "plane": of.plane,
            "site": of.site,
        }
    )


def _switch_names(placed: Placed) -> pl.Series:
    """Switches named by where they stand: "leaf-u0-r3", "leaf-017", "spine-p2-05", "spine-r3-05", "core-g07-1".

    Where there are planes or sites, theirs comes first: "plane-2/leaf-017", "site-1/border-0".
    """
    count, of = len(placed.switches), placed.switches
    home = (of.plane + np.int64(1)) * (int(of.site.max()) + 2) + of.site + 1
    places: dict[str, NDArray[np.int32] | Numbers] = {"r": of.rail}
    if placed.tier == "leaf":
        places = {"u": of.unit, **places}
    elif placed.tier == "spine":
        places = {"p": of.pod, **places, "": of.group}
    elif placed.tier == "core":
        places |= {"g": of.group, "": turn((home * count + of.rail + 1) * count + of.group)}
    number = turn(home)
    known = {letter: numbers for letter, numbers in places.items() if numbers[0] >= 0} or {"": number}
    stands = [pl.lit(letter) + _padded(numbers) for letter, numbers in known.items()]
    name = pl.concat_str(pl.lit(placed.tier), *stands, separator="-")
    if of.site[0] >= 0:
        name = pl.format("site-{}/{}", _padded(of.site), name)
    if of.plane[0] >= 0:
        name = pl.format("plane-{}/{}", _padded(of.plane), name)
    return pl.select(name).to_series()


def _padded(numbers: NDArray[np.int32] | Numbers) -> pl.Series:
    return pl.Series(numbers).cast(pl.String).str.zfill(len(str(int(numbers.max()))))


def _ports(
    plan: FabricPlan,
    block: Inside,
    placed: Mapping[Tier, Placed],
    cabled: list[Cabled],
    hosts: PlacedHosts | None,
) -> pl.DataFrame:
    nics, planes = plan.servers * plan.server.nics, plan.planes
    # The ports of a NIC run at one rate, that of its cables.
    nic_bps = np.full(nics, plan.port_bps)
    nic_bps[cabled[0].port_a // planes] = cabled[0].rate_bps
    columns: list[tuple[NDArray[Any], ...]] = [
        (
            np.repeat(_nic_nodes(plan, block), planes),
            np.tile(np.arange(planes), nics),
            np.repeat(np.arange(nics), planes),
            np.repeat(nic_bps, planes),
        )
    ]
    for tier in placed.values():
        switch, number, cage, rate_bps = tier.ports()
        columns.append((tier.first_node + switch, number, cage, rate_bps))
    if hosts is not None:
        columns.append(hosts.ports())
    node, number, cage, rate_bps = (np.concatenate(column) for column in zip(*columns, strict=True))
    cable = np.full(len(node), -1, dtype=np.int32)
    for ends in (_all(cabled, "port_a"), _all(cabled, "port_b")):
        cable[ends] = np.arange(len(ends))
    frame = pl.DataFrame({"node": node, "number": number, "cage": cage, "rate_bps": rate_bps, "cable": cable})
    return numbered(frame, "port", PORTS)


def _cages(plan: FabricPlan, block: Inside, placed: Mapping[Tier, Placed], hosts: PlacedHosts | None) -> pl.DataFrame:
    nics = plan.servers * plan.server.nics
    columns: list[tuple[NDArray[Any], ...]] = [(_nic_nodes(plan, block), np.zeros(nics), np.full(nics, plan.planes))]
    for tier in placed.values():
        switch, number, breakout = tier.cages()
        columns.append((tier.first_node + switch, number, breakout))
    if hosts is not None:
        columns.append(hosts.cages())
    node, number, breakout = (np.concatenate(column) for column in zip(*columns, strict=True))
    return numbered(pl.DataFrame({"node": node, "number": number, "breakout": breakout}), "cage", CAGES)


def _cables(cabled: list[Cabled]) -> pl.DataFrame:
    sizes = [len(cables.port_a) for cables in cabled]
    frame = pl.DataFrame(
        {
            "port_a": _all(cabled, "port_a"),
            "port_b": _all(cabled, "port_b"),
            "tiers": pl.Series([cables.tiers for cables in cabled]).gather(np.repeat(np.arange(len(sizes)), sizes)),
            "rate_bps": np.concatenate([cables.rate_bps for cables in cabled]),
            "length_m": np.concatenate([cables.length_m for cables in cabled]),
        }
    )
    return numbered(frame, "cable", CABLES)


def _links(
    plan: FabricPlan,
    block: Inside,
    placed: Mapping[Tier, Placed],
    cabled: list[Cabled],
    hosts: PlacedHosts | None,
) -> pl.DataFrame:
    frames = []
    first_cable = 0
    enter_s, cell_share = _latencies(plan, block, placed, hosts), _cell_shares(plan, block, placed, hosts)
    for cables in cabled:
        count = len(cables.port_a)
        layer = plan.link_layer_of(cables.tiers)
        flight_s = cables.length_m * layer.fibre_s_per_m
        # Cells run between a leaf and a fabric element, where both speak them; the leaf first waits for a credit.
        share_a, share_b = cell_share[cables.node_a], cell_share[cables.node_b]
        is_cells = (share_a < 1) & (share_b < 1)
        efficiency = layer.efficiency * np.where(is_cells, np.minimum(share_a, share_b), 1.0)
        credit_s = np.where(is_cells, 2 * (2 * flight_s + enter_s[cables.node_b]), 0.0)
        away, back = f"{cables.below}-{cables.above}", f"{cables.above}-{cables.below}"
        frames.append(
            pl.DataFrame(
                {
                    "src": both_ways(cables.node_a, cables.node_b),
                    "dst": both_ways(cables.node_b, cables.node_a),
                    "src_port": both_ways(cables.port_a, cables.port_b),
                    "dst_port": both_ways(cables.port_b, cables.port_a),
                    "cable": np.repeat(first_cable + np.arange(count), 2),
                    "tier": _repeat([away, back], count),
                    "rate_bps": np.repeat(cables.rate_bps, 2),
                    "efficiency": np.repeat(efficiency, 2),
                    "latency_s": both_ways(
                        flight_s + enter_s[cables.node_b] + credit_s, flight_s + enter_s[cables.node_a]
                    ),
                }
            )
        )
        first_cable += count
    frames.append(_inner_links(plan, block))
    if hosts is not None:
        frames.append(hosts.inner_links(plan))
    return numbered(pl.concat(frames), "link", LINKS)


def _inner_links(plan: FabricPlan, block: Inside) -> pl.DataFrame:
    servers = plan.servers
    first = np.arange(servers, dtype=np.int64)[:, None] * block.nodes
    nvswitch = servers * block.nodes + np.arange(servers)[:, None] // plan.server.nvlink_domain_servers
    a = (first + block.a).reshape(-1)
    b = np.where(block.b == block.nodes, nvswitch, first + block.b).reshape(-1)
    none = np.full(2 * len(a), -1, dtype=np.int64)
    return pl.DataFrame(
        {
            "src": both_ways(a, b),
            "dst": both_ways(b, a),
            "src_port": none,
            "dst_port": none,
            "cable": none,
            "tier": _repeat([tier for pair in zip(block.away, block.back, strict=True) for tier in pair], servers),
            "rate_bps": np.tile(np.repeat(block.rate_bps, 2), servers),
            "efficiency": np.tile(np.repeat(block.efficiency, 2), servers),
            "latency_s": np.tile(both_ways(block.latency_away_s, block.latency_back_s), servers),
        }
    )


def _latencies(
    plan: FabricPlan, block: Inside, placed: Mapping[Tier, Placed], hosts: PlacedHosts | None
) -> NDArray[np.float64]:
    """Latency of entering each node over a cable: that of a switch or NIC. Shape (nodes,)."""
    of_block = np.where(block.kind == KIND["nic"], plan.nic.latency_s, 0.0)
    shared = np.zeros(_shared_nvswitches(plan, block))
    switches = [tier.latency_s for tier in placed.values()]
    behind = np.zeros(0) if hosts is None else hosts.enter_s
    return np.concatenate([np.tile(of_block, plan.servers), shared, *switches, behind])


def _cell_shares(
    plan: FabricPlan, block: Inside, placed: Mapping[Tier, Placed], hosts: PlacedHosts | None
) -> NDArray[np.float64]:
    """What cells leave of the rate of links between nodes that speak them. Shape (nodes,)."""
    others = np.ones(plan.servers * block.nodes + _shared_nvswitches(plan, block))
    behind = np.ones(0 if hosts is None else hosts.nodes)
    return np.concatenate([others, *(tier.cell_efficiency for tier in placed.values()), behind])


def _all(cabled: list[Cabled], end: str) -> Numbers:
    return np.concatenate([getattr(cables, end) for cables in cabled])


def _repeat(words: list[str], times: int) -> pl.Series:
    return pl.Series(words).gather(np.tile(np.arange(len(words)), times))
