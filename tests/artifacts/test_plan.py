"""The address plan: unique, stable when a fabric grows, and refused where there is no room."""

from ipaddress import IPv4Network

import pytest

from eastwest import spec
from eastwest.artifacts import subject


@pytest.fixture(scope="module")
def pune():
    return subject(spec.load("pune-1024"), "roce-400g").plan


def test_a_nic_and_its_leaf_share_a_pair_of_addresses(pune):
    nic = pune.by_name["server-005"].ports[3]
    leaf = pune.switch(nic.peer)
    port = next(port for port in leaf.ports if port.name == nic.peer_interface)
    assert (port.peer, port.peer_interface) == ("server-005", "rail3")
    assert port.address == nic.gateway
    assert nic.address in IPv4Network((int(port.address), 31))


def test_a_full_unit_of_a_rail_is_one_network(pune):
    """32 servers of a unit, a pair of addresses each: 64, a /26."""
    assert [str(subnet) for subnet in pune.switch("leaf-u1-r7").host_subnets] == ["10.112.0.64/26"]


def test_leaves_have_an_asn_each_and_spines_share_one(pune):
    leaves = [switch.asn for switch in pune.switches if switch.tier == "leaf"]
    spines = [switch.asn for switch in pune.switches if switch.tier == "spine"]
    assert len(set(leaves)) == 32
    assert len(set(spines)) == 1
    assert not set(leaves) & set(spines)
    assert all(4_200_000_000 <= asn <= 4_294_967_294 for asn in (*leaves, *spines))
