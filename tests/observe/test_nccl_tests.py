"""Logs of nccl-tests in their old and new columns, alone and amid other output. Layouts: src/util.cu and, before 2.13,
src/all_gather.cu of NVIDIA/nccl-tests."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest import observe
from eastwest.errors import InputError

OLD = Path(__file__).parents[1] / "data" / "nccl_tests" / "a100-old-columns.log"
DEVICES = """\
#  Rank  0 Group  0 Pid 895544 on     node-1 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 739786 on     node-2 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
"""
HEADS = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROWS = """\
     1048576        262144     float     sum      -1    88.79   11.81   11.81       0    87.82   11.94   11.94       0
     2097152        524288     float     sum      -1    114.0   18.40   18.40       0    113.1   18.54   18.54       0
"""
VERSIONS = "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703\n"
NEW = f"{VERSIONS}{DEVICES}#\n{HEADS}{ROWS}# Avg bus bandwidth : 15\n"


def one(text: str) -> observe.Benchmark:
    (found,) = observe.parse(text.encode(), "run.log")
    return found


def test_the_new_columns_are_read_with_units() -> None:
    found = one(NEW)
    assert [row.size_bytes for row in found.rows] == [1 << 20, 1 << 21]
    row = found.rows[0]
    assert (row.count, row.type, row.redop, row.root) == (262144, "float", "sum", -1)
    assert row.out_of_place == observe.Timing(pytest.approx(88.79e-6), 11.81e9, 11.81e9, 0.0)
    assert row.in_place == observe.Timing(pytest.approx(87.82e-6), 11.94e9, 11.94e9, 0.0)


def test_heads_say_who_took_part_and_by_which_version() -> None:
    found = one(NEW)
    assert (found.ranks, found.hosts, found.version) == (2, 2, "2.27.3")
    assert found.devices[1] == observe.Device(1, "node-2", 0, "NVIDIA H100 80GB HBM3")


def test_the_old_columns_of_a_real_log_are_read() -> None:
    (found,) = observe.read(OLD)
    assert len(found.rows) == 24
    assert found.unread == 0
    assert found.rows[-1].out_of_place == observe.Timing(pytest.approx(162e-6), 51.79e9, 90.63e9, None)
    assert (found.ranks, found.hosts, found.devices[0].name) == (8, 1, "A100-SXM4-40GB")


def test_the_ratio_of_both_bandwidths_gives_the_ranks_of_an_all_reduce() -> None:
    (found,) = observe.read(OLD)
    assert found.implied_ranks == 8  # 2 (8 - 1) / 8 = 1.75


def test_old_tables_without_operation_or_root_are_read() -> None:
    heads = "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
    row = "        1024            32   float    12.07    0.08    0.07  0e+00    11.94    0.09    0.08  1e-01\n"
    (found,) = one(heads + row).rows
    assert (found.redop, found.root) == (None, None)
    assert found.in_place == observe.Timing(pytest.approx(11.94e-6), 0.09e9, 0.08e9, 1.0)


def test_an_old_broadcast_has_a_root_and_no_operation() -> None:
    heads = (
        "#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error\n"
    )
    row = "           8             2   float       3    45.82    0.00    0.00    N/A    38.17    0.00    0.00    N/A\n"
    (found,) = one(heads + row).rows
    assert (found.redop, found.root) == (None, 3)


def test_rows_without_heads_tell_their_own_columns() -> None:
    assert one(ROWS).rows == one(HEADS + ROWS).rows


def test_columns_of_single_iterations_are_passed_over() -> None:
    half = "time algbw busbw #wrong i_min i_max i_p99 i_cv%"
    row = "1048576 262144 float sum -1 88.79 11.81 11.81 0 80 99 98 2.5 87.82 11.94 11.94 0 80 99 98 2.5"
    assert one(f"# size count type redop root {half} {half}\n{row}\n").rows == one(HEADS + ROWS).rows[:1]


@pytest.mark.parametrize(
    "prefix", ["[1,0]<stdout>:", "0: ", "[1,0]<stdout>: ", "worker-0 | ", "\x1b[32m[launcher]\x1b[0m "]
)
def test_prefixes_of_launchers_do_not_hide_the_table(prefix: str) -> None:
    assert one("".join(prefix + line + "\n" for line in NEW.splitlines())).rows == one(NEW).rows


def test_lines_of_nccl_inside_a_row_do_not_lose_it() -> None:
    info = "n1:11:22 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/3/GDRDMA\n"
    row = ROWS.splitlines()[0]
    cut = f"[1,0]<stdout>:{row[:52]}{info}[1,0]<stdout>:{row[52:85]} {info}[1,0]<stdout>:{row[85:]}\n"
    found = one(HEADS + cut)
    assert found.rows == one(HEADS + ROWS).rows[:1]
    assert (found.told.networks, found.told.nics, found.told.with_gdr) == (("IB",), (3,), 2)


def test_a_row_that_is_cut_off_is_counted_and_left_out() -> None:
    found = one(NEW.replace("   113.1   18.54   18.54       0", "") + "     4194304       1048576     float     sum\n")
    assert (len(found.rows), found.unread) == (2, 1)
    assert found.rows[1].in_place is None


FAILED = " .. n1 pid 7: Test failure all_reduce.cu:90\nn1: Test NCCL failure common.cu:403 'remote process exited / '\n"


def test_the_error_at_which_a_run_gave_up_is_kept() -> None:
    assert one(NEW).failure is None
    assert one(NEW + FAILED).failure == "Test failure all_reduce.cu:90"


def test_a_run_that_gave_up_before_its_first_row_is_refused_with_its_error() -> None:
    with pytest.raises(
        InputError, match=r"before the first row of its table\. It says: Test failure all_reduce\.cu:90"
    ):
        one(HEADS + FAILED)


def test_a_size_that_no_gpu_holds_is_no_row() -> None:
    found = one(HEADS + ROWS.replace("1048576 ", "99999999999999999 ", 1))
    assert (len(found.rows), found.unread) == (1, 1)


def test_several_runs_in_one_file_are_several_tables() -> None:
    first = "# Collective test starting: all_reduce_perf\n" + NEW
    second = "# Collective test starting: sendrecv_perf\n" + NEW.replace("sum", "none")
    found = observe.parse((first + second).encode(), "both.log")
    assert [each.test for each in found] == ["all_reduce_perf", "sendrecv_perf"]
    assert [len(each.devices) for each in found] == [2, 2]


def test_a_command_line_in_the_log_names_the_test() -> None:
    assert one("+ mpirun -np 2 ./build/alltoall_perf -b 8 -e 1G -f 2\n" + NEW).test == "alltoall_perf"


def test_asterisks_of_rccl_mark_what_is_wrong() -> None:
    assert one(HEADS + ROWS.replace("       0\n", "      7*\n")).rows[0].in_place.wrong == 7.0


def test_what_nccl_says_is_kept_as_evidence() -> None:
    said = [
        "NCCL version 2.21.5+cuda12.4",
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
        "NCCL_ALGO set by environment to Ring.",
        "NVLS multicast support is not available on dev 0",
        "comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
        "Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1",
        "Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
        "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer",
    ]
    told = one("".join(f"n1:1:2 [0] NCCL INFO {line}\n" for line in said) + NEW).told
    assert told.version == "2.21.5+cuda12.4"
    assert told.listed_nics == ("mlx5_0", "mlx5_1")
    assert dict(told.environment) == {"NCCL_ALGO": "Ring"}
    assert told.nvls is False
    assert (told.ranks, told.nodes, told.channels) == (16, 2, 16)
    assert (told.with_gdr, told.without_gdr, dict(told.transports)) == (0, 1, {"P2P": 1})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("\0\1\2", "this is no text"),
        ("                    RDMA_Write BW Test\n #bytes  #iterations    BW peak[MB/sec]\n", "perftest"),
        ("# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Size   Avg Latency(us)\n4   20.1\n", "OSU"),
        ("name: my-cluster\nclusters: {}\n", "a study file"),
        ("hello\n", "no table of nccl-tests"),
        (DEVICES + "# nThread 1\nn1:1:2 [0] NCCL WARN Call to connect failed : refused\n", "Call to connect failed"),
        ('{"results": []}', "before the first row"),
        ('{"a": 1}', "it has: a"),
        ('{"results": [', "a run that is stopped"),
    ],
)
def test_something_else_is_refused_by_what_it_is(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refusal:
        observe.parse(text.encode(), "given")
    assert str(refusal.value).startswith("given")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        observe.read(tmp_path / "none.log")


JSON = """\
{"version": 1, "start_time": "2026-01-01 00:00:00", "args": ["./build/all_reduce_perf", "-J", "out.json"],
 "env": ["HOME=/root", "NCCL_ALGO=Ring"], "nccl_version": 22703,
 "config": {"nthreads": 1, "ngpus": 1, "devices": [
   {"rank": 0, "group": 0, "pid": 7, "hostname": "n1", "device": 0, "device_hex": "1b", "device_info": "NVIDIA H100"}]},
 "results": [
   {"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": "    -1",
    "out_of_place": {"time": 88.79, "alg_bw": 11.81, "bus_bw": 11.81, "nwrong": 0.0},
    "in_place": {"time": 87.82, "alg_bw": 11.94, "bus_bw": "nan", "nwrong": null}}],
 "average_bus_bandwidth": {"bandwidth": 11.8, "okay": "unchecked"}}
"""


def test_json_holds_the_same_as_text() -> None:
    found = one(JSON)
    assert (found.test, found.version, found.ranks) == ("all_reduce_perf", "2.27.3", 1)
    assert found.rows[0].out_of_place == one(NEW).rows[0].out_of_place
    assert found.rows[0].root == -1
    assert found.rows[0].in_place is None  # its bandwidth is no number
    assert dict(found.told.environment) == {"NCCL_ALGO": "Ring"}


@given(
    st.lists(
        st.sampled_from([*NEW.splitlines(), *"0123456789.#*e+-N/A ", "float", "\n", "\x1b[0m", "n:1:2 [0] NCCL INFO "])
    )
)
def test_scrambled_logs_are_read_or_refused(pieces: list[str]) -> None:
    try:
        found = observe.parse(" ".join(pieces).encode(), "scrambled")
    except InputError:
        return
    assert all(each.rows for each in found)


@given(st.binary(max_size=2000))
def test_bytes_of_any_kind_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(InputError):
        observe.parse(data, "bytes")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda each: (
            st.lists(each)
            | st.dictionaries(
                st.sampled_from(
                    ["results", "size", "count", "out_of_place", "time", "alg_bw", "bus_bw", "args", "env", "config"]
                ),
                each,
            )
        ),
    )
)
def test_json_of_any_shape_is_read_or_refused(data: object) -> None:
    with contextlib.suppress(InputError):
        observe.parse(json.dumps({"results": [data], "env": data, "args": data, "config": data}).encode(), "any")
