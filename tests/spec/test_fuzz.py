import copy
from importlib.resources import files

from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from eastwest import spec

TEXT = (files("eastwest") / "studies" / "pune-1024.yaml").read_text()
DATA = YAML(typ="safe").load(TEXT)


def loads(text):
    """A study or mistakes with words in them, whatever the text; any other error fails the test."""
    try:
        study, mistakes = spec.loads(text, "fuzz.yaml"), ()
    except spec.StudyError as error:
        study, mistakes = None, error.mistakes
    assert isinstance(study, spec.Study) or mistakes
    assert all(each.message for each in mistakes)


@settings(deadline=None)
@given(st.text() | st.binary())
def test_random_text_is_a_study_or_a_study_error(text):
    loads(text)


@settings(deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.text(max_size=8))
def test_the_bundled_study_with_a_piece_replaced_is_a_study_or_a_study_error(start, length, piece):
    loads(TEXT[:start] + piece + TEXT[start + length :])


def places(value, place=()):
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from places(below, (*place, key))


PLACES = [place for place in places(DATA) if place]
WORDS = st.sampled_from(
    ["packed", "all", "roce-400g", "h100", "infiniband", "400 Gb/s", "2 s", "1 MB", "like", "sn5600", "0 s"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | WORDS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), below, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_the_bundled_study_with_values_replaced_is_a_study_or_a_study_error(changes):
    from io import StringIO

    data = copy.deepcopy(DATA)
    for place, value in changes:
        target = data
        for step in place[:-1]:
            target = target[step] if isinstance(target, dict) and step in target else None
        if isinstance(target, dict):
            target[place[-1]] = value
    stream = StringIO()
    YAML(typ="safe", pure=True).dump(data, stream)
    loads(stream.getvalue())
