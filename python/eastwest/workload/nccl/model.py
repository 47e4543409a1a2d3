"""NCCL's own prediction of how long a collective takes: latency + bytes / bandwidth, as its tuning has it.

The formulas are those of `src/graph/tuning.cc` at HEAD, for every version's constants; what NVLS carries is reckoned
as each version does. They are what NCCL chooses by, not a measurement, and not what the engine says. Left out:
CollNet, PAT, and what tuner plug-ins change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from eastwest.workload.nccl.channels import Channels, Group, Machine, running, search
from eastwest.workload.nccl.constants import PROTOCOLS, Constants, Method, shared
from eastwest.workload.operations import CollectiveKind, Protocol

PLATEAU = 1.4
"""Factor on the latency of a ring over several nodes for an all-reduce of more than a little (from Ampere on)."""
WIRE: Mapping[Protocol, float] = {"ll": 2.0, "ll128": 128 / 120, "simple": 1.0}
"""Bytes on the wire for each of payload: LL has 4 bytes of flag beside 4 of data, LL128 8 beside 120."""

METHOD_KINDS: Mapping[Method, tuple[CollectiveKind, ...]] = {
    "tree": ("all-reduce",),
    "ring": ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce"),
    "nvls": ("all-reduce", "all-gather", "reduce-scatter"),
    "nvls-tree": ("all-reduce",),
}
"""The collectives that NCCL runs by each of its algorithms."""


@dataclass(frozen=True)
class Latency:
    """What a collective waits for, seconds: once, for each hop inside a node, and for each hop between nodes."""

    base_s: float
    intra_s: float
    inter_s: float
    intra_hops: int
    inter_hops: int

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.base_s + self.intra_hops * self.intra_s + self.inter_hops * self.inter_s

    def times(self, factor: float) -> Latency:
        """All of it so many times as long."""
        base_s, intra_s, inter_s = (each * factor for each in (self.base_s, self.intra_s, self.inter_s))
        return Latency(base_s, intra_s, inter_s, self.intra_hops, self.inter_hops)


@dataclass(frozen=True)
class Way:
    """One way to run a collective among a group: a method and a protocol, by the constants of a version."""

    kind: CollectiveKind
    method: Method
    protocol: Protocol
    group: Group
    machine: Machine
    constants: Constants

    @property
    def is_open(self) -> bool:
        """Whether NCCL would consider it, and the engine can run it.

        Without CollNet, NVLS is for one node and NVLSTree for several, which the engine has on even ones alone.
        """
        if self.method not in self.constants.base_s or self.kind not in METHOD_KINDS[self.method]:
            return False
        if self.method not in ("nvls", "nvls-tree"):
            return True
        fits = (self.method == "nvls") == (self.group.nodes == 1)
        fits &= self.group.is_even and self.machine.architecture in self.constants.nvls_efficiency
        return fits and self.protocol == "simple" and self._found.count >= 2

    @property
    def channels(self) -> int:
        """Channels that run."""
        return running(self.method, self.group, self.machine, self.constants.version)

    @property
    def limit(self) -> float:
        """Bus bandwidth, byte/s, that the protocol does not exceed on any network; infinite where none is known."""
        constants, count = self.constants, self._found.count
        if self.protocol == "ll":
            if self.group.nodes == 1:
                return constants.ll_one_node[self.machine.architecture]
            return constants.ll_nodes[self.machine.cpu][min(self.group.nodes, 3) - 2]
        if self.method == "ring":
            return count * self._of(constants.ring_ll128) if self.protocol == "ll128" else math.inf
        if self.method == "tree":
            most = count * self._of(constants.tree)
            return min(most, count * self._of(constants.tree_ll128)) if self.protocol == "ll128" else most
        if self.method == "nvls-tree" and self.machine.architecture in constants.nvls_tree:
            return count * self._of(constants.nvls_tree)
        return math.inf

    @property
    def algorithm_over_bus(self) -> float:
        """Algorithm bandwidth over bus bandwidth, as the model counts the latter."""
        if self.method == "tree":
            return 0.5
        if self.method != "ring" and self.kind != "all-reduce":
            return 1.0
        if self.method != "ring" and self.constants.nvls != "2.28":
            return self._older_nvls_over_bus
        return self.group.ranks / self._steps

    def correction(self, size: float) -> float:
        """What a tree keeps of its bandwidth at a size: NCCL's correction for pipelines that do not fill."""
        is_fitted = self.machine.architecture == "blackwell" and self.machine.cpu != "arm"
        bins = {"tree": 23, "nvls-tree": 24 if is_fitted else 0}.get(self.method, 0)
        number = (int(size) >> 6).bit_length() - 1
        return shared().tree_correction[self.protocol][number] if 0 <= number < bins else 1.0

    def latency(self, size: float, told_s: float = 0.0) -> Latency:
        """What a collective of `size` bytes waits for, with NICs of which NCCL is told this latency."""
        group, p = self.group, PROTOCOLS.index(self.protocol)
        base, intra = self.constants.base_s[self.method][p], self.constants.nvlink_s[self.method][p]
        # With one GPU a node nothing hides the network: NCCL takes the tree's constant for all.
        of_net = "tree" if group.ranks == group.nodes else self.method
        inter = told_s + self.constants.net_s.get(of_net, (0.0, 0.0, 0.0))[p]
        depth = int(math.log2(group.nodes))
        if self.method == "tree":
            return Latency(base, intra, inter, 2 * (group.ranks // group.nodes - 1), 2 * depth)
        if self.method == "nvls":
            return Latency(0.0, intra, 0.0, 1, 0)
        if self.method == "nvls-tree":
            hops = group.nodes - 1 if self.constants.nvls == "2.18" else depth
            return Latency(base, intra, inter, 1, 2 * hops)
        return self._latency_of_ring(base, intra, inter, size, told_s)

    def bandwidth(self, size: float) -> float:
        """Bytes of the buffer a second (algorithm bandwidth) of a collective of `size` bytes."""
        found, nodes = self._found, self.group.nodes
        group_is_spread = self.group.ranks < 2 * nodes
        bus = found.count * (found.intra if nodes <= 2 else found.inter)
        if self.method in ("nvls", "nvls-tree"):
            bus = found.count * self._of_nvls
        elif self.method == "ring":
            # LL128 loses more where no NVLink joins neighbours: NCCL's factor for fewer than two GPUs a node
            bus *= {"ll": 0.5, "ll128": 0.7 if group_is_spread else 0.92, "simple": 1.0}[self.protocol]
        else:
            bus = min(bus * 0.92, found.count * self._of(self.constants.tree))
            bus *= {"ll": 1 / 3.8, "ll128": 7 / 9 if nodes == 1 else 120 / 128, "simple": 1.0}[self.protocol]
        bus = min(bus, self.limit)
        if self.method == "tree" and self.group.ranks == nodes:
            bus *= 0.85  # NCCL's simpler tree, its only one where a node has one GPU
        return bus * self.algorithm_over_bus * self.correction(size)

    def time_s(self, size: float) -> float:
        """NCCL's predicted time of a collective of `size` bytes, seconds."""
        return self.latency(size, self.machine.transport.told_s).total_s + size / self.bandwidth(size)

    @property
    def _found(self) -> Channels:
        return search(self.method, self.group, self.machine, self.constants.version)

    @property
    def _steps(self) -> int:
        ranks = self.group.ranks
        return {"all-reduce": 2 * (ranks - 1), "all-gather": ranks - 1, "reduce-scatter": ranks - 1}.get(
            self.kind, ranks
        )

    def _of(self, triples: Mapping[str, tuple[float, ...]]) -> float:
        return triples[self.machine.architecture][min(self.group.nodes, 3) - 1]

    def _latency_of_ring(self, base: float, intra: float, inter: float, size: float, told_s: float) -> Latency:
        nodes, ranks = self.group.nodes, self.group.ranks
        if self.kind in ("broadcast", "reduce"):
            if nodes == 1:
                return Latency(base, intra, 0.0, 1, 0)
            of_hop = "tree" if self.protocol == "simple" else "ring"
            hop = told_s + self.constants.net_s[of_hop][PROTOCOLS.index(self.protocol)]
            return Latency(base, hop, hop, ranks - nodes, nodes)
        if nodes > 1:
            posts = 3 if self.protocol == "simple" else 1
            intra = max(intra, shared().net_overhead_s[self.machine.cpu] * posts)
        between = (2 if self.kind == "all-reduce" else 1) * (nodes - 1)
        found = Latency(base, intra, inter, self._steps - between, between)
        is_plateau = self.protocol == "simple" and nodes > 1 and self.kind == "all-reduce"
        return found.times(PLATEAU) if is_plateau and int(size) // (self.channels * ranks) >= 64 else found

    @property
    def _of_nvls(self) -> float:
        """Bandwidth of a channel of NVLS, byte/s."""
        found, nodes, constants = self._found, self.group.nodes, self.constants
        if constants.nvls != "2.28":
            if self.method == "nvls-tree" and nodes > 2:
                return min(found.intra, found.inter / (2 if constants.nvls == "2.19" else 1))
            return min(found.intra, found.inter)
        intra = found.intra * constants.nvls_efficiency[self.machine.architecture]
        intra *= (found.count - 1) / found.count
        intra *= 2.0 if self.kind == "all-reduce" else (self.group.per_node - 1) / self.group.per_node
        return min(intra, found.inter * (2 if self.method == "nvls-tree" and nodes == 2 else 1))

    @property
    def _older_nvls_over_bus(self) -> float:
        """Algorithm bandwidth over bus bandwidth of NVLS before 2.28, and of NVLSTree in 2.18."""
        nodes = self.group.nodes
        return 0.7 * nodes / (2 * (nodes - 1)) if (self.constants.nvls, nodes > 1) == ("2.18", True) else 5 / 6
