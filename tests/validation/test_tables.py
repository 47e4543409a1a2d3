"""Tables as files: what is read, and what is refused and how."""

import re

import pytest

from eastwest.document import MistakesError
from eastwest.validation import own, validate

GOOD = """\
# title: two nodes
# collective: all-reduce
# cluster: { server: hgx-h100, servers: 2 }
# fabric: { shape: single-switch, technology: rocev2, link: 400 Gb/s, switch: sn5600 }
size,time_us
8,30
1 GiB,4500
"""


@pytest.fixture
def table(tmp_path):
    def written(text):
        path = tmp_path / "mine.csv"
        path.write_text(text)
        return own([path])[0]

    return written


def test_a_table_holds_what_its_header_states_and_its_rows_with_their_lines(table):
    found = table(GOOD)
    assert (found.name, found.title, found.role, found.subject) == ("mine", "two nodes", "check", "collective")
    assert [(row.line, row.cells) for row in found.rows] == [
        (6, {"size": "8", "time_us": "30"}),
        (7, {"size": "1 GiB", "time_us": "4500"}),
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("hgx-h100", "hgx-h10", r"mine.csv:3:\d+: .*hgx-h10.*hgx-h100"),
        ("link: 400 Gb/s", "link: 400 GB", r"mine.csv:4:\d+: .*400 GB"),
        ("# fabric", "# fabrik", r"mine.csv:4:\d+: 'fabrik' says nothing here; did you mean 'fabric'"),
        ("size,time_us", "size,time", r"mine.csv:5:1: 'time' is no column of such a table; did you mean 'time_"),
        ("8,30", "8,fast", r"mine.csv:6:1: time_us is a number above 0, not 'fast'"),
        ("8,30", "8,0", r"mine.csv:6:1: time_us is a number above 0, not '0'"),
        ("8,30", "8", r"mine.csv:6:1: has 1 cells, and there are 2 columns: size, time_us"),
        ("8,30", "8 GHz,30", r"mine.csv:6:1: size: .*GHz"),
        ("8,30", ",30", r"mine.csv:6:1: says not how large the message is"),
        ("8,30", "8,", r"mine.csv:6:1: a row has one of time_us, .* and this one has none"),
        ("all-reduce", "all-redoos", r"mine.csv:\d+:\d+: .*all-redoos"),
        ("# title: two nodes", "# subject: colective", r"mine.csv:1:\d+: 'colective' is no subject.*'collective'"),
        ("# title: two nodes", "# role: fitted", r"mine.csv:1:\d+: 'fitted' is no role of a table"),
        ("# title: two nodes", "# title: [a, b]", r"mine.csv:1:\d+: title is a text, not a list"),
        ("# title: two nodes", "# program: perftest", r"mine.csv:1:\d+: nothing is known of the program 'perftest'"),
        ("# title: two nodes", "# title: {", r"mine.csv:\d+:\d+: is not YAML"),
        ("size,time_us", "size,size", r"mine.csv:5:1: the column 'size' appears twice"),
        ("# cluster: { server: hgx-h100, servers: 2 }", "#", r"mine.csv:.*says not on what it was measured"),
        ("# fabric:", "# notes: >\n#  ", r"several servers are joined by a fabric, and none is stated"),
    ],
)
def test_a_mistake_names_its_line_and_what_was_expected(table, right, wrong, told):
    assert right in GOOD
    with pytest.raises(MistakesError) as caught:
        validate([table(GOOD.replace(right, wrong, 1))])
    assert re.search(told, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no rows"),
        ("# title: x\n", "has no rows"),
        ("size,time_us\n8,3\n", "the lines that begin with # say what was measured"),
        ("# title: x\nsize,time_us\n", "has columns and no rows"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_what_is_missing(table, text, told):
    with pytest.raises(MistakesError, match=told):
        table(text)


def test_a_folder_a_missing_file_and_bytes_are_refused(tmp_path):
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    for name, told in ((".", "no file of text"), ("none.csv", "no such file"), ("bytes.csv", "not UTF-8")):
        with pytest.raises(MistakesError, match=told):
            own([tmp_path / name])


def test_a_row_that_changes_the_conditions_to_something_wrong_is_told_by_its_line(table):
    text = GOOD.replace("size,time_us\n8,30", "size,time_us,cluster.server\n8,30,hgx-h1").replace("4500", "4500,")
    with pytest.raises(MistakesError, match=r"mine.csv:6:1: .*hgx-h1"):
        validate([table(text)])
