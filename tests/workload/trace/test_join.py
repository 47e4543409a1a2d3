"""Traces of several ranks become one step; what cannot run is told before it is run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.trace.conftest import Rank, join, sources

from eastwest.errors import InputError
from eastwest.workload import Collective, Compute, SendRecv, in_order
from eastwest.workload.trace import joined


def shown(step):
    in_order(step.operations)
    return [(each.name, list(each.after)) for each in step.operations]


def groups(operation):
    return [group.tolist() for group in operation.groups]


def worker(rank, seconds=1.0):
    """Of four ranks: compute, a sum within pairs, compute, a sum over all."""
    pair = (0, 1) if rank < 2 else (2, 3)
    return (
        Rank()
        .compute("forward", seconds)
        .collective("within", pair, named="tp")
        .compute("backward", 2.0)
        .collective("over all", range(4), named="dp")
    )


def test_ranks_that_do_alike_share_their_operations():
    step = join(*(worker(rank) for rank in range(4)))
    assert shown(step) == [
        ("forward", []),
        ("within", ["forward"]),
        ("backward", ["within"]),
        ("over all", ["backward"]),
    ]
    assert [type(each) for each in step.operations] == [Compute, Collective, Compute, Collective]
    assert step.operations[0].ranks is None
    assert groups(step.operations[1]) == [[0, 1], [2, 3]]
    assert step.operations[1].queue == "tp"
    assert groups(step.operations[3]) == [[0, 1, 2, 3]]


def test_where_times_differ_each_rank_has_its_own():
    step = join(*(worker(rank, 1.0 + rank) for rank in range(4)))
    assert [(each.name, each.seconds) for each in step.operations[:4]] == [
        (f"forward/{rank}", 1.0 + rank) for rank in range(4)
    ]
    assert step.operations[4].after == tuple(f"forward/{rank}" for rank in range(4))


def test_a_rank_that_does_something_else_has_operations_of_its_own():
    last = Rank().collective("within", (2, 3), named="tp").collective("over all", range(4), named="dp")
    step = join(*(worker(rank) for rank in range(3)), last)
    forward = next(each for each in step.operations if each.name == "forward")
    assert forward.ranks.tolist() == [0, 1]
    assert [each.name for each in step.operations].count("over all") == 1


def stage(rank, stages, microbatches):
    """One stage of a pipeline: receives, computes and hands on each microbatch."""
    found = Rank()
    for number in range(microbatches):
        before = [f"f{number - 1}"] if number else []
        if rank:
            found.receive(f"from {number}", rank - 1, after=[], tag=number)
            before.append(f"from {number}")
        found.compute(f"f{number}", 1.0, after=before)
        if rank < stages - 1:
            found.send(f"to {number}", rank + 1, after=[f"f{number}"], tag=number)
    return found


def test_a_pipeline_keeps_its_stages_apart():
    step = join(*(stage(rank, 3, 2) for rank in range(3)))
    messages = [each for each in step.operations if isinstance(each, SendRecv)]
    assert sorted(each.pairs.tolist() for each in messages) == [[[0, 1]], [[0, 1]], [[1, 2]], [[1, 2]]]
    assert [each.ranks.tolist() for each in step.operations if isinstance(each, Compute)].count([1]) == 2


def test_pipelines_that_do_alike_share_their_operations():
    one = [stage(rank, 2, 2) for rank in range(2)]
    other = [Rank(), Rank()]
    other[0].compute("f0", 1.0, []).send("to 0", 3, ["f0"]).compute("f1", 1.0, ["f0"]).send("to 1", 3, ["f1"], tag=1)
    other[1].receive("from 0", 2, []).compute("f0", 1.0, ["from 0"]).receive("from 1", 2, [], tag=1)
    other[1].compute("f1", 1.0, ["f0", "from 1"])
    step = join(*one, *other)
    messages = [each for each in step.operations if isinstance(each, SendRecv)]
    assert [each.pairs.tolist() for each in messages] == [[[0, 1], [2, 3]]] * 2


def test_ranks_that_send_round_a_ring_at_once_share_one_operation():
    step = join(*(Rank().send("s", (rank + 1) % 4).receive("r", (rank - 1) % 4, after=[]) for rank in range(4)))
    (message,) = step.operations
    assert message.pairs.tolist() == [[0, 1], [1, 2], [2, 3], [3, 0]]


def test_ranks_that_pass_something_on_do_not_share_it():
    ranks = [Rank().receive("r", (rank - 1) % 3).send("s", (rank + 1) % 3) for rank in range(1, 3)]
    step = join(Rank().send("s", 1).receive("r", 2), *ranks)
    assert [each.pairs.tolist() for each in step.operations] == [[[0, 1]], [[1, 2]], [[2, 0]]]


def test_messages_meet_by_their_tags():
    step = join(
        Rank().send("a", 1, tag=5, size=10.0).send("b", 1, after=[], tag=6, size=20.0),
        Rank().receive("b", 0, tag=6, size=20.0).receive("a", 0, after=["b"], tag=5, size=10.0),
    )
    assert [(each.name, each.bytes) for each in step.operations] == [("b", 20.0), ("a", 10.0)]


def test_computes_may_run_in_another_order_than_in_the_file_where_ranks_need_it():
    step = join(
        Rank().receive("get", 1, []).compute("a", 1.0).compute("b", 1.0, []).send("give", 1),
        Rank().receive("get", 0, []).send("give", 0),
    )
    names = [each.name for each in step.operations]
    assert names.index("b") < names.index("a")


def test_a_broadcast_goes_out_from_its_root():
    step = join(*(Rank().collective("share", range(4), kind="broadcast", root=2) for _ in range(4)))
    assert groups(step.operations[0]) == [[2, 3, 0, 1]]


def test_gathers_and_scatters_are_messages_and_barriers_small_sums():
    def rank():
        return (
            Rank()
            .collective("in", (0, 1, 2), kind="gather", root=1, bytes=7.0)
            .collective("out", (0, 1, 2), kind="scatter", bytes=8.0)
            .collective("stop", (0, 1, 2), kind="barrier")
        )

    gather, scatter, barrier = join(rank(), rank(), rank()).operations
    assert (gather.pairs.tolist(), gather.bytes) == ([[2, 1], [0, 1]], 7.0)
    assert (scatter.pairs.tolist(), scatter.bytes) == ([[0, 1], [0, 2]], 8.0)
    assert (barrier.kind, barrier.bytes) == ("all-reduce", 4.0)


def test_to_an_uneven_all_to_all_each_rank_gives_what_it_has_in_equal_parts():
    found = joined(sources(*(Rank().collective("x", (0, 1), kind="all-to-all", bytes=size) for size in (3.0, 5.0))))
    assert found.step.operations[0].matrix.tolist() == [[1.5, 1.5], [2.5, 2.5]]
    assert found.uneven == 1


def test_uneven_all_to_alls_of_several_groups_stay_apart():
    sizes = (3.0, 5.0, 5.0, 7.0)
    ranks = [
        Rank().collective("x", (rank // 2 * 2, rank // 2 * 2 + 1), kind="all-to-all", bytes=size).compute("c", 1.0)
        for rank, size in enumerate(sizes)
    ]
    first, second, compute = join(*ranks).operations
    assert [first.name, second.name] == ["x/0", "x/1"]
    assert [each.matrix.sum(axis=1).tolist() for each in (first, second)] == [[3.0, 5.0], [5.0, 7.0]]
    assert compute.after == ("x/0", "x/1")


def test_names_are_made_unique():
    step = join(Rank().compute("k", 1.0).receive("x", 1).compute("k", 1.0), Rank().send("x", 0).compute("k #2", 1.0))
    names = [each.name for each in step.operations]
    assert len(set(names)) == len(names) == 4


def test_names_that_end_in_a_number_are_not_taken_for_parts_of_others():
    step = join(*(Rank().compute("k", seconds).collective("k/0", (0, 1)) for seconds in (1.0, 2.0)))
    assert sorted(each.name for each in step.operations) == ["k/0", "k/0.", "k/1"]


def test_kernels_that_nothing_waits_for_are_counted_and_kept():
    found = joined(sources(Rank().compute("a", 1.0).compute("loose", 2.0, after=[])))
    assert found.last_kernels == 2
    assert found.step.compute_s == 3.0


@pytest.mark.parametrize(
    ("ranks", "why"),
    [
        (
            [Rank().collective("a", (0, 1)), Rank().collective("b", (0, 1), bytes=5.0)],
            "t.0.et: node 0 ('a') of rank 0, number 1 in communicator '' is all-reduce of 1,000,000 B, and "
            "node 0 ('b') of rank 1 is all-reduce of 5 B",
        ),
        (
            [Rank().collective("a", (0, 1)), Rank().compute("b", 1.0)],
            "t.0.et: node 0 ('a') is number 1 in communicator '', and rank 1 enters 0",
        ),
        (
            [
                Rank().collective("a", (0, 1), named="x").collective("b", (0, 1), named="y"),
                Rank().collective("b", (0, 1), named="y").collective("a", (0, 1), named="x"),
            ],
            "wait for each other for ever",
        ),
        ([Rank().collective("a", (0, 2)), Rank()], "with rank 2, and there are traces of ranks 0 to 1"),
        ([Rank().collective("a", (1, 2)), Rank(), Rank()], "of which rank 0 is no member"),
        ([Rank().collective("a", (0, 1), root=5), Rank()], "starts or ends at rank 5"),
        (
            [Rank().send("a", 1), Rank()],
            "node 0 ('a') sends to rank 1 with tag 0, and no receive there is left",
        ),
        ([Rank(), Rank().receive("a", 0)], "receives from rank 0 with tag 0, and no send there is left"),
        ([Rank().send("a", 1), Rank().receive("b", 0, size=5.0)], "sends 1,000,000 B to node 0 ('b') of rank 1, which"),
        ([Rank().send("a", 0)], "sends to its own rank 0"),
        ([Rank().send("a", 3)], "sends to rank 3, and there are traces of ranks 0 to 0"),
        ([Rank().receive("r", 1).send("s", 1), Rank().receive("r", 0).send("s", 0)], "wait for each other for ever"),
    ],
)
def test_what_would_hang_is_refused_by_the_nodes(ranks, why):
    with pytest.raises(InputError) as refused:
        join(*ranks)
    assert why in str(refused.value)


def test_groups_of_a_communicator_are_shared_in_memory():
    step = join(*(Rank().collective("a", (0, 1)).compute("c", 1.0).collective("b", (0, 1)) for _ in range(2)))
    assert step.operations[0].groups is step.operations[2].groups
    assert np.array_equal(step.operations[0].groups[0], [0, 1])


RANKS = 4
EVENTS = st.one_of(
    st.tuples(st.just("compute"), st.integers(0, RANKS - 1), st.integers(1, 9)),
    st.tuples(st.just("sum"), st.sets(st.integers(0, RANKS - 1), min_size=2), st.integers(1, 9)),
    st.tuples(st.just("message"), st.permutations(range(RANKS)), st.integers(1, 9)),
)


@given(st.lists(st.tuples(EVENTS, st.sets(st.integers(1, 3))), max_size=25))
def test_ranks_that_did_all_this_one_after_another_can_do_so_again(events):
    """Whatever happened, in an order in which it could, is joined without a circle; no work and no byte is lost."""
    ranks = [Rank() for _ in range(RANKS)]
    computed, summed, sent = np.zeros(RANKS), np.zeros(RANKS), np.zeros(RANKS)
    for number, ((kind, who, amount), back) in enumerate(events):
        members = sorted(who) if kind == "sum" else [who] if kind == "compute" else list(who[:2])
        for rank in members:
            earlier = ranks[rank].nodes
            after = [earlier[-each].name for each in back if each <= len(earlier)]
            if kind == "compute":
                ranks[rank].compute(f"c{number}", float(amount), after)
                computed[rank] += amount
            elif kind == "sum":
                ranks[rank].collective(f"s{number}", members, after, bytes=float(amount))
                summed[rank] += amount
            elif rank == members[0]:
                ranks[rank].send(f"m{number}", members[1], after, size=float(amount))
                sent[rank] += amount
            else:
                ranks[rank].receive(f"m{number}", members[0], after, size=float(amount))
    step = join(*ranks)
    in_order(step.operations)
    for operation in step.operations:
        if isinstance(operation, Compute):
            computed[slice(None) if operation.ranks is None else operation.ranks] -= operation.seconds
        elif isinstance(operation, Collective):
            summed[np.concatenate(operation.groups)] -= operation.bytes
        else:
            np.subtract.at(sent, operation.pairs[:, 0], operation.bytes)
    assert not computed.any()
    assert not summed.any()
    assert not sent.any()
