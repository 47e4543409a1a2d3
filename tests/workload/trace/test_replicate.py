"""One rank's trace stands for more ranks, with communicators that grow, or is refused with the remedy."""

import pytest
from tests.workload.trace.conftest import Rank, sources

from eastwest.errors import InputError
from eastwest.workload.trace import joined, replicated, spread


@pytest.fixture(params=["alone", "with others"])
def step(request):
    """The step of one rank's trace for more ranks: from that trace alone, or as from several alike."""

    def made(rank, of, ranks):
        (source,) = sources(rank)
        if request.param == "alone":
            return spread(source, of, ranks).step
        return joined(replicated([source, source], of, ranks)).step

    return made


def groups(operation):
    return [group.tolist() for group in operation.groups]


def test_communicators_of_all_ranks_grow(step):
    (found,) = step(Rank().collective("sum", range(4)), 4, 8).operations
    assert groups(found) == [list(range(8))]


def test_communicators_within_a_server_stay_and_those_across_grow(step):
    rank = Rank().collective("tensor", range(8), named="tp").collective("data", (0, 8), named="dp")
    tensor, data = step(rank, 16, 32).operations
    assert groups(tensor) == [list(range(first, first + 8)) for first in (0, 8, 16, 24)]
    assert groups(data) == [[rank, rank + 8, rank + 16, rank + 24] for rank in range(8)]


def test_a_root_keeps_its_place_in_the_communicator(step):
    (found,) = step(Rank().collective("share", (0, 8), kind="broadcast", root=8), 16, 32).operations
    assert groups(found)[0] == [8, 16, 24, 0]


@pytest.mark.parametrize(
    ("rank", "ranks", "why"),
    [
        (Rank().send("hand on", 1), 8, "sends to rank 1: ranks that send messages do different things"),
        (Rank().collective("odd", (0, 1, 3)), 8, "has no regular stride to repeat: give the traces of all 8 ranks"),
        (Rank().collective("tensor", (0, 1)), 7, "such groups fill multiples of 2 ranks, and 7 is none"),
        (Rank().collective("data", (0, 2)), 7, "it takes a multiple of 2 ranks, and 7 is none"),
    ],
)
def test_what_cannot_be_repeated_is_refused(step, rank, ranks, why):
    with pytest.raises(InputError) as refused:
        step(rank, 4, ranks)
    assert why in str(refused.value)


def test_a_communicator_that_shrinks_to_one_rank_is_gone_and_its_waits_stay(step):
    rank = Rank().collective("tensor", (0, 1), named="tp").collective("data", (0, 2), named="dp").compute("c", 1.0)
    found = step(rank, 4, 2).operations
    assert [(each.name, each.after) for each in found] == [("tensor", ()), ("c", ("tensor",))]


def test_what_a_rank_computes_all_do(step):
    found = step(Rank().compute("a", 1.0).collective("sum", range(4)).compute("b", 2.0), 4, 1024)
    assert [(each.name, each.after) for each in found.operations] == [("a", ()), ("sum", ("a",)), ("b", ("sum",))]
    assert found.operations[0].ranks is None
    assert found.compute_s == 3.0
