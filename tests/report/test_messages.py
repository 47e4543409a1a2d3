"""Studies by packets in the report: the distribution of messages, and the worst ports."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.report.conftest import make_result, make_row

from eastwest.engine.messages import PERCENTILES, Messages
from eastwest.report import html
from eastwest.report.messages import messages_chart, messages_of

FABRICS = ("roce-400g", "ib-400g")
TIMES_S = np.array([10e-6] * 98 + [30e-6, 40e-6])


def messages(**changes):
    ports = {"deepest_bytes": np.array([0, 5_000, 70_000]), "paused_s": np.array([0.0, 2e-6, 0.0])}
    counts = dict.fromkeys(
        ("packets", "delivered", "link_hops", "drops", "trims", "marks", "retransmits", "paused_s"), 0
    )
    found = Messages.of(
        TIMES_S, {**counts, "pauses": 3, "deepest_queue_bytes": 70_000, "ports": ports}, ["a > b", "b > a", "b > c"]
    )
    return replace(found, **changes)


def by_packets(*found):
    return make_result(
        rows=tuple(
            make_row(name, 0, fidelity="packet", packets=each) for name, each in zip(FABRICS, found, strict=False)
        )
    )


def test_the_worst_ports_are_named_worst_first_and_only_those_that_suffered():
    found = messages()
    assert [(port.port, port.deepest_queue_bytes) for port in found.deepest_queues] == [
        ("b > c", 70_000),
        ("b > a", 5_000),
    ]
    assert [(port.port, port.paused_s) for port in found.longest_paused] == [("b > a", 2e-6)]


def test_the_line_of_a_result_is_the_distribution_of_its_messages():
    chart = messages_chart(by_packets(messages()))
    (line,) = json.loads(chart.figure)["data"]
    at = dict(zip(line["y"], line["x"], strict=True))
    assert tuple(line["y"]) == PERCENTILES
    assert (at[50], at[100]) == pytest.approx((10, 40))


def test_the_title_names_the_longest_tail():
    short = messages(p99_s=11e-6)
    chart = messages_chart(by_packets(short, messages()))
    assert "on ib-400g the 99th percentile" in chart.title
    assert "3.01x the median" in chart.title  # between the 98th and the 99th of 100 values: 30.1 us


def test_cells_tell_the_tail_the_worst_queue_and_the_longest_pause():
    (told,) = messages_of(by_packets(messages(drops=2, retransmits=1_500)))
    cells = [cell.replace("\u00a0", " ") for cell in told.cells]
    assert cells == [
        "100",
        "10.0 µs",
        "30.1 µs",
        "40.0 µs",
        "3.01x",
        "70 kB: b > c",
        "2.00 µs: b > a",
        "3",
        "2 dropped, 1,500 sent again",
    ]


def test_the_page_says_that_nvlink_and_pcie_are_fluid_and_is_silent_on_messages_without_packets():
    text = html(by_packets(messages()))
    assert "NVLink and PCIe inside servers are fluid" in text
    assert "Packet by packet" in text
    assert "Packet by packet" not in html(make_result())
