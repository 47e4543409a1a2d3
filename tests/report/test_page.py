import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest
from tests.report.conftest import EXPOSED_S, make_facts, make_result, make_row, three_tier_sketch

from eastwest import report

HOSTILE = "</script><script>alert('x')</script> & \"<b>\""


class Reader(HTMLParser):
    """Text and tags of a page, without what stands in scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.data, self._open = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open.append(dict(attrs).get("type") or tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._open.pop()

    def handle_data(self, data):
        if not self._open:
            self.text.append(data)
        elif self._open[-1] == "application/json":
            self.data.append(json.loads(data))


@pytest.fixture(scope="module")
def page():
    return report.html(make_result())


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


def test_nothing_on_the_page_points_elsewhere(read):
    for tag, attrs in read.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert not {"src", "srcset", "action"} & attrs.keys()
        assert attrs.get("href", "#").startswith("#")


def test_the_browser_is_told_to_ask_for_nothing(read):
    policy = next(attrs["content"] for _, attrs in read.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_plotly_is_embedded_once(page):
    assert len(re.findall(r"plotly\.js v\d", page)) == 1


def test_it_shows_the_answer_every_fabric_and_every_case(read, result):
    text = " ".join("".join(read.text).split())
    assert "is the fastest of 9" in text
    for word in [*EXPOSED_S, *result.notes, *result.warnings, "moe, scattered", "go-back-N"]:
        assert word in text


def test_every_figure_is_one_that_plotly_accepts(read):
    assert len(read.data) == 5
    for figure in read.data:
        go.Figure(figure)


def test_the_parts_of_a_bar_add_up_to_the_step():
    row = make_row("roce-400g", 1, step_s=2.5, compute_s=1.6, overlapped_s=0.3, exposed_s=0.6)
    chart = Reader(report.html(make_result(rows=(row,)))).data[0]
    bars = {trace["name"]: trace["x"][0] for trace in chart["data"] if trace["type"] == "bar"}
    assert bars == pytest.approx(
        {
            "compute": 1.3,
            "overlapped communication": 0.3,
            "exposed communication": 0.6,
            "waiting for others": 0.3,
        }
    )


def test_every_picture_is_told_in_words(read):
    pictures = [attrs for tag, attrs in read.tags if tag == "svg" or attrs.get("class") == "plot"]
    assert len(pictures) == 9 + 5
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in pictures)


def test_hostile_names_stay_text():
    row = make_row(
        "roce-400g",
        0,
        fabric=HOSTILE,
        workload=HOSTILE,
        placement=HOSTILE,
        bottleneck=replace(make_row("ib-400g", 0).bottleneck, why=HOSTILE),
    )
    facts = replace(make_facts("roce-400g"), name=HOSTILE)
    sketch = facts.sketch | {"boxes": [box | {"name": HOSTILE} for box in facts.sketch["boxes"]]}
    hostile = make_result(
        study=HOSTILE,
        rows=(row, make_row("ib-400g", 0)),
        fabrics=(replace(facts, sketch=sketch),),
        warnings=(HOSTILE,),
        notes=(HOSTILE,),
        sources=(HOSTILE,),
    )
    harmless = Reader(report.html(replace(hostile, study="x")))
    read = Reader(report.html(hostile))
    assert "alert('x')" in "".join(read.text)
    assert sum(tag == "script" for tag, _ in read.tags) == sum(tag == "script" for tag, _ in harmless.tags) == 2 + 3
    labels = [label for figure in read.data for trace in figure["data"] for label in trace["y"]]
    assert not [label for label in labels if "<" in label]


def test_a_fabric_of_thousands_of_switches_stays_small():
    facts = replace(make_facts("roce-400g"), sketch=three_tier_sketch())
    page = report.html(make_result(fabrics=(facts,)))
    drawing = page[page.index("<svg viewBox") : page.index("</svg>")]
    assert len(drawing) < 20_000
    assert "… 56 more" in drawing


def test_a_study_without_rows_or_price_or_sketch_is_a_page_too():
    assert "The study ran nothing." in report.html(make_result(rows=(), fabrics=()))
    row = make_row("roce-400g", 0)
    free = replace(row, cost=replace(row.cost, idle_cost_per_day=None))
    assert "Idle GPU-hours a day" in report.html(make_result(rows=(free,), fabrics=()))


def test_all_three_files_are_written_and_nothing_else(tmp_path, result):
    folder = tmp_path / "made" / "here"
    assert report.write_all(result, folder) == folder / "report.html"
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "results.json", "results.parquet"]
    assert json.loads((folder / "results.json").read_text()) == json.loads(json.dumps(report.to_json(result)))
