from dataclasses import replace

import pytest
from tests.report.conftest import CASES, EXPOSED_S, make_result, make_row

from eastwest.report.answer import answer, slowdowns
from eastwest.report.cases import cases_of, told_apart


def text_of(result):
    return " ".join(answer(result)).replace("\N{NO-BREAK SPACE}", " ")


def test_the_first_sentence_names_the_best_and_the_worst(result):
    first, _ = answer(result)
    assert first.startswith("b200-800g (cluster b200) is the fastest of 9")
    assert "roce-100g, the slowest" in first


def test_the_saving_is_the_geometric_mean_over_cases():
    rows = (
        make_row("roce-400g", 0, step_s=1.0),
        make_row("roce-100g", 0, step_s=2.0),
        make_row("roce-400g", 1, step_s=1.0),
        make_row("roce-100g", 1, step_s=8.0),
    )
    # sqrt(2 * 8) = 4 times as long: three quarters less.
    result = make_result(rows=rows)
    assert slowdowns(result) == pytest.approx({"roce-400g": 1.0, "roce-100g": 4.0})
    assert "takes 75 % less time than on roce-100g" in text_of(result)


def test_the_second_sentence_says_what_limits_and_how_long_gpus_wait():
    rows = (make_row("roce-400g", 1, gpu_idle_share=0.25), make_row("roce-800g", 1, gpu_idle_share=0.1))
    text = text_of(make_result(rows=rows))
    assert "On roce-800g GPUs are idle 10 % of the time, held back by PCIe Gen5 to the NIC (99 % busy)" in text
    assert "on roce-400g GPUs are idle 25 % of the time, held back by leaf to spine links (96 % busy)" in text


def test_fabrics_that_tie_are_named_together():
    rows = tuple(make_row(name, 0) for name in ("roce-400g", "ib-400g", "roce-100g"))
    assert "2 fabrics (roce-400g and ib-400g) are the fastest of 3" in text_of(make_result(rows=rows))


def test_no_winner_is_named_where_all_tie():
    rows = tuple(make_row(name, 0) for name in ("roce-400g", "ib-400g"))
    assert "All 2 fabrics give the same training step, 2.00 s." in text_of(make_result(rows=rows))


def test_one_fabric_is_described_and_not_compared():
    text = text_of(make_result(rows=(make_row("roce-400g", 0),)))
    assert "On roce-400g a step of customer, packed, takes 2.00 s, of which the network is 20 %." in text


def test_an_empty_study_has_an_answer_too():
    assert text_of(make_result(rows=())).startswith("The study ran nothing.")


def test_none_is_the_fastest_where_all_tie():
    rows = tuple(make_row(name, 0) for name in ("roce-400g", "ib-400g"))
    (case,) = cases_of(make_result(rows=rows))
    assert not any(case.is_fastest(row) for row in rows)


def test_cases_keep_the_order_of_the_study(result):
    cases = cases_of(result)
    assert [(case.workload, case.placement) for case in cases] == CASES
    assert [row.fabric for row in cases[0].rows] == list(EXPOSED_S)


def test_a_fabric_tried_on_two_clusters_is_two_candidates():
    row = make_row("roce-400g", 0)
    result = told_apart(make_result(rows=(row, replace(row, cluster="b200"), make_row("ib-400g", 0))))
    assert [row.fabric for row in result.rows] == ["roce-400g (h100)", "roce-400g (b200)", "ib-400g"]
    assert result.fabrics[0].name == "roce-400g (h100)"
