"""NCCL's tuning constants, read from `constants.yaml`: latencies in seconds, bandwidths in bytes a second.

Each version's constants stand there with the tag they were read at. Not here: what is reckoned with them (`model`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, get_args

from eastwest.document import parse
from eastwest.workload.operations import Protocol

Method = Literal["tree", "ring", "nvls", "nvls-tree"]
Cpu = Literal["intel", "amd", "arm"]
Version = Literal["HEAD", "2.27.7", "2.27", "2.26", "2.21", "2.18", "2.12"]
"""Releases whose constants are written down; `version_of` tells by which of them another one chooses."""

PROTOCOLS: tuple[Protocol, ...] = ("ll", "ll128", "simple")
METHODS: tuple[Method, ...] = ("tree", "ring", "nvls", "nvls-tree")
"""NCCL's algorithms in its own order, which decides where two would take equally long."""

_US = 1e-6
_GB = 1e9
_Triples = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Constants:
    """One version's constants.

    Latencies by method, then protocol: `base_s` once, `nvlink_s` and `net_s` a hop. Bandwidths by architecture, in
    triples (one node, two, more): what a channel carries at most, byte/s. `ll_one_node` and `ll_nodes` (two nodes,
    more) are of all channels together. `nvls` says since which release NVLS's bandwidth is reckoned so. `speeds` are
    bandwidths of a channel that the search tries, most first, inside a node and where NICs are crossed. A method, or an
    architecture, that a version does not know has no entry.
    """

    version: Version
    source: str
    base_s: _Triples
    nvlink_s: _Triples
    net_s: _Triples
    ll_one_node: Mapping[str, float]
    ll_nodes: _Triples
    ring_ll128: _Triples
    tree_ll128: _Triples
    tree: _Triples
    nvls: Literal["2.28", "2.19", "2.18"]
    nvls_tree: _Triples
    nvls_efficiency: Mapping[str, float]
    speeds: Mapping[str, Mapping[str, tuple[float, ...]]]


@dataclass(frozen=True)
class NvlsKernel:
    """How NVLS runs, as fitted: `base_s` once, `sync_s` a round of chunks, `channel` the payload of one, byte/s."""

    base_s: float
    sync_s: Mapping[str, float]
    channel: Mapping[str, float]


@dataclass(frozen=True)
class Shared:
    """What all versions share.

    NCCL's: corrections of trees by protocol, overheads of posting by CPU, channels of NVLS. And what was fitted: how
    NVLS runs; how much longer than NCCL's constants NVLink's hops take by LL and LL128; what a channel passes on by LL,
    a ring by LL128 where that is less than the table has, and a tree where it is more; how much longer hops take where
    channels are full; and the part of NVLink that messages reach, to all others and to one.
    """

    tree_correction: _Triples
    net_overhead_s: Mapping[str, float]
    nvls_channels: Mapping[str, tuple[int, int]]
    nvls: NvlsKernel
    nvlink: _Triples
    ll_channel: float
    ring_ll128: Mapping[str, float]
    tree_carries: Mapping[str, float]
    tree_plateau: float
    ring_plateau: Mapping[str, float]
    all_to_all: float
    send_recv: Mapping[str, float]


@lru_cache(maxsize=1)
def _written() -> Mapping[str, Any]:
    resource = files("eastwest.workload.nccl") / "constants.yaml"
    data: Mapping[str, Any] = parse(resource.read_bytes(), "constants.yaml").data
    return data


def _version(version: str) -> Mapping[str, Any]:
    written: Mapping[str, Any] = _written()["versions"][version]
    return {**_version(written["like"]), **written} if "like" in written else written


def _scaled(written: Mapping[str, Any], unit: float) -> dict[str, tuple[float, ...]]:
    return {name: tuple(value * unit for value in values) for name, values in written.items()}


@lru_cache(maxsize=1)
def releases() -> Mapping[str, Version]:
    """By which version's constants each release chooses that is known, the newest first."""
    found: dict[str, Version] = {}
    for version in get_args(Version):
        found |= dict.fromkeys((version, *_version(version)["stands_for"]), version)
    return dict(sorted(found.items(), key=lambda each: _number(each[0]), reverse=True))


def _number(release: str) -> tuple[float, ...]:
    return (math.inf,) if release == "HEAD" else tuple(float(part) for part in release.split("."))


def version_of(release: str) -> Version | None:
    """By which version's constants a release chooses, as in 2.25 or 2.25.1; None where nothing is known of it."""
    return releases().get(release, releases().get(".".join(release.split(".")[:2])))


@lru_cache(maxsize=8)
def constants(version: Version = "HEAD") -> Constants:
    """The constants of a version."""
    written = _version(version)
    latencies = {f"{key}_s": _scaled(written[key], _US) for key in ("base", "nvlink", "net")}
    triples = {key: _scaled(written[key], _GB) for key in ("ll_nodes", "ring_ll128", "tree_ll128", "tree", "nvls_tree")}
    return Constants(
        version=version,
        source=written["source"],
        ll_one_node={name: value * _GB for name, value in written["ll_one_node"].items()},
        nvls=written["nvls"],
        nvls_efficiency=written["nvls_efficiency"],
        speeds={name: _scaled(each, _GB) for name, each in written["speeds"].items()},
        **latencies,
        **triples,
    )


@lru_cache(maxsize=1)
def shared() -> Shared:
    """What all versions share."""
    written = _written()
    kernels = written["kernels"]
    return Shared(
        tree_correction=_scaled(written["tree_correction"], 1.0),
        net_overhead_s={cpu: value * _US for cpu, value in written["net_overhead"].items()},
        nvls_channels={name: (one, several) for name, (one, several) in written["nvls_channels"].items()},
        nvlink=_scaled(kernels["nvlink"], 1.0),
        ll_channel=kernels["ll_channel"] * _GB,
        ring_ll128={name: value * _GB for name, value in kernels["ring_ll128"].items()},
        tree_carries={name: value * _GB for name, value in kernels["tree_carries"].items()},
        tree_plateau=kernels["plateau"]["tree"],
        ring_plateau=kernels["plateau"]["ring"],
        all_to_all=kernels["all_to_all"],
        send_recv=kernels["send_recv"],
        nvls=NvlsKernel(
            base_s=kernels["nvls_base"] * _US,
            sync_s={name: value * _US for name, value in kernels["nvls_sync"].items()},
            channel={name: value * _GB for name, value in kernels["nvls_channel"].items()},
        ),
    )
