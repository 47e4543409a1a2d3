"""nccl-tests' sizes, counts and bandwidths, by the arithmetic of its own sources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest import expect
from eastwest.errors import InputError


@pytest.mark.parametrize("word", ["all_reduce", "all-reduce", "all_reduce_perf", "ALL_REDUCE_PERF"])
def test_a_program_goes_by_several_names(word: str) -> None:
    assert expect.program(word).name == "all_reduce_perf"


def test_an_unknown_program_is_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'alltoall'"):
        expect.program("altoall")


def test_an_all_gather_counts_the_elements_of_a_rank() -> None:
    assert expect.program("all_gather").sized(1 << 20, 16, 4) == (1 << 20, 16384)


def test_parts_of_ranks_are_multiples_of_16_bytes() -> None:
    # 1000 B of floats among 8 ranks are 31 elements each, of which 28 fill 7 times 16 B: 28 * 4 * 8 = 896 B
    assert expect.program("alltoall").sized(1000, 8, 4) == (896, 28)


@given(st.integers(1, 1 << 40), st.integers(2, 5000), st.sampled_from([1, 2, 4, 8]))
def test_a_size_is_never_more_than_is_asked_for(size: int, ranks: int, element: int) -> None:
    for program in expect.PROGRAMS.values():
        rounded, count = program.sized(size, ranks, element)
        assert rounded <= size
        assert rounded == count * element * (ranks if program.is_shared else 1)


def test_a_message_to_the_next_rank_has_one_bandwidth() -> None:
    assert expect.program("sendrecv").bus_factor(16) == 1.0


def test_sizes_are_written_as_nccl_tests_has_them() -> None:
    assert expect.sizes("64K", "1M", 4) == [1 << 16, 1 << 18, 1 << 20]


@pytest.mark.parametrize(
    ("first", "last", "factor", "told"),
    [
        ("8", "4", 2, "from small to large"),
        ("0", "4", 2, "from small to large"),
        ("x", "4", 2, "write a size"),
        ("8", "1G", 1, "2 or more"),
        ("8", "9T", 2, "at most 1T"),
    ],
)
def test_mistaken_sizes_are_told(first: str, last: str, factor: int, told: str) -> None:
    with pytest.raises(InputError, match=told):
        expect.sizes(first, last, factor)
