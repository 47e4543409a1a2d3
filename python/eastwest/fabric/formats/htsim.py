"""Topologies of htsim (`.topo`), the Ultra Ethernet Consortium's simulator: fat trees of two and three tiers.

`Nodes`, `Tiers` and `Podsize`, then a block for each tier: `Downlink_speed_Gbps`, `Radix_Down`, `Radix_Up`,
`Downlink_Latency_ns`, `Switch_Latency_ns`, `Oversubscribed`, `Bundle`, `Queue_Up`, `Queue_Down`. A switch's latency
counts where it is entered, from either side. Queue sizes are the simulation's matter and are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eastwest.errors import InputError
from eastwest.fabric.bare import Cabling, bare
from eastwest.fabric.tables import Fabric
from eastwest.textfile import Line, lines

_TOP = ("nodes", "tiers", "podsize")
_TIER = {
    "Downlink_speed_Gbps": "speed",
    "Radix_Down": "down",
    "Radix_Up": "up",
    "Downlink_Latency_ns": "latency",
    "Switch_Latency_ns": "switch_latency",
    "Oversubscribed": "ratio",
    "Bundle": "bundle",
    "Queue_Up": None,
    "Queue_Down": None,
    "Queue_Down_ECN": None,
    "Queue_Up_ECN": None,
}
_KEYS = {key.lower(): key for key in _TIER}
"""Of a tier's entries, which may be written in any case."""
MOST_HOSTS = 1 << 20
MOST_CABLES = 1 << 24
"""Between two tiers: those of 8,192 leaves with 2,048 ports up each."""
NS = 1e-9
_MOST = {"speed": 1e6, "latency": 1e9, "switch_latency": 1e9}
"""Bounds in the file's units: 1 Pb/s, and 1 s."""


@dataclass(frozen=True)
class _Tier:
    """One tier's block: radix counts ports, speed Gb/s, latencies nanoseconds."""

    at: Line
    values: Mapping[str, float]

    def count(self, name: str, otherwise: int | None = None) -> int:
        """A number of ports; what is left out is `otherwise`."""
        value = self.values.get(name, otherwise)
        if value is None:
            wanted = next(key for key, short in _TIER.items() if short == name)
            raise self.at.refuse(f"this tier lacks its {wanted}")
        return int(value)


def read_htsim_topology(path: Path) -> Fabric:
    """The fabric of a `.topo` file: hosts, then the switches of tier 0 ("leaf"), 1 ("spine") and 2 ("core").

    Raises:
        InputError: the file is no such topology, or its numbers do not fit together; names the line.
    """
    top, tiers = _read(path)
    for name in ("nodes", "tiers"):
        if name not in top:
            raise InputError(f"{path}: the line {name.title()!r} is missing: is this a topology of htsim?")
    hosts, number = top["nodes"].count(1, "Nodes", 1, MOST_HOSTS), top["tiers"].count(1, "Tiers")
    if number not in (2, 3):
        raise top["tiers"].refuse(f"a topology has 2 or 3 tiers, not {number}")
    if set(tiers) != set(range(number)):
        raise top["tiers"].refuse(f"{number} tiers are declared and blocks for {sorted(tiers) or 'none'} are given")
    pod = top["podsize"].count(1, "Podsize", 1) if "podsize" in top else hosts
    return _two_tiers(path, hosts, tiers) if number == 2 else _three_tiers(path, hosts, pod, tiers, top)


def _read(path: Path) -> tuple[dict[str, Line], dict[int, _Tier]]:
    top: dict[str, Line] = {}
    blocks: dict[int, tuple[Line, dict[str, float]]] = {}
    current: dict[str, float] | None = None
    stated: set[str] = set()
    for line in lines(path):
        key = line.words[0].lower()
        if key == "tier":
            number = line.count(1, "Tier", 0, 2)
            if number in blocks:
                raise line.refuse(f"tier {number} is described twice")
            current, stated = {}, set()
            blocks[number] = (line, current)
        elif key in _TOP:
            if key in top:
                raise line.refuse(f"{line.words[0]} is given twice")
            top[key] = line
        elif key in _KEYS:
            if current is None:
                raise line.refuse(f"{line.words[0]} belongs below a line 'Tier N'")
            if key in stated:
                raise line.refuse(f"{line.words[0]} is given twice in this tier")
            stated.add(key)
            short = _TIER[_KEYS[key]]
            if short is not None:
                integral = short in ("down", "up", "ratio", "bundle")
                least = 1 if short != "up" else 0
                if integral:
                    current[short] = line.count(1, line.words[0], least, 1 << 16)
                else:
                    current[short] = line.decimal(1, line.words[0], _MOST[short])
                if short == "speed" and not current[short] > 0.0:
                    raise line.refuse(f"{line.words[0]} is above 0, not {line.words[1]!r}")
        else:
            known = ", ".join((*map(str.title, _TOP), *_TIER))
            raise line.refuse(f"{line.words[0]!r} is no entry of a topology; there are {known}")
    return top, {number: _Tier(line, values) for number, (line, values) in blocks.items()}


def _below(tier: _Tier, lower: _Tier | None = None) -> tuple[float, float, float]:
    """Rate of the links below a tier and their latencies up and down: into its switches, and into what stands lower."""
    if "speed" not in tier.values:
        raise tier.at.refuse("this tier lacks its Downlink_speed_Gbps")
    cable = tier.values.get("latency", 0.0)
    up, down = (entered.values.get("switch_latency", 0.0) if entered else 0.0 for entered in (tier, lower))
    return tier.values["speed"] * 1e9, (cable + up) * NS, (cable + down) * NS


def _uplinks(tier: _Tier) -> int:
    """Ports up of one switch: those of the radix, over the oversubscription where only ports down are given."""
    up = tier.count("up", tier.count("down"))
    if up < 1:
        raise tier.at.refuse("Radix_Up is at least 1 below the top tier")
    return up


def _check_cables(tier: _Tier, switches: int, up: int) -> None:
    if switches * up > MOST_CABLES:
        raise tier.at.refuse(f"{switches} switches with {up} ports up each are more than {MOST_CABLES} cables")


def _check_leaves(hosts: int, leaf: _Tier) -> int:
    down = leaf.count("down")
    if hosts % down:
        raise leaf.at.refuse(f"{hosts} nodes do not fill leaves of {down} (Radix_Down)")
    return hosts // down


def _two_tiers(path: Path, hosts: int, tiers: Mapping[int, _Tier]) -> Fabric:
    leaf, spine = tiers[0], tiers[1]
    leaves, up, bundle = _check_leaves(hosts, leaf), _uplinks(leaf), spine.count("bundle", 1)
    if up % bundle:
        raise spine.at.refuse(f"bundles of {bundle} links do not divide the leaves' {up} ports up")
    spines = up // bundle
    if spine.count("down") != leaves * bundle:
        raise spine.at.refuse(
            f"Radix_Down is {spine.count('down')}, but {leaves} leaves with bundles of {bundle} take {leaves * bundle}"
        )
    _check_cables(leaf, leaves, up)
    turn = np.arange(leaves * up)
    return bare(
        path.stem,
        hosts,
        (("leaf", leaves), ("spine", spines)),
        (
            _hosts(hosts, leaf),
            Cabling("leaf-spine", hosts + turn // up, hosts + leaves + turn % up // bundle, *_below(spine, leaf)),
        ),
    )


def _three_tiers(path: Path, hosts: int, pod: int, tiers: Mapping[int, _Tier], top: Mapping[str, Line]) -> Fabric:
    leaf, spine, core = tiers[0], tiers[1], tiers[2]
    leaves, leaf_up, bundle = _check_leaves(hosts, leaf), _uplinks(leaf), spine.count("bundle", 1)
    if hosts % pod or pod % leaf.count("down"):
        raise top.get("podsize", top["nodes"]).refuse(
            f"pods of {pod} do not divide {hosts} nodes, or are cut by leaves of {leaf.count('down')}"
        )
    if leaf_up % bundle:
        raise spine.at.refuse(f"bundles of {bundle} links do not divide the leaves' {leaf_up} ports up")
    pods, pod_leaves, pod_spines = hosts // pod, pod // leaf.count("down"), leaf_up // bundle
    if spine.count("down") != pod_leaves * bundle:
        raise spine.at.refuse(
            f"Radix_Down is {spine.count('down')}, but a pod's {pod_leaves} leaves with bundles of {bundle} take "
            f"{pod_leaves * bundle}"
        )
    up, core_bundle = _uplinks(spine), core.count("bundle", 1)
    links = pods * pod_spines * up
    if links % core.count("down"):
        raise core.at.refuse(f"{links} links of the spines do not fill cores of {core.count('down')} (Radix_Down)")
    cores = links // core.count("down")
    if up % core_bundle or (cores % (pod_spines * (up // core_bundle)) and (pod_spines * (up // core_bundle)) % cores):
        raise core.at.refuse(f"{cores} cores cannot be spread over {pod_spines} spines a pod with {up} ports up each")
    spines = pods * pod_spines
    _check_cables(leaf, leaves, leaf_up)
    _check_cables(spine, spines, up)
    leaf_turn = np.arange(leaves * leaf_up)
    leaf_of, port = leaf_turn // leaf_up, leaf_turn % leaf_up
    spine_of = leaf_of // pod_leaves * pod_spines + port // bundle
    spine_turn = np.arange(spines * up)
    lower, port_up = spine_turn // up, spine_turn % up
    core_of = (lower % pod_spines * (up // core_bundle) + port_up // core_bundle) % cores
    first = hosts + leaves
    return bare(
        path.stem,
        hosts,
        (("leaf", leaves), ("spine", spines), ("core", cores)),
        (
            _hosts(hosts, leaf),
            Cabling("leaf-spine", hosts + leaf_of, first + spine_of, *_below(spine, leaf)),
            Cabling("spine-core", first + lower, first + spines + core_of, *_below(core, spine)),
        ),
    )


def _hosts(hosts: int, leaf: _Tier) -> Cabling:
    host = np.arange(hosts)
    return Cabling("host-leaf", host, hosts + host // leaf.count("down"), *_below(leaf))
