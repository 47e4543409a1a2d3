"""IPv4 numbers of NICs."""

from ipaddress import ip_address, ip_network

import numpy as np
import polars as pl
import pytest

from eastwest.fabric import FabricError, addresses, build


def by_name(fabric):
    numbers = addresses(fabric)
    return {name: number for name, number in zip(fabric.nodes["name"], numbers.tolist(), strict=True) if number}


def test_every_nic_and_nothing_else_has_one_of_its_own(plan):
    fabric = build(plan())
    found = addresses(fabric)
    is_nic = (fabric.nodes["kind"] == "nic").to_numpy()
    assert np.array_equal(found != 0, is_nic)
    assert len(np.unique(found[is_nic])) == 1024


def test_each_rail_is_a_subnet_of_the_lower_half_of_ten(plan):
    found = by_name(build(plan()))
    assert str(ip_address(found["server-000/nic-0"])) == "10.0.0.1"
    assert str(ip_address(found["server-000/nic-1"])) == "10.16.0.1"
    assert str(ip_address(found["server-127/nic-7"])) == "10.112.0.255"
    assert all(ip_address(number) in ip_network("10.0.0.0/9") for number in found.values())


def test_stay_when_servers_are_added_and_units_shift(plan):
    """100 servers fill units of 25, 128 units of 32: server 31 moves to another unit."""

    def of_nics(servers):
        fabric = build(plan(servers=servers))
        return addresses(fabric)[(fabric.nodes["kind"] == "nic").to_numpy()]

    assert np.array_equal(of_nics(100), of_nics(128)[: 100 * 8])


def test_single_nic_uses_the_whole_network(plan, a_server):
    found = by_name(build(plan(servers=2, server=a_server(gpus=1, nics=1))))
    assert [str(ip_address(number)) for number in found.values()] == ["10.0.0.1", "10.0.0.3"]


def test_more_servers_than_addresses(plan):
    fabric = build(plan(servers=1))
    far = fabric.nodes.with_columns(pl.when(pl.col("kind") == "nic").then(2**19).otherwise("server").alias("server"))
    with pytest.raises(FabricError) as caught:
        addresses(type(fabric)(**(vars(fabric) | {"nodes": far})))
    assert caught.value.field == "servers"
