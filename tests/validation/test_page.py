"""The page and its picture say what the verdict has."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eastwest import validation
from eastwest.validation.page import aim, bars, beside, page, percent
from eastwest.validation.picture import picture
from eastwest.validation.points import Point

TABLES = validation.bundled()
VERDICT = validation.validate([table for table in TABLES if table.name in ("deepseek-64-bytes", "h200-8-largest")])


def point(ratio):
    return Point(1, "", "", 1.0, ratio)


def test_bars_are_low_where_predicted_too_fast_and_high_where_too_slow():
    assert bars([point(each) for each in (0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 3.0)]) == "▁▂▃▄▅▆▇"


@pytest.mark.parametrize(("share", "shown"), [(0.0, "0.0 %"), (0.0832, "8.3 %"), (0.0999, "10 %"), (1.234, "123 %")])
def test_shares_are_shown_with_two_digits_or_three(share, shown):
    assert percent(share) == shown


def test_aims_are_tighter_for_large_messages_than_for_small_ones():
    found = [aim(name) for name in ("all-reduce, 1 MiB and up", "small-message latency", "training step, dense")]
    assert found == [0.08, 0.20, 0.10]


def test_the_page_has_a_heading_for_each_table_and_links_that_lead_to_one():
    text = page(VERDICT, "validation.svg")
    headings = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert headings == [each.table.name for each in VERDICT.tables]
    assert set(re.findall(r"\]\(#(.*?)\)", text[: text.index("## What was fitted")])) <= set(headings)


def test_the_page_is_the_same_each_time():
    assert page(VERDICT, "p.svg") == page(validation.validate([each.table for each in VERDICT.tables]), "p.svg")


def test_the_picture_has_a_dot_for_each_row_and_one_a_family_beside():
    root = ElementTree.fromstring(picture(VERDICT))
    dots = root.findall("{http://www.w3.org/2000/svg}circle")
    assert len(dots) == sum(len(each.points) for each in VERDICT.tables) + len(VERDICT.families)


def test_what_was_fitted_names_tables_that_are_there_and_meant_for_it():
    roles = {table.name: table.role for table in TABLES}
    named = [name for each in beside("fitted.yaml") for name in each["tables"]]
    assert {name: roles.get(name) for name in named} == dict.fromkeys(named, "fit")


def test_every_table_that_is_meant_for_fitting_was_used_for_it():
    named = {name for each in beside("fitted.yaml") for name in each["tables"]}
    assert {table.name for table in TABLES if table.role == "fit"} - named == set()


def test_what_is_left_out_fails_one_of_the_rules():
    data = beside("left-out.yaml")
    assert {each["rule"] for each in data["left_out"]} <= data["rules"].keys()


def test_the_committed_page_says_of_collectives_what_the_command_writes():
    """Rows and sections of all tables but those of training jobs, which take minutes."""
    committed = (Path(__file__).parents[2] / "docs" / "validation.md").read_text(encoding="utf-8")
    quick = [table for table in TABLES if table.subject != "training"]
    written = page(validation.validate(quick), "validation.svg")
    now, stands = ({part.strip() for part in _of_tables(text, quick)} for text in (written, committed))
    assert len(now) == 2 * len(quick)
    assert now == stands


def _of_tables(text, tables):
    """Of each table its row among all, and its section."""
    for table in tables:
        head = f"| [{table.name}](#{table.name}) | {table.role} |"
        yield next(line for line in text.splitlines() if line.startswith(head))
        yield text.partition(f"\n### {table.name}\n")[2].partition("\n##")[0]


def test_the_committed_page_tells_of_every_table_with_its_role():
    text = (Path(__file__).parents[2] / "docs" / "validation.md").read_text(encoding="utf-8")
    for table in TABLES:
        assert f"| [{table.name}](#{table.name}) | {table.role} | {'no' if table.unclean else 'yes'} |" in text
