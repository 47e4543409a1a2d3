"""What is plugged, held against the plan."""

from hypothesis import given
from hypothesis import strategies as st

from eastwest.observe.cabling import Plug, Wire, compare


def _wire(a: str, b: str, rate_bps: float | None = 400e9) -> Wire:
    """A cable from "node:port" to "node:port"."""
    return Wire(Plug(*a.split(":")), Plug(*b.split(":")), rate_bps)


PLAN = [_wire("a:1", "leaf:1"), _wire("b:1", "leaf:2"), _wire("leaf:3", "spine:1"), _wire("leaf:4", "spine:2")]


def test_a_network_as_planned_has_no_fault() -> None:
    turned = [Wire(wire.b, wire.a, wire.rate_bps) for wire in reversed(PLAN)]
    assert compare(PLAN, turned) == ()


def test_a_cable_that_is_down_is_missing() -> None:
    (fault,) = compare(PLAN, PLAN[:3])
    assert (fault.kind, fault.what) == ("missing", "leaf port 4 - spine port 2 is down or not plugged")


def test_a_server_that_is_off_is_told_of_once() -> None:
    (fault,) = compare(PLAN, PLAN[1:])
    assert (fault.kind, fault.what) == ("absent", "a was not seen")


def test_two_exchanged_plugs_are_one_fault_with_both_ends_to_mend() -> None:
    seen = [_wire("a:1", "leaf:2"), _wire("b:1", "leaf:1"), *PLAN[2:]]
    (fault,) = compare(PLAN, seen)
    assert fault.kind == "swapped"
    assert fault.what == "a port 1 leads to leaf port 2 and b port 1 to leaf port 1: the two are swapped"
    assert fault.fix == "exchange the plugs at leaf port 1 and leaf port 2"


def test_a_cable_in_a_wrong_port_is_misplaced() -> None:
    (fault,) = compare(PLAN, [_wire("a:1", "leaf:9"), *PLAN[1:]])
    assert (fault.kind, fault.what) == ("misplaced", "a port 1 leads to leaf port 9, not to leaf port 1")


def test_a_cable_of_no_plan_is_unplanned() -> None:
    (fault,) = compare(PLAN, [*PLAN, _wire("x:1", "leaf:30")])
    assert (fault.kind, fault.what) == ("unplanned", "x port 1 - leaf port 30 is in no plan")


def test_a_slow_cable_is_told_with_both_rates() -> None:
    (fault,) = compare(PLAN, [_wire("a:1", "leaf:1", 200e9), *PLAN[1:]])
    assert (fault.kind, fault.what) == ("rate", "a port 1 - leaf port 1 runs at 200 Gb/s, not 400 Gb/s")


def test_a_rate_that_was_not_told_is_no_fault() -> None:
    assert compare(PLAN, [_wire("a:1", "leaf:1", None), *PLAN[1:]]) == ()


@given(st.permutations(range(8)))
def test_any_shuffle_of_plugs_at_a_switch_is_told_of(order: list[int]) -> None:
    plan = [_wire(f"s{each}:1", f"leaf:{each}") for each in range(8)]
    seen = [_wire(f"s{each}:1", f"leaf:{to}") for each, to in enumerate(order)]
    moved = {each for each, to in enumerate(order) if each != to}
    told = {plug.node for fault in compare(plan, seen) for plug in fault.where} - {"leaf"}
    assert {f"s{each}" for each in moved} == told
