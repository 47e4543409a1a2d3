"""Tables of training jobs: how rows are read, and how far off public ones are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eastwest.document import MistakesError
from eastwest.validation import bundled, own
from eastwest.validation.points import Point, median_error
from eastwest.validation.tables import Table
from eastwest.validation.training import points
from eastwest.workload.training import Training, preset
from eastwest.workload.training.arithmetic import hardware_flops, step_flops

HEAD = """\
# subject: training
# cluster: { server: hgx-h100 }
# fabric: { shape: single-switch, technology: infiniband, link: 400 Gb/s, switch: qm9700 }
# training:
#   model: llama3-8b
#   sequence: 4096
#   global_batch: 8
#   memory: ignore
"""


def table(tmp_path: Path, rows: str, head: str = HEAD) -> Table:
    path = tmp_path / "mine.csv"
    path.write_text(head + rows)
    (found,) = own([path])
    return found


def only(tmp_path: Path, rows: str, head: str = HEAD) -> Point:
    (found,) = points(table(tmp_path, rows, head))
    return found


def test_a_measured_rate_predicts_the_models_operations_over_it(tmp_path: Path) -> None:
    point = only(tmp_path, "gpus,training.measured_flops,time_s\n1,400 TFLOP/s,3.5\n")
    job = Training(preset("llama3-8b"), 4096, 8, 1)
    # beside operations only look-ups in the embedding and the update, some hundredths
    assert point.predicted_s == pytest.approx(step_flops(job) / 400e12, rel=0.05)
    assert point.measured_s == 3.5


def test_gpus_of_a_row_decide_how_many_servers_there_are(tmp_path: Path) -> None:
    one, four = points(table(tmp_path, "gpus,training.global_batch,time_s\n8,8,1\n32,32,1\n"))
    assert (one.label, four.label) == (
        "llama3-8b, 8 GPUs, bf16, 4,096 tokens",
        "llama3-8b, 32 GPUs, bf16, 4,096 tokens",
    )
    assert four.predicted_s >= one.predicted_s


def test_a_column_with_dots_changes_the_job(tmp_path: Path) -> None:
    plain, split = points(table(tmp_path, "gpus,training.parallelism.tensor,time_s\n8,1,1\n8,8,1\n"))
    assert split.predicted_s != plain.predicted_s


@pytest.mark.parametrize(("counted", "times"), [("model", 1.0), ("hardware", 4 / 3)])
def test_rates_are_turned_to_times_by_what_they_count(tmp_path: Path, counted: str, times: float) -> None:
    head = HEAD + "#   recompute: full\n# counted: " + counted + "\n"
    point = only(tmp_path, "gpus,tflops_per_gpu\n8,400\n", head)
    job = Training(preset("llama3-8b"), 4096, 8, 8, recompute="full")
    assert point.measured_s == pytest.approx(step_flops(job) / 8 / 400e12 * times, rel=0.03)  # logits come once only
    assert counted == "model" or point.measured_s == pytest.approx(hardware_flops(job) / 8 / 400e12)


def test_tokens_a_second_are_those_of_all_gpus_or_of_each(tmp_path: Path) -> None:
    all_s, each_s = points(table(tmp_path, "gpus,tokens_per_s,tokens_per_s_per_gpu\n8,80000,\n8,,10000\n"))
    assert all_s.measured_s == each_s.measured_s == pytest.approx(8 * 4096 / 80000)


def test_the_fastest_microbatch_is_no_slower_than_one_sequence(tmp_path: Path) -> None:
    rows = "gpus,training.global_batch,training.micro_batch,time_s\n8,64,1,1\n8,64,fastest,1\n"
    one, fastest = points(table(tmp_path, rows))
    assert fastest.predicted_s <= one.predicted_s


@pytest.mark.parametrize(
    ("rows", "head", "said"),
    [
        ("gpus,time_s\n12,1\n", HEAD, "mine.csv:10:1: gpus: 12 GPUs do not fill servers of 8"),
        ("gpus,time_s\n8,1\n", HEAD + "# counted: twice\n", "'twice' says not which operations were counted"),
        ("gpus,time_s\n8,1\n", HEAD.partition("# training")[0], "training is a mapping"),
        ("gpus,training.sequense,time_s\n8,1,1\n", HEAD, "did you mean 'sequence'"),
        ("gpus,training.parallelism.tensor,time_s\n8,3,1\n", HEAD, "cannot be divided by tensor 3"),
        ("gpus,steps\n8,1\n", HEAD, "'steps' is no column"),
        ("gpus,time_s\n8,\n", HEAD, "says not what was measured"),
    ],
)
def test_a_mistake_is_told_where_it_stands(tmp_path: Path, rows: str, head: str, said: str) -> None:
    with pytest.raises(MistakesError) as refused:
        points(table(tmp_path, rows, head))
    assert said in str(refused.value)
    assert "mine.csv:" in str(refused.value)


def of_at_most(name: str, gpus: int) -> list[Point]:
    """Rows of a bundled table with so many GPUs."""
    (found,) = [each for each in bundled() if each.name == name]
    return points(replace(found, rows=tuple(row for row in found.rows if int(row.cells["gpus"]) <= gpus)))


def test_megatron_on_a100_is_met_within_7_percent_on_every_row() -> None:
    assert [each.label for each in of_at_most("megatron-2021-a100-weak", 1024) if abs(each.error) > 0.07] == []


def test_recipes_that_nothing_was_fitted_on_are_met_within_10_percent() -> None:
    assert median_error(of_at_most("nemo-24.07-h100", 64)) < 0.10
