"""The command `eastwest validate`, and what docs/validate.md shows of it."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Command

PAGE = (Path(__file__).parents[2] / "docs" / "validate.md").read_text(encoding="utf-8")
(EXAMPLE, LOGGED, TRAINED) = re.findall(r"^```text\n(# .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LOG = (Path(__file__).parents[1] / "data" / "nccl_tests" / "a100-old-columns.log").read_text(encoding="utf-8")


def test_public_tables_are_told_by_family_and_table(eastwest: Command) -> None:
    said = eastwest("validate", "--table", "h200")
    assert said.code == 0
    assert "all-reduce, 1 MiB and up" in said.out
    assert "h200-8-largest" in said.out


def test_json_keeps_the_tables_and_families_that_are_named(eastwest: Command) -> None:
    found = json.loads(eastwest("validate", "--table", "h200", "--family", "gather", "--json").out)
    assert [each["name"] for each in found["tables"]] == ["h200-8-largest"]
    assert [each["name"] for each in found["families"]] == ["all-gather and reduce-scatter, 1 MiB and up"]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--table", "--table h2000: no table's name holds it; did you mean 'h200-8'?"),
        ("--family", "--family h2000: no family's name holds it (there are: "),
    ],
)
def test_a_word_that_names_nothing_is_refused(eastwest: Command, option: str, told: str) -> None:
    said = eastwest("validate", *(() if option == "--table" else ("--table", "deepseek")), option, "h2000")
    assert said.code == 2
    assert told in said.err


def test_a_table_of_one_s_own_is_told_like_the_public_ones(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(EXAMPLE)
    found = json.loads(eastwest("validate", "mine.csv", "--json").out)
    (table,) = found["tables"]
    assert (table["name"], table["role"], table["rows"]) == ("mine", "check", 3)


def test_a_log_beside_a_table_is_read_as_the_page_says(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(LOGGED)
    (tmp_path / "all_reduce.log").write_text(LOG)
    (table,) = json.loads(eastwest("validate", "mine.csv", "--json").out)["tables"]
    assert table["rows"] > 3


def test_a_table_of_training_jobs_is_held_as_the_page_says(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(TRAINED)
    (table,) = json.loads(eastwest("validate", "mine.csv", "--json").out)["tables"]
    assert (table["subject"], table["rows"]) == ("training", 2)


def test_a_page_is_written_where_asked(eastwest: Command, tmp_path: Path) -> None:
    said = eastwest("validate", "--table", "deepseek", "--out", "page.md")
    assert said.code == 0
    assert "### deepseek-64-bytes" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_a_mistake_in_a_table_is_told_with_its_line(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(EXAMPLE.replace("1 GiB,", "1 GHz,"))
    said = eastwest("validate", "mine.csv")
    assert said.code == 2
    line = EXAMPLE[: EXAMPLE.index("1 GiB,")].count("\n") + 1
    assert said.err.startswith(f"mine.csv:{line}:1: size: ")
