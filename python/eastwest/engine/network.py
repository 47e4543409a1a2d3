"""A fabric made ready for runs, and what a run gives back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from eastwest.engine import _native
from eastwest.engine._native import EngineError, UnreachableError
from eastwest.engine.messages import Messages
from eastwest.engine.program import BITS, NativeOp, native_mix, native_ops
from eastwest.engine.record import Record
from eastwest.engine.reduction import Reduction
from eastwest.engine.storage import Hosts
from eastwest.fabric import Fabric, Routes, addresses
from eastwest.workload import Background, Step

Balancing = Literal["ecmp", "wcmp", "flowlet", "spray", "adaptive", "pinned", "source"]
QpUse = Literal["split", "round-robin"]
HashSeeds = Literal["per-switch", "shared"]
Fidelity = Literal["ideal", "fluid", "packet"]
Floats = npt.NDArray[np.float64]
Stated = tuple[tuple[str, Any], ...]
"""Names and values of packet settings (`packets.PacketSettings`) that stand in place of a transport's defaults."""


@dataclass(frozen=True)
class Carriage:
    """How connections cross the fabric.

    `qps` queue pairs (flows) for each connection and channel; their bytes are `split` evenly, or whole messages of
    `message_bytes` take turns (`round-robin`, NCCL's default; 512 KiB is a step of its buffer: 4 MiB in 8 steps).
    `hash_seeds` says whether each switch hashes with a seed of its own. With "flowlet" a flow is spread over `flowlets`
    hashed paths, with "source" a connection over so many `paths` that its sender chooses (None: over all). Where every
    packet is simulated, `stated` says how they are sent and switched, and `events` what goes wrong meanwhile, with new
    routes `routes_after_s` later.
    """

    balancing: Balancing = "ecmp"
    qps: int = 1
    qp_use: QpUse = "round-robin"
    message_bytes: float = 524288.0
    hash_seeds: HashSeeds = "per-switch"
    flowlets: int = 8
    paths: int | None = None
    stated: Stated = ()
    events: tuple[str, ...] = ()
    routes_after_s: float | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether seeds matter: where something is hashed, or drawn."""
        return self.balancing in ("ecmp", "wcmp", "flowlet") or (self.balancing == "source" and self.paths is not None)


@dataclass(frozen=True)
class Run:
    """One step run over several draws of the hash seeds; the first axis of every array is the draw.

    Times are seconds, link loads payload bytes. `compute_s`, `communication_s` and `exposed_s` have shape
    (draws, ranks); the `link_` arrays (draws, links), with `link_limiting_s` the seconds in which a link held back
    whatever would finish last, and `capped_s`, shape (draws), those in which its own cap did: that of its channels, or
    of switches that add up; the `op_` arrays (draws, operations). `batching_error` bounds the relative error of
    completions that were batched. `messages` tells of each draw what became of packets, where these were simulated.
    """

    step_s: Floats
    op_start_s: Floats
    op_end_s: Floats
    op_bytes: Floats
    compute_s: Floats
    communication_s: Floats
    exposed_s: Floats
    link_bytes: Floats
    link_flows: Floats
    link_limiting_s: Floats
    capped_s: Floats
    batching_error: Floats
    rounds: npt.NDArray[np.uint64]
    messages: tuple[Messages, ...] = ()

    @cached_property
    def median_draw(self) -> int:
        """The draw whose step is the median (the lower of the two middle ones)."""
        return int(np.argsort(self.step_s, kind="stable")[(len(self.step_s) - 1) // 2])


@dataclass(frozen=True)
class Losses:
    """What a step loses while links are down and routes are as before, as shares from 0 to 1, mean over draws.

    `connections`: of those between servers, the ones that lose anything; `lost`: of their bytes, those whose paths
    cross what is down; `ranks`: those that take part in a collective or a message that loses.
    """

    connections: float
    lost: float
    ranks: float


def _in_names(message: str, step: Step) -> str:
    """A message of the engine, which counts operations, with their names in place of their numbers."""
    names = [operation.name for operation in step.operations]
    return re.sub(r"\boperation (\d+)", lambda number: f"operation '{names[int(number[1])]}'", message)


@contextmanager
def _naming_nodes(fabric: Fabric) -> Iterator[None]:
    """Tells the engine's mistakes with the names of nodes."""
    try:
        yield
    except EngineError as error:
        raise EngineError(_with_nodes(str(error), fabric)) from None


def _with_nodes(message: str, fabric: Fabric) -> str:
    """A message of the engine, which counts nodes, with their names; of two that are not joined, also where and why."""
    names = fabric.nodes["name"]

    def name(number: re.Match[str]) -> str:
        return str(names[int(number[1])]) if int(number[1]) < len(names) else number[0]

    named = re.sub(r"\bnode (\d+)", name, message)
    if not named.startswith("no path"):
        return named
    why = ""
    if fabric.plan.get("shape") == "rail-only":
        alike = "rail" if (fabric.nodes["tier"] == "spine").any() else "rail and unit"
        why = f": rail-only joins GPUs of one {alike}; others meet over NVLink alone"
    return f"fabric {fabric.name!r} has {named}{why}"


@contextmanager
def named(step: Step, fabric: Fabric) -> Iterator[None]:
    """Turns what the engine refuses into an error that calls operations and nodes by their names."""
    try:
        yield
    except UnreachableError as error:
        raise UnreachableError(_with_nodes(str(error), fabric)) from None
    except (ValueError, OverflowError) as error:
        raise EngineError(_with_nodes(_in_names(str(error), step), fabric)) from None


class Network:
    """A fabric's links and routes inside the engine; build it once, run many steps on it."""

    def __init__(self, fabric: Fabric, routes: Routes | None = None) -> None:
        """Reads the fabric's tables into the engine; traffic takes these `routes`, or else the shortest paths.

        Raises:
            EngineError: the tables contradict each other, or the routes loop or have holes.
        """
        links, nodes = fabric.links, fabric.nodes
        is_switch = (nodes["kind"] == "switch").to_numpy()
        src, dst = (links[end].to_numpy().astype(np.uint32) for end in ("src", "dst"))
        self.fabric = fabric
        self.is_routed, self.tables = routes is not None, routes
        self._reduction, self._hosts = Reduction.of(fabric.plan), Hosts(fabric)
        self.rate_bps: Floats = links.select(pl.col("rate_bps") * pl.col("efficiency")).to_series().to_numpy()
        given = None if routes is None else (routes.switch, routes.destination, routes.link, routes.weight)
        with _naming_nodes(fabric):
            self.native = _native.Network(
                nodes["kind"].to_physical().to_numpy().astype(np.uint8),
                addresses(fabric),
                src,
                dst,
                self.rate_bps / BITS,
                links["latency_s"].to_numpy().astype(np.float64),
                is_switch[src] & is_switch[dst],
                given,
            )

    def routes(self, carriage: Carriage) -> Routes:
        """The forwarding tables with which hashing, or spraying, by their weights comes to what a carriage does.

        Raises:
            EngineError: its senders draw paths, which no table can say.
        """
        return Routes(*self.native.routes(carriage))

    def operations(self, step: Step, gpu_of_rank: npt.NDArray[np.uint32]) -> list[NativeOp]:
        """A step's operations as the native engine takes them, on this fabric.

        Raises:
            ValueError: as `native_ops`.
        """
        return native_ops(step, self._reduction, self._hosts, gpu_of_rank)

    def run(
        self,
        step: Step,
        gpu_of_rank: npt.NDArray[np.uint32],
        carriage: Carriage,
        *,
        fidelity: Fidelity = "fluid",
        seeds: Sequence[int] = (0,),
        tolerance: float = 0.01,
        background: Background | None = None,
    ) -> Run:
        """Runs `step` once for each seed, with rank i on GPU node `gpu_of_rank[i]`, beside `background` traffic.

        By packets it runs elsewhere: see `run_by_packet`.

        `tolerance` is the part of the remaining time within which `fluid` batches completions (0: exact).

        Raises:
            UnreachableError: two ranks that must talk have no path; an `EngineError`, as any other below.
            EngineError: the step names unknown ranks or cannot be carried out.
            KeyboardInterrupt: Ctrl-C was pressed; nothing is kept.
        """
        if len(gpu_of_rank) != step.ranks:
            raise EngineError(f"the step has {step.ranks} ranks but {len(gpu_of_rank)} GPUs are given")
        with named(step, self.fabric):
            arrays: dict[str, Any] = self.native.run(
                np.ascontiguousarray(gpu_of_rank, dtype=np.uint32),
                self.operations(step, gpu_of_rank),
                step.overlap_slowdown,
                native_mix(step, background),
                carriage,
                fidelity,
                tolerance,
                list(seeds),
            )
        return Run(**arrays)

    def record(
        self,
        step: Step,
        gpu_of_rank: npt.NDArray[np.uint32],
        carriage: Carriage,
        every_ps: int,
        *,
        fidelity: Fidelity = "fluid",
        seed: int = 0,
        tolerance: float = 0.01,
        background: Background | None = None,
    ) -> Record:
        """Runs `step` once, as `run` does, and records what happened when; loads are means over spans of `every_ps`.

        Raises:
            EngineError: as `run`.
        """
        tiers = self.fabric.links["tier"]
        names = tiers.unique(maintain_order=True).to_list()
        number = {name: index for index, name in enumerate(names)}
        with named(step, self.fabric):
            arrays = self.native.record(
                np.ascontiguousarray(gpu_of_rank, dtype=np.uint32),
                self.operations(step, gpu_of_rank),
                step.overlap_slowdown,
                native_mix(step, background),
                carriage,
                fidelity,
                tolerance,
                seed,
                every_ps,
                np.array([number[tier] for tier in tiers], dtype=np.uint32),
            )
        return Record(**arrays, tiers=tuple(names))

    def losses(
        self,
        step: Step,
        gpu_of_rank: npt.NDArray[np.uint32],
        carriage: Carriage,
        is_down: npt.NDArray[np.bool_],
        seeds: Sequence[int] = (0,),
    ) -> Losses:
        """What `step` loses where `is_down` says of each link, by its number, whether it is down. Shape (links,).

        Raises:
            EngineError: as `run`.
        """
        try:
            found = self.native.losses(
                np.ascontiguousarray(gpu_of_rank, dtype=np.uint32),
                self.operations(step, gpu_of_rank),
                native_mix(step, None),
                carriage,
                np.ascontiguousarray(is_down, dtype=np.bool_),
                list(seeds),
            )
        except (ValueError, OverflowError) as error:
            raise EngineError(_with_nodes(_in_names(str(error), step), self.fabric)) from None
        return Losses(*(float(share) for share in np.mean(found, axis=0)))

    def max_min(
        self,
        from_gpu: npt.NDArray[np.uint32],
        to_gpu: npt.NDArray[np.uint32],
        carriage: Carriage,
        seed: int = 0,
    ) -> Floats:
        """Max-min fair rates, bit/s of payload, of connections from one GPU node to another that all run at once.

        Raises:
            UnreachableError: two that talk have no path; an `EngineError`, as any other below.
            EngineError: senders and receivers are not as many, or one is no GPU.
        """
        if len(from_gpu) != len(to_gpu):
            raise EngineError(f"{len(from_gpu)} senders cannot be paired with {len(to_gpu)} receivers")
        sender, receiver = (np.ascontiguousarray(nodes, dtype=np.uint32) for nodes in (from_gpu, to_gpu))
        try:
            rates: Floats = self.native.max_min(sender, receiver, carriage, seed) * BITS
        except UnreachableError as error:
            raise UnreachableError(_with_nodes(str(error), self.fabric)) from None
        except EngineError as error:
            raise EngineError(_with_nodes(str(error), self.fabric)) from None
        return rates
