"""Ways of balancing through the door: what each makes of rates on a damaged fabric."""

import numpy as np
import pytest
from tests.fabric.conftest import make_plan, server, switch

from eastwest.engine import Carriage, Network
from eastwest.fabric import LinksDown, build, fail, packed

LINE_BPS = 400e9 * 0.96
HOSTS = build(
    make_plan(
        shape="leaf-spine",
        servers=32,
        server=server(gpus=1, nics=1),
        servers_per_unit=16,
        switches={"leaf": switch(cages=32), "spine": switch(cages=8)},
    )
)
"""2 leaves of 16 hosts under 4 spines, 4 links from each leaf to each spine."""
WORN = fail(HOSTS, [LinksDown(("leaf-1", "spine-2"), count=3)])
"""13 links lead into leaf 1: 4 by way of three spines, 1 by way of spine 2."""


def slowest(carriage: Carriage, seed: int) -> float:
    """Rate of the slowest of 16 hosts that each send to one on the other leaf, over a port's."""
    hosts = packed(WORN)
    return float(Network(WORN).max_min(hosts[:16], hosts[16:], carriage, seed).min()) / LINE_BPS


def test_weighted_hashing_fills_a_damaged_fabric_where_plain_hashing_overloads_what_is_left() -> None:
    # With very many flows hashing is even. Plain: a quarter of 16 ports' traffic on the one link by way of spine 2, so
    # 1/4 of the rate. By capacity all 13 links are filled alike: 13/16.
    def mean(balancing: str) -> float:
        return float(np.mean([slowest(Carriage(balancing, qps=2000, qp_use="split"), seed) for seed in range(3)]))

    assert mean("ecmp") == pytest.approx(1 / 4, rel=0.1)
    assert mean("wcmp") == pytest.approx(13 / 16, rel=0.1)


def test_a_sender_of_even_paths_loads_spines_by_their_paths() -> None:
    # 4 x 4 paths by way of each of three spines and 4 x 1 by the fourth: 4/52 of 16 ports over its one link.
    assert slowest(Carriage("source"), 0) == pytest.approx(52 / 4 / 16, rel=1e-9)


def test_many_flowlets_come_near_to_spraying() -> None:
    hosts, network = packed(HOSTS), Network(HOSTS)

    def rate(carriage: Carriage) -> float:
        return float(network.max_min(hosts[:16], hosts[16:], carriage, 1).min()) / LINE_BPS

    few, many = rate(Carriage("flowlet", flowlets=2)), rate(Carriage("flowlet", flowlets=500))
    assert rate(Carriage("flowlet", flowlets=1)) == rate(Carriage("ecmp"))
    assert few < many
    assert many > 0.8


@pytest.mark.parametrize(
    ("carriage", "is_drawn"),
    [
        (Carriage("wcmp"), True),
        (Carriage("flowlet"), True),
        (Carriage("source", paths=4), True),
        (Carriage("source"), False),
        (Carriage("spray"), False),
    ],
)
def test_seeds_matter_where_something_is_drawn_and_nowhere_else(carriage: Carriage, is_drawn: bool) -> None:
    rates = {slowest(carriage, seed) for seed in range(6)}
    assert carriage.is_drawn == is_drawn == (len(rates) > 1)
