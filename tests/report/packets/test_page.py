"""The report of a simulation: what it says, and that Chromium shows it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.test_browser import CONTRASTS, CUT_LABELS, browser

from eastwest.engine.packets import LinkChange
from eastwest.report.packets import write_simulation
from eastwest.report.packets.charts import completion_chart, queue_chart, size_classes
from eastwest.report.packets.moments import moments
from eastwest.report.packets.page import page
from eastwest.report.packets.timeline import timeline_chart
from eastwest.simulation import SimulationResult

__all__ = ["browser"]


def figure(chart: Any) -> Any:
    assert chart is not None
    return json.loads(chart.figure)


def test_the_lines_of_completion_times_pass_through_each_flow_s_time(incast: SimulationResult) -> None:
    drawn = figure(completion_chart(incast))
    times = incast.run.end_s - incast.run.start_s
    for trace, each in zip(drawn["data"], size_classes(incast), strict=True):
        assert [x * 1e-6 for x in trace["x"][1:]] == pytest.approx(np.sort(times[each.flows]).tolist())
        assert trace["y"][-1] == 100
    assert [trace["name"] for trace in drawn["data"]] == ["100 kB (2 flows)", "400 kB (5 flows)"]


def test_flows_of_many_sizes_are_told_apart_by_powers_of_ten(incast: SimulationResult) -> None:
    sizes = np.array([5, 12, 700, 5_000, 6_000, 10_000, 99_999], dtype=np.uint64)
    classes = size_classes(replace(incast, flows=replace(incast.flows, size_bytes=sizes)))
    assert [(each.name, each.flows.tolist()) for each in classes] == [
        ("1 B to 10 B", [0]),
        ("10 B to 100 B", [1]),
        ("100 B to 1 kB", [2]),
        ("1 kB to 10 kB", [3, 4]),
        ("10 kB to 100 kB", [5, 6]),
    ]


def test_the_deepest_queue_heads_the_heat_map_and_is_its_hottest_cell(incast: SimulationResult) -> None:
    chart = queue_chart(incast)
    heat = figure(chart)["data"][0]
    assert heat["y"][0] == "switch-0 &gt; host-0"
    hottest = max(cell for row in heat["z"] for cell in row if cell is not None)
    assert hottest * 1e3 == pytest.approx(incast.run.deepest_queue_bytes, rel=1e-3)
    assert hottest in heat["z"][0]
    assert chart is not None
    assert "switch-0 > host-0" in chart.title


def test_a_failure_stands_across_the_timeline_with_what_it_cost(failure: SimulationResult) -> None:
    chart = timeline_chart(failure)
    assert chart is not None
    assert chart.title.startswith("spine-2 down at 30")
    assert f"{failure.run.drops:,} packets dropped" in chart.title
    drawn = json.loads(chart.figure)
    assert [shape["x0"] for shape in drawn["layout"]["shapes"]] == pytest.approx([30, 70])
    retired = next(trace for trace in drawn["data"] if trace["name"].startswith("retired"))
    before = [y for x, y in zip(retired["x"], retired["y"], strict=True) if x < 25]
    assert max(before) == 0
    # about a quarter of the paths, which are drawn by a hash, led over that spine
    assert 12 < max(retired["y"]) < 50


def test_what_happens_to_links_has_the_name_of_what_they_share(failure: SimulationResult) -> None:
    (down, up) = moments(failure)
    assert (down.text, down.at_s) == ("spine-2 down", pytest.approx(30e-6))
    assert (up.text, up.at_s) == ("spine-2 up", pytest.approx(70e-6))
    slow = tuple(LinkChange(1e-6, link, "rate", 12.5e9) for link in (0, 1))
    assert [each.text for each in moments(replace(failure, changes=slow))] == ["host-0 and leaf-0 at 100 Gb/s"]


def test_a_run_in_which_nothing_ended_says_so(incast: SimulationResult) -> None:
    never = replace(incast, run=replace(incast.run, end_s=np.full(7, np.nan), received_s=np.full(7, np.nan)))
    text = page(never, "stuck")
    assert "None of 7 flows ended" in text
    assert "7 flows of 7 had not ended" in text
    assert "How long flows take" not in text


def test_without_a_series_the_page_has_no_timeline(incast: SimulationResult) -> None:
    text = page(replace(incast, run=replace(incast.run, series=None)), "short")
    assert "What happens when" not in text
    assert "How long flows take" in text


@pytest.fixture(scope="module")
def opened(browser: Any, incast: SimulationResult, failure: SimulationResult, tmp_path_factory: Any) -> Iterator[Any]:
    """Both reports in windows, with what they asked for or complained of."""
    pages = {}
    for name, result in (("incast", incast), ("failure", failure)):
        path: Path = write_simulation(result, tmp_path_factory.mktemp(name), f"{name} <b>&</b>")
        shown = browser.new_page(viewport={"width": 1280, "height": 900})
        shown.requests, shown.complaints = [], []
        shown.on("request", lambda request, shown=shown: shown.requests.append(request.url))
        shown.on("console", lambda message, shown=shown: shown.complaints.append(message.text))
        shown.on("pageerror", lambda error, shown=shown: shown.complaints.append(str(error)))
        shown.goto(path.as_uri(), wait_until="networkidle")
        pages[name] = shown
    yield pages
    for shown in pages.values():
        shown.close()


@pytest.mark.parametrize("name", ["incast", "failure"])
def test_it_opens_offline_without_complaint_and_every_plot_is_drawn(opened: Any, name: str) -> None:
    shown = opened[name]
    assert len(shown.requests) == 1
    assert shown.complaints == []
    sizes = shown.eval_on_selector_all(
        ".plot .main-svg:first-of-type",
        "all => all.map(svg => [svg.clientWidth, svg.clientHeight, svg.querySelectorAll('path, image').length])",
    )
    assert len(sizes) == 3
    assert all(width > 500 and height > 100 and drawn > 1 for width, height, drawn in sizes)
    assert shown.evaluate(CUT_LABELS) == []
    assert shown.locator("h1").inner_text() == f"{name} <b>&</b>"


def test_the_tables_say_where_flows_waited_and_which_ports_were_paused(opened: Any) -> None:
    shown = opened["incast"]
    flows = shown.locator("#slowest ~ .wide tbody tr").all_inner_texts()
    assert len(flows) == 7
    assert all("switch-0 > host-0" in row for row in flows)
    ports = shown.locator("#ports ~ .wide tbody tr").all_inner_texts()
    assert ports[0].startswith("switch-0 > host-0")
    heads = shown.locator("#ports ~ .wide thead").inner_text()
    assert "Paused" in heads
    assert "Drops" not in heads


def test_text_has_the_contrast_that_wcag_asks_for(opened: Any) -> None:
    contrasts = opened["failure"].evaluate(CONTRASTS)
    assert contrasts[0][0] >= 4.5, contrasts[:5]


def test_nothing_is_wider_than_a_telephone(browser: Any, failure: SimulationResult, tmp_path: Path) -> None:
    shown = browser.new_page(viewport={"width": 420, "height": 900})
    shown.goto(write_simulation(failure, tmp_path, "narrow").as_uri(), wait_until="load")
    shown.wait_for_function("document.querySelector('.plot .main-svg').clientWidth < 420")
    assert shown.evaluate("document.documentElement.scrollWidth") <= 420
    shown.close()
