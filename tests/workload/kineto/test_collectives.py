"""Sizes as nccl-tests counts them, and process groups as profiles tell of them."""

import pytest

from eastwest.workload.formats.kineto import read_profile
from eastwest.workload.formats.kineto.collectives import continued
from eastwest.workload.trace import CollectiveNode, MessageNode


def only(profile):
    return next(node for node in profile.trace.nodes if isinstance(node, CollectiveNode | MessageNode))


@pytest.mark.parametrize(
    ("name", "sent", "received", "kind", "size"),
    [
        ("allreduce", 1000, 1000, "all-reduce", 2000),
        ("_allgather_base", 250, 1000, "all-gather", 2000),  # what results
        ("all_gather", 250, 250, "all-gather", 2000),
        ("_reduce_scatter_base", 1000, 250, "reduce-scatter", 2000),  # what goes in
        ("all_to_allv", 1000, 900, "all-to-all", 2000),
        ("broadcast", 1000, 1000, "broadcast", 2000),
        ("reduce", 1000, 1000, "reduce", 2000),
    ],
)
def test_bytes_are_those_of_the_whole_buffer(name, sent, received, kind, size, trace, saved):
    t = trace()
    t.compute(0, 10)
    t.collective(name, 10, 5, elements=sent, out=received, dtype="BFloat16")
    node = only(read_profile(saved(t)))
    assert (node.kind, node.bytes) == (kind, size)


@pytest.mark.parametrize(
    ("text", "size", "ranks"),
    [
        ("[0, 1, 2, 3]", 4, (0, 1, 2, 3)),
        ("[0, 8, 16, ...]", 5, (0, 8, 16, 24, 32)),
        ("[0, 1, 2, ..., 127]", 128, tuple(range(128))),
        ("[0, 1, 3, ...]", 5, ()),  # no stride
        ("[0, 1]", 3, ()),  # not all, and not said to be cut
        ("[0, 0]", 2, ()),
        ("", 4, ()),
    ],
)
def test_lists_of_ranks_that_were_cut_go_on_by_their_stride(text, size, ranks):
    assert continued(text, size) == ranks


def group_of(trace, saved, head=None, world=4, **args):
    t = trace(world=world)
    t.head["distributedInfo"] |= head or {}
    t.compute(0, 10)
    t.collective("allreduce", 10, 5, **args)
    return read_profile(saved(t))


def test_groups_that_the_head_lists_are_taken_from_there(trace, saved):
    listed = {"pg_config": [{"pg_name": "3", "pg_desc": "dp", "pg_size": 2, "ranks": [0, 2]}]}
    profile = group_of(trace, saved, listed, ranks="", **{"Process Group Name": "3", "Group size": 2})
    assert only(profile).communicator.ranks == (0, 2)


def test_the_default_group_of_a_head_has_no_list_and_all_ranks(trace, saved):
    listed = {"pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 4, "ranks": []}]}
    assert only(group_of(trace, saved, listed, ranks="")).communicator.ranks == (0, 1, 2, 3)


def test_start_and_stride_say_who_takes_part(trace, saved):
    args = {"Group size": 2, "Global rank start": 0, "Global rank stride": 2}
    assert only(group_of(trace, saved, ranks="", **args)).communicator.ranks == (0, 2)


def test_ranks_that_are_not_told_are_taken_to_be_neighbours_and_that_is_said(trace, saved):
    profile = group_of(trace, saved, ranks="", **{"Group size": 2, "Process Group Name": "5"})
    assert only(profile).communicator.ranks == (0, 1)
    assert "process group '5': its 2 ranks are not told, and are taken to be neighbours" in profile.told


def test_a_collective_of_one_rank_alone_is_counted_among_what_is_not_used(trace, saved):
    t = trace()
    t.compute(0, 10)
    t.collective("allreduce", 10, 5)
    t.collective("allreduce", 20, 5, ranks="[0]", **{"Group size": 1})
    unused = read_profile(saved(t)).trace.unused
    assert sum(count for reason, count in unused.items() if "one rank alone" in reason) == 1


def test_older_profiles_tell_of_a_collective_where_the_host_called_it(trace, saved):
    t = trace()
    t.compute(0, 10)
    t.add(
        "kernel",
        "ncclKernel_AllReduce_RING_LL_Sum_float",
        10,
        5,
        device=0,
        stream=20,
        correlation=7,
        **{"External id": 9},
    )
    about = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 10, "Group size": 4, "External id": 9}
    t.add("cpu_op", "record_param_comms", 8, 1, **about)
    assert only(read_profile(saved(t))).bytes == 40


def test_a_message_s_peer_is_a_rank_of_the_job(trace, saved):
    t = trace()
    t.compute(0, 10)
    t.collective("send", 10, 5, ranks="[0, 2]", **{"Dst Rank": 2, "Group size": 2})
    node = only(read_profile(saved(t)))
    assert (node.is_send, node.peer, node.bytes) == (True, 2, 4000)


@pytest.mark.parametrize(("name", "root"), [("broadcast", 2), ("reduce", 2), ("allreduce", None)])
def test_a_root_is_told_by_its_place_in_the_group(name, root, trace, saved):
    t = trace()
    t.compute(0, 10)
    t.collective(name, 10, 5, ranks="[0, 2]", Rank=1, **{"Group size": 2})
    assert only(read_profile(saved(t))).root == root
