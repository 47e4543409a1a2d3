import pytest

from eastwest import spec
from eastwest.errors import InputError

FABRIC = ("fabrics", "one")
JOB = ("workloads", "job")


def told(text, file="study.yaml"):
    with pytest.raises(spec.StudyError) as caught:
        spec.loads(text, file)
    return str(caught.value).splitlines()


def test_a_mistake_has_file_line_column_nearest_word_and_what_is_expected(small):
    (said,) = told(small.replace("switch: sn5400", "swich: sn5400, switch: sn5400"))
    assert said.startswith(
        "study.yaml:5:64: unknown entry 'swich' in fabric 'one'; did you mean 'switch'? (expected one of: like,"
    )


def test_all_mistakes_of_a_file_are_told_at_once(small):
    text = (
        small.replace("400 Gb/s", "800G").replace("servers: 4", "servers: 0").replace("0.4 s", "-1 s")
        + "placements: [packd]\n"
    )
    assert [each.split(":")[1] for each in told(text)] == ["3", "5", "11", "13"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "study.yaml: is empty: `eastwest init` writes a study to start from"),
        ("# nothing but a comment\n", "study.yaml: is empty: `eastwest init` writes a study to start from"),
        ("3", "study.yaml:1:1: a study is a mapping with name, clusters, fabrics, workloads, not a number"),
        ("- a\n- b\n", "study.yaml:1:1: a study is a mapping with name, clusters, fabrics, workloads, not a list"),
    ],
)
def test_what_is_no_mapping_is_no_study(text, said):
    assert told(text) == [said]


def test_what_is_not_yaml_is_told_with_its_position():
    assert told("name: x\nclusters: [\n")[0].startswith("study.yaml:3:1: is not YAML")


def test_an_entry_given_twice_is_refused(small):
    assert told(small + "name: again\n") == ["study.yaml:13:1: entry 'name' appears twice (first in line 1)"]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((*FABRIC, "link"), "800G", "'800G' has no unit: write 800 Gb/s for a rate"),
        ((*FABRIC, "link"), "400 GHz", "'400 GHz' is a frequency, not a rate: write it like 400 Gb/s"),
        ((*FABRIC, "link"), "-400 Gb/s", "'-400 Gb/s' must be above zero, as in 400 Gb/s"),
        ((*FABRIC, "link"), "0 Gb/s", "'0 Gb/s' must be above zero, as in 400 Gb/s"),
        ((*FABRIC, "link"), 400, "400 has no unit: write 400 Gb/s for a rate"),
        ((*FABRIC, "shape"), "leaf-spin", "'leaf-spin' does not fit shape of fabric 'one'; did you mean 'leaf-spine'?"),
        ((*FABRIC, "technology"), "roce", "'roce' does not fit technology of fabric 'one'; did you mean 'rocev2'?"),
        ((*FABRIC, "balancing"), "sprai", "'sprai' does not fit balancing of fabric 'one'; did you mean 'spray'?"),
        ((*FABRIC, "switch"), "sn540", "there is no switch 'sn540'; did you mean 'sn5400'?"),
        ((*FABRIC, "switch"), {"leav": "sn5400"}, "'leav' does not fit switch of fabric 'one'; did you mean 'leaf'?"),
        ((*FABRIC, "nic"), "conectx-7", "there is no NIC 'conectx-7'; did you mean 'connectx-7'?"),
        ((*FABRIC, "cluster"), "pood", "there is no cluster 'pood'; did you mean 'pod'?"),
        ((*FABRIC, "like"), "on", "there is no fabric 'on'"),
        ((*FABRIC, "like"), "one", "fabric 'one' is like itself"),
        ((*FABRIC, "dims"), [8], "dims of fabric 'one' has 1 item: at least 2 are needed"),
        ((*FABRIC, "message"), "0.5 B", "'0.5 B' is less than one byte"),
        ((*FABRIC, "qps"), 0, "qps of fabric 'one' must be at least 1, not 0"),
        ((*FABRIC, "qps"), True, "qps of fabric 'one' must be a whole number, not true or false"),
        ((*FABRIC, "qps"), "4", "qps of fabric 'one' must be a whole number, not '4'"),
        ((*FABRIC, "tiers"), 4, "4 does not fit tiers of fabric 'one'"),
        ((*FABRIC, "planes"), 0, "planes of fabric 'one' must be at least 1, not 0"),
        (
            (*FABRIC, "oversubscription"),
            "4to1",
            "'4to1' is no oversubscription: write capacity down to up, as in '4:1'",
        ),
        ((*FABRIC, "oversubscription"), 0, "an oversubscription of 0 is out of range"),
        ((*FABRIC, "oversubscription"), "4:0", "'4:0' is no oversubscription"),
        (FABRIC, None, "fabric 'one' must be a mapping, not nothing"),
        (FABRIC, [1], "fabric 'one' must be a mapping, not a list"),
        (("fabrics",), [], "fabrics must be a mapping, not a list"),
        (("fabrics",), {}, "fabrics is empty: at least one is needed"),
        (("clusters", "pod", "server"), "hgx-h10", "there is no server 'hgx-h10'; did you mean 'hgx-h100'?"),
        (("clusters", "pod", "servers"), -3, "servers of cluster 'pod' must be at least 1, not -3"),
        (("clusters", "pod", "servers"), 2.5, "servers of cluster 'pod' must be a whole number, not 2.5"),
        ((*JOB, "kind"), "measred", "'measred' is no kind of workload; did you mean 'measured'?"),
        ((*JOB, "step"), 2, "2 has no unit: write 2 s for a time"),
        ((*JOB, "exposed"), "3 s", "the exposed part is longer than the step"),
        ((*JOB, "communication"), "0.1 s", "communication in all is shorter than its exposed part"),
        ((*JOB, "communication"), "3 s", "communication in all is longer than the step"),
        ((*JOB, "measured_on", "fabric"), "ones", "there is no fabric 'ones'; did you mean 'one'?"),
        ((*JOB, "measured_on", "placement"), "packd", "'packd' is no placement; did you mean 'packed'?"),
        (
            (*JOB, "collective", "kind"),
            "allreduce",
            "'allreduce' does not fit kind of collective of workload 'job'; did you mean",
        ),
        ((*JOB, "collective", "group"), 7, "groups of 7 ranks do not fill the 32 GPUs of 'pod' evenly"),
        (
            (*JOB, "collective", "group"),
            {"size": 4, "stride": 16},
            "groups of 4 ranks, 16 apart, do not fill the 32 GPUs",
        ),
        (
            (*JOB, "collective", "group"),
            "some",
            "'some' is no group: write all, a number of ranks, or {size: 16, stride: 8}",
        ),
        (("money",), {"gpu_hour": 2.5}, "2.5 is no amount of money"),
        (("placements",), [], "placements is empty: at least one is needed"),
        (("placements",), ["packed", "packed"], "a placement appears twice"),
        (("placements",), [{"scattered": {"sed": 3}}], "unknown entry 'sed' in scattered; did you mean 'seed'?"),
        (("seeds",), 0, "seeds must be at least 1, not 0"),
        (("tolerance",), "inf", "tolerance must be a number, not 'inf'"),
        (("name",), "a/b", "'a/b' is no name"),
        (("clusters",), {"a/b": {"server": "hgx-h100", "servers": 4}}, "'a/b' is no name"),
    ],
)
def test_a_wrong_value_is_told_with_what_fits(mistakes, place, value, said):
    assert mistakes({place: value})[0].startswith(said)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (("name",), "the study lacks 'name'"),
        (("workloads",), "the study lacks 'workloads'"),
        ((*FABRIC, "switch"), "the shape leaf-spine needs 'switch'"),
        ((*JOB, "measured_on"), "workload 'job' lacks 'measured_on'"),
        ((*JOB, "collective", "kind"), "collective of workload 'job' lacks 'kind'"),
    ],
)
def test_a_missing_entry_is_told_with_its_owner(mistakes, place, said):
    assert mistakes({}, drop=[place]) == [said]


@pytest.mark.parametrize("entry", ["uplink", "servers_per_unit", "tiers", "oversubscription"])
def test_a_single_switch_has_no_tiers_to_speak_of(mistakes, entry):
    value = {"uplink": "400 Gb/s", "oversubscription": "2:1"}.get(entry, 2)
    said = mistakes({(*FABRIC, "shape"): "single-switch", (*FABRIC, entry): value})
    assert said == [f"{entry} has no meaning for a single switch"]


@pytest.mark.parametrize(("entry", "value"), [("uplink", "400 Gb/s"), ("oversubscription", "2:1")])
def test_one_tier_has_nothing_above_its_leaves(mistakes, entry, value):
    said = mistakes({(*FABRIC, "shape"): "rail-only", (*FABRIC, "tiers"): 1, (*FABRIC, entry): value})
    assert said == [f"{entry} has no meaning on one tier: nothing is above its leaves"]


def test_likes_that_go_in_a_circle_are_told_and_nothing_else(mistakes):
    said = mistakes({("fabrics", "a"): {"like": "b"}, ("fabrics", "b"): {"like": "a"}})
    assert said == ["fabric 'a' is like itself, by way of 'b'", "fabric 'b' is like itself, by way of 'a'"]


def test_what_is_inherited_is_told_once_where_it_is_written(mistakes):
    said = mistakes({(*FABRIC, "link"): "800G", ("fabrics", "two"): {"like": "one"}})
    assert said == ["'800G' has no unit: write 800 Gb/s for a rate"]


def test_a_workload_says_on_which_of_several_clusters_it_was_measured(mistakes):
    (said,) = mistakes({("clusters", "other"): {"server": "hgx-b200", "servers": 4}})
    assert said == "fabric 'one' fits several clusters: say which, with 'cluster:' (expected one of: pod, other)"


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (
            {"name": "b", "compute": "3 ms", "after": ["c"]},
            "operation 'b' waits for 'c', which does not come before it",
        ),
        ({"name": "a", "compute": "3 ms"}, "two operations are named 'a'"),
        ({"name": "b"}, "an operation has one of compute, collective, send_recv, schedule or storage"),
        ({"name": "b", "compute": "3 ms", "bytes": "1 B"}, "unknown entry 'bytes' in operation 'b'"),
        ({"name": "b", "collective": "all-reduce"}, "operation 'b' lacks its bytes"),
        (
            {"name": "b", "collective": "all-to-all", "bytes": "1 MB", "algorithm": "ring"},
            "ring is no algorithm for all-to-all (expected one of: bruck, direct, pxn, auto)",
        ),
        (
            {"name": "b", "collective": "all-reduce", "bytes": "1 MB", "algorithm": "pxn"},
            "pxn is no algorithm for all-reduce (expected one of: ring, rail-ring, tree, halving-doubling, direct,",
        ),
        (
            {"name": "b", "collective": "all-to-all", "matrix": [["0 B"] * 2] * 2, "group": 2, "algorithm": "bruck"},
            "bruck sends equal blocks",
        ),
        (
            {"name": "b", "collective": "all-gather", "bytes": "1 MB", "algorithm": "tree"},
            "tree is no algorithm for all-gather",
        ),
        ({"name": "b", "collective": "broadcast", "bytes": "1 MB", "root": 32}, "root 32 is not among the 32 ranks"),
        (
            {"name": "b", "collective": "all-reduce", "bytes": "1 MB", "root": 1},
            "a root is for a broadcast or a reduce",
        ),
        (
            {"name": "b", "collective": "all-to-all", "matrix": [["1 B"]], "group": 2},
            "the matrix has 1 rows for a group of 2",
        ),
        ({"name": "b", "collective": "all-to-all", "matrix": [["1 B", "1 B"]]}, "a matrix has as many columns as rows"),
        ({"name": "b", "collective": "all-to-all", "matrix": "../x.csv"}, "'../x.csv' is outside the study's folder"),
        (
            {"name": "b", "collective": "all-to-all", "matrix": [["4 B", "0 B"], ["0 B", "0 B"]], "group": 2},
            "nobody sends anything to anybody",
        ),
        (
            {"name": "b", "collective": "all-to-all", "matrix": "/etc/passwd"},
            "'/etc/passwd' is outside the study's folder",
        ),
        (
            {"name": "b", "send_recv": {"pairs": [[0, 99]]}, "bytes": "1 B"},
            "pair [0, 99] needs two different ranks below 32",
        ),
        (
            {"name": "b", "send_recv": {"pairs": [[0]]}, "bytes": "1 B"},
            "an item of pairs of send_recv of operation 'b' lacks",
        ),
        (
            {"name": "b", "send_recv": {"shift": 32}, "bytes": "1 B"},
            "a shift of 32 sends every rank of 'pod' to itself",
        ),
        ({"name": "b", "send_recv": {}, "bytes": "1 B"}, "give either pairs or a shift"),
    ],
)
def test_a_wrong_operation_is_told(mistakes, operation, said):
    steps = {"kind": "operations", "operations": [{"name": "a", "compute": "1 ms"}, operation]}
    assert mistakes({("workloads", "steps"): steps})[0].startswith(said)


def test_a_row_of_a_matrix_in_a_file_that_is_too_short_is_told_with_file_and_row(mistakes, tmp_path):
    (tmp_path / "sizes.csv").write_text("0,1,2\n1,0\n2,1,0\n")
    uneven = {"name": "a", "collective": "all-to-all", "matrix": "sizes.csv"}
    (said,) = mistakes({("workloads", "steps"): {"kind": "operations", "operations": [uneven]}})
    assert said == "'sizes.csv', row 2: 2 columns, where a matrix of 3 rows has as many columns"


@pytest.mark.parametrize("name", ["../parts.yaml", "/etc/passwd", "sub/../../parts.yaml"])
def test_a_catalogue_outside_the_studys_folder_is_refused(mistakes, name):
    assert mistakes({("catalog",): name}) == [f"{name!r} is outside the study's folder"]


def test_a_link_out_of_the_studys_folder_is_refused(changed, tmp_path):
    (tmp_path / "parts.yaml").symlink_to("/etc/passwd")
    with pytest.raises(spec.StudyError, match="outside the study's folder"):
        changed({("catalog",): "parts.yaml"})


def test_mistakes_in_an_own_catalogue_are_told_in_its_file(changed, tmp_path):
    (tmp_path / "parts.yaml").write_text("switches:\n  mine: {like: sn5400, cage: 800G}\n")
    with pytest.raises(spec.StudyError) as caught:
        changed({("catalog",): "parts.yaml"})
    (mistake,) = caught.value.mistakes
    assert (mistake.file, mistake.line) == (str(tmp_path / "parts.yaml"), 2)


def test_a_missing_own_catalogue_is_told_where_it_is_named(mistakes):
    assert mistakes({("catalog",): "parts.yaml"}) == ["'parts.yaml': there is no such file"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pune-1023", "there is no such file, and no bundled study of that name; did you mean 'pune-1024'?"),
        ("none.yaml", "there is no such file"),
        ("/", "is a folder, not a file"),
        ("\0", "there is no such file"),
        ("x" * 5000, "is no usable file name"),
    ],
)
def test_a_study_that_is_not_there_is_told(name, said):
    with pytest.raises(spec.StudyError) as caught:
        spec.load(name)
    assert said in str(caught.value)


def test_a_later_step_can_point_at_the_line_that_it_finds_wrong():
    pune = spec.load("pune-1024")
    error = pune.error_at(("fabrics", "roce-200g", "link"), "too slow")
    assert isinstance(error, InputError)
    assert str(error) == "pune-1024.yaml:28:11: too slow"


def test_what_a_fabric_inherits_stands_where_the_other_states_it():
    pune = spec.load("pune-1024")
    assert pune.locate(("fabrics", "roce-200g", "switch")) == pune.locate(("fabrics", "roce-400g", "switch"))
    assert pune.locate(("fabrics", "b200-800g", "switch")) == pune.locate(("fabrics", "roce-800g", "switch"))
    assert pune.locate(("fabrics", "roce-400g", "uplink")) == pune.locate(("fabrics", "roce-400g"))


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        ({}, "a failure is of one thing, and this names nothing (expected one of: switch, nic, plane, link, tier)"),
        ({"switch": "a", "plane": 1}, "a failure is of one thing, and this names switch and plane (expected one of:"),
        ({"switch": "a", "count": 2}, "count is said of a link, not of a switch"),
        ({"plane": 0, "rate": "1 Gb/s"}, "rate is said of a link or a tier, not of a plane"),
        ({"tier": "leaf-spine"}, "links says how many of the tier's cables: a number, or a share as in '5%'"),
        ({"tier": "leaf-spine", "links": "lots"}, "'lots' is no part of the links: write a number of them, or a share"),
        ({"tier": "leaf-spine", "links": "120%"}, "'120%' is no part of the links"),
        (
            {"server": 3},
            "a job does not outlive a server: study a cluster of fewer servers, or the failure of its NICs",
        ),
        ({"link": ["a"]}, "link of an item of failures of fabric 'one' lacks its item 2"),
        ({"swich": "a"}, "unknown entry 'swich' in an item of failures of fabric 'one'; did you mean 'switch'?"),
    ],
)
def test_failures_that_make_no_sense(mistakes, failure, message):
    (told,) = mistakes({("fabrics", "one", "failures"): [failure]})
    assert message in told
