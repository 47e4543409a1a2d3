import json

import polars as pl
import pytest
from tests.report.conftest import make_result

from eastwest.study.result import replacing, to_json, to_table, write_parquet

RESULT_KEYS = {
    "fabric", "workload", "placement", "fidelity", "step_s", "communication_s", "exposed_s", "exposed_share",
    "gpu_idle_share", "ideal_communication_s", "bottleneck", "tiers", "cost",
}  # fmt: skip


@pytest.fixture
def result():
    return make_result()


def test_json_has_the_keys_that_were_promised(result):
    values = json.loads(json.dumps(to_json(result), allow_nan=False))
    assert values["study"] == "pune-1024"
    first = values["results"][0]
    assert first.keys() >= RESULT_KEYS
    assert first["bottleneck"].keys() == {"where", "utilisation", "why"}
    assert first["tiers"][0].keys() == {"tier", "mean", "p99", "max"}
    assert first["cost"].keys() == {"currency", "idle_gpu_hours_per_day", "idle_cost_per_day"}


def test_the_table_is_flat_with_one_row_a_result(result):
    table = to_table(result)
    assert table.height == len(result.rows)
    assert not [dtype for dtype in table.dtypes if dtype.is_nested()]
    row = result.rows[3]
    values = table.row(3, named=True)
    assert values["fabric"] == row.fabric
    assert values["bottleneck_why"] == row.bottleneck.why
    assert values["idle_cost_per_day"] == row.cost.idle_cost_per_day
    assert values["load_leaf_spine_max"] == next(tier.max for tier in row.tiers if tier.tier == "leaf-spine")


def test_parquet_holds_the_table(tmp_path, result):
    path = tmp_path / "results.parquet"
    write_parquet(result, path)
    assert pl.read_parquet(path).equals(to_table(result))
    assert list(tmp_path.iterdir()) == [path]


def interrupt(path):
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        interrupt(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
