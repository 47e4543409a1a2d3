import os
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eastwest.document import LARGEST_BYTES, Mistake, MistakesError, nearest, parse, read


def refused(text: str | bytes) -> list[str]:
    with pytest.raises(MistakesError) as caught:
        parse(text, "f.yaml")
    return str(caught.value).splitlines()


def test_values_are_plain_and_know_where_they_stand():
    document = parse("a:\n  b: 3\n  c: [x, 2.5]\n", "f.yaml")
    assert document.data == {"a": {"b": 3, "c": ["x", 2.5]}}
    assert document.locate(("a", "b")) == ("f.yaml", 2, 6)
    assert document.locate(("a", "c")) == ("f.yaml", 3, 3)  # a block is found by its key
    assert document.locate(("a", "c", 1)) == ("f.yaml", 3, 10)


def test_a_place_that_is_not_there_stands_for_what_is_around_it():
    document = parse("a:\n  b: 3\n", "f.yaml")
    assert document.locate(("a", "missing", "deeper")) == ("f.yaml", 1, 1)


def test_text_that_is_not_yaml_is_told_with_its_position():
    assert refused("a: 1\nb: [1, 2\nc: 3\n")[0].startswith("f.yaml:3:2: is not YAML")


def test_bytes_that_are_not_utf8_are_told_with_their_position():
    assert refused(b"a: 1\nb: \xff\n") == ["f.yaml:2:4: is not UTF-8 text"]


def test_an_entry_given_twice_is_refused_with_both_lines():
    assert refused("a: 1\nb: 2\na: 3\n") == ["f.yaml:3:1: entry 'a' appears twice (first in line 1)"]


@pytest.mark.parametrize(
    "text", ["!!python/object/apply:os.system ['true']", "a: !!binary QQ==", "!mine {a: 1}", "!!set {a}"]
)
def test_tags_build_nothing_and_are_refused(text):
    assert "is not allowed" in refused(text)[0]


@pytest.mark.parametrize("text", ["&a [*a]", "a: &a {b: *a}"])
def test_an_alias_cannot_hold_itself(text):
    assert "an alias holds itself" in refused(text)[0]


def test_aliases_that_would_expand_without_end_are_stopped():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "aliases counted" in refused("\n".join(lines))[0]


def test_an_alias_within_bounds_is_read():
    assert parse("a: &x {b: 1}\nc: *x\n", "f").data == {"a": {"b": 1}, "c": {"b": 1}}


def test_deep_nesting_is_refused():
    assert "nested too deeply" in refused("[" * 3000)[0]
    assert "nested too deeply" in refused("[" * 100 + "]" * 100)[0]


def test_a_large_text_is_refused():
    assert refused(b"#" * (LARGEST_BYTES + 1)) == ["f.yaml: is larger than 1 MiB"]


def test_a_missing_file_a_folder_and_a_pipe_are_no_files(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, said in ((tmp_path / "none.yaml", "no such file"), (tmp_path, "a folder"), (pipe, "not a regular file")):
        with pytest.raises(MistakesError, match=said):
            read(path)


def test_mistakes_come_in_the_order_of_the_file_and_once():
    one, two = Mistake("f", 9, 1, "later"), Mistake("f", 2, 5, "earlier")
    assert [each.line for each in MistakesError([one, two, one]).mistakes] == [2, 9]


def test_a_mistake_reads_as_a_sentence_with_the_nearest_word():
    mistake = Mistake("pune.yaml", 12, 5, "unknown entry 'swich'", ("switch", "link"), "switch")
    assert (
        str(mistake) == "pune.yaml:12:5: unknown entry 'swich'; did you mean 'switch'? (expected one of: switch, link)"
    )


def test_a_file_cannot_steer_the_terminal_through_a_message():
    assert "\x1b" not in str(Mistake("f", 1, 1, "there is no fabric", ("\x1b[31mred",)))


def test_the_nearest_word_ignores_case_and_gives_up_on_what_is_far():
    assert nearest("SN5400", ["sn5400", "sn5600"]) == "sn5400"
    assert nearest("zebra", ["sn5400", "sn5600"]) is None


@settings(deadline=None)
@given(st.text() | st.text("ab:-[]{}&*!?|>%@'\"#, \n\t0.~<") | st.binary())
def test_any_text_is_a_document_or_a_mistake(text):
    with suppress(MistakesError):
        parse(text, "f.yaml")
