"""Lays a fabric's tables: gives nodes, cages, ports, cables and links their numbers.

Order: the servers' blocks of nodes, NVLink switches that several of them share, then leaves, spines, cores. A switch's
ports down come first, those up behind all that a full unit would use down, the spare ones where they remain. Links 2k
and 2k + 1 are the two directions of cable k, and those inside servers follow in the same pairs, so the reverse of link
l is l ^ 1. All in numpy: a million ports take about a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.faceplate import Faceplate, Front
from eastwest.fabric.inside import KIND, Inside, inside
from eastwest.fabric.plan import FabricPlan, Tier, TierPair
from eastwest.fabric.shapes import Switches, Wiring
from eastwest.fabric.tables import CABLES, CAGES, LINKS, NODE_KINDS, NODES, PORTS, Fabric, Schema

Numbers = NDArray[np.int64]
Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True)
class Placed:
    """The switches of one tier with their front and the first numbers of their nodes, ports and cages."""

    tier: Tier
    switches: Switches
    front: Front
    first_node: int
    first_port: int
    first_cage: int

    def port(self, switch: Numbers, number: Numbers) -> Numbers:
        """Numbers of ports by switch within the tier and port within the switch."""
        return self.first_port + switch * self.front.ports + number


@dataclass(frozen=True)
class Cabled:
    """Cables between two tiers: ports at both ends, and the nodes that these belong to."""

    tiers: TierPair
    port_a: Numbers
    port_b: Numbers
    node_a: Numbers
    node_b: Numbers


def lay(plan: FabricPlan, wiring: Wiring, plates: Mapping[Tier, Faceplate]) -> Fabric:
    """The tables of a wiring, with the devices, rates and lengths of its plan."""
    block = inside(plan.server, plan.nic)
    nics = plan.servers * plan.server.nics
    placed: dict[Tier, Placed] = {}
    node, port, cage = plan.servers * block.nodes + _shared_nvswitches(plan, block), nics * plan.planes, nics
    for tier, switches in wiring.tiers.items():
        front = plates[tier].front(switches.down, switches.up)
        placed[tier] = Placed(tier, switches, front, node, port, cage)
        node += len(switches)
        port += len(switches) * front.ports
        cage += len(switches) * len(front.breakout)

    cabled = _cable(plan, wiring, block, placed)
    return Fabric(
        name=plan.name,
        plan=plan.as_json(),
        nodes=_nodes(plan, wiring, block, placed),
        ports=_ports(plan, block, placed, cabled),
        cages=_cages(plan, block, placed),
        cables=_cables(plan, cabled),
        links=_links(plan, block, cabled),
    )


def _cable(plan: FabricPlan, wiring: Wiring, block: Inside, placed: Mapping[Tier, Placed]) -> list[Cabled]:
    leaf = placed["leaf"]
    leaf_of_port = wiring.leaf_of_port.reshape(-1).astype(np.int64)
    cabled = [
        Cabled(
            tiers="server-leaf",
            port_a=np.arange(len(leaf_of_port)),
            port_b=leaf.port(leaf_of_port, _turn(leaf_of_port)),
            node_a=np.repeat(_nic_nodes(plan, block), plan.planes),
            node_b=leaf.first_node + leaf_of_port,
        )
    ]
    uplinks: tuple[tuple[TierPair, Tier, Tier, NDArray[np.int32]], ...] = (
        ("leaf-spine", "leaf", "spine", wiring.leaf_spine),
        ("spine-core", "spine", "core", wiring.spine_core),
    )
    for tiers, below, above, ends in uplinks:
        if above not in placed:
            break
        low, high = placed[below], placed[above]
        a, b = ends.astype(np.int64)
        cabled.append(
            Cabled(
                tiers=tiers,
                port_a=low.port(a, low.front.first_up + _turn(a)),
                port_b=high.port(b, _turn(b)),
                node_a=low.first_node + a,
                node_b=high.first_node + b,
            )
        )
    return cabled


def _turn(of: Numbers) -> Numbers:
    """For each entry, how many equal ones come before it."""
    order = np.argsort(of, kind="stable")
    ordered = of[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    run = np.arange(len(of)) - np.repeat(starts, np.diff(starts, append=len(of)))
    turn = np.empty_like(run)
    turn[order] = run
    return turn


def _shared_nvswitches(plan: FabricPlan, block: Inside) -> int:
    return -(-plan.servers // plan.server.nvlink_domain_servers) if block.shares_nvswitch else 0


def _nic_nodes(plan: FabricPlan, block: Inside) -> Numbers:
    within = block.first_nic + np.arange(plan.server.nics)
    nodes: Numbers = (np.arange(plan.servers)[:, None] * block.nodes + within).reshape(-1)
    return nodes


def _nodes(plan: FabricPlan, wiring: Wiring, block: Inside, placed: Mapping[Tier, Placed]) -> pl.DataFrame:
    servers = np.arange(plan.servers, dtype=np.int32)
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
        }
    )
    wide = len(str(plan.servers - 1))
    of_server = pl.format("server-{}/{}", pl.col("server").cast(pl.String).str.zfill(wide), pl.col("kind"))
    numbered = pl.format("{}-{}", of_server, "index")
    frames = [
        inner.with_columns(pl.when(pl.col("kind") == "nvswitch").then(of_server).otherwise(numbered).alias("name"))
    ]
    if block.shares_nvswitch:
        frames.append(_nvswitch_nodes(plan, block))
    frames += [_switch_nodes(plan, tier) for tier in placed.values()]
    return _numbered(pl.concat(frames, how="diagonal"), "node", NODES)


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
            **dict.fromkeys(("server", "unit", "pod", "rail", "plane"), outside),
            "name": "domain-" + _padded(number) + "/nvswitch",
        }
    )


def _switch_nodes(plan: FabricPlan, placed: Placed) -> pl.DataFrame:
    """Switches named by where they stand: "leaf-u0-r3", "leaf-017", "spine-p2-05", "spine-r3-05", "core-g07-1".

    Where there are planes, theirs comes first: "plane-2/leaf-017".
    """
    count, of = len(placed.switches), placed.switches
    frame = pl.DataFrame(
        {
            "kind": pl.repeat("switch", count, eager=True),
            "tier": pl.repeat(placed.tier, count, eager=True),
            "device": pl.repeat(plan.switch(placed.tier).name, count, eager=True),
            "server": pl.repeat(-1, count, eager=True, dtype=pl.Int32),
            "index": np.arange(count, dtype=np.int32),
            "unit": of.unit,
            "pod": of.pod,
            "rail": of.rail,
            "plane": of.plane,
        }
    )
    places: dict[str, NDArray[np.int32] | Numbers] = {"r": of.rail}
    if placed.tier == "leaf":
        places = {"u": of.unit, **places}
    elif placed.tier == "spine":
        places = {"p": of.pod, **places, "": of.group}
    else:
        home = ((of.plane + 1).astype(np.int64) * count + of.rail + 1) * count + of.group
        places |= {"g": of.group, "": _turn(home)}
    has_planes = of.plane[0] >= 0
    number = _turn(of.plane + np.int64(1)) if has_planes else np.arange(count)
    known = {letter: numbers for letter, numbers in places.items() if numbers[0] >= 0} or {"": number}
    stands = [pl.lit(letter) + _padded(numbers) for letter, numbers in known.items()]
    name = pl.concat_str(pl.lit(placed.tier), *stands, separator="-")
    if has_planes:
        name = pl.format("plane-{}/{}", _padded(of.plane), name)
    return frame.with_columns(name.alias("name"))


def _padded(numbers: NDArray[np.int32] | Numbers) -> pl.Series:
    return pl.Series(numbers).cast(pl.String).str.zfill(len(str(int(numbers.max()))))


def _ports(plan: FabricPlan, block: Inside, placed: Mapping[Tier, Placed], cabled: list[Cabled]) -> pl.DataFrame:
    nics, planes = plan.servers * plan.server.nics, plan.planes
    columns = [
        (
            np.repeat(_nic_nodes(plan, block), planes),
            np.tile(np.arange(planes), nics),
            np.repeat(np.arange(nics), planes),
            np.full(nics * planes, plan.port_bps),
        )
    ]
    for tier in placed.values():
        count, front = len(tier.switches), tier.front
        cage = np.repeat(np.arange(len(front.breakout)), front.breakout)
        first_cage = tier.first_cage + np.arange(count) * len(front.breakout)
        columns.append(
            (
                np.repeat(tier.first_node + np.arange(count), front.ports),
                np.tile(np.arange(front.ports), count),
                (first_cage[:, None] + cage).reshape(-1),
                np.tile(front.rate_bps[cage], count),
            )
        )
    node, number, cage, rate_bps = (np.concatenate(column) for column in zip(*columns, strict=True))
    cable = np.full(len(node), -1, dtype=np.int32)
    for ends in (_all(cabled, "port_a"), _all(cabled, "port_b")):
        cable[ends] = np.arange(len(ends))
    frame = pl.DataFrame({"node": node, "number": number, "cage": cage, "rate_bps": rate_bps, "cable": cable})
    return _numbered(frame, "port", PORTS)


def _cages(plan: FabricPlan, block: Inside, placed: Mapping[Tier, Placed]) -> pl.DataFrame:
    nics = plan.servers * plan.server.nics
    columns = [(_nic_nodes(plan, block), np.zeros(nics), np.full(nics, plan.planes))]
    for tier in placed.values():
        count, cages = len(tier.switches), len(tier.front.breakout)
        columns.append(
            (
                np.repeat(tier.first_node + np.arange(count), cages),
                np.tile(np.arange(cages), count),
                np.tile(tier.front.breakout, count),
            )
        )
    node, number, breakout = (np.concatenate(column) for column in zip(*columns, strict=True))
    return _numbered(pl.DataFrame({"node": node, "number": number, "breakout": breakout}), "cage", CAGES)


def _cables(plan: FabricPlan, cabled: list[Cabled]) -> pl.DataFrame:
    sizes = [len(cables.port_a) for cables in cabled]
    frame = pl.DataFrame(
        {
            "port_a": _all(cabled, "port_a"),
            "port_b": _all(cabled, "port_b"),
            "tiers": pl.Series([cables.tiers for cables in cabled]).gather(np.repeat(np.arange(len(sizes)), sizes)),
            "rate_bps": np.repeat([_rate_bps(plan, cables) for cables in cabled], sizes),
            "length_m": np.repeat([plan.cable_length_m(cables.tiers) for cables in cabled], sizes),
        }
    )
    return _numbered(frame, "cable", CABLES)


def _links(plan: FabricPlan, block: Inside, cabled: list[Cabled]) -> pl.DataFrame:
    frames = []
    first_cable = 0
    for cables in cabled:
        count = len(cables.port_a)
        below, above = cables.tiers.replace("server", "nic").split("-")
        flight_s = plan.cable_length_m(cables.tiers) * plan.link_layer.fibre_s_per_m
        enter_s = {"nic": plan.nic.latency_s} | {
            tier: plan.switch(tier).latency_s for tier in ("leaf", "spine", "core") if tier in (below, above)
        }
        frames.append(
            pl.DataFrame(
                {
                    "src": _both(cables.node_a, cables.node_b),
                    "dst": _both(cables.node_b, cables.node_a),
                    "src_port": _both(cables.port_a, cables.port_b),
                    "dst_port": _both(cables.port_b, cables.port_a),
                    "cable": np.repeat(first_cable + np.arange(count), 2),
                    "tier": _repeat([f"{below}-{above}", f"{above}-{below}"], count),
                    "rate_bps": np.full(2 * count, _rate_bps(plan, cables)),
                    "efficiency": np.full(2 * count, plan.link_layer.efficiency),
                    "latency_s": np.tile([flight_s + enter_s[above], flight_s + enter_s[below]], count),
                }
            )
        )
        first_cable += count
    frames.append(_inner_links(plan, block))
    return _numbered(pl.concat(frames), "link", LINKS)


def _inner_links(plan: FabricPlan, block: Inside) -> pl.DataFrame:
    servers = plan.servers
    first = np.arange(servers, dtype=np.int64)[:, None] * block.nodes
    nvswitch = servers * block.nodes + np.arange(servers)[:, None] // plan.server.nvlink_domain_servers
    a = (first + block.a).reshape(-1)
    b = np.where(block.b == block.nodes, nvswitch, first + block.b).reshape(-1)
    none = np.full(2 * len(a), -1, dtype=np.int64)
    return pl.DataFrame(
        {
            "src": _both(a, b),
            "dst": _both(b, a),
            "src_port": none,
            "dst_port": none,
            "cable": none,
            "tier": _repeat([tier for pair in zip(block.away, block.back, strict=True) for tier in pair], servers),
            "rate_bps": np.tile(np.repeat(block.rate_bps, 2), servers),
            "efficiency": np.tile(np.repeat(block.efficiency, 2), servers),
            "latency_s": np.tile(_both(block.latency_away_s, block.latency_back_s), servers),
        }
    )


def _rate_bps(plan: FabricPlan, cables: Cabled) -> float:
    return plan.port_bps if cables.tiers == "server-leaf" else plan.between_switches_bps


def _all(cabled: list[Cabled], end: str) -> Numbers:
    return np.concatenate([getattr(cables, end) for cables in cabled])


def _both(away: NDArray[Value], back: NDArray[Value]) -> NDArray[Value]:
    """One entry of each in turn: the two directions of every pair of links."""
    return np.stack([away, back], axis=1).reshape(-1)


def _repeat(words: list[str], times: int) -> pl.Series:
    return pl.Series(words).gather(np.tile(np.arange(len(words)), times))


def _numbered(frame: pl.DataFrame, number: str, schema: Schema) -> pl.DataFrame:
    """The columns of a table in order and of their types, after its numbering from 0."""
    return frame.with_row_index(number).select(pl.col(name).cast(dtype) for name, dtype in schema.items())
