"""uSIDs: which number a switch has, and what no number is left for."""

from ipaddress import IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.artifacts.mrc import numbering
from eastwest.fabric import FabricError

TIERS = st.sampled_from(["leaf", "spine", "core"])


def places(tier, lanes):
    """Places that a tier has room for, of so many lanes each: a power of two of numbers, without the first."""
    return {"leaf": 2**15, "spine": 2**14, "core": 2**13}[tier] // lanes - 1


@given(st.data(), st.sampled_from([1, 2, 4, 8, 64]))
def test_no_two_switches_of_a_plane_share_a_number(data, lanes):
    def drawn():
        tier = data.draw(TIERS)
        place = data.draw(st.integers(0, places(tier, lanes) - 1))
        return tier, place, data.draw(st.integers(0, lanes - 1))

    one, other = drawn(), drawn()
    assert (numbering.locator(*one) == numbering.locator(*other)) == (one == other)


@given(TIERS, st.data(), st.sampled_from([1, 2, 16, 128]))
def test_numbers_are_global_and_never_nothing(tier, data, lanes):
    place = data.draw(st.integers(0, places(tier, lanes) - 1))
    # 0x0000 ends a path, and what follows 0xdfff is local to a switch (RFC 9800).
    assert 0x0001 <= numbering.locator(tier, place, lanes - 1) <= 0xDFFF


def test_what_fits_is_let_through_and_one_more_refused():
    for lanes in (1, 3, 4, 200):
        turns = 1 << (lanes - 1).bit_length()
        numbering.refuse_beyond_room("leaf", 2**15 // turns - 1, lanes)
        with pytest.raises(FabricError, match="16-bit uSIDs numbers") as refused:
            numbering.refuse_beyond_room("leaf", 2**15 // turns, lanes)
        assert refused.value.field == "planes"
        assert "try" in refused.value.message


def test_ports_beyond_the_local_numbers_are_refused():
    numbering.refuse_beyond_ports(8192)
    with pytest.raises(FabricError, match="8,192 local uSIDs"):
        numbering.refuse_beyond_ports(8193)


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
