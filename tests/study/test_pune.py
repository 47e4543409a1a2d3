"""The bundled study, case by case, against arithmetic and against an independent solution (`tests.reference`).

1,024 GPUs in 128 servers of 8, in 4 units of 32 servers. The customer's exchange is a ring of 16 channels, so every NIC
sends for 2 of them; a rank sends 2 (n - 1) / n of its buffer in all. The moe workload's is an all-to-all in groups of
64, so a rank sends 56/64 of its buffer to other servers. Rates and latencies are read from the fabric's tables.
"""

import numpy as np
import pytest
from tests.reference import completions
from tests.reference.traffic import link_bytes
from tests.study.conftest import SEEDS

from eastwest.units import format_size

RANKS = 1024
SENT = 2 * (RANKS - 1) / RANKS
"""Of its buffer, what a rank of a ring all-reduce sends (nccl-tests, doc/PERFORMANCE.md)."""
STEPS = 2 * (RANKS - 1)
OUTSIDE = 56 / 64
"""Of its buffer, what a rank of an all-to-all over 8 servers of 8 sends to other servers."""

HASHED = ["roce-400g", "roce-200g", "roce-100g", "roce-800g", "b200-800g", "roce-400g-4to1"]
SPREAD = ["roce-400g-spray", "roce-400g-adaptive", "ib-400g"]
ALL = HASHED + SPREAD
NVLINK = ("gpu-nvlink", "nvlink-gpu")
TO_LEAF, FROM_LEAF = ("gpu-pcie", "pcie-nic", "nic-leaf"), ("leaf-nic", "nic-pcie", "pcie-gpu")
OVER_SPINE = ("leaf-spine", "spine-leaf")


def ring_latency_s(solution):
    """Latency of the ring's steps: each of a mean hop, 7 of 8 being over NVLink and the last of a server over its leaf,
    or over the spine where the next server stands in another unit."""
    unit = solution.fabric.nodes["unit"].to_numpy()[solution.gpus[::8]]
    crossing = np.mean(unit != np.roll(unit, -1))
    inside, leaf = solution.delay(*NVLINK), solution.delay(*TO_LEAF, *FROM_LEAF)
    return STEPS * (7 / 8 * inside + 1 / 8 * (leaf + crossing * solution.delay(*OVER_SPINE)))


def pair_latency_s(solution):
    """Latency of the longest path of an all-to-all: over the spine."""
    return solution.delay(*TO_LEAF, *OVER_SPINE, *FROM_LEAF)


@pytest.fixture(scope="session")
def customer_bytes(solve):
    """The buffer with which the ring takes 0.4 s where it was measured, limited by NICs there."""
    measured = solve("roce-400g")
    return (0.4 - ring_latency_s(measured)) * 8 * measured.rate("nic-leaf") / SENT


@pytest.fixture(scope="session")
def moe_bytes(solve):
    """The buffer with which the all-to-all takes 0.5 s where it was measured, limited by NICs there."""
    measured = solve("roce-400g-spray")
    return (0.5 - pair_latency_s(measured)) * measured.rate("nic-leaf") / OUTSIDE


@pytest.fixture(scope="session")
def ring_s(customer_bytes):
    """Time of the customer's ring where only what is inside servers and their NICs' ports limit."""

    def closed_form(solution):
        sent = SENT * customer_bytes  # by each rank in all, over 16 channels
        over_nic = 2 / 16 * sent / min(solution.rate(tier) for tier in TO_LEAF)
        over_nvlink = 14 / 16 * sent / solution.rate("gpu-nvlink")
        return max(over_nic, over_nvlink) + ring_latency_s(solution)

    return closed_form


# The customer, packed


def test_the_customer_takes_what_was_measured_where_it_was_measured(row):
    reference = row("roce-400g")
    assert reference["step_s"] == pytest.approx(2.0, rel=1e-5)
    assert reference["exposed_s"] == pytest.approx(0.4, rel=1e-5)
    assert reference["exposed_share"] == pytest.approx(0.2, rel=1e-5)
    assert reference["gpu_idle_share"] == pytest.approx(0.2, rel=1e-5)


def test_the_message_sizes_are_those_of_arithmetic(answer, customer_bytes, moe_bytes):
    notes = " ".join(answer["notes"])
    assert f"customer: an exchange buffer of {format_size(customer_bytes)} " in notes
    assert f"moe: an exchange buffer of {format_size(moe_bytes)} " in notes


@pytest.mark.parametrize(("fabric", "times"), [("roce-200g", 2), ("roce-100g", 4)])
def test_slower_ports_take_as_many_times_longer(row, solve, ring_s, fabric, times):
    assert row(fabric)["exposed_s"] == pytest.approx(0.4 * times, rel=0.03)
    assert row(fabric)["exposed_s"] == pytest.approx(ring_s(solve(fabric)), rel=1e-4)
    assert "NIC" in row(fabric)["bottleneck"]["where"]


def test_h100_servers_cannot_use_800g_ports(row, solve, customer_bytes, ring_s):
    fast, solution = row("roce-800g"), solve("roce-800g")
    assert fast["exposed_s"] == pytest.approx(ring_s(solution), rel=1e-4)
    # 7 of 8 hops are over NVLink, at 450 GB/s x 20.6/25 a GPU: slower than 1 of 8 through PCIe Gen5 or the port.
    over_nvlink = 7 / 8 * SENT * customer_bytes / (450e9 * 20.6 / 25)
    over_pcie = 1 / 8 * SENT * customer_bytes / (504.12e9 / 8 * 256 / 280)
    assert over_nvlink > over_pcie > 0.3
    assert fast["exposed_s"] == pytest.approx(over_nvlink + ring_latency_s(solution), rel=1e-4)
    assert "NVLink" in fast["bottleneck"]["where"]


def test_b200_servers_can_use_800g_ports(row, solve, ring_s):
    fast = row("b200-800g")
    assert fast["exposed_s"] == pytest.approx(0.2, rel=0.03)
    assert fast["exposed_s"] == pytest.approx(ring_s(solve("b200-800g")), rel=1e-4)
    assert "NIC" in fast["bottleneck"]["where"]


@pytest.mark.parametrize("fabric", ["roce-400g-4to1", *SPREAD])
def test_a_packed_ring_takes_the_same_whatever_the_spine(row, solve, ring_s, fabric):
    assert row(fabric)["exposed_s"] == pytest.approx(0.4, rel=0.02)
    assert row(fabric)["exposed_s"] == pytest.approx(ring_s(solve(fabric)), rel=1e-4)


@pytest.mark.parametrize(("fabric", "ratio"), [("roce-400g", 1), ("roce-400g-4to1", 4), ("roce-400g-spray", 1)])
def test_a_packed_ring_hardly_touches_the_spine(row, answer, fabric, ratio):
    # 128 hops of a channel leave a server, 4 of them into the next unit.
    load = {tier["tier"]: tier["mean"] for tier in row(fabric)["tiers"]}
    assert load["leaf-spine"] == pytest.approx(4 / 128 * load["nic-leaf"] * ratio, rel=1e-6)
    assert any(
        note.startswith("customer, packed: 3 %") and "hardly touches the spine" in note for note in answer["notes"]
    )


# The customer, scattered: whole servers in random order, so that most hops between servers cross the spine


@pytest.mark.parametrize("fabric", HASHED)
def test_a_scattered_ring_on_ecmp_takes_what_the_same_hashes_give(row, solve, customer_bytes, fabric):
    solution = solve(fabric, "scattered")
    expected = [
        completions(solution.hashed_ring(customer_bytes, seed), solution.paths.capacity).max() for seed in range(SEEDS)
    ]
    assert row(fabric, placement="scattered")["exposed_s"] == pytest.approx(np.median(expected), rel=1e-4)
    assert row(fabric, placement="scattered")["exposed_p95_s"] == pytest.approx(np.percentile(expected, 95), rel=1e-4)
    assert row(fabric, placement="scattered")["step_p95_s"] == pytest.approx(
        1.6 + np.percentile(expected, 95), rel=1e-4
    )


@pytest.mark.parametrize("fabric", SPREAD)
def test_a_scattered_ring_is_sprayed_without_loss(row, solve, ring_s, fabric):
    # All that a leaf's 32 NICs send fits its 32 uplinks; only the longer way of most hops shows.
    scattered = row(fabric, placement="scattered")
    assert scattered["exposed_s"] == pytest.approx(ring_s(solve(fabric, "scattered")), rel=1e-4)
    assert scattered["exposed_s"] > row(fabric)["exposed_s"]


def test_scattering_suffers_from_hashing_and_more_from_oversubscription(row):
    packed, hashed, starved = (
        row("roce-400g"), row("roce-400g", placement="scattered"), row("roce-400g-4to1", placement="scattered"),
    )  # fmt: skip
    assert packed["exposed_s"] < hashed["exposed_s"] < starved["exposed_s"]
    assert "ECMP" in hashed["bottleneck"]["why"]
    assert "4 times the capacity down" in starved["bottleneck"]["why"]


# The all-to-all customer


@pytest.mark.parametrize("placement", ["packed", "scattered"])
@pytest.mark.parametrize("fabric", SPREAD)
def test_a_sprayed_all_to_all_fills_the_nics(row, solve, moe_bytes, fabric, placement):
    solution = solve(fabric, placement)
    expected = OUTSIDE * moe_bytes / solution.rate("nic-leaf") + pair_latency_s(solution)
    found = row(fabric, "moe", placement)
    assert found["communication_s"] == pytest.approx(expected, rel=1e-4)
    assert found["communication_s"] == pytest.approx(found["ideal_communication_s"], rel=1e-4)
    assert "NIC" in found["bottleneck"]["where"]


@pytest.mark.parametrize("placement", ["packed", "scattered"])
@pytest.mark.parametrize("fabric", HASHED)
def test_a_hashed_all_to_all_takes_what_its_fullest_link_needs(row, solve, moe_bytes, fabric, placement):
    # No schedule is faster than the link with most to carry for its rate, and max-min sharing keeps that link full to
    # the end: so the time lies above that, by less than the tolerance with which completions are batched.
    solution = solve(fabric, placement)
    capacity, bounds = solution.paths.capacity, []
    for seed in range(SEEDS):
        traffic = solution.hashed_all_to_all(moe_bytes, seed)
        bounds.append((link_bytes(traffic, len(capacity)) / capacity).max() + pair_latency_s(solution))
    found = row(fabric, "moe", placement)["communication_s"]
    assert np.median(bounds) * (1 - 1e-4) <= found <= np.median(bounds) * 1.01


@pytest.mark.parametrize("placement", ["packed", "scattered"])
def test_an_all_to_all_through_800g_ports_is_held_back_by_pcie(row, solve, moe_bytes, placement):
    solution = solve("roce-800g", placement)
    found = row("roce-800g", "moe", placement)
    pcie = 504.12e9 / 8 * 256 / 280
    assert found["communication_s"] == pytest.approx(OUTSIDE * moe_bytes / pcie + pair_latency_s(solution), rel=1e-3)
    assert "PCIe" in found["bottleneck"]["where"]


def test_an_all_to_all_suffers_under_oversubscription(row):
    # Packed, 49 of 56 parts that leave a server go to another rail, over the spine; a quarter of the capacity is there.
    starved, free = row("roce-400g-4to1", "moe"), row("roce-400g-spray", "moe")
    assert starved["communication_s"] > 49 / 56 * 4 * free["communication_s"] * 0.999


# All cases


def test_every_combination_is_there_with_every_key(answer):
    combinations = {(each["fabric"], each["workload"], each["placement"]) for each in answer["results"]}
    assert combinations == {(f, w, p) for f in ALL for w in ("customer", "moe") for p in ("packed", "scattered")}
    keys = {
        "fabric", "workload", "placement", "fidelity", "step_s", "communication_s", "exposed_s", "exposed_share",
        "gpu_idle_share", "ideal_communication_s", "bottleneck", "tiers", "cost",
    }  # fmt: skip
    for each in answer["results"]:
        assert each.keys() >= keys
        assert each["bottleneck"].keys() >= {"where", "utilisation", "why"}
        assert all(tier.keys() >= {"tier", "mean", "p99", "max"} for tier in each["tiers"])
        assert each["cost"].keys() >= {"currency", "idle_gpu_hours_per_day", "idle_cost_per_day"}


def test_nothing_beats_the_bound_and_no_link_its_rate(answer):
    for each in answer["results"]:
        assert each["ideal_communication_s"] <= each["communication_s"] * (1 + 1e-9)
        assert each["closeness"] == pytest.approx(each["ideal_communication_s"] / each["communication_s"])
        assert all(0 <= tier["mean"] <= tier["max"] * (1 + 1e-9) <= 1 + 2e-9 for tier in each["tiers"])


def test_the_bound_is_the_closed_form_of_the_endpoints(row, solve, ring_s, moe_bytes):
    for fabric in ALL:
        for placement in ("packed", "scattered"):
            solution = solve(fabric, placement)
            assert row(fabric, "customer", placement)["ideal_communication_s"] == pytest.approx(
                ring_s(solution), rel=1e-4
            )
            all_to_all = OUTSIDE * moe_bytes / min(solution.rate(tier) for tier in TO_LEAF) + pair_latency_s(solution)
            assert row(fabric, "moe", placement)["ideal_communication_s"] == pytest.approx(all_to_all, rel=1e-4)


def test_the_step_is_compute_and_what_is_exposed(answer):
    compute_s = {"customer": 1.6, "moe": 1.5}  # the measured step less its exposed part
    for each in answer["results"]:
        assert each["step_s"] == pytest.approx(compute_s[each["workload"]] + each["exposed_s"], rel=1e-6)
        assert each["exposed_share"] == pytest.approx(each["exposed_s"] / each["step_s"])
        assert each["gpu_idle_share"] == pytest.approx(each["exposed_share"])


def test_idle_gpus_cost_their_hours(answer):
    for each in answer["results"]:
        hours = 1024 * 24 * each["gpu_idle_share"]
        assert each["cost"]["idle_gpu_hours_per_day"] == pytest.approx(hours)
        assert each["cost"]["idle_cost_per_day"] == pytest.approx(hours * 2.50)
        assert each["cost"]["currency"] == "USD"


def test_every_bottleneck_is_named_with_a_reason(answer):
    for each in answer["results"]:
        assert each["bottleneck"]["where"]
        assert each["bottleneck"]["why"]
        assert 0.9 < each["bottleneck"]["utilisation"] <= 1.0
