"""Scheduled fabrics: even whatever the hashes; cells cost overhead and credits a wait between leaf and element."""

from typing import Any

import polars as pl
import pytest

from eastwest import spec
from eastwest.catalog import Catalog
from eastwest.fabric import faults, summary
from eastwest.fabric.faceplate import faceplate
from eastwest.study import build_fabric, run
from eastwest.study.fabrics import cautions

CELLS = {"shape": "scheduled", "switch": {"leaf": "jericho3-ai-18x800g", "spine": "ramon3-64x800g"}}
HASHED = {"shape": "leaf-spine", "switch": "sn5600", "servers_per_unit": 4}
COMMON = {"technology": "rocev2", "link": "400 Gb/s", "uplink": "800 Gb/s", "breakout": {"leaf": 2}}


def study(servers: int = 32, **fabrics: dict[str, Any]) -> spec.Study:
    work = {"kind": "operations", "operations": [{"name": "it", "send_recv": {"shift": 32}, "bytes": "1 GB"}]}
    return spec.from_mapping(
        {
            "name": "cells",
            "clusters": {"pod": {"server": "hgx-h100", "servers": servers}},
            "fabrics": {name: {**COMMON, **fabric} for name, fabric in fabrics.items()},
            "workloads": {"job": work},
            "seeds": 4,
        }
    )


def test_a_leaf_has_all_cages_of_cells_for_all_of_packets() -> None:
    """4 servers of 8 ports fill 16 of 18 cages; 12.8 Tb/s over 800 Gb/s x 15/16 are 17.07, so 18 uplinks."""
    counts = summary(build_fabric(study(cells=CELLS), "cells"))
    assert counts["switches"]["leaf"] == 8
    assert counts["cables"]["leaf-spine"] == 8 * 18


def test_18_cages_of_packets_take_20_of_cells() -> None:
    """14.4 Tb/s over 800 Gb/s x 15/16 are 19.2."""
    leaf = faceplate("leaf", Catalog.bundled().switch("jericho3-ai-18x800g"), 400e9, 800e9, 2)
    assert leaf.uplinks(36, 1.0) == 20
    assert leaf.most_down(1.0) == 36
    assert not leaf.fits(37, 20)
    assert not leaf.fits(2, 21)


def test_its_tables_are_sound() -> None:
    assert faults(build_fabric(study(cells=CELLS), "cells")) == []


def test_links_of_cells_carry_less_and_wait_for_a_credit_on_the_way_in() -> None:
    """A request and a grant cross two cables of 30 m and an element of 0.3 us each: 2 x (2 x 150 + 300) ns."""
    links = build_fabric(study(cells=CELLS), "cells").links
    up, down = (links.filter(pl.col("tier") == tier).row(0, named=True) for tier in ("leaf-spine", "spine-leaf"))
    assert up["efficiency"] == down["efficiency"] == pytest.approx(4096 / 4178 * 240 / 256)
    assert up["latency_s"] == pytest.approx(150e-9 + 300e-9 + 1.2e-6)
    assert down["latency_s"] == pytest.approx(150e-9 + 1.7e-6)


def test_it_is_even_where_hashed_flows_collide() -> None:
    cells, hashed = run(study(cells=CELLS, hashed=HASHED)).rows
    assert (cells.fabric, cells.draws) == ("cells", 1)
    assert cells.step_s == pytest.approx(cells.ideal_step_s, rel=1e-3)
    assert hashed.step_s > 1.2 * cells.step_s


def test_a_nic_that_cannot_place_out_of_order_needs_no_warning() -> None:
    slow = {"nic": "connectx-4", "link": "100 Gb/s"}
    read = study(cells={**CELLS, **slow}, sprayed={**HASHED, **slow, "balancing": "spray"})
    assert cautions(read, "cells", "pod") == []
    assert any("out of order" in caution for caution in cautions(read, "sprayed", "pod"))


@pytest.mark.parametrize(
    ("fabric", "said"),
    [
        ({**CELLS, "balancing": "ecmp"}, "a scheduled fabric spreads cells evenly by itself: leave balancing out"),
        (
            {**CELLS, "switch": "sn5600"},
            "the leaf of a scheduled fabric is a leaf with cages for packets and for cells",
        ),
        ({**CELLS, "switch": "jericho3-ai-18x800g"}, "the spine of a scheduled fabric is an element of cells alone"),
        ({**HASHED, "switch": "ramon3-64x800g"}, "ramon3-64x800g speaks cells on 64 cages: try shape: scheduled"),
        ({**CELLS, "servers_per_unit": 5}, "jericho3-ai-18x800g has 18 cages, each 2 at 400 Gb/s, and 20 of cells"),
        ({**CELLS, "tiers": 2}, "tiers has no meaning for the shape scheduled"),
    ],
)
def test_what_is_no_scheduled_fabric_is_told(fabric: dict[str, Any], said: str) -> None:
    with pytest.raises(spec.StudyError, match=said):
        build_fabric(study(one=fabric), "one")
