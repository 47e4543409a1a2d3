"""The report as a person sees it, in Debian's Chromium.

Without playwright or Chromium these tests are skipped, saying so; where CI is set, they fail instead.
"""

import json
import os
import re
import shutil
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.report.conftest import EXPOSED_S, make_facts, make_job, make_result, make_row, make_timeline
from tests.report.test_path import FED

from eastwest import report

A4_PX = 703  # an A4 page less its margins of 12 mm, at 96 pixels an inch
SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
FIGURES = {
    "Step": lambda row: row["step_s"],
    "Step p95": lambda row: row["step_p95_s"],
    "Ideal step": lambda row: row["ideal_step_s"],
    "Communication": lambda row: row["communication_s"],
    "Exposed": lambda row: row["exposed_s"],
    "Exposed p95": lambda row: row["exposed_p95_s"],
    "Against ideal": lambda row: row["closeness"],
    "Network share": lambda row: row["exposed_share"],
    "GPU idle": lambda row: row["gpu_idle_share"],
    "Idle GPUs (USD a day)": lambda row: row["cost"]["idle_cost_per_day"],
    "Busy": lambda row: row["bottleneck"]["utilisation"],
}
"""Of each column of figures: what it shows of a result in results.json."""

READ_TABLE = """() => [...document.querySelector('.comparison').tBodies].map(body => ({
    name: body.rows[0].innerText.trim(),
    rows: [...body.rows].slice(1).map(row => [...row.cells].map(cell => cell.innerText.replaceAll('\\u00a0', ' '))),
}))"""
READ_HEADS = """() => [...document.querySelectorAll('.comparison thead th')]
    .map(th => th.innerText.replaceAll('\\u00ad', '').replaceAll('\\u00a0', ' '))"""

CUT_LABELS = """() => [...document.querySelectorAll('.plot .textpoint text, .plot .ytick text')]
    .filter(text => {
        const [label, plot] = [text, text.closest('.plot')].map(e => e.getBoundingClientRect());
        return label.left < plot.left || label.right > plot.right;
    }).map(text => text.textContent)"""

# WCAG 2.1's contrast ratio of every piece of text against what lies behind it, layers blended; the least comes first.
CONTRASTS = """() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
    const behind = (element) => {
        const page = [255, 255, 255];
        return over(rgba(getComputedStyle(element).backgroundColor),
                    element.parentElement ? behind(element.parentElement) : page);
    };
    const luminance = (colour) => {
        const [r, g, b] = colour.map((v) => v / 255)
            .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const texts = [...document.body.querySelectorAll('*')].filter((element) =>
        !element.closest('svg, script, style, noscript, option') && element.checkVisibility()
        && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));
    return texts.map((element) => {
        const back = behind(element);
        const [light, dark] = [over(rgba(getComputedStyle(element).color), back), back]
            .map(luminance).sort((a, b) => b - a);
        return [(light + 0.05) / (dark + 0.05), element.innerText];
    }).sort((a, b) => a[0] - b[0]);
}"""


def lacking(what):
    reason = f"the report was not looked at in a browser: {what}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        lacking("playwright is missing (pip install playwright)")
    chromium = shutil.which("chromium")
    if chromium is None:
        lacking("Chromium is missing (apt-get install chromium)")
    with sync_playwright() as playwright:
        for attempt in range(5):
            # A loaded machine sometimes kills a browser while it starts; what it shows is never asked twice.
            try:
                started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                break
            except Error:
                if attempt == 4:
                    raise
                time.sleep(1)
        yield started
        started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    written = tmp_path_factory.mktemp("report")
    rows = tuple(replace(row, gpu_idle_share=row.gpu_idle_share + 0.02) for row in make_result().rows)
    report.write_all(make_result(rows=rows), written)
    return written


@pytest.fixture(scope="module")
def opened(browser, folder):
    """The report in a window of 1280 by 900, which tests leave as it is, and all that it asked for or complained of."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.requests, page.complaints = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto((folder / "report.html").as_uri(), wait_until="networkidle")
    yield page
    page.close()


@pytest.fixture
def another(browser):
    """Opens a page of a result in a window of its own, closed after the test."""
    pages = []

    def open_page(path, width=1280, **media):
        page = browser.new_page(viewport={"width": width, "height": 900}, **media)
        pages.append(page)
        page.goto(path.as_uri(), wait_until="load")
        return page

    yield open_page
    for page in pages:
        page.close()


def shown(text):
    """A figure as written, in seconds or shares where it has a unit, and half a unit of its last digit."""
    number, _, unit = text.partition(" ")
    size = 0.01 if unit == "%" else SECONDS.get(unit, 1.0)
    digits = number.replace(",", "")
    return float(digits) * size, 0.5 * 10.0 ** -len(digits.partition(".")[2]) * size


def test_it_asks_for_nothing_and_complains_of_nothing(opened, folder):
    assert opened.requests == [(folder / "report.html").as_uri()]
    assert opened.complaints == []


def test_the_answer_can_be_seen_without_scrolling(opened):
    box = opened.locator(".answer").bounding_box()
    assert box["y"] + box["height"] < 300
    assert "b200-800g (cluster b200) is the fastest of 9 fabrics" in opened.locator(".answer").inner_text()


def test_every_figure_of_the_comparison_is_that_of_the_results(opened, folder):
    results = json.loads((folder / "results.json").read_text())["results"]
    found = {(row["fabric"], f"{row['workload']}, {row['placement']}"): row for row in results}
    heads = opened.evaluate(READ_HEADS)
    assert set(FIGURES) < set(heads)
    seen = 0
    for case in opened.evaluate(READ_TABLE):
        for cells in case["rows"]:
            row = found[cells[0].split()[0], case["name"]]
            assert row["bottleneck"]["where"] == re.sub(r" \[\d+\]$", "", cells[heads.index("What limits it")])
            for head, text in zip(heads, cells, strict=True):
                if head in FIGURES and text:
                    value, error = shown(text)
                    # Money has three significant digits, whatever it is written with.
                    error = max(error, 0.005 * value) if "USD" in head else error
                    assert FIGURES[head](row) == pytest.approx(value, abs=error * 1.001), (head, cells)
                    seen += 1
                elif head in FIGURES:
                    assert "p95" in head
                    _, error = shown(cells[heads.index(head.removesuffix(" p95"))])
                    assert FIGURES[head](row) == pytest.approx(FIGURES[head.removesuffix(" p95")](row), abs=2 * error)
    assert seen > len(results) * 9


def test_each_number_of_a_reason_leads_to_its_sentence(opened, folder):
    results = json.loads((folder / "results.json").read_text())["results"]
    links = opened.eval_on_selector_all(
        ".limit a", "all => all.map(a => document.querySelector(a.getAttribute('href')).innerText)"
    )
    assert len(links) == len(results)
    for row in results:
        assert any(row["bottleneck"]["why"] in text for text in links)


@pytest.mark.parametrize(("head", "convert"), [("Step", lambda text: shown(text)[0]), ("What limits it", str.casefold)])
def test_a_columns_head_sorts_every_case_one_way_and_then_the_other(another, folder, head, convert):
    page = another(folder / "report.html")
    column = page.evaluate(READ_HEADS).index(head)
    for descending in (False, True):
        page.get_by_role("button", name=f"Sort by {head}", exact=True).click()
        cases = page.evaluate(READ_TABLE)
        assert [case["name"] for case in cases][:2] == ["customer, packed", "customer, scattered"]
        for case in cases:
            keys = [convert(row[column].split("[")[0]) for row in case["rows"]]
            assert len(keys) == len(EXPOSED_S)
            assert keys == sorted(keys, reverse=descending)


def test_bars_are_as_long_as_steps(opened, folder):
    results = json.loads((folder / "results.json").read_text())["results"]
    widths = opened.locator(".plot").first.evaluate(
        "plot => [...plot.querySelectorAll('.trace.bars')].map(trace =>"
        " [...trace.querySelectorAll('path')].map(path => path.getBBox().width))"
    )
    bars = [sum(parts) for parts in zip(*widths, strict=True)]
    steps = [row["step_s"] for row in results if (row["workload"], row["placement"]) == ("customer", "packed")]
    assert bars == pytest.approx([step * bars[0] / steps[0] for step in steps], rel=0.01)
    assert bars[0] > 100


def test_every_plot_and_drawing_is_drawn_at_a_size_to_read(opened):
    boxes = opened.eval_on_selector_all(
        ".plot .main-svg:first-of-type, .fabric svg",
        "all => all.map(svg => [svg.clientWidth, svg.clientHeight, svg.querySelectorAll('path').length])",
    )
    assert len(boxes) == 4 + 1 + 9
    assert all(width > 500 and height > 150 and paths > 1 for width, height, paths in boxes)


def test_labels_of_a_plot_are_whole_and_do_not_run_into_each_other(opened):
    assert opened.evaluate(CUT_LABELS) == []
    for number in range(5):
        tops = (
            opened.locator(".plot")
            .nth(number)
            .evaluate(
                "plot => [...plot.querySelectorAll('.ytick text')].map(text => text.getBoundingClientRect())"
                ".map(box => [box.top, box.bottom])"
            )
        )
        assert len(tops) == len(EXPOSED_S)
        assert all(above[1] <= below[0] for above, below in pairwise(sorted(tops)))


def test_choosing_a_case_colours_and_labels_the_cables_by_it(another, folder):
    page = another(folder / "report.html")
    results = json.loads((folder / "results.json").read_text())["results"]
    page.get_by_label("Case that colours the cables").select_option("moe, packed")
    row = next(row for row in results if (row["fabric"], row["workload"]) == ("roce-400g", "moe"))
    load = next(load for load in row["tiers"] if load["tier"] == "leaf-spine")
    label = page.locator(".fabric").first.locator(".band").first.locator(".now").text_content().replace("\u00a0", " ")
    assert label == f"mean {load['mean']:.0%}, busiest {load['max']:.0%}".replace("%", " %")
    assert page.locator(".fabric").first.locator(".band").first.get_attribute("class") == "band heat-5"


def test_hostile_names_are_text(another, tmp_path):
    fabric, workload = "<script>alert(1)</script>", "the \"big\" 'one' & <b>bold</b>"
    rows = (
        make_row("roce-400g", 0, fabric=fabric, workload=workload),
        make_row("ib-400g", 0, fabric="<b>ib</b>", workload=workload),
    )
    facts = (replace(make_facts("roce-400g"), name=fabric), make_facts("ib-400g"))
    report.write_html(make_result(study=fabric, rows=rows, fabrics=facts), tmp_path / "hostile.html")
    page = another(tmp_path / "hostile.html")
    # An alert would hold the page up, and this with it.
    assert page.title() == f"{fabric}: networks compared"
    assert fabric in page.locator("h1").inner_text()
    for selector in (".comparison", ".fabric figcaption", ".load"):
        assert fabric in page.locator(selector).first.inner_text()
    for selector in (".comparison .case", ".charts figcaption", ".load caption"):
        assert workload in page.locator(selector).first.inner_text()
    ticks = page.locator(".plot").first.locator(".ytick").all_text_contents()
    assert {tick.strip() for tick in ticks} == {fabric, "<b>ib</b>"}
    assert page.locator("b", has_text="bold").count() == 0


def test_nothing_is_wider_than_a_telephone(another, folder):
    page = another(folder / "report.html", width=420)
    page.wait_for_function("document.querySelector('.plot .main-svg').clientWidth < 420")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    wide = page.evaluate(
        "[...document.body.querySelectorAll('*')].filter(e => !e.closest('.wide > *')"
        " && e.getBoundingClientRect().right > 420).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []
    assert page.evaluate(CUT_LABELS) == []


@pytest.mark.parametrize("width", [1280, 420])
def test_the_path_of_the_data_has_room(another, tmp_path, width):
    rows = tuple(make_row(fabric, 0, data_path=FED) for fabric in EXPOSED_S)
    report.write_html(make_result(rows=rows), tmp_path / "fed.html")
    page = another(tmp_path / "fed.html", width=width)
    page.wait_for_function("document.querySelectorAll('[aria-labelledby=path] .main-svg').length > 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_LABELS) == []
    cut = page.evaluate(
        "[...document.querySelectorAll('[aria-labelledby=path] :is(.bartext, .legendtext)')].filter(text => {"
        " const [label, plot] = [text, text.closest('.plot')].map(e => e.getBoundingClientRect());"
        " return label.right > plot.right || label.top < plot.top; }).map(text => text.textContent)"
    )
    assert cut == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(another, folder, scheme):
    page = another(folder / "report.html", color_scheme=scheme)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 500
    assert contrasts[0][0] >= 4.5, contrasts[:5]
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_on_paper_the_whole_table_and_every_plot_have_room(another, folder):
    page = another(folder / "report.html", width=A4_PX)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(READ_TABLE)[-1]["rows"][-1][0].startswith("ib-400g")
    cut = page.evaluate(
        "width => [...document.querySelectorAll('td, th, .plot .main-svg, .fabric svg')]"
        ".filter(e => e.getBoundingClientRect().right > width || e.getBoundingClientRect().left < 0)"
        ".map(e => e.outerHTML.slice(0, 80))",
        A4_PX,
    )
    assert cut == []
    assert page.evaluate(CUT_LABELS) == []
    clipping = page.eval_on_selector_all(".wide", "all => all.map(e => getComputedStyle(e).overflow)")
    assert set(clipping) == {"visible"}


def test_heads_of_columns_are_repeated_on_every_page(opened):
    # Chromium repeats a table's head on each page, but no button in it.
    heads = opened.eval_on_selector_all(
        ".comparison thead th", "all => all.map(th => [th.firstChild.data, th.querySelector('button').textContent])"
    )
    assert all(text.strip() and not inside for text, inside in heads)


def test_dark_schemes_are_printed_black_on_white(another, folder):
    page = another(folder / "report.html", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".comparison td").first.evaluate("e => getComputedStyle(e).color") == "rgb(0, 0, 0)"
    assert page.locator(".plot .ytick text").first.evaluate("e => getComputedStyle(e).fill") == "rgb(0, 0, 0)"


def test_a_step_s_gantt_chart_and_the_jobs_of_a_mix_are_drawn(another, tmp_path):
    """Three ranks, their queues and the loads below; times of bars are those of the timeline."""
    written = report.write_all(make_result(timelines=(make_timeline(),), jobs=(make_job(),)), tmp_path)
    page = another(written)
    chart = page.locator(".gantt .plot")
    rows = chart.evaluate(
        "plot => [...plot.querySelectorAll('.ytick text')]"
        ".sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)"
        ".map(text => text.textContent.trim())"
    )
    assert rows == [f"rank {rank}: {lane}" for rank in (0, 8, 9) for lane in ("compute", "collectives")]
    widths = chart.evaluate(
        "plot => [...plot.querySelectorAll('.trace.bars path')].map(path => path.getBBox().width).sort((a, b) => a - b)"
    )
    assert widths[-1] == pytest.approx(3 * widths[0], rel=0.02)
    assert chart.locator(".scatterlayer .trace").count() == 1
    cells = [text.replace("\u00a0", " ") for text in page.locator(".jobs tbody tr td").all_text_contents()]
    assert cells[-4:-1] == ["0.200 s", "0.100 s", "2.00x"]
    assert page.evaluate(CUT_LABELS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
