"""A step known only by a stopwatch: how long it takes, and how much of that waits for the network.

The step is compute, then one exchange; if the exchange is longer than its exposed part, the rest hides behind the end
of the compute. What the exchange carries is not known: `study.measured` solves for it. Not here: models of real jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.workload.operations import (
    Algorithm,
    Collective,
    CollectiveKind,
    Compute,
    Groups,
    Operation,
    Step,
    Tuning,
)

COMPUTE = "compute"
OVERLAPPED = "compute beside the exchange"
EXCHANGE = "exchange"


@dataclass(frozen=True)
class Measured:
    """A measured step.

    `step_s` and `exposed_s` (of the step, what waits for the exchange) come from a stopwatch; `communication_s` is the
    exchange in all, at least its exposed part. Ranks exchange in `groups` by one collective, of which NCCL chooses what
    a `tuning` leaves open.
    """

    step_s: float
    exposed_s: float
    communication_s: float
    kind: CollectiveKind
    algorithm: Algorithm
    channels: int
    groups: Groups
    ranks: int
    tuning: Tuning | None = None

    def step(self, message_bytes: float) -> Step:
        """The step when the exchange's buffer is `message_bytes` on each rank."""
        overlapped_s = self.communication_s - self.exposed_s
        operations: list[Operation] = [Compute(COMPUTE, self.step_s - self.exposed_s - overlapped_s)]
        if overlapped_s > 0:
            operations.append(Compute(OVERLAPPED, overlapped_s, after=(COMPUTE,)))
        operations.append(
            Collective(
                EXCHANGE,
                self.kind,
                message_bytes,
                self.groups,
                self.algorithm,
                self.channels,
                after=(COMPUTE,),
                tuning=self.tuning,
            )
        )
        return Step(self.ranks, tuple(operations))
