"""One rank's nodes put in order and shortened, and what is refused with the nodes' names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.trace.conftest import Rank

from eastwest.errors import InputError
from eastwest.workload.trace import ComputeNode, Node, RankTrace
from eastwest.workload.trace.condense import condensed
from eastwest.workload.trace.order import ordered


def shown(rank, **options):
    """Name, seconds and waits by name of what is left."""
    found = condensed(rank.trace(0), **options).operations
    return [(each.node.name, each.seconds, [found[at].node.name for at in each.after]) for each in found]


def test_computes_in_a_row_become_one():
    rank = Rank().compute("a", 1.0).compute("b", 2.0).compute("c", 4.0)
    assert shown(rank) == [("a", 7.0, [])]


def test_a_compute_that_something_waits_for_ends_there():
    rank = Rank().compute("a", 1.0).compute("b", 2.0).collective("sum", (0, 1)).compute("c", 4.0, after=["b"])
    assert shown(rank) == [("a", 3.0, []), ("sum", 0.0, ["a"]), ("c", 4.0, [])]


def test_a_compute_that_waits_for_something_new_begins_there():
    rank = Rank().compute("a", 1.0).collective("sum", (0, 1), after=[]).compute("b", 2.0).compute("c", 4.0)
    assert shown(rank) == [("a", 1.0, []), ("sum", 0.0, []), ("b", 6.0, ["sum"])]


def test_what_an_earlier_compute_waited_for_is_not_waited_for_again():
    rank = Rank().collective("sum", (0, 1)).compute("a", 1.0).compute("b", 2.0, after=["sum"])
    assert shown(rank) == [("sum", 0.0, []), ("a", 3.0, ["sum"])]


def test_nodes_that_only_order_others_go_and_their_waits_stay():
    rank = Rank().collective("one", (0, 1)).order("wait", ["one"]).order("wait more").compute("a", 1.0)
    assert shown(rank) == [("one", 0.0, []), ("a", 1.0, ["one"])]


def test_of_the_collectives_of_a_communicator_the_last_stands_for_all():
    rank = Rank().collective("one", (0, 1)).collective("two", (0, 1), after=[]).compute("a", 1.0, ["one", "two"])
    assert shown(rank)[-1] == ("a", 1.0, ["two"])


def test_a_collective_of_a_single_rank_is_nothing():
    assert shown(Rank().collective("alone", (0,)).compute("a", 1.0)) == [("a", 1.0, [])]


def test_where_it_is_exact_computes_stay_as_they_are():
    rank = Rank().compute("a", 1.0).compute("b", 2.0)
    assert shown(rank, is_exact=True) == [("a", 1.0, []), ("b", 2.0, ["a"])]


def test_of_nodes_that_could_be_next_the_one_that_began_first_is():
    nodes = (Node(0, "late", (), 5.0), Node(1, "early", (), 2.0), Node(2, "after late", (0,), 1.0))
    assert [node.name for node in ordered(RankTrace(0, nodes, "t"))] == ["early", "late", "after late"]


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ((Node(7, "a"), Node(7, "b")), "t: node 7 ('b') has the number of node 7 ('a')"),
        ((Node(7, "a", (8,)),), "t: node 7 ('a') waits for node 8, which the file does not have"),
        ((Node(7, "a", (7,)),), "t: node 7 ('a') waits for itself: node 7 ('a') after node 7 ('a')"),
        (
            (Node(1, "a", (3,)), Node(2, "b", (1,)), Node(3, "c", (2,)), Node(4, "d", (3,))),
            "node 1 ('a') after node 3 ('c') after node 2 ('b') after node 1 ('a')",
        ),
    ],
)
def test_what_cannot_be_ordered_is_refused_by_its_nodes(nodes, why):
    with pytest.raises(InputError) as refused:
        ordered(RankTrace(0, nodes, "t"))
    assert why in str(refused.value)


def test_a_long_circle_is_told_by_its_ends():
    nodes = tuple(Node(each, "", ((each + 1) % 1000,)) for each in range(1000))
    with pytest.raises(InputError) as refused:
        ordered(RankTrace(0, nodes, "t"))
    assert len(str(refused.value)) < 300
    assert "more after" in str(refused.value)


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.sets(st.integers(0, 30), max_size=4)), max_size=30), st.booleans())
def test_no_compute_is_lost(nodes, is_exact):
    listed = tuple(
        ComputeNode(at, "", tuple(each for each in after if each < at), seconds=seconds)
        for at, (seconds, after) in enumerate(nodes)
    )
    found = condensed(RankTrace(0, listed, "t"), is_exact=is_exact).operations
    assert sum(each.seconds for each in found) == pytest.approx(sum(node.seconds for node in listed))
    assert sum(each.nodes for each in found) == len(listed)
