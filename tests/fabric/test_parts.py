"""Servers given out to several jobs: none twice, in the order asked for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.catalog import Catalog
from eastwest.fabric import Fabric, FabricPlan, Part, Placement, build, packed, parted, scattered

CATALOG = Catalog.bundled()


def fabric(servers: int = 8, gpus: int = 2) -> Fabric:
    return build(
        FabricPlan(
            name="pod",
            shape="leaf-spine",
            servers=servers,
            server=replace(CATALOG.server("hgx-h100"), gpus=gpus, nics=gpus),
            nic=CATALOG.nic("connectx-7"),
            link_layer=CATALOG.link_layer("rocev2"),
            link_bps=400e9,
            switches={"leaf": CATALOG.switch("sn5400")},
        )
    )


POD = fabric()
KINDS: st.SearchStrategy[Placement] = st.sampled_from(["packed", "by-rail", "scattered"])


@given(st.lists(st.builds(Part, st.integers(1, 2), KINDS, st.integers(0, 9)), min_size=1, max_size=4))
def test_every_part_has_whole_servers_of_its_own(parts: list[Part]) -> None:
    placed = parted(POD, parts)
    server = POD.nodes["server"].to_numpy()
    assert [len(gpus) for gpus in placed] == [2 * part.servers for part in parts]
    owners = [set(server[gpus].tolist()) for gpus in placed]
    assert [len(owner) for owner in owners] == [part.servers for part in parts]
    assert len(set().union(*owners)) == sum(part.servers for part in parts)


def test_packed_takes_the_first_servers_that_are_free() -> None:
    first, second = parted(POD, [Part(3), Part(2)])
    assert first.tolist() == packed(POD)[:6].tolist()
    assert second.tolist() == packed(POD)[6:10].tolist()


def test_by_rail_places_ranks_rail_by_rail() -> None:
    (gpus,) = parted(POD, [Part(3, "by-rail")])
    assert gpus.tolist() == packed(POD)[:6].reshape(3, 2).T.reshape(-1).tolist()


def test_scattered_over_all_servers_is_the_placement_of_that_name_but_for_its_order() -> None:
    (gpus,) = parted(POD, [Part(8, "scattered", 4)])
    assert sorted(gpus.tolist()) == sorted(scattered(POD, 4).tolist())
    assert gpus.tolist() != packed(POD).tolist()


def test_more_servers_than_there_are_cannot_be_given_out() -> None:
    with pytest.raises(ValueError, match="4 servers are asked for and 3 are free"):
        parted(POD, [Part(5), Part(4)])
