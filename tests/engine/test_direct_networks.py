"""Meshes, tori and dragonflies through the door: rates that arithmetic gives."""

import numpy as np
import pytest
from tests.engine.conftest import without_latency
from tests.fabric.conftest import G, make_plan, server, switch

from eastwest.engine import Carriage, Network
from eastwest.fabric import build, packed
from eastwest.workload import Collective, Step, all_ranks

PAYLOAD_BPS = 400 * G * 0.96


def hosts(shape, servers, cages=64, **changes):
    """Hosts of one GPU and one port of 400 Gb/s, links between switches alike."""
    plan = make_plan(
        shape=shape, servers=servers, server=server(gpus=1, nics=1), switches={"leaf": switch(cages=cages)}, **changes
    )
    return Network(without_latency(build(plan)))


def shares(network, shift, balancing):
    """Of a port's rate, what each host gets that sends to the one `shift` further on, all at once."""
    gpus = packed(network.fabric)
    return network.max_min(gpus, np.roll(gpus, -shift), Carriage(balancing)) / PAYLOAD_BPS


@pytest.mark.parametrize("balancing", ["spray", "adaptive", "ecmp", "pinned"])
@pytest.mark.parametrize("links", [1, 2])
def test_leaves_of_a_mesh_that_send_to_the_next_share_their_cables(balancing, links):
    """8 hosts a leaf over `links` cables: links / 8 of a port's rate each on average, and exactly so where sprayed."""
    found = shares(hosts("mesh", 32, servers_per_unit=8, links_per_pair=links), 8, balancing)
    if balancing in ("spray", "adaptive") or links == 1:
        assert found == pytest.approx(links / 8)
    assert found.sum() <= 32 * links / 8 * (1 + 1e-9)


@pytest.mark.parametrize("balancing", ["spray", "adaptive", "ecmp", "pinned"])
def test_a_ring_along_a_dimension_of_a_torus_has_its_cables_to_itself(balancing):
    network = hosts("torus", 16, dims=(4, 4))
    gpus = packed(network.fabric).reshape(4, 4)
    rates = network.max_min(gpus.reshape(-1), np.roll(gpus, -1, axis=1).reshape(-1), Carriage(balancing))
    assert rates == pytest.approx(PAYLOAD_BPS)


@pytest.mark.parametrize(("dims", "links"), [((16, 2), 1), ((16, 4), 1), ((2, 12, 2), 1), ((24, 2), 2)])
def test_an_all_to_all_on_a_torus_is_held_by_its_longest_dimension(dims, links):
    """Uniform traffic crosses k/4 links of a dimension of k (even), and 2 a switch carry it: k/8 of what a host sends
    on each (Dally and Towles, Principles and Practices of Interconnection Networks, 3.3 and 5.2)."""
    count, size = int(np.prod(dims)), 1e9
    network = hosts("torus", count, dims=dims, links_per_pair=links)
    work = Collective("it", "all-to-all", size, all_ranks(count), "direct", 1)
    run = network.run(Step(count, (work,)), packed(network.fabric), Carriage("spray"), tolerance=0.0)
    assert run.step_s[0] == pytest.approx(max(dims) / 8 / links * size * 8 / PAYLOAD_BPS, rel=1e-3)


@pytest.mark.parametrize("balancing", ["spray", "adaptive"])
@pytest.mark.parametrize("links", [1, 2, 4])
def test_groups_of_a_dragonfly_that_send_to_the_next_share_its_global_links(balancing, links):
    """Shortest paths lead over the links of the two groups alone: 16 hosts over `links` of them."""
    network = hosts("dragonfly-plus", 64, cages=16, groups=4, servers_per_unit=4, links_per_pair=links)
    assert shares(network, 16, balancing) == pytest.approx(links / 16)


def test_hosts_of_one_group_of_a_dragonfly_have_full_bisection():
    network = hosts("dragonfly-plus", 64, cages=16, groups=4, servers_per_unit=4)
    gpus = packed(network.fabric)
    receivers = np.roll(gpus.reshape(4, 16), -4, axis=1).reshape(-1)
    assert network.max_min(gpus, receivers, Carriage("spray")) == pytest.approx(PAYLOAD_BPS)
