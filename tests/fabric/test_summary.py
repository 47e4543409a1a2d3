"""Counts and capacities as built."""

import json

from eastwest.fabric import build, summary


def test_is_plain_json(plan):
    counts = summary(build(plan()))
    assert json.loads(json.dumps(counts)) == counts


def test_counts_servers_gpus_nics_and_units(plan):
    counts = summary(build(plan(servers=127)))
    assert {key: counts[key] for key in ("servers", "gpus", "nics", "units", "pods")} == {
        "servers": 127,
        "gpus": 1016,
        "nics": 1016,
        "units": 4,
        "pods": 0,
    }


def test_bisection_of_a_single_switch_is_half_of_its_nics(plan):
    assert summary(build(plan(shape="single-switch", servers=7)))["bisection_bps"] == 7 * 8 * 400e9 / 2


def test_bisection_of_a_non_blocking_fabric_is_half_of_its_nics(plan):
    assert summary(build(plan(servers=512)))["bisection_bps"] == 512 * 8 * 400e9 / 2


def test_bisection_under_oversubscription_is_half_of_the_uplinks(plan):
    counts = summary(build(plan(servers_per_unit=32, oversubscription={"leaf": 4.0})))
    assert counts["bisection_bps"] == 32 * 8 * 400e9 / 2
    assert counts["oversubscription"] == {"leaf": 4.0, "spine": None, "overall": 4.0}


def test_servers_missing_from_a_unit_lower_the_ratio_but_not_below_one_overall(plan):
    counts = summary(build(plan(servers=127)))
    assert counts["oversubscription"] == {"leaf": 1016 / 1024, "spine": None, "overall": 1.0}


def test_a_core_above_a_single_pod_does_not_bound_its_bisection(plan):
    counts = summary(build(plan(servers=64, tiers=3, oversubscription={"spine": 4.0})))
    assert counts["oversubscription"]["spine"] == 4.0
    assert counts["bisection_bps"] == 64 * 8 * 400e9 / 2


def test_totals_are_sums(plan):
    counts = summary(build(plan(servers=512)))
    assert counts["switches_total"] == 128 + 128 + 64
    assert counts["cables_total"] == 3 * 4096
