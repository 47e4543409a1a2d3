"""uSIDs: which number a switch has, and what no number is left for."""

from ipaddress import IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.artifacts.coordinates import Part, PlanError
from eastwest.artifacts.mrc import numbering

ROOMS = {"leaf": range(0x4000, 0x8000), "spine": range(0x8000, 0xC000), "core": range(0xC000, 0xE000)}
LANES = st.sampled_from([1, 2, 3, 4, 8, 33])


@st.composite
def coordinates(draw, lanes):
    """The coordinates of a switch of some tier: of such kinds as the address plan gives them."""
    kind = draw(st.sampled_from(["number", "unit and rail", "pod and number", "group and number"]))
    open_bits = {"number": 14, "unit and rail": 11, "pod and number": 7, "group and number": 7}[kind]
    last = draw(st.integers(0, (1 << open_bits) // (1 << (lanes - 1).bit_length()) - 1))
    if kind == "number":
        return "leaf", (Part("number", last),)
    if kind == "unit and rail":
        return "leaf", (Part("unit", last), Part("rail", draw(st.integers(0, 7)), 3))
    before = draw(st.integers(0, 63))
    if kind == "pod and number":
        return "spine", (Part("pod", before), Part("number", last))
    return "core", (Part("core group", before), Part("number", last))


@given(st.data(), LANES)
def test_no_two_switches_or_lanes_of_a_plane_share_a_number(data, lanes):
    one, other = data.draw(coordinates(lanes)), data.draw(coordinates(lanes))
    if len(one[1]) != len(other[1]):
        return  # a fabric numbers its leaves in one way
    found = numbering.locators(one[0], "a", one[1], lanes) + numbering.locators(other[0], "b", other[1], lanes)
    assert len(set(found)) == (lanes if one == other else 2 * lanes)


@given(st.data(), LANES)
def test_numbers_stay_within_their_tiers(data, lanes):
    tier, parts = data.draw(coordinates(lanes))
    # 0x0000 ends a path, and what follows 0xdfff is local to a switch (RFC 9800).
    assert all(number in ROOMS[tier] for number in numbering.locators(tier, "a", parts, lanes))


@given(st.data(), LANES)
def test_more_lanes_renumber_none_that_are_there(data, lanes):
    tier, parts = data.draw(coordinates(lanes))
    for fewer in range(1, lanes):
        assert numbering.locators(tier, "a", parts, fewer) == numbering.locators(tier, "a", parts, lanes)[:fewer]


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_place_beyond_the_room_is_refused_with_ways_out(lanes):
    room = 2**14 // lanes
    numbering.locators("leaf", "leaf-7", (Part("number", room - 1),), lanes)
    with pytest.raises(
        PlanError, match=rf"leaf-7: .*room for {room:,} numbers of the number of a leaf.*try more planes"
    ):
        numbering.locators("leaf", "leaf-7", (Part("number", room),), lanes)


def test_ports_beyond_the_local_numbers_are_refused():
    assert numbering.port("leaf-7", 8191) == 0xFFFF
    with pytest.raises(PlanError, match="leaf-7: a leaf has 8,192 local uSIDs"):
        numbering.port("leaf-7", 8192)


def test_a_plane_has_a_block_of_its_own_in_the_range_for_srv6():
    blocks = [IPv6Network((numbering.block(plane), 32)) for plane in range(8)]
    assert len(set(blocks)) == 8
    assert all(block.subnet_of(IPv6Network("5f00::/16")) for block in blocks)  # RFC 9602


def test_an_address_carries_six_usids():
    usids = (0x0001, 0x8001, 0xC001, 0x8002, 0x0009, 0xE007)
    assert numbering.carrier(1, usids) == IPv6Address("5f00:1:1:8001:c001:8002:9:e007")
    with pytest.raises(ValueError, match="carries 6"):
        numbering.carrier(1, (*usids, 1))


def test_a_shift_brings_the_next_usid_behind_the_block():
    address = int(numbering.carrier(3, (0x0001, 0x8001, 0xE000)))
    block, rest = address >> 96, address & ((1 << 96) - 1)
    shifted = (block << 96) | ((rest << 16) & ((1 << 96) - 1))
    assert IPv6Address(shifted) == numbering.carrier(3, (0x8001, 0xE000))
    assert IPv6Address(shifted) in IPv6Network(numbering.prefix(3, 0x8001))
