"""Failed parts: which cables go, what stays sound, who is cut off, and what is said of a name that is not there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fabric.conftest import make_plan, nic, server, switch

from eastwest.fabric import (
    FailureError,
    LinksDown,
    PartDown,
    PlaneDown,
    SomeLinksDown,
    build,
    cut_off,
    fail,
    faults,
)

G = 1e9

SMALL = build(make_plan(servers=16, servers_per_unit=8, switches={"leaf": switch(cages=16)}))
"""16 leaves of 8 ports down and 8 up, 8 spines: a cable from each leaf to each spine."""

PLANED = build(
    make_plan(
        shape="leaf-spine",
        servers=8,
        server=server(gpus=1, nics=1),
        nic=nic(max_planes=4),
        planes=4,
        switches={"leaf": switch(cages=8, cage_bps=100 * G)},
    )
)


def test_nothing_failed_leaves_the_fabric_itself() -> None:
    assert fail(SMALL, []) is SMALL


def test_a_spine_that_is_down_takes_a_cable_of_every_leaf() -> None:
    left = fail(SMALL, [PartDown("switch", "spine-3")])
    assert len(SMALL.cables) - len(left.cables) == 16
    spine = int(left.nodes.filter(name="spine-3")["node"][0])
    assert spine not in left.links["src"].to_list() + left.links["dst"].to_list()
    assert not cut_off(SMALL, left)
    assert left.plan["failures"] == ["spine-3 down"]


def test_what_is_left_is_sound() -> None:
    left = fail(SMALL, [PartDown("switch", "spine-3"), LinksDown(("leaf-u0-r1", "spine-2"), rate_bps=100 * G)])
    assert faults(left) == []


@settings(deadline=None)
@given(share=st.floats(0.02, 0.6), seed=st.integers(0, 99))
def test_drawn_links_leave_sound_tables(share: float, seed: int) -> None:
    left = fail(SMALL, [SomeLinksDown("leaf-spine", share=share, seed=seed)])
    assert len(SMALL.cables) - len(left.cables) == round(share * 128)
    assert faults(left) == []


def test_more_links_of_one_seed_include_fewer() -> None:
    def lost(count: int) -> set[tuple[int, int]]:
        left = fail(SMALL, [SomeLinksDown("leaf-spine", count=count, seed=5)])
        pairs = [set(each.links.select("src", "dst").rows()) for each in (SMALL, left)]
        return pairs[0] - pairs[1]

    assert lost(3) < lost(10)


def test_a_slower_link_keeps_its_cable_and_runs_both_ways_at_the_rate() -> None:
    left = fail(SMALL, [LinksDown(("leaf-u0-r1", "spine-2"), rate_bps=100 * G)])
    assert left.cables.equals(SMALL.cables)
    slow = np.flatnonzero(left.links["rate_bps"].to_numpy() != SMALL.links["rate_bps"].to_numpy())
    names = left.nodes["name"]
    ends = {(names[left.links["src"][int(link)]], names[left.links["dst"][int(link)]]) for link in slow}
    assert ends == {("leaf-u0-r1", "spine-2"), ("spine-2", "leaf-u0-r1")}
    assert left.links["rate_bps"].gather(slow).to_list() == [100 * G] * 2


def test_of_parallel_cables_as_many_fail_as_are_counted() -> None:
    fabric = build(make_plan(servers=16, servers_per_unit=8, switches={"leaf": switch(cages=16), "spine": switch()}))
    between = ("spine-0", "leaf-u0-r0")
    assert len(fabric.cables) - len(fail(fabric, [LinksDown(between, count=1)]).cables) == 1
    assert len(fabric.cables) - len(fail(fabric, [LinksDown(between)]).cables) == 4
    one_after_another = fail(fabric, [LinksDown(between, count=3), LinksDown(between, count=1)])
    assert len(fabric.cables) - len(one_after_another.cables) == 4


def test_gpus_behind_a_leaf_that_is_down_are_cut_off() -> None:
    left = fail(SMALL, [PartDown("switch", "leaf-u1-r2")])
    assert cut_off(SMALL, left) == tuple(f"server-{number:02}/gpu-2" for number in range(8, 16))


def test_a_leaf_without_uplinks_cuts_off_its_gpus() -> None:
    left = fail(SMALL, [LinksDown(("leaf-u1-r2", f"spine-{number}")) for number in range(8)])
    assert cut_off(SMALL, left) == tuple(f"server-{number:02}/gpu-2" for number in range(8, 16))


def test_a_nic_that_is_down_cuts_off_its_gpu() -> None:
    assert cut_off(SMALL, fail(SMALL, [PartDown("nic", "server-03/nic-5")])) == ("server-03/gpu-5",)


def test_a_plane_takes_a_port_of_every_nic() -> None:
    left = fail(PLANED, [PlaneDown(2)])
    assert (left.cables["tiers"] == "server-leaf").sum() == 8 * 3
    assert not cut_off(PLANED, left)


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (PartDown("switch", "spine-33"), "there is no switch 'spine-33'; did you mean 'spine-3'"),
        (PartDown("nic", "spine-3"), "there is no NIC 'spine-3'"),
        (PlaneDown(0), "there is no plane 0: the fabric has one network alone"),
        (
            LinksDown(("leaf-u0-r0", "leaf-u0-r1")),
            "no cable joins leaf-u0-r0 and leaf-u0-r1; leaf-u0-r0 is joined with",
        ),
        (LinksDown(("leaf-u0-r0", "spine-0"), count=2), "leaf-u0-r0 and spine-0 have 1 cables that are up, not 2"),
        (LinksDown(("leaf-u0-r0", "spine-0"), rate_bps=800 * G), "a cable of 400 Gb/s does not run at 800 Gb/s"),
        (SomeLinksDown("spine-core", count=1), "the fabric has no spine-core cables; it has server-leaf, leaf-spine"),
        (SomeLinksDown("leaf-spine", count=500), "the fabric has 128 leaf-spine cables; 500 of them cannot fail"),
        (SomeLinksDown("leaf-spine", share=0.001), "the fabric has 128 leaf-spine cables; 0 of them cannot fail"),
    ],
)
def test_what_is_not_there_cannot_fail(failure, message: str) -> None:
    with pytest.raises(FailureError) as caught:
        fail(SMALL, [PartDown("switch", "spine-7"), failure])
    assert message in caught.value.message
    assert (caught.value.field, caught.value.number) == ("failures", 1)


def test_planes_that_there_are_are_counted_for_one_that_there_is_not() -> None:
    with pytest.raises(FailureError, match="there is no plane 4: the fabric has planes 0 to 3"):
        fail(PLANED, [PlaneDown(4)])
