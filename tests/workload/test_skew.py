"""Skewed experts: shares against Zipf's law by hand, and the exchange against its busiest port."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest import spec
from eastwest.study import run
from eastwest.workload import popularity, skewed


def test_shares_follow_zipfs_law() -> None:
    """1, 1/2, 1/3 and 1/4 make 25/12."""
    assert sorted(popularity(4, 1.0), reverse=True) == pytest.approx([0.48, 0.24, 0.16, 0.12])


def test_an_exponent_of_nothing_is_even() -> None:
    assert skewed(5, 100.0, 0.0) == pytest.approx(np.full((5, 5), 20.0))


def test_a_seed_draws_another_order_of_the_same_shares() -> None:
    one, other = popularity(64, 1.2, seed=0), popularity(64, 1.2, seed=1)
    assert not np.array_equal(one, other)
    assert np.array_equal(np.sort(one), np.sort(other))


@given(st.integers(1, 40), st.floats(0, 4), st.integers(0, 9))
def test_every_rank_sends_what_it_would_in_an_even_exchange(ranks: int, exponent: float, seed: int) -> None:
    matrix = skewed(ranks, 1e9, exponent, seed)
    assert matrix.sum(axis=1) == pytest.approx(np.full(ranks, 1e9))
    assert (matrix == matrix[0]).all()


def test_the_way_back_is_the_exchange_turned_round() -> None:
    assert np.array_equal(skewed(8, 1e6, 1.2, 3, "senders"), skewed(8, 1e6, 1.2, 3).T)


@pytest.mark.parametrize("side", ["receivers", "senders"])
def test_an_exchange_takes_as_long_as_the_most_popular_rank_s_port(side: str) -> None:
    """32 ranks on 4 servers: 24 of them send to the most popular through its NIC, of 400 Gb/s less headers."""
    exchange = {
        "name": "it",
        "collective": "all-to-all",
        "bytes": "1 GB",
        "skew": {"zipf": 1.2, "seed": 5, "side": side},
    }
    study = {
        "name": "skewed",
        "tolerance": 0,
        "clusters": {"pod": {"server": "hgx-h100", "servers": 4}},
        "fabrics": {
            "one": {
                "shape": "single-switch",
                "technology": "rocev2",
                "link": "400 Gb/s",
                "switch": "sn5400",
                "balancing": "spray",
            }
        },
        "workloads": {"moe": {"kind": "operations", "operations": [exchange]}},
    }
    share = 1 / sum(k**-1.2 for k in range(1, 33))
    (row,) = run(spec.from_mapping(study)).rows
    port_bytes_s = 400e9 / 8 * 4096 / 4178
    assert row.step_s == pytest.approx(24 * share * 1e9 / port_bytes_s, rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"collective": "all-reduce"}, "a skew is for an all-to-all, not for all-reduce"),
        ({"bytes": None, "matrix": [["0 B", "1 B"], ["1 B", "0 B"]], "group": 2}, "give it or a skew, not both"),
        ({"skew": {"zipf": -1}}, "zipf of skew of operation 1 must be at least 0.0, not -1"),
        ({"skew": {"zip": 1}}, "did you mean 'zipf'?"),
        ({"skew": {"zipf": 1, "side": "sender"}}, "did you mean 'senders'?"),
    ],
)
def test_a_skew_that_makes_no_sense_is_refused(changes: dict[str, object], said: str) -> None:
    exchange = {"name": "it", "collective": "all-to-all", "bytes": "1 GB", "skew": {"zipf": 1.2}, **changes}
    operations = [{key: value for key, value in exchange.items() if value is not None}]
    study = {
        "name": "skewed",
        "clusters": {"pod": {"server": "hgx-h100", "servers": 4}},
        "fabrics": {"one": {"shape": "single-switch", "technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400"}},
        "workloads": {"moe": {"kind": "operations", "operations": operations}},
    }
    with pytest.raises(spec.StudyError) as refused:
        spec.from_mapping(study)
    assert said in str(refused.value)
