"""What of a step shrinks where more ranks share the same work."""

import numpy as np

from eastwest.workload import Collective, Compute, SendRecv, Step, all_ranks, divided, shift

MATRIX = np.array([[0.0, 8.0], [4.0, 0.0]])


def test_the_batch_s_part_shrinks_and_the_model_does_not() -> None:
    everyone = all_ranks(2)
    step = Step(
        2,
        (
            Compute("forward", 1.0),
            SendRecv("hand-on", 100.0, shift(2, 1)),
            Collective("gradients", "all-reduce", 100.0, everyone, "ring"),
            Collective("tensor", "all-reduce", 100.0, everyone, "ring", carries="batch"),
            Collective("dispatch", "all-to-all", 100.0, everyone, "direct"),
            Collective("shuffle", "all-to-all", 100.0, everyone, "direct", carries="model"),
            Collective("uneven", "all-to-all", 0.0, everyone, "direct", matrix=MATRIX),
        ),
    )
    found = divided(step, 0.25).operations
    assert isinstance(found[0], Compute)
    assert found[0].seconds == 0.25
    sizes = [each.bytes for each in found[1:] if not isinstance(each, Compute)]
    assert sizes == [25.0, 100.0, 25.0, 25.0, 100.0, 0.0]
    assert isinstance(found[6], Collective)
    assert found[6].matrix is not None
    assert found[6].matrix.tolist() == [[0.0, 2.0], [1.0, 0.0]]


def test_a_whole_part_changes_nothing() -> None:
    step = Step(2, (Compute("forward", 1.0), SendRecv("hand-on", 100.0, shift(2, 1))))
    assert divided(step, 1.0).operations[0] == step.operations[0]
    assert divided(step, 1.0).compute_s == step.compute_s
