import io
from dataclasses import replace

import pytest
from rich.console import Console
from tests.report.conftest import EXPOSED_S, make_result, make_row, make_summary

from eastwest import report


def printed(renderable, width=100):
    out = io.StringIO()
    Console(file=out, width=width).print(renderable)
    return out.getvalue().replace("\N{NO-BREAK SPACE}", " ")


def line_of(text, fabric):
    return next(line for line in text.splitlines() if fabric in line.split())


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_fits_the_terminal_and_breaks_no_word(result, width):
    text = printed(report.table(result), width)
    assert max(len(line) for line in text.splitlines()) <= width
    for word in [*EXPOSED_S, "bottleneck", "exposed"]:
        assert word in text


@pytest.mark.parametrize("width", [80, 100, 140])
def test_each_result_is_one_line(result, width):
    lines = printed(report.table(result), width).splitlines()
    table = lines[: next(number for number, line in enumerate(lines) if line.startswith(" [1]"))]
    # 9 fabrics below a name and two lines of heads, then a blank line; four times.
    assert len(table) == 4 * (9 + 4)


def test_figures_are_left_out_and_never_cut_where_there_is_no_room(result):
    for width in range(58, 80):
        first = line_of(printed(report.table(result), width), "roce-400g").split()
        assert {"2.00", "0.40", "20", "12,300"} <= set(first)


def test_each_reason_is_told_once_and_its_number_in_every_row(result):
    text = " ".join(printed(report.table(result)).split())
    assert text.count("Every NIC sends the gradients of its rail at line rate") == 1
    # 8 of 9 fabrics where ranks are packed, and the sprayed one in the other three cases; then the list's own.
    assert text.count("[1]") == 8 + 3 + 1


def test_workloads_far_apart_have_units_of_their_own():
    short = {"step_s": 0.0093, "exposed_s": 0.0023, "exposed_p95_s": 0.0023, "workload": "experts"}
    text = printed(report.table(make_result(rows=(make_row("roce-400g", 0), make_row("ib-400g", 0, **short)))))
    assert line_of(text, "roce-400g").split()[1] == "2.00"
    assert line_of(text, "ib-400g").split()[1:3] == ["9.30", "2.30"]
    assert [line.split()[:2] for line in text.splitlines() if line.lstrip().startswith("fabric")] == [
        ["fabric", "s"],
        ["fabric", "ms"],
    ]


def test_the_answer_stands_last(result):
    text = " ".join(printed(report.table(result)).split())
    assert text.endswith("held back by leaf to spine links.")
    assert "b200-800g (cluster b200) is the fastest of 9 fabrics" in text


def test_every_case_is_a_group_with_all_its_fabrics(result):
    text = printed(report.table(result))
    groups = [line for line in text.splitlines() if line in {"customer, packed", "moe, scattered"}]
    assert groups == ["customer, packed", "moe, scattered"]
    assert all(sum(fabric in line.split() for line in text.splitlines()) >= 4 for fabric in EXPOSED_S)


def test_the_fastest_of_a_group_is_marked_and_no_other(result):
    marked = [line for line in printed(report.table(result)).splitlines() if line.startswith("▸  ")]
    assert [line.split()[1] for line in marked] == ["b200-800g"] * 4


def test_p95_is_shown_where_it_differs_and_only_there():
    rows = (make_row("roce-400g", 0), make_row("roce-400g-4to1", 0))
    text = printed(report.table(make_result(rows=rows)))
    assert "0.420" in line_of(text, "roce-400g-4to1").split()
    assert line_of(text, "roce-400g").split().count("0.400") == 1


def test_hours_stand_where_the_study_names_no_price():
    row = make_row("roce-400g", 0)
    free = replace(row, cost=replace(row.cost, idle_cost_per_day=None))
    text = printed(report.table(make_result(rows=(free,))))
    assert "idle h" in text
    # 1,024 GPUs, 24 hours, a fifth of the step: 4,915 hours.
    assert line_of(text, "roce-400g").split()[-1] == "4,920"


def test_warnings_notes_and_what_is_left_out_stand_below(result):
    text = " ".join(printed(report.table(result), 140).split())
    assert all(warning in text for warning in result.warnings)
    assert all(note in text for note in result.notes)
    assert "Fluid leaves out queues" in text


def test_a_name_that_looks_like_markup_is_a_name(result):
    text = printed(report.table(make_result(rows=(make_row("roce-400g", 0, fabric="[red]x[/red]"),))))
    assert "[red]x[/red]" in text


def test_a_study_without_rows_prints_its_warnings():
    assert "go-back-N" in printed(report.table(make_result(rows=())))


def test_a_fabric_is_listed_by_tier_and_pair_of_tiers():
    text = printed(report.fabric_table(make_summary("roce-400g-4to1", spines=4)))
    assert line_of(text, "leaf").split() == ["leaf", "32", "2,048", "1,280", "768"]
    assert "core" not in text
    assert "leaf to spine      256" in text
    assert "As built: oversubscribed 4:1 at the leaf." in text


def test_domains_larger_than_a_server_and_planes_are_told_where_there_are_any():
    plain = make_summary("roce-400g-4to1", spines=4)
    assert "1,024 NICs" in printed(report.fabric_table(plain))
    assert "plane" not in printed(report.fabric_table(plain))
    racks = {**plain, "nvlink_domains": 8, "planes": 2}
    assert "1,024 NICs, 8 NVLink domains, 2 planes" in printed(report.fabric_table(racks))
