"""docs/catalog.md against the catalogue that it describes."""

from pathlib import Path

import pytest

from eastwest.catalog import Catalog

PAGE = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text()
CATALOG = Catalog.bundled()
WORDS = {"rocev2": "RoCEv2", "infiniband": "InfiniBand", "ultra-ethernet": "Ultra Ethernet", "mrc": "MRC"}


def row(name: str) -> list[str]:
    """Cells of the row whose first cell is the entry's name."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("kind", ["gpus", "nics", "switches", "servers", "links"])
def test_the_page_names_every_entry(kind):
    assert [name for name in CATALOG.names(kind) if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("name", CATALOG.names("nics"))
def test_the_page_says_what_a_nic_can_do(name):
    nic = CATALOG.nic(name)
    _, port, _, speaks, loss, planes = row(name)
    assert port == f"{nic.port_bps / 1e9:g} Gb/s"
    assert speaks == ", ".join(WORDS[technology] for technology in nic.technologies)
    assert loss == f"{'yes' if nic.places_out_of_order else 'no'}, " + {
        "go-back-n": "go-back-N",
        "selective-repeat": "selective repeat",
    }.get(nic.retransmission, "")
    assert planes == str(nic.max_planes)


@pytest.mark.parametrize("name", CATALOG.names("switches"))
def test_the_page_says_what_a_switch_carries(name):
    switch = CATALOG.switch(name)
    _, ports, carries = row(name)
    assert ports.startswith(f"{switch.cages * switch.default_breakout} x ")
    assert carries == ", ".join(WORDS[technology] for technology in switch.technologies)


@pytest.mark.parametrize("name", CATALOG.names("links"))
def test_the_page_says_what_headers_take(name):
    wire_bytes = 4096 / CATALOG.link_layer(name).efficiency
    assert row(name)[1].startswith(f"4096 of {wire_bytes:.0f} B")
