"""Values that are lists or ranges: what is swept and what is not, how ranges go, and what is said of mistakes."""

import math

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from eastwest import spec

STUDY = """name: swept
clusters:
  pod: {server: hgx-h100, servers: 4}
fabrics:
  one:
    shape: leaf-spine
    technology: rocev2
    link: 400 Gb/s
    switch: sn5400
  two:
    like: one
    qps: 4
workloads:
  job:
    kind: operations
    operations:
      - {name: forward, compute: 1 ms}
      - {name: dispatch, collective: all-to-all, bytes: 1 MB, after: [forward]}
      - {name: combine, collective: all-to-all, bytes: 1 MB, after: [dispatch]}
"""


def load(*changes):
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return spec.loads(text, "swept.yaml")


def told(*changes):
    with pytest.raises(spec.StudyError) as caught:
        load(*changes)
    return [str(each) for each in caught.value.mistakes]


def values(study, name, **entries):
    """Texts and values that a column takes over the variants of an axis, in order."""
    ((axis, names),) = entries.items()
    found = (each for one in names for each in study.parameters(**{axis: one}) if each.name == name)
    return [(each.text, each.value) for each in found]


def test_a_list_makes_a_variant_of_each_value():
    study = load(("link: 400 Gb/s", "link: [100 Gb/s, 200 Gb/s]"))
    assert [study.fabrics[name].link for name in study.variants("fabrics", "one")] == [1e11, 2e11]
    assert values(study, "link", fabric=study.variants("fabrics", "one")) == [("100 Gb/s", 1e11), ("200 Gb/s", 2e11)]


def test_a_fabric_like_a_swept_one_is_swept_as_it_is():
    study = load(("link: 400 Gb/s", "link: [100 Gb/s, 200 Gb/s]"))
    assert [(each.link, each.qps) for name, each in study.fabrics.items() if study.base("fabrics", name) == "two"] == [
        (1e11, 4),
        (2e11, 4),
    ]


def test_every_combination_is_there_with_the_last_value_changing_fastest():
    study = load(("link: 400 Gb/s", "link: [100 Gb/s, 200 Gb/s]"), ("qps: 4", "qps: [1, 2, 3]"))
    two = [study.fabrics[name] for name in study.variants("fabrics", "two")]
    assert [(each.link, each.qps) for each in two] == [(link, qps) for link in (1e11, 2e11) for qps in (1, 2, 3)]


def test_lists_that_mean_something_are_left_alone():
    study = load(
        ("name: swept\n", "name: swept\nplacements: [packed, scattered]\n"),
        ("bytes: 1 MB, after: [forward]", "group: 2, matrix: [[0 B, 1 MB], [1 MB, 0 B]], after: [forward]"),
        ("- {name: combine, collective: all-to-all", "- {name: combine, send_recv: {pairs: [[0, 1], [1, 0]]}"),
    )
    assert list(study.fabrics) == ["one", "two"]
    assert list(study.workloads) == ["job"]


def test_each_sweeps_where_a_list_means_something():
    study = load(("after: [dispatch]", "after: {each: [[dispatch], [forward]]}"))
    assert [each.operations[2].after for each in study.workloads.values()] == [("dispatch",), ("forward",)]


def test_a_mapping_can_be_one_of_several_values_and_hold_some():
    study = load(("switch: sn5400", "switch: [sn5400, {leaf: sn5600, spine: [sn5400, sn5600]}]"))
    switches = [study.fabrics[name].switch for name in study.variants("fabrics", "one")]
    assert [(each["leaf"], each["spine"]) for each in switches] == [
        ("sn5400", "sn5400"),
        ("sn5600", "sn5400"),
        ("sn5600", "sn5600"),
    ]


def test_settings_of_the_study_can_be_swept():
    study = load(("name: swept\n", "name: swept\nseeds: [2, 8]\ntolerance: [0, 0.01]\n"))
    assert [(each.seeds, each.tolerance) for each in study.each_setting()] == [(2, 0), (2, 0.01), (8, 0), (8, 0.01)]


@pytest.mark.parametrize(
    ("key", "written", "texts"),
    [
        ("servers: 4", "{from: 16, to: 256, times: 2}", ["16", "32", "64", "128", "256"]),
        ("servers: 4", "{from: 4, to: 15, step: 4}", ["4", "8", "12"]),
        ("link: 400 Gb/s", "{from: 100 Gb/s, to: 400 Gb/s, step: 100 Gb/s}", [f"{n}00 Gb/s" for n in (1, 2, 3, 4)]),
        ("link: 400 Gb/s", "{from: 400 Gb/s, to: 1.6 Tb/s, times: 2}", ["400 Gb/s", "800 Gb/s", "1.6 Tb/s"]),
        ("bytes: 1 MB", "{from: 512 KiB, to: 4 MiB, times: 2}", ["512 KiB", "1 MiB", "2 MiB", "4 MiB"]),
        ("compute: 1 ms", "{from: 0.1 ms, to: 0.3 ms, step: 0.1 ms}", ["0.1 ms", "0.2 ms", "0.3 ms"]),
    ],
)
def test_a_range_ends_where_a_person_expects(key, written, texts):
    name = key.partition(":")[0]
    study = load((key, f"{name}: {written}"))
    axis = {"servers": "cluster", "link": "fabric"}.get(name, "workload")
    section, base = {"cluster": ("clusters", "pod"), "fabric": ("fabrics", "one"), "workload": ("workloads", "job")}[
        axis
    ]
    assert [text for text, _ in values(study, name, **{axis: study.variants(section, base)})] == texts


@given(first=st.integers(1, 10**6), times=st.integers(2, 10), powers=st.integers(0, 12), short=st.booleans())
def test_a_range_by_a_factor_holds_its_powers(first, times, powers, short):
    last = first * times**powers
    found = spec.ranges.values({"from": first, "to": last + (times - 2 if short else 0), "times": times})
    assert found == [first * times**power for power in range(powers + 1)]


@given(st.decimals("0.001", "999", places=3), st.integers(1, 50), st.sampled_from(["Gb/s", "MB", "KiB", "us", "m"]))
def test_a_range_by_a_difference_loses_no_digit(step, count, unit):
    from eastwest.units import measure

    found = spec.ranges.values({"from": f"{step} {unit}", "to": f"{step * count} {unit}", "step": f"{step} {unit}"})
    one = measure(f"{step} {unit}")[0]
    assert [measure(each)[0] for each in found] == pytest.approx([one * number for number in range(1, count + 1)])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{from: 4, to: 16}", "a range has either times, a factor, or step, a difference"),
        ("{from: 4, to: 16, times: 2, step: 4}", "a range has either times, a factor, or step, a difference"),
        ("{from: 4, times: 2}", "a range lacks its 'to'"),
        ("{to: 4, times: 2}", "a range lacks its 'from'"),
        ("{from: 4, to: 16, by: 2}", "a range has no entry 'by' (expected one of: from, to, times, step)"),
        ("{from: 16, to: 4, times: 2}", "a range goes up: 4 is below 16"),
        ("{from: 4, to: 16, times: 1}", "times is a factor above 1, not 1"),
        ("{from: 0, to: 16, times: 2}", "a range with a factor starts above zero"),
        ("{from: 4, to: 16, step: 0}", "a step is above zero, not 0"),
        ("{from: few, to: 16, step: 2}", "'few' is no number, with or without a unit"),
        ("{from: 4, to: 16 GB, step: 2}", "'16 GB' does not go with 4, the start of the range"),
        ("{from: 1, to: 1000000000000, step: 1}", "a range of more than 10,000 values"),
        ("[]", "a list of values to try is empty"),
        ("[4, 8, 4]", "4 is listed twice among the values to try"),
        ("{each: 4}", "each lists values to try; this is a number"),
    ],
)
def test_a_sweep_that_cannot_be_read_is_told_at_its_line(written, said):
    (mistake,) = told(("servers: 4", f"servers: {written}"))
    assert mistake.startswith("swept.yaml:3:")
    assert said in mistake


def test_a_wrong_value_is_told_at_its_own_place_in_the_list():
    assert told(("link: 400 Gb/s", "link:\n      - 100 Gb/s\n      - 200 GHz")) == [
        "swept.yaml:10:9: '200 GHz' is a frequency, not a rate: write it like 400 Gb/s"
    ]


def test_what_is_wrong_in_every_variant_is_told_once():
    said = told(("link: 400 Gb/s", "link: [100 Gb/s, 200 Gb/s]"), ("switch: sn5400", "swich: sn5400, switch: sn5400"))
    assert len(said) == 1


def test_more_combinations_than_anyone_reads_are_refused_with_their_number():
    written = "{from: 1, to: 500, step: 1}"
    said = told(("qps: 4", f"qps: {written}\n    servers_per_unit: {written}"))
    assert said == ["swept.yaml:10:3: 250,000 combinations of 'two' are more than the 10,000 that a study may have"]


MEASURED = """
  known:
    kind: measured
    measured_on: {fabric: one}
    step: 2 s
    exposed: 0.4 s
    collective: {kind: all-reduce}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("link: 400 Gb/s", "link: [200 Gb/s, 400 Gb/s]", "fabric 'one' is swept"),
        ("servers: 4", "servers: [4, 8]", "cluster 'pod' is swept"),
    ],
)
def test_what_a_step_was_measured_on_has_one_size(old, new, said):
    (mistake,) = told((old, new), ("workloads:\n", f"workloads:{MEASURED}"))
    assert said in mistake
    assert "of its own" in mistake


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([("bytes: 1 MB", "bytes: [1 MB, 2 MB]")], ["bytes"]),
        (
            [
                ("bytes: 1 MB, after: [forward]", "bytes: [1 MB, 2 MB], after: [forward]"),
                ("bytes: 1 MB", "bytes: [1 MB, 2 MB]"),
            ],
            ["dispatch.bytes", "combine.bytes"],
        ),
        ([("switch: sn5400", "switch: {leaf: [sn5400, sn5600]}")], ["switch.leaf"]),
        (
            [
                ("servers: 4", "servers: 4, nic: [connectx-7, bluefield-3]"),
                ("qps: 4", "nic: [connectx-7, bluefield-3]"),
            ],
            ["cluster.nic", "fabric.nic"],
        ),
        ([("name: swept\n", "name: swept\nseeds: [1, 2]\n")], ["seeds"]),
    ],
)
def test_a_column_is_named_by_its_place_as_shortly_as_can_be(changes, names):
    study = load(*changes)
    found = study.parameters(next(reversed(study.fabrics)), next(iter(study.clusters)), next(iter(study.workloads)))
    assert [each.name for each in found] == names


def test_a_fabric_that_states_a_swept_value_has_it_in_the_same_column():
    study = load(("qps: 4", "link: [100 Gb/s, 200 Gb/s]"))
    assert values(study, "link", fabric=["one"]) == [("400 Gb/s", 4e11)]


@pytest.mark.parametrize(
    ("written", "value"),
    [("4:1", 4.0), ("400 Gb/s", 4e11), ("2 KiB", 2048.0), ("1.5 ms", 1.5e-3), (3, 3), ("spray", "spray"), (None, None)],
)
def test_values_are_numbers_in_base_units_where_they_are_numbers(written, value):
    found = spec.parameter("it", "fabric", written).value
    assert found == value if not isinstance(value, float) else math.isclose(found, value)


def test_names_of_variants_fit_a_file():
    study = load(("link: 400 Gb/s", "link: [100 Gb/s, 200 Gb/s]"), ("qps: 4", "qps: [1, 2]"))
    assert study.variants("fabrics", "two")[0] == "two.link-100Gbps.qps-1"
    assert all("/" not in name and " " not in name for name in study.fabrics)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("link: 400 Gb/s", "link: [100 Gb/s, 200 Gb/s]"),
        ("servers: 4", "servers: {from: 4, to: 16, times: 2}"),
        ("link: 400 Gb/s", "link: {from: 100 Gb/s, to: 400 Gb/s, step: 100 Gb/s}"),
        ("after: [forward]", "after: {each: [[forward], []]}"),
        ("name: swept\n", "name: swept\nseeds: [4, 8]\n"),
        ("shape: leaf-spine", "shape: [leaf-spine, rail-optimized]"),
    ],
)
def test_an_editor_takes_sweeps(old, new):
    load((old, new))
    jsonschema.validate(YAML(typ="safe").load(STUDY.replace(old, new, 1)), spec.json_schema())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("servers: 4", "servers: [4, 0]"),
        ("servers: 4", "servers: {from: 4, to: 16}"),
        ("link: 400 Gb/s", "link: [400]"),
        ("shape: leaf-spine", "shape: {from: 1, to: 2, times: 2}"),
    ],
)
def test_an_editor_refuses_wrong_sweeps(old, new):
    validator = jsonschema.Draft202012Validator(spec.json_schema())
    assert not validator.is_valid(YAML(typ="safe").load(STUDY.replace(old, new, 1)))
