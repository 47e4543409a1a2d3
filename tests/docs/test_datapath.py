"""What docs/datapath.md shows of its example is what the example gives."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import eastwest as ew
from eastwest import report

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "datapath.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def answer():
    return ew.run(ROOT / "examples" / "fed-by-storage.yaml")


def test_the_table_is_what_the_terminal_shows(answer):
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    out = io.StringIO()
    Console(file=out, width=112).print(report.table(answer.result))
    text = "\n".join(line.rstrip() for line in out.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines())
    assert shown.strip() in text


def test_the_sentences_below_it_are_true(answer):
    rows = {(row.fabric, row.workload): row for row in answer.result.rows}
    waits = rows["as-built", "clips"]
    assert (waits.data_path.limited_by, waits.step_s) == ("storage", pytest.approx(0.98, abs=0.005))
    assert waits.data_path.pace_s == pytest.approx(1.5, abs=0.01)
    assert waits.gpu_idle_share == pytest.approx(0.40, abs=0.005)
    hours = waits.data_path.gpu_hours_a_month
    assert hours.network / (hours.network + hours.data) == pytest.approx(0.13, abs=0.01)
    for fabric in ("more-storage", "faster-ports", "on-the-leaves"):
        assert rows[fabric, "clips"].data_path.limited_by == "compute"
    assert {row.data_path.limited_by for (_, job), row in rows.items() if job != "clips"} == {"preprocessing"}
    assert all(row.data_path.checkpoints.goodput > 0.99 for row in rows.values())
