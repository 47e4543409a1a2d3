"""Chakra traces: what their nodes become, and the traps that people have met, each told by node and cause."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.formats.conftest import framed, imported, node

from eastwest.errors import InputError
from eastwest.workload import Collective, Compute, SendRecv
from eastwest.workload.formats import Roofline
from eastwest.workload.formats import chakra_schema as schema
from eastwest.workload.formats.chakra_schema import COLLECTIVE, COMPUTE, METADATA, RECEIVE, SEND

MIB = 1 << 20
DATA = "tests/data/chakra"


def groups(operation):
    return [group.tolist() for group in operation.groups]


def reduce(number, after=(), **more):
    return node(number, COLLECTIVE, "sum", after, **{"comm_type": 0, "comm_size": MIB, **more})


def test_astra_sim_s_example_is_one_all_reduce(request):
    folder = request.config.rootpath / DATA
    found = imported(*sorted(folder.glob("all_reduce.*.et")))
    (operation,) = found.step.operations
    assert (found.step.ranks, operation.kind, operation.bytes) == (4, "all-reduce", MIB)
    assert groups(operation) == [[0, 1, 2, 3]]
    assert found.unused == {}


@pytest.mark.parametrize("name", ["", "all_reduce"])
def test_a_folder_or_a_prefix_stands_for_the_traces_there(request, name):
    assert imported(request.config.rootpath / DATA / name).step.ranks == 4


def test_a_newer_schema_is_told(tmp_path):
    assert fact_of_schema(tmp_path, "2.0.0").startswith("schema 2.0.0, newer than what is known here")


def test_an_older_schema_in_the_form_of_0_0_4_is_told(tmp_path):
    assert fact_of_schema(tmp_path, "0.0.3").startswith("schema 0.0.3, older than 0.0.4, as which it is read")
    assert fact_of_schema(tmp_path, "0.0.4") == "schema 0.0.4"


def fact_of_schema(folder, version):
    messages = (schema.GlobalMetadata(version=version), node(0, COMPUTE, "a", micros=7))
    (folder / "t.0.et").write_bytes(b"".join(map(schema.framed, messages)))
    return imported(folder / "t.0.et", ranks=1).facts[0]


@pytest.mark.parametrize(
    "nodes", [[], [node(0, METADATA, "told")], [node(0, COLLECTIVE, "sum", comm_type=0, comm_size=0)]]
)
def test_traces_of_which_no_step_comes_are_refused(chakra, nodes):
    with pytest.raises(InputError, match=r"t.0.et: the traces hold no compute, message or collective"):
        imported(*chakra(nodes, nodes))


def test_a_schema_reads_its_own_messages():
    written = node(3, COMPUTE, "x", (1, 2), 7, comm_size=5, pg_name="tp", is_cpu_op=True)
    read = schema.Node.FromString(written.SerializeToString())
    assert (read.id, read.name, list(read.data_deps), read.duration_micros) == (3, "x", [1, 2], 7)
    values = {each.name: schema.value_of(each) for each in read.attr}
    assert values == {"comm_size": 5, "pg_name": "tp", "is_cpu_op": True}


def test_durations_are_microseconds_and_waits_data_and_control(chakra):
    nodes = [node(0, COMPUTE, "a", micros=7), reduce(1, ctrl=[0]), node(2, COMPUTE, "b", (1,), micros=5)]
    found = imported(*chakra(nodes, nodes)).step.operations
    assert [(each.name, each.after) for each in found] == [("a", ()), ("sum", ("a",)), ("b", ("sum",))]
    assert [each.seconds for each in found if isinstance(each, Compute)] == pytest.approx([7e-6, 5e-6])


@pytest.mark.parametrize(
    ("number", "kind", "size"),
    [
        (0, "all-reduce", 1),
        (1, "reduce", 1),
        (2, "all-gather", 2),
        (5, "broadcast", 1),
        (6, "all-to-all", 1),
        (7, "reduce-scatter", 1),
        (8, "reduce-scatter", 1),
    ],
)
def test_a_collective_s_size_is_what_a_rank_puts_in_so_a_gather_s_result_is_larger(chakra, number, kind, size):
    nodes = [reduce(0, comm_type=number)]
    (found,) = imported(*chakra(nodes, nodes)).step.operations
    assert (found.kind, found.bytes) == (kind, size * MIB)


def test_computes_without_a_duration_take_the_roofline_of_a_gpu(chakra):
    nodes = [
        node(0, COMPUTE, "matmul", num_ops=8_000, tensor_size=10),
        node(1, COMPUTE, "copy", num_ops=1, tensor_size=90),
    ]
    found = imported(*chakra(nodes), ranks=1, gpu=Roofline(flops=4_000.0, bytes_per_s=30.0))
    assert found.step.compute_s == pytest.approx(2.0 + 3.0)


def test_without_a_gpu_they_are_refused(chakra):
    with pytest.raises(InputError, match=r"t.0.et: node 0 \('matmul'\) has 8,000 operations and no duration: .*--gpu"):
        imported(*chakra([node(0, COMPUTE, "matmul", num_ops=8_000)]), ranks=1)


def test_computes_with_neither_time_nor_operations_are_told(chakra):
    found = imported(*chakra([node(0, COMPUTE, "k"), node(1, COMPUTE, "l", micros=5)]), ranks=1)
    assert found.unused == {"computes without a time (duration_micros) or operations (num_ops) take none": 1}


def test_messages_meet_by_peer_and_tag(chakra):
    sends = [node(0, SEND, "s", comm_dst=1, comm_tag=4, comm_size=9)]
    receives = [node(0, RECEIVE, "r", comm_src=0, comm_tag=4, comm_size=9)]
    (found,) = imported(*chakra(sends, receives)).step.operations
    assert isinstance(found, SendRecv)
    assert (found.pairs.tolist(), found.bytes) == ([[0, 1]], 9)


def test_rings_that_send_before_they_receive_run_as_through_buffers(chakra):
    def rank(number):
        return [
            node(0, SEND, "s", comm_dst=(number + 1) % 3, comm_size=9),
            node(1, RECEIVE, "r", (0,), comm_src=(number - 1) % 3, comm_size=9),
        ]

    found = imported(*chakra(*(rank(number) for number in range(3))))
    assert any("as into a buffer" in fact for fact in found.facts)


def test_communicators_are_those_of_astra_sim_s_file(chakra, tmp_path):
    (tmp_path / "groups.json").write_text(json.dumps({"1": [0, 1], "2": [2, 3]}))
    ranks = [[reduce(0, pg_name="1" if rank < 2 else "2")] for rank in range(4)]
    (found,) = imported(*chakra(*ranks), tmp_path / "groups.json").step.operations
    assert groups(found) == [[0, 1], [2, 3]]


def test_communicators_are_those_of_pytorch_s_metadata(chakra):
    listed = json.dumps([{"pg_name": "0", "ranks": []}, {"pg_name": "7", "ranks": [0, 1]}])
    told = node(0, METADATA, "## process_group:init ##", inputs={"values": str([listed])})
    ranks = [[told, reduce(1), *([reduce(2, pg_name="7")] if rank < 2 else [])] for rank in range(3)]
    found = imported(*chakra(*ranks)).step.operations
    assert sorted(map(groups, found)) == [[[0, 1]], [[0, 1, 2]]]


def test_kernels_without_successors_are_put_in_the_order_of_their_streams(chakra):
    nodes = [
        node(0, COMPUTE, "host", is_cpu_op=True, micros=900),
        node(1, COMPUTE, "forward", (0,), micros=10, stream=7),
        node(2, COMPUTE, "backward", (0,), micros=20, stream=7),
        reduce(3, (0,), stream=20),
        node(4, COMPUTE, "more backward", (0,), micros=30, stream=7),
        reduce(5, (0,), stream=20),
    ]
    found = imported(*chakra(nodes, nodes))
    assert [(each.name, each.after) for each in found.step.operations] == [
        ("forward and 1 more", ()),
        ("sum", ("forward and 1 more",)),
        ("more backward", ()),
        ("sum #2", ("more backward",)),
    ]
    assert found.unused["kernels that nothing waits for were put in the order of their streams"] == 10
    assert found.unused["host operations give the order alone"] == 2


def test_kernels_that_state_streams_are_put_in_their_order_without_host_operations_too(chakra):
    nodes = [
        reduce(0, stream=20, start=200),
        node(1, COMPUTE, "more backward", micros=30, stream=7, start=120),
        node(2, COMPUTE, "backward", micros=20, stream=7, start=100),
        reduce(3, stream=20, start=130),
    ]
    found = imported(*chakra(nodes, nodes))
    assert [(each.name, each.after) for each in found.step.operations] == [
        ("backward and 1 more", ()),
        ("sum", ("backward and 1 more",)),
        ("sum #2", ("backward and 1 more",)),
    ]
    assert found.unused["kernels that nothing waits for were put in the order of their streams"] == 8


def test_host_operations_alone_are_the_work(chakra):
    nodes = [node(0, COMPUTE, "a", is_cpu_op=True, micros=900)]
    assert imported(*chakra(nodes), ranks=1).step.compute_s == pytest.approx(900e-6)


def test_a_broadcast_that_a_converter_lost_is_found_by_name_and_tensors(chakra):
    values = "[[[430, 431, 0, 1000, 4, 'cuda:0']], '<Object>', 0]"
    tensors = {"values": values, "types": "['GenericList[Tensor(float)]', 'Object', 'Int']"}
    nodes = [node(0, COLLECTIVE, "c10d::broadcast_", inputs=tensors)]
    found = imported(*chakra(nodes, nodes))
    (operation,) = found.step.operations
    assert (operation.kind, operation.bytes) == ("broadcast", 4000)
    assert set(found.unused) == {
        "comm_type is missing and was read from the name",
        "comm_size is missing and was reckoned from tensors",
    }


def test_what_is_not_known_is_told(chakra):
    nodes = [node(0, COMPUTE, "a", micros=1, colour="red"), node(1, 42, "b"), node(2, 2, "load")]
    found = imported(*chakra(nodes), ranks=1)
    assert found.unused == {
        "attribute 'colour' is not known": 1,
        "nodes of type 42 are not known": 1,
        "loads from remote memory and stores to it take no time": 1,
    }


def test_one_rank_stands_for_as_many_as_are_asked_for(chakra):
    (found,) = imported(*chakra([reduce(0)]), ranks=16).step.operations
    assert groups(found) == [list(range(16))]


def test_a_trace_of_eight_ranks_asked_for_at_sixteen_is_repeated(chakra):
    nodes = [node(0, COMPUTE, "a", micros=1), reduce(1, (0,))]
    found = imported(*chakra(*([nodes] * 8)), ranks=16)
    assert found.step.ranks == 16
    assert groups(found.step.operations[-1]) == [list(range(16))]


REFUSED = {
    "one rank of nobody knows how many": ([[reduce(0)]], "give those of all ranks, or the number with --ranks"),
    "a circle": (
        [[node(1, COMPUTE, "a", (2,)), node(2, COMPUTE, "b", (1,))]] * 2,
        "t.0.et: node 1 ('a') waits for itself: node 1 ('a') after node 2 ('b') after node 1 ('a')",
    ),
    "a number twice": (
        [[node(1, COMPUTE, "a"), node(1, COMPUTE, "b")]] * 2,
        "node 1 ('b') has the number of node 1 ('a')",
    ),
    "a wait for nothing": (
        [[node(1, COMPUTE, "a", (9,))]] * 2,
        "('a') waits for node 9, which the file does not",
    ),
    "a send without a receive": (
        [[node(0, SEND, "s", comm_dst=1, comm_size=9)], []],
        "node 0 ('s') sends to rank 1 with tag 0, and no receive there is left for it",
    ),
    "different orders": (
        [[reduce(0), reduce(1, (0,), comm_size=5)], [reduce(0, comm_size=5), reduce(1, (0,))]],
        "ranks enter collectives in different orders, and would hang",
    ),
    "a rank that does not take part": ([[reduce(0)], []], "and rank 1 enters 0: the others would wait for ever"),
    "an unknown collective": ([[reduce(0, comm_type=77)]] * 2, "node 0 ('sum') has comm_type 77; there are 0 to 9"),
    "a nameless collective": (
        [[node(0, COLLECTIVE, "x", comm_size=5)]] * 2,
        "lacks comm_type, and its name",
    ),
    "a collective of unknown size": ([[node(0, COLLECTIVE, "x", comm_type=0)]] * 2, "node 0 ('x') lacks comm_size"),
    "a size below zero": ([[reduce(0, comm_size=-5)]] * 2, "has comm_size -5, which is no count"),
    "a size in words": ([[reduce(0, comm_size="much")]] * 2, "has comm_size 'much', which is no count"),
    "an unknown communicator": (
        [[reduce(0, pg_name="tp")]] * 2,
        "runs in communicator 'tp', which nothing describes: name ASTRA-sim's JSON file",
    ),
    "a send for another": (
        [[node(0, SEND, "s", comm_src=1, comm_dst=1, comm_size=9)], []],
        "node 0 ('s') has comm_src 1 in the trace of rank 0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_trace_is_refused_by_node_and_cause(chakra, name):
    ranks, why = REFUSED[name]
    with pytest.raises(InputError) as refused:
        imported(*chakra(*ranks))
    assert why in str(refused.value)
    assert "t.0.et" in str(refused.value)


def test_ranks_that_lack_are_named(chakra):
    paths = chakra([reduce(0)], [reduce(0)], [reduce(0)])
    with pytest.raises(InputError, match="traces of 2 ranks and 3 are named; those of 1 are missing"):
        imported(paths[0], paths[2])


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ('{"1": [0, 0]}', "communicator '1' has a rank twice"),
        ('{"1": [0, "a"]}', "communicator '1' is a list of ranks"),
        ("[1]", "communicators are written as"),
        ("{", "this is no JSON"),
    ],
)
def test_a_broken_file_of_communicators_is_refused(chakra, tmp_path, written, why):
    (tmp_path / "g.json").write_text(written)
    with pytest.raises(InputError, match=r"g\.json: ") as refused:
        imported(*chakra([reduce(0)], [reduce(0)]), tmp_path / "g.json")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            framed(reduce(0))[:-3],
            r"t\.0\.et: byte 8: a message of \d+ bytes begins here and \d+ are left: the file",
        ),
        (framed() + b"\xff\xff\xff\xff\x7f", "bytes would begin here, and 67,108,864 are the most"),
        (framed() + b"\xff" * 20, "no length of a message stands here"),
        (framed() + b"\x02\x08", "the file was cut"),
        (framed() + b"\x03\xff\xff\xff", "message 1 behind the metadata is no Chakra node"),
        (b"\x02\x08\x01", "does not begin with metadata of a Chakra trace; those of schemas before 0.0.4"),
        (b"\x00", "the traces hold no compute, message or collective"),
    ],
)
def test_a_damaged_file_is_refused_by_its_byte(tmp_path, data, why):
    path = tmp_path / "t.0.et"
    path.write_bytes(data)
    with pytest.raises(InputError, match=why):
        imported(path, ranks=1)


@given(st.binary(max_size=200), st.integers(0, 120))
def test_whatever_stands_in_a_file_it_is_read_or_refused(tmp_path_factory, noise, place):
    whole = framed(node(0, COMPUTE, "a", micros=5), reduce(1, (0,)))
    path = tmp_path_factory.mktemp("fuzz") / "t.0.et"
    path.write_bytes(whole[:place] + noise + whole[place + len(noise) // 2 :])
    with contextlib.suppress(InputError):
        assert imported(path, ranks=2).step.ranks == 2


def test_what_becomes_of_a_step_keeps_all_bytes(chakra):
    nodes = [reduce(number, (number - 1,) if number else ()) for number in range(50)]
    found = imported(*chakra(nodes, nodes)).step.operations
    assert sum(each.bytes for each in found if isinstance(each, Collective)) == 50 * MIB
