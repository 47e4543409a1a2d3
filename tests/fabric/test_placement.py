"""Which GPU each rank runs on."""

import numpy as np
import pytest

from eastwest.fabric import build, by_rail, packed, place, scattered


@pytest.fixture
def fabric(plan):
    return build(plan(servers=5))


def server_and_gpu(fabric, placed):
    nodes = fabric.nodes[placed.tolist()]
    assert set(nodes["kind"]) == {"gpu"}
    return nodes["server"].to_numpy(), nodes["index"].to_numpy()


def test_packed_goes_server_by_server(fabric):
    server, gpu = server_and_gpu(fabric, packed(fabric))
    ranks = np.arange(40)
    assert np.array_equal(server, ranks // 8)
    assert np.array_equal(gpu, ranks % 8)


def test_by_rail_goes_rail_by_rail(fabric):
    server, gpu = server_and_gpu(fabric, by_rail(fabric))
    ranks = np.arange(40)
    assert np.array_equal(gpu, ranks // 5)
    assert np.array_equal(server, ranks % 5)


def test_scattered_shuffles_whole_servers(fabric):
    server, gpu = server_and_gpu(fabric, scattered(fabric, seed=1))
    assert np.array_equal(gpu, np.arange(40) % 8)
    assert all(len(set(of_eight)) == 1 for of_eight in server.reshape(5, 8))
    assert sorted(server[::8]) == [0, 1, 2, 3, 4]


def test_scattered_depends_on_the_seed_alone(plan):
    fabric = build(plan(servers=64))
    assert np.array_equal(scattered(fabric, 1), scattered(fabric, 1))
    assert not np.array_equal(scattered(fabric, 1), scattered(fabric, 2))
    assert not np.array_equal(scattered(fabric, 1), packed(fabric))


def test_placements_by_name(fabric):
    assert np.array_equal(place(fabric, "packed"), packed(fabric))
    assert np.array_equal(place(fabric, "by-rail"), by_rail(fabric))
    assert np.array_equal(place(fabric, "scattered", seed=7), scattered(fabric, 7))
    assert place(fabric, "packed").dtype == np.uint32
