"""A step's Gantt chart: rows, bars where the timeline has slices, loads below."""

import json
from dataclasses import replace
from typing import Any

import pytest

from eastwest.report.gantt import MOST_DRAWN, gantts
from eastwest.study.timeline import Lane, Load, Slice, Timeline, Track

MS = 10**9  # picoseconds


def timeline(tracks: int = 1) -> Timeline:
    lanes = (
        Lane("compute", (Slice("forward", "compute", 0, 30 * MS),)),
        Lane(
            "collectives",
            (
                Slice("sync", "communication", 20 * MS, 100 * MS),
                Slice("waits for rank 7", "waiting", 20 * MS, 40 * MS),
                Slice("transfer", "transfer", 40 * MS, 100 * MS),
            ),
        ),
    )
    loads = (Load("nic-leaf", (0.0, 0.5), (0.0, 1.0)), Load("leaf-spine", (0.0, 0.0), (0.0, 0.0)))
    shown = tuple(Track(f"rank {number}", 4, number == 0, lanes) for number in range(tracks))
    return Timeline("job, packed", 100 * MS, 0, 1, 4 * tracks, tracks, shown, 50 * MS, loads)


def figure(of: Timeline) -> Any:
    return json.loads(gantts([of])[0].chart.figure)


def test_bars_stand_where_slices_do() -> None:
    traces = {trace["name"]: trace for trace in figure(timeline())["data"]}
    bars = {
        name: (trace["y"], trace["base"], trace["x"], trace["text"])
        for name, trace in traces.items()
        if trace["type"] == "bar"
    }
    assert bars == {
        "compute": (["compute"], [0.0], [pytest.approx(0.03)], ["forward"]),
        "communication": (["collectives"], [pytest.approx(0.04)], [pytest.approx(0.06)], ["sync"]),
        "waiting for others": (["collectives"], [pytest.approx(0.02)], [pytest.approx(0.02)], [""]),
    }


def test_loads_are_steps_in_per_cent_of_tiers_that_carry_anything() -> None:
    lines = [trace for trace in figure(timeline())["data"] if trace["type"] == "scatter"]
    assert [(line["name"], line["x"], line["y"]) for line in lines] == [
        ("nic-leaf", [0.0, pytest.approx(0.05), pytest.approx(0.1)], [0.0, 100.0, 100.0])
    ]


def test_rows_name_their_rank_where_several_are_drawn_and_no_more_than_four_are() -> None:
    assert figure(timeline())["layout"]["yaxis"]["categoryarray"] == ["compute", "collectives"]
    drawn = gantts([timeline(6)])[0]
    rows = json.loads(drawn.chart.figure)["layout"]["yaxis"]["categoryarray"]
    assert rows == [f"rank {number}: {lane}" for number in range(4) for lane in ("compute", "collectives")]
    assert "rank 3, one of 4 alike" in drawn.shown
    assert "rank 4" not in drawn.shown


def test_jobs_and_steps_are_left_out_of_the_words_on_bars() -> None:
    lane = Lane("moe/compute", (Slice("moe/3/experts", "compute", 0, MS),))
    of_mix = replace(timeline(), tracks=(Track("moe rank 0", 1, False, (lane,)),))
    (bars, _) = figure(of_mix)["data"]
    assert (bars["y"], bars["text"], bars["customdata"][0][0]) == (["compute"], ["experts"], "moe/3/experts")


def test_hostile_names_stay_text() -> None:
    lane = Lane("compute", (Slice("</script><b>", "compute", 0, MS),))
    chart = gantts([replace(timeline(), tracks=(Track("rank 0", 1, False, (lane,)),))])[0].chart
    assert "<" not in chart.figure
    assert "&lt;b&gt;" in json.loads(chart.figure)["data"][0]["text"][0]


def test_of_many_cases_the_first_are_drawn() -> None:
    assert len(gantts([timeline()] * (MOST_DRAWN + 3))) == MOST_DRAWN
