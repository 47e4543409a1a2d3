"""What is said below a curve holds for the sizes that were asked for, and claims no more."""

import pytest

from eastwest.report.questions import half_of_best
from eastwest.study.curve import Curve, Point


def curve(*busbw: float) -> Curve:
    """Sizes of 1, 2, 4, ... KiB at these bus bandwidths, byte/s."""
    points = tuple(Point(1024.0 * 2**i, 1e-6, each, each, "ring") for i, each in enumerate(busbw))
    return Curve("one", "pod", "packed", "all-reduce", "ring", 16, points)


@pytest.mark.parametrize(
    ("busbw", "said"),
    [
        ((10e9, 30e9, 50e9), "Half of the best bus bandwidth, 50.0 GB/s, is reached at 2,048 bytes."),
        (
            (40e9, 50e9),
            "The smallest of these sizes, 1,024 bytes, already reaches half of the best bus bandwidth, 50.0",
        ),
        ((50e9,), "1,024 bytes reach a bus bandwidth of 50.0 GB/s."),
    ],
)
def test_the_size_of_half_the_best_is_named_only_where_a_smaller_one_fell_short(
    busbw: tuple[float, ...], said: str
) -> None:
    assert half_of_best(curve(*busbw)).startswith(said)
