"""What is said of the traffic that crosses the spine follows from how much does, and from what that costs."""

import pytest

import eastwest as ew

FABRIC = {"shape": "rail-optimized", "technology": "infiniband", "link": "400 Gb/s", "switch": "qm9700"}


def said(collective="all-reduce", **changes):
    """The note on a collective over 64 GPUs, with units of some servers."""
    operation = {"name": "it", "collective": collective, "bytes": "1 GB"}
    study = {
        "name": "notes",
        "clusters": {"pod": {"server": "hgx-h100", "servers": 8}},
        "fabrics": {"one": FABRIC | changes},
        "workloads": {"job": {"kind": "operations", "operations": [operation]}},
    }
    (note,) = [note for note in ew.run(study).result.notes if note.startswith("job, packed")]
    return note


def test_no_traffic_beyond_the_leaf_hardly_touches_the_spine():
    assert "0 % of the bytes" in said(servers_per_unit=8)
    assert "hardly touches the spine" in said(servers_per_unit=8)


# Of the 8 hops of a channel between servers, 2 leave a unit of 4 and 4 a unit of 2.
@pytest.mark.parametrize(("servers_per_unit", "share"), [(4, 25), (2, 50)])
def test_traffic_that_crosses_a_wide_spine_is_told_without_blame(servers_per_unit, share):
    note = said(servers_per_unit=servers_per_unit)
    assert f"{share} % of the bytes" in note
    assert "no link between switches holds it back here" in note


def test_a_narrow_spine_is_blamed():
    assert "links between switches hold it back on one" in said(
        "all-to-all", servers_per_unit=4, oversubscription="4:1"
    )
