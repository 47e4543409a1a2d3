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
    assert "GPUs on roce-800g are idle 10 % of the time, held back by PCIe Gen5 to the NIC." in text
    assert "GPUs on roce-400g are idle 25 % of the time, held back by leaf to spine links." in text


def test_of_several_cases_the_one_where_gpus_wait_longest_is_named():
    shares = (0.1, 0.4, 0.1, 0.2)
    rows = tuple(make_row("roce-400g", case, gpu_idle_share=share) for case, share in enumerate(shares))
    text = text_of(make_result(rows=rows))
    assert "idle 20 % of the time; most in customer scattered (40 %), held back by leaf to spine links." in text


def test_the_first_fabric_is_compared_too_where_it_is_neither_best_nor_worst():
    rows = tuple(make_row(name, 0) for name in ("roce-200g", "roce-100g", "roce-400g"))
    # 2.0 s against 2.4 s, and against 3.2 s.
    text = text_of(make_result(rows=rows))
    assert "38 % less time than on roce-100g, the slowest, and 17 % less than on roce-200g, the first listed." in text


def test_the_fastest_on_the_first_servers_is_named_where_the_fastest_has_others(result):
    assert "On cluster h100 the fastest is roce-800g." in text_of(result)
    alone = tuple(make_row(name, 0) for name in ("roce-400g", "b200-800g"))
    assert "On cluster" not in text_of(make_result(rows=alone))


def test_fabrics_that_tie_are_named_together():
    rows = tuple(make_row(name, 0) for name in ("roce-400g", "ib-400g", "roce-100g"))
    assert "roce-400g and ib-400g are the fastest of 3 fabrics" in text_of(make_result(rows=rows))


def test_no_winner_is_named_where_all_tie():
    rows = tuple(make_row(name, 0) for name in ("roce-400g", "ib-400g"))
    assert "Both fabrics give the same training step, 2.00 s." in text_of(make_result(rows=rows))


def test_one_fabric_is_described_and_not_compared():
    text = text_of(make_result(rows=(make_row("roce-400g", 0),)))
    assert text.startswith("On roce-400g a training step takes 2.00 s, of which the network is 20 %. GPUs are idle")


def test_of_one_fabric_with_several_cases_the_hardest_is_told():
    text = text_of(make_result(rows=tuple(make_row("roce-400g", case) for case in range(4))))
    # Exposed 0.40 s of 2.00, and 0.71 s of 2.31.
    assert "takes 20 % to 31 % of a training step; most in moe scattered, where it is 0.71 s of 2.31 s." in text


@pytest.mark.parametrize(
    ("fabrics", "first"),
    [
        (["roce-400g"], "On roce-400g a training step takes 1.60 s, all of it compute."),
        (["roce-400g", "ib-400g"], "Both fabrics give the same training step, 1.60 s."),
        (["roce-400g", "ib-400g", "roce-100g"], "All 3 fabrics give the same training step, 1.60 s."),
    ],
)
def test_where_nothing_is_exposed_no_network_is_blamed(fabrics, first):
    silent = {"step_s": 1.6, "exposed_s": 0.0, "exposed_p95_s": 0.0, "exposed_share": 0.0, "gpu_idle_share": 0.0}
    text = text_of(make_result(rows=tuple(make_row(name, 0, **silent) for name in fabrics)))
    assert text == f"{first} GPUs never wait for the network: a faster one would not shorten the step."


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
