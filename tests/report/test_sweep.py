"""A sweep in the terminal and on the page: what varies stands first, what does not is said once."""

import io
import json
from dataclasses import replace

from rich.console import Console

from eastwest import report
from eastwest.report.curves import lines
from eastwest.report.sweep import MOST_ROWS, told_in_full
from eastwest.spec import parameter
from eastwest.study.result import StudyResult


def swept(result: StudyResult, *chosen: dict[str, object], of: str = "fabric") -> StudyResult:
    """The first row again with each of these values chosen, a second slower each time."""
    (row, *_) = result.rows
    rows = tuple(
        replace(
            row,
            step_s=row.step_s + number,
            parameters=tuple(parameter(name, of, written) for name, written in values.items()),
        )
        for number, values in enumerate(chosen)
    )
    return replace(result, rows=rows, fabrics=())


def printed(result: StudyResult, width: int = 100) -> list[str]:
    console = Console(width=width, file=io.StringIO(), legacy_windows=False)
    console.print(report.table(result))
    return [line.replace("\N{NO-BREAK SPACE}", " ").rstrip() for line in console.file.getvalue().splitlines()]


def test_what_varies_is_a_column_and_what_does_not_is_said_once(result):
    told = printed(swept(result, {"link": "200 Gb/s", "qps": 4}, {"link": "400 Gb/s", "qps": 4}))
    assert told[0] == "Everywhere: qps 4."
    assert told[3].split()[:2] == ["link", "step"]
    assert [line[:8] for line in told[4:6]] == ["200 Gb/s", "400 Gb/s"]


def test_a_narrow_terminal_breaks_no_figure(result):
    told = printed(swept(result, {"gradients.bytes": "1 MB"}, {"gradients.bytes": "2 MB"}), width=60)
    assert max(map(len, told)) <= 60
    assert any("1 MB" in line and "s" in line for line in told)


def test_a_long_sweep_is_cut_and_says_so(result):
    told = printed(swept(result, *({"qps": number} for number in range(1, MOST_ROWS + 11))))
    assert any(line.startswith("... and 10 more") for line in told)


def test_one_number_that_varies_is_drawn_as_lines(result):
    (chart,) = lines(swept(result, {"bytes": "1 kB"}, {"bytes": "1 MB"}, {"bytes": "1 GB"}, of="workload"))
    figure = json.loads(chart.figure)
    step, communication = figure["data"]
    assert step["x"] == communication["x"] == [1e3, 1e6, 1e9]
    assert [later - earlier for earlier, later in zip(step["y"], step["y"][1:], strict=False)] == [1.0, 1.0]
    assert figure["layout"]["xaxis"]["type"] == "log"
    assert figure["layout"]["xaxis"]["ticktext"] == ["1 kB", "1 MB", "1 GB"]


def test_words_and_several_numbers_are_not(result):
    assert lines(swept(result, {"balancing": "ecmp"}, {"balancing": "spray"})) == []
    assert lines(swept(result, {"qps": 1, "link": "200 Gb/s"}, {"qps": 2, "link": "400 Gb/s"})) == []
    assert lines(result) == []


def test_names_on_the_page_say_what_was_chosen(result):
    rows = told_in_full(swept(result, {"link": "200 Gb/s"}, {"link": "400 Gb/s"})).rows
    assert [row.fabric for row in rows] == [f"{result.rows[0].fabric}, link {rate} Gb/s" for rate in (200, 400)]
    assert told_in_full(result) is result


def test_hostile_names_cannot_leave_the_figure(result):
    evil = swept(result, {"</script>": 1}, {"</script>": 2})
    assert "</script>" not in lines(evil)[0].figure
