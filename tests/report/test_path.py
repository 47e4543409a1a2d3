"""The path of the data as people read it: in the terminal, in sentences, and on the page."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console
from tests.report.conftest import make_result, make_row

from eastwest import report
from eastwest.report import path
from eastwest.study.pace import sentences
from eastwest.study.stages import Checkpoints, DataPath, GpuHours, Stage

FED = DataPath(
    pace_s=2.0,
    steps_a_day=38880.0,
    limited_by="storage",
    behind="compute",
    behind_share=0.5,
    stages=(Stage("storage", 2.0, 1.0), Stage("preprocessing", 0.5, 0.25), Stage("step", 1.0, 0.5)),
    where="storage NIC ports, storage to access",
    why="the ports of the storage servers are full: more servers or ports would help",
    gpu_hours_a_month=GpuHours(400.0, 0.0, 50.0, 450.0, 20.0, 30.0, 50.0),
    checkpoints=Checkpoints(1200.0, 600.0, 1e9, 30.0, 31.0, 1.0, 7200.0, 365.0, 640.0, 40.0, 0.9),
)


@pytest.fixture
def result():
    return make_result(rows=(replace(make_row("roce-400g", 0), data_path=FED), make_row("ib-400g", 0)))


def shown(result) -> str:
    out = io.StringIO()
    Console(file=out, width=120).print(report.table(result))
    return out.getvalue().replace("\N{NO-BREAK SPACE}", " ")


def test_the_terminal_shows_pace_limit_and_how_busy_stages_are(result):
    line = next(line for line in shown(result).splitlines() if "storage" in line and "2 s" in line)
    assert [word for word in ("2 s", "storage", "100 %", "25 %", "50 %", "90.0 %", "20 min") if word not in line] == []


def test_what_would_mend_it_is_said_with_what_would_then_set_the_pace(result):
    told = sentences(result.rows)
    assert "2 times what compute would allow (1 s)" in told[0]
    assert "more servers or ports would help" in told[0]


def test_goodput_is_told_with_what_costs_most(result):
    assert "goodput is 90.0 %" in sentences(result.rows)[1]
    assert "restarts cost most, 50 GPU-hours a month" in sentences(result.rows)[1]


def test_the_answer_says_that_steps_wait_for_data(result):
    told = path.fed(result).replace("\N{NO-BREAK SPACE}", " ")
    assert told == "Steps wait for their data, held back by storage, up to 45 % of all time."
    assert result.rows[0].held_by == "storage"


def test_each_stage_has_a_bar(result):
    figure = json.loads(path.stages_chart(result).figure)
    assert figure["data"][0]["y"] == ["storage", "preprocessing", "step"]
    assert figure["data"][0]["x"] == [2.0, 0.5, 1.0]


def test_the_bars_of_a_month_add_up_to_it(result):
    figure = json.loads(path.hours_chart(result).figure)
    assert sum(each["x"][0] for each in figure["data"]) == pytest.approx(100.0)


def test_the_page_has_the_section_only_where_there_is_a_path(result):
    assert '<h2 id="path">' in report.html(result)
    assert '<h2 id="path">' not in report.html(make_result())


def test_a_result_without_a_path_has_no_table_of_it():
    assert "how busy each stage is" not in shown(make_result())


def test_a_job_of_which_only_checkpoints_are_told_has_no_bars_of_stages(result):
    saved = replace(FED, stages=(Stage("step", 2.0, 1.0),))
    only = make_result(rows=(replace(result.rows[0], data_path=saved),))
    assert path.stages_chart(only) is None
    assert path.hours_chart(only) is not None
