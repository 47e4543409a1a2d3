"""The same work shared by more ranks, or fewer: what of a step shrinks as a rank's part of the batch does.

Strong scaling holds the work of all ranks together fixed. A rank's compute and whatever carries its part of the batch
(activations, tokens) are in proportion to that part, and so is what a server reads or writes; what carries the model
(gradients, parameters) is as large however many ranks there are. Not here: batches too small to fill a GPU.
"""

from __future__ import annotations

from dataclasses import replace

from eastwest.workload.operations import Compute, Operation, SendRecv, Step, Storage


def divided(step: Step, part: float) -> Step:
    """The step when each rank has this part of the batch: 0.5 where twice as many ranks share the same work."""

    def shrunk(operation: Operation) -> Operation:
        if isinstance(operation, Compute):
            return replace(operation, seconds=operation.seconds * part)
        if isinstance(operation, SendRecv | Storage):
            return replace(operation, bytes=operation.bytes * part)
        if operation.carried == "model":
            return operation
        matrix = None if operation.matrix is None else operation.matrix * part
        return replace(operation, bytes=operation.bytes * part, matrix=matrix)

    return replace(step, operations=tuple(shrunk(operation) for operation in step.operations))
