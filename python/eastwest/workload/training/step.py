"""The operations of one training step: every pass of every microbatch, what is exchanged within, between and after.

Each stage of the pipeline has its own operations, in the order of its schedule. What the layers of a chunk exchange in
a pass is one operation of each kind, which stands for all of theirs; where gradients or weights move beside compute,
the pass that they move beside is cut into parts. Queues are communicators, named by the kind of group. Not here: how
long computing takes (`compute`), how much is sent (`traffic`), or when (`pipeline`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from eastwest.workload.operations import (
    Algorithm,
    Collective,
    CollectiveKind,
    Compute,
    Groups,
    Operation,
    SendRecv,
    Step,
    Tuning,
)
from eastwest.workload.training import traffic
from eastwest.workload.training.compute import Times
from eastwest.workload.training.description import Training
from eastwest.workload.training.layout import Layout, Ranks
from eastwest.workload.training.pipeline import Turn, in_order, orders
from eastwest.workload.training.traffic import Exchange, Part

BUCKETS = 8
"""Parts into which a pass is cut beside which gradients or weights move. Megatron's buckets are of 40 million
parameters or more (its `ddp_bucket_size`), a few a chunk; what nothing hides is then about an eighth."""
MOST_PARTS = 20_000
"""Parts of all passes of a step: a pass in which every layer gathers its weights is cut by layers up to here."""


def step(training: Training, times: Sequence[Times], update_s: float, overlap_slowdown: float = 1.0) -> Step:
    """One step of a training job, from its first forward pass to updated weights.

    `times` are those of each chunk in the order of the forward pass, `update_s` the seconds that updating a stage's
    weights takes. What NCCL would choose for collectives is left open.
    """
    building = _Building(training, Layout(training), times, update_s)
    building.all()
    return Step(training.ranks, tuple(building.operations), overlap_slowdown)


@dataclass(frozen=True)
class _Exchanges:
    """What a part of a pass exchanges beside its compute, and after it."""

    beside: tuple[Exchange, ...] = ()
    after: tuple[Exchange, ...] = ()


@dataclass
class _Building:
    """A step being put together. What comes again for each microbatch is reckoned once.

    `after` holds for each stage what its next pass waits for, `ahead` what the part before has waited for, beside which
    weights may come; `arrivals` the message that brings a pass its input, `reduced` the sums of a stage's gradients.
    """

    training: Training
    layout: Layout
    times: Sequence[Times]
    update_s: float
    operations: list[Operation] = field(default_factory=list)
    after: dict[int, tuple[str, ...]] = field(default_factory=dict)
    ahead: dict[int, tuple[str, ...]] = field(default_factory=dict)
    arrivals: dict[Turn, str] = field(default_factory=dict)
    reduced: dict[int, list[str]] = field(default_factory=dict)
    groups_of: dict[tuple[str, int], Groups] = field(default_factory=dict)
    pairs_of: dict[tuple[int, int], Ranks] = field(default_factory=dict)
    exchanges_of: dict[tuple[str, Part], _Exchanges] = field(default_factory=dict)
    parts_of: dict[tuple[int, int], tuple[Part, ...]] = field(default_factory=dict)
    ranks_of: dict[int, Ranks] = field(default_factory=dict)

    def all(self) -> None:
        """Every pass in turn, then what is left to do with gradients and weights."""
        training, parallelism = self.training, self.training.parallelism
        stages = range(parallelism.pipeline)
        self.ranks_of = {stage: self.layout.stage(stage) for stage in stages}
        turns = orders(parallelism.schedule, len(stages), parallelism.virtual, training.microbatches)
        for stage, turn in in_order(turns, training.chunks):
            self._pass(stage, turn)
        if not training.overlap.gradients and not self._reduces_always:
            for stage, (chunk, part) in self._chunks():
                self._reduce(f"chunk/{chunk}", stage, part, self.after[stage], is_last=True)
        self._tied()
        for stage in stages:
            before = (*self.after[stage], *self.reduced.get(stage, ()))
            self._compute(f"update/{stage}", stage, self.update_s, before)
        if parallelism.sharding in ("zero1", "zero2") and not training.overlap.parameters:
            for stage, (chunk, part) in self._chunks():
                self._gather(f"chunk/{chunk}", stage, part, (f"update/{stage}",))

    def _chunks(self) -> Iterator[tuple[int, tuple[int, Part]]]:
        """Each chunk as one part, with its stage."""
        for chunk in range(self.training.chunks):
            (part,) = traffic.parts(self.training, chunk, 1)
            yield chunk % self.training.parallelism.pipeline, (chunk, part)

    def _pass(self, stage: int, turn: Turn) -> None:
        """A pass of a microbatch, in parts where weights or gradients move beside it."""
        training, name = self.training, f"{turn.what}/{turn.chunk}/{turn.microbatch}"
        before = self.after.get(stage, ())
        if arrival := self.arrivals.pop(turn, None):
            before = (*before, arrival)
            if exchanges := traffic.gathered(training):
                before = self._serial(f"{name}/arrived", stage, exchanges, before)
        gathers, reduces = self._gathers(turn), self._reduces(turn)
        parts = self._parts(turn.chunk, self._count() if gathers or reduces else 1)
        for number in range(len(parts)) if turn.what == "forward" else reversed(range(len(parts))):
            called = name if len(parts) == 1 else f"{name}/{number}"
            weights: tuple[str, ...] = ()
            if gathers:
                weights = self._gather(called, stage, parts[number], self._may_gather_after(stage, before))
            self.ahead[stage] = before
            before = self._part(called, stage, turn, parts[number], (*before, *weights))
            if reduces:
                sums = self._reduce(called, stage, parts[number], before, is_last=self._is_last(turn))
                before = before if training.overlap.gradients else (*before, *sums)
        self.after[stage] = before
        self._pass_on(stage, turn, name)

    def _parts(self, chunk: int, count: int) -> tuple[Part, ...]:
        key = (chunk, count)
        if key not in self.parts_of:
            self.parts_of[key] = traffic.parts(self.training, chunk, count)
        return self.parts_of[key]

    def _count(self) -> int:
        """Parts of a pass beside which something moves."""
        training = self.training
        most = max(MOST_PARTS // (2 * training.microbatches * training.chunks), 1)
        return most if training.parallelism.sharding == "zero3" else min(most, BUCKETS)

    def _gathers(self, turn: Turn) -> bool:
        """Whether a pass gathers sharded weights: every one, or the first that needs them after an update."""
        sharding = self.training.parallelism.sharding
        if sharding == "zero3":
            return turn.what != "weights"
        is_first = turn.what == "forward" and turn.microbatch == 0
        return sharding != "none" and is_first and self.training.overlap.parameters

    def _may_gather_after(self, stage: int, before: tuple[str, ...]) -> tuple[str, ...]:
        """What gathering a part's weights waits for: nothing that the step does, or to be a part ahead of compute."""
        if self.training.parallelism.sharding != "zero3":
            return ()
        return self.ahead.get(stage, ()) if self.training.overlap.parameters else before

    @property
    def _reduces_always(self) -> bool:
        """Whether every microbatch's gradients are reduced, since no rank keeps them whole."""
        return self.training.parallelism.sharding in ("zero2", "zero3")

    def _reduces(self, turn: Turn) -> bool:
        """Whether gradients are reduced beside a pass or right after it."""
        last = "weights" if self.training.parallelism.schedule == "zero-bubble" else "backward"
        is_beside = self._is_last(turn) and self.training.overlap.gradients
        return turn.what == last and (is_beside or self._reduces_always)

    def _is_last(self, turn: Turn) -> bool:
        return turn.microbatch == self.training.microbatches - 1

    def _part(self, name: str, stage: int, turn: Turn, part: Part, before: tuple[str, ...]) -> tuple[str, ...]:
        """A part of a pass: it computes, and exchanges after that what cannot be beside."""
        times, exchanges = self.times[turn.chunk], self._exchanges(turn, part)
        if turn.what == "forward":
            seconds = times.forward_s
        elif turn.what == "weights":
            seconds = times.backward_weight_s
        else:
            is_split = self.training.parallelism.schedule == "zero-bubble"
            seconds = times.backward_input_s + (0.0 if is_split else times.backward_weight_s)
        self._compute(name, stage, seconds * part.share, before)
        done: list[str] = []
        for number, each in enumerate(exchanges.beside):
            done += self._exchange(f"{name}/beside-{number}", stage, each, before)
        return (*self._serial(name, stage, exchanges.after, (name,)), *done)

    def _exchanges(self, turn: Turn, part: Part) -> _Exchanges:
        """What a part of a pass exchanges."""
        key = (turn.what, part)
        if key not in self.exchanges_of:
            found: tuple[Exchange, ...] = ()
            if turn.what != "weights":
                found = (traffic.forward if turn.what == "forward" else traffic.backward)(self.training, part)
            shares = [(each, self._hidden(each)) for each in found]
            self.exchanges_of[key] = _Exchanges(
                tuple(replace(each, bytes=each.bytes * hidden) for each, hidden in shares if hidden > 0),
                tuple(replace(each, bytes=each.bytes * (1 - hidden)) for each, hidden in shares if hidden < 1),
            )
        return self.exchanges_of[key]

    def _hidden(self, exchange: Exchange) -> float:
        """The share of an exchange that runs beside the compute of its pass.

        Products that overlap with their tensor-parallel exchange are cut into as many parts as ranks, as Transformer
        Engine's user buffers and PyTorch's asynchronous TP do; nothing hides the first or last part's.
        """
        overlap = self.training.overlap
        if exchange.within == "tensor":
            if exchange.is_beside:
                return 1.0
            return 1 - 1 / self.training.parallelism.tensor if overlap.tensor else 0.0
        return float(overlap.context if exchange.within == "context" else overlap.experts)

    def _serial(self, name: str, stage: int, exchanges: Sequence[Exchange], before: tuple[str, ...]) -> tuple[str, ...]:
        """Exchanges one after another, behind `before`; gives what comes behind them."""
        for number, each in enumerate(exchanges):
            before = self._exchange(f"{name}/then-{number}", stage, each, before)
        return before

    def _exchange(self, name: str, stage: int, each: Exchange, before: tuple[str, ...]) -> tuple[str, ...]:
        within = each.within
        return self._collective(f"{name}/{within}", stage, each.kind, each.bytes, within, within, before, each.repeats)

    def _pass_on(self, stage: int, turn: Turn, name: str) -> None:
        """Sends what a pass has computed to the stage that goes on with it."""
        training, stages = self.training, self.training.parallelism.pipeline
        chunk = turn.chunk + (1 if turn.what == "forward" else -1)
        if turn.what == "weights" or stages == 1 or not 0 <= chunk < training.chunks:
            return
        called, ends = f"{name}/send", (stage, chunk % stages)
        if ends not in self.pairs_of:
            self.pairs_of[ends] = self.layout.messages(*ends)
        size, queue = traffic.message_bytes(training), f"pipeline/{turn.what}/{stage}"
        self.operations.append(SendRecv(called, size, self.pairs_of[ends], queue, self.after[stage]))
        self.arrivals[Turn(turn.what, chunk, turn.microbatch)] = called
        if not training.overlap.pipeline:
            self.after[stage] = (called,)

    def _reduce(self, name: str, stage: int, part: Part, before: tuple[str, ...], *, is_last: bool) -> tuple[str, ...]:
        """Sums a part's gradients over the ranks that have the same weights; gives the sums."""
        training, found = self.training, list[str]()
        shared_by = {"": training.shared_by, "expert-": training.experts_shared_by}
        for prefix, count in self._weights(part):
            called, queue, size = f"{name}/{prefix}gradients", f"{prefix}data/reduce", count * traffic.GRADIENT_BYTES
            if training.parallelism.sharding == "none":
                found += self._collective(called, stage, "all-reduce", size, f"{prefix}data", queue, before)
                continue
            done = self._collective(called, stage, "reduce-scatter", size, f"{prefix}shards", queue, before)
            if is_last:
                called, size = f"{called}/copies", size / shared_by[prefix]
                done = self._collective(called, stage, "all-reduce", size, f"{prefix}replicas", queue, done)
            found += done
        if is_last:
            self.reduced.setdefault(stage, []).extend(found)
        return tuple(found)

    def _gather(self, name: str, stage: int, part: Part, before: tuple[str, ...]) -> tuple[str, ...]:
        """Gathers a part's sharded weights."""
        found: list[str] = []
        for prefix, count in self._weights(part):
            called, size = f"{name}/{prefix}weights", count * traffic.WEIGHT_BYTES
            queue = f"{prefix}data/gather"
            found += self._collective(called, stage, "all-gather", size, f"{prefix}shards", queue, before)
        return tuple(found)

    def _weights(self, part: Part) -> Iterator[tuple[str, float]]:
        """Parameters of a part on one rank, of plain layers and of experts, by how their groups' names begin."""
        for prefix, count in zip(("", "expert-"), traffic.weights(self.training, part), strict=True):
            if count:
                yield prefix, count

    def _tied(self) -> None:
        """Sums the gradients of word embeddings over the first stage and the last, where both have them."""
        size = traffic.tied_parameters(self.training) * traffic.GRADIENT_BYTES
        if not size:
            return
        ends = (0, self.training.parallelism.pipeline - 1)
        before = tuple(name for stage in ends for name in (*self.after[stage], *self.reduced.get(stage, ())))
        self.operations.append(_chosen("embedding", "all-reduce", size, self.layout.ends(), "embedding", before, 1))
        for stage in ends:
            self.reduced.setdefault(stage, []).append("embedding")

    def _compute(self, name: str, stage: int, seconds: float, before: tuple[str, ...]) -> None:
        self.operations.append(Compute(name, seconds, before, self.ranks_of[stage]))

    def _collective(
        self,
        name: str,
        stage: int,
        kind: CollectiveKind,
        size: float,
        within: str,
        queue: str,
        before: tuple[str, ...],
        repeats: int = 1,
    ) -> tuple[str, ...]:
        """A collective in the groups of one kind, which are the same object each time; gives what comes behind it.

        That is itself, or where ranks would be alone, what it would wait for.
        """
        key = (within, stage)
        if key not in self.groups_of:
            self.groups_of[key] = getattr(self.layout, within.replace("-", "_"))(stage)
        groups = self.groups_of[key]
        if len(groups[0]) == 1:
            return before
        self.operations.append(_chosen(name, kind, size, groups, queue, before, repeats))
        return (name,)


def _chosen(
    name: str, kind: CollectiveKind, size: float, groups: Groups, queue: str, after: tuple[str, ...], repeats: int
) -> Collective:
    """A collective that NCCL carries out as it chooses."""
    algorithm: Algorithm = "direct" if kind == "all-to-all" else "rail-ring"
    return Collective(name, kind, size, groups, algorithm, queue=queue, after=after, tuning=Tuning(), repeats=repeats)
