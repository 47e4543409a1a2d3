"""What hashing costs random permutations of 1,024 hosts: the field's known figures, and balls into bins.

Figures: computed twice independently for one ECMP flow a pair, 1,024 hosts: mean 52 % of line rate over two tiers,
43 % over three, the slowest flow at 16 to 18 %; 63 % (1 - 1/e) where one stage alone is hashed.
"""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.engine.conftest import hosts_on_three_tiers, hosts_on_two_tiers

from eastwest.engine import Carriage, Network
from eastwest.fabric import packed
from eastwest.workload import SendRecv, Step

HOSTS = 1024
LINE_BPS = 400e9 * 0.96
DRAWS = 8


@pytest.fixture(scope="module")
def two_tiers():
    return Network(hosts_on_two_tiers())


def permutation(draw):
    """A host for each to send to, none to itself: a random cycle."""
    order = np.random.default_rng(draw).permutation(HOSTS)
    target = np.empty(HOSTS, dtype=np.int64)
    target[order] = np.roll(order, -1)
    return target


def rates(network, carriage=None):
    """Rates of every host, as parts of the line rate; a row for each draw of permutation and hash seeds."""
    hosts = packed(network.fabric)
    return (
        np.stack(
            [
                network.max_min(hosts, hosts[permutation(draw)], carriage or Carriage(), seed=draw)
                for draw in range(DRAWS)
            ]
        )
        / LINE_BPS
    )


# Over 8 permutations of 1,024 hosts the mean's standard error is under half a percentage point, the slowest's about 1.
@pytest.mark.parametrize(("hosts", "mean"), [(hosts_on_two_tiers, 0.52), (hosts_on_three_tiers, 0.43)])
def test_hashing_costs_a_permutation_what_is_known(hosts, mean):
    found = rates(Network(hosts()))
    assert found.mean() == pytest.approx(mean, abs=0.015)
    assert found.min(axis=1).mean() == pytest.approx(0.17, abs=0.03)


def test_one_hashed_stage_alone_leaves_1_minus_1_over_e(two_tiers):
    # With downlinks that never fill, uplinks share their rate and what counts is how many of them got any flow. Of n
    # uplinks for n flows that is 1 - (1 - 1/n)^n, and 31 of 32 flows leave their leaf.
    fabric = two_tiers.fabric
    is_down = pl.col("tier") == "spine-leaf"
    roomy = fabric.links.with_columns(rate_bps=pl.when(is_down).then(1e15).otherwise("rate_bps"))
    found = rates(Network(replace(fabric, links=roomy))).mean()
    assert found == pytest.approx(1 / 32 + (1 - (1 - 1 / 32) ** 31), abs=0.015)
    assert found == pytest.approx(0.63 + 1 / 32, abs=0.02)


def test_flows_fall_on_uplinks_like_balls_into_bins(two_tiers):
    # Each leaf deals 32 flows, less those that stay, to 32 uplinks; so an uplink has k of them by the binomial law.
    hosts, counts = packed(two_tiers.fabric), np.zeros(HOSTS)
    uplinks = (two_tiers.fabric.links["tier"] == "leaf-spine").to_numpy()
    for draw in range(DRAWS):
        pairs = np.stack([np.arange(HOSTS), permutation(draw)], axis=1)
        run = two_tiers.run(Step(HOSTS, (SendRecv("send", 1e6, pairs),)), hosts, Carriage(), seeds=[draw])
        counts += np.bincount(run.link_flows[0, uplinks].round().astype(int), minlength=HOSTS)
    links = DRAWS * uplinks.sum()
    p = 31 / 32 / 32  # that a flow leaves the leaf, and takes this uplink
    for flows in range(5):
        expected = links * math.comb(32, flows) * p**flows * (1 - p) ** (32 - flows)
        assert abs(counts[flows] - expected) < 4 * math.sqrt(expected)


def test_more_queue_pairs_help(two_tiers):
    means = [rates(two_tiers, Carriage(qps=qps)).mean() for qps in (1, 4, 16)]
    assert means[0] < means[1] < means[2]
    assert means[2] > 1.2 * means[0]
    assert means[2] < 1


def test_spraying_loses_nothing(two_tiers):
    assert rates(two_tiers, Carriage(balancing="spray")).min() == pytest.approx(1, rel=1e-9)


def test_switches_that_hash_alike_polarise():
    # On three tiers leaf and spine choose by the same hash: a flow's second choice repeats the first.
    network = Network(hosts_on_three_tiers())
    alike = rates(network, Carriage(hash_seeds="shared")).mean()
    assert alike < 0.8 * rates(network).mean()
