import re

from rich.console import Console

from eastwest import report
from eastwest.catalog import Catalog


def shown(listing, width=200):
    console = Console(width=width)
    with console.capture() as captured:
        console.print(report.catalog_table(listing))
    return captured.get()


def test_a_part_alone_stands_with_its_sources_as_a_file_would_have_it():
    text = shown(Catalog.bundled().listing("bluefield-3"))
    assert "virtual switching, NVMe over Fabrics" in text
    assert re.search("places_out_of_order +true ", text)
    assert "a vendor's upper bound" in " ".join(text.split())


def test_a_list_of_parts_keeps_figures_apart():
    text = shown(Catalog.bundled().listing(kind="switches"), width=400)
    assert "technologies rocev2, ultra-ethernet; cages 64; cage 800 Gb/s" in text
