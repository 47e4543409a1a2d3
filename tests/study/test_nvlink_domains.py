"""Racks in a study: NVL72 trays as servers."""

import pytest

from eastwest import report, spec
from eastwest.catalog import Catalog
from eastwest.study import build_fabric, run
from eastwest.study.sketch import sketch


def study(racks: int) -> spec.Study:
    return spec.from_mapping(
        {
            "name": "racks",
            "clusters": {"racks": {"server": "gb200-nvl72", "servers": 18 * racks}},
            "fabrics": {
                "net": {
                    "shape": "rail-optimized",
                    "technology": "rocev2",
                    "link": "400 Gb/s",
                    "nic": "connectx-7",
                    "switch": "sn5400",
                    "servers_per_unit": 18,
                    "balancing": "spray",
                }
            },
            "workloads": {
                "job": {
                    "kind": "operations",
                    "operations": [
                        {"name": "it", "collective": "all-reduce", "bytes": "10 GB", "algorithm": "ring", "channels": 1}
                    ],
                }
            },
        }
    )


def test_a_rack_reduces_over_nvlink() -> None:
    """2(n-1)/n B / N with n = 72; some of it is latency."""
    gpu = Catalog.bundled().gpu(Catalog.bundled().server("gb200-nvl72").gpu.name)
    (row,) = run(study(1)).rows
    assert row.step_s == pytest.approx(2 * 71 / 72 * 10e9 * 8 / (gpu.nvlink_bps * gpu.nvlink_efficiency), rel=0.03)
    assert row.bottleneck.where.startswith("NVLink")


def test_two_racks_in_one_ring_run_at_the_rate_of_one_nic() -> None:
    """A ring of one channel leaves each rack through one NIC: 2(n-1)/n B / C, with n = 144."""
    (row,) = run(study(2)).rows
    payload_bps = 400e9 * Catalog.bundled().link_layer("rocev2").efficiency
    assert row.step_s == pytest.approx(2 * 143 / 144 * 10e9 * 8 / payload_bps, rel=0.03)


def test_the_drawing_shows_trays_and_no_nvlink_switch() -> None:
    boxes = sketch(build_fabric(study(2), "net"))["boxes"]
    assert [(box["count"], box["gpus"]) for box in boxes if box["tier"] == "server"] == [(18, 72), (18, 72)]


def test_the_report_of_a_rack_is_drawn() -> None:
    assert "144 GPUs" in report.html(run(study(2)))
