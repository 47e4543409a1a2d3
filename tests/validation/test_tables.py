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
        ("8,30", "8,", r"mine.csv:6:1: says not what was measured \(expected one of: time_us, "),
        ("all-reduce", "all-redoos", r"mine.csv:\d+:\d+: .*all-redoos"),
        ("# title: two nodes", "# subject: colective", r"mine.csv:1:\d+: 'colective' is no subject.*'collective'"),
        ("# title: two nodes", "# role: fitted", r"mine.csv:1:\d+: 'fitted' is no role of a table"),
        ("# title: two nodes", "# gpus_per_process: all", r"mine.csv:1:\d+: 'all' is no number of GPUs"),
        ("all-reduce\n", "send-recv\n# algorithm: tree\n", r"mine.csv:7:1: send-recv has no algorithm"),
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


HEADER = GOOD[: GOOD.index("size,")]
LOG = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    68.14    0.00    0.00      0    30.52    0.00    0.00      0
  1073741824     268435456     float     sum      -1   4500.0  238.61  447.39      0   4478.8  239.74  449.51      0
"""


def test_a_log_of_nccl_tests_stands_for_rows_in_place(table, tmp_path):
    (tmp_path / "run.log").write_text(LOG)
    (found,) = validate([table(f"{HEADER}# log: run.log\n")]).tables
    assert [point.label for point in found.points] == ["all-reduce, 8 B, 16 GPUs", "all-reduce, 1 GiB, 16 GPUs"]
    assert [point.measured_s for point in found.points] == pytest.approx([30.52e-6, 4478.8e-6])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("# log: none.log\n", r"mine.csv:5:\d+: .*there is no such file"),
        ("# log: ../run.log\n", r"mine.csv:5:\d+: '../run.log' is outside the table's folder"),
        ("# log: [run.log]\n", r"mine.csv:5:\d+: log names a file beside the table, not a list"),
        ("# log: run.log\nsize,time_us\n8,3\n", r"mine.csv:6:1: has rows, and a log beside"),
        (
            "# log: run.log\n# algoritm: tree\n",
            r"mine.csv:6:\d+: 'algoritm' says nothing here; did you mean 'algorithm'",
        ),
    ],
)
def test_a_log_that_cannot_be_used_is_told_at_the_key_that_names_it(table, tmp_path, more, told):
    (tmp_path / "run.log").write_text(LOG)
    with pytest.raises(MistakesError) as caught:
        validate([table(HEADER + more)])
    assert re.search(told, str(caught.value)), str(caught.value)
