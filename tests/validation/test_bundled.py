"""The tables that come with eastwest keep the rules that docs/validation.md states."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from eastwest import validation
from eastwest.validation import collectives, conditions, messages
from eastwest.validation.cells import size_bytes
from eastwest.validation.tables import KEYS

TABLES = validation.bundled()
COLLECTIVES = [pytest.param(table, id=table.name) for table in TABLES if table.subject == "collective"]
PAGE = (Path(__file__).parents[2] / "docs" / "validate.md").read_text(encoding="utf-8")


def test_there_are_many_each_with_a_source_and_a_name_of_its_own():
    assert len(TABLES) >= 20
    assert [table.name for table in TABLES if not table.source] == []
    assert len({table.name for table in TABLES}) == len(TABLES)


@pytest.mark.parametrize("table", COLLECTIVES)
def test_in_a_clean_table_no_row_takes_over_a_quarter_longer_than_one_with_a_larger_message(table):
    if table.unclean:
        pytest.skip("not clean")
    alike = defaultdict(list)
    for row in table.rows:
        rest = tuple(
            (column, cell) for column, cell in row.cells.items() if column not in ("size", "time_us", "busbw_GBs")
        )
        size = size_bytes(table, row)
        seconds = float(row.cells["time_us"]) if "time_us" in row.cells else size / float(row.cells["busbw_GBs"])
        alike[rest].append((size, seconds))
    for rows in alike.values():
        times = [seconds for _, seconds in sorted(rows)]
        assert all(early <= 1.25 * late for early, late in pairwise(times))


@pytest.mark.parametrize("table", COLLECTIVES)
def test_what_is_quoted_or_read_off_a_picture_is_not_clean(table):
    told = f"{table.source} {table.notes}".lower()
    if any(word in told for word in ("bitmap", "playbook")):
        assert table.unclean


@pytest.mark.parametrize(
    "key", [*KEYS, *conditions.KEYS_OF_CONDITIONS, *collectives.CHOICES, *collectives.COLUMNS, *messages.COLUMNS]
)
def test_the_page_for_one_s_own_tables_says_what_each_key_and_column_means(key):
    assert f"`{key}`" in PAGE
