"""A sweep is every combination run as if it stood alone, told with what was chosen; conditions choose among them."""

import pytest

import eastwest as ew
from eastwest import spec
from eastwest.errors import InputError
from eastwest.study import run
from eastwest.study.selection import combinations

PAYLOAD = 4096 / 4178  # of RoCEv2's line rate, as docs/engine.md derives it


def study(**changes):
    return {
        "name": "swept",
        "seeds": 3,
        "clusters": {"pod": {"server": "hgx-h100", "servers": 4}},
        "fabrics": {
            "one": {
                "shape": "leaf-spine",
                "technology": "rocev2",
                "link": "200 Gb/s",
                "switch": "sn5400",
                "servers_per_unit": 2,
            }
        },
        "workloads": {
            "job": {
                "kind": "operations",
                "operations": [
                    {"name": "forward", "compute": "1 ms"},
                    {"name": "gradients", "collective": "all-reduce", "bytes": "1 GB", "after": ["forward"]},
                ],
            }
        },
        **changes,
    }


def fabric(**more):
    return {"one": {**study()["fabrics"]["one"], **more}}


def job(**more):
    forward, gradients = study()["workloads"]["job"]["operations"]
    return {"job": {"kind": "operations", "operations": [forward, {**gradients, **more}]}}


def test_time_grows_with_size_as_the_ring_s_closed_form_has_it():
    swept = study(workloads=job(bytes={"from": "1 GB", "to": "8 GB", "times": 2}), fabrics=fabric(balancing="spray"))
    frame = ew.run(swept).frame
    n, g, rate = 32, 8, 200e9 * PAYLOAD / 8
    per_byte = 2 * (n - 1) / n / (g * rate)
    times = frame["communication_s"]
    for first, second in zip(range(3), range(1, 4), strict=True):
        grown = frame["bytes"][second] - frame["bytes"][first]
        assert times[second] - times[first] == pytest.approx(grown * per_byte, rel=1e-3)


def test_every_combination_comes_out_as_if_it_stood_alone():
    swept = study(
        fabrics=fabric(link=["100 Gb/s", "400 Gb/s"], qps=[1, 4]),
        clusters={"pod": {"server": "hgx-h100", "servers": [4, 8]}},
        placements=["scattered"],
        seeds=[1, 3],
    )
    result = run(spec.from_mapping(swept))
    assert len(result.rows) == 16
    for row in result.rows:
        chosen = {each.name: each for each in row.parameters}
        alone = study(
            fabrics=fabric(link=chosen["link"].text, qps=chosen["qps"].value),
            clusters={"pod": {"server": "hgx-h100", "servers": chosen["servers"].value}},
            placements=["scattered"],
            seeds=chosen["seeds"].value,
        )
        (expected,) = run(spec.from_mapping(alone)).rows
        assert (row.step_s, row.communication_p95_s, row.bottleneck, row.tiers, row.draws) == (
            expected.step_s,
            expected.communication_p95_s,
            expected.bottleneck,
            expected.tiers,
            expected.draws,
        )


def test_what_was_chosen_is_in_the_json_and_a_column_of_the_table():
    answer = ew.run(study(fabrics=fabric(link=["100 Gb/s", "200 Gb/s"], balancing=["ecmp", "spray"])))
    assert [each["parameters"] for each in answer.json["results"]] == [
        {"link": link, "balancing": balancing} for link in (1e11, 2e11) for balancing in ("ecmp", "spray")
    ]
    assert answer.frame["link"].to_list() == [1e11, 1e11, 2e11, 2e11]
    assert answer.frame["fabric"].unique().to_list() == ["one"]
    assert [each["parameters"] for each in answer.json["fabrics"]] == [
        each["parameters"] for each in answer.json["results"]
    ]


def test_a_column_of_numbers_and_words_is_text():
    assert ew.run(study(workloads=job(group=["all", 8]))).frame["group"].to_list() == ["all", "8"]


def test_a_measured_workload_is_solved_where_it_was_measured_and_swept_elsewhere():
    swept = study(
        fabrics=fabric(balancing="spray"),
        clusters={
            "as-measured": {"server": "hgx-h100", "servers": 4},
            "pod": {"server": "hgx-h100", "servers": [4, 8]},
        },
        workloads={
            "known": {
                "kind": "measured",
                "measured_on": {"fabric": "one", "cluster": "as-measured"},
                "step": "2 s",
                "exposed": ["0.1 s", "0.4 s"],
                "collective": {"kind": "all-reduce"},
            }
        },
    )
    rows = run(spec.from_mapping(swept), where="cluster=pod").rows
    found = {(row.parameters[0].value, row.parameters[1].value): row.exposed_s for row in rows}
    assert found[4, 0.1] == pytest.approx(0.1, rel=1e-5)
    assert found[4, 0.4] == pytest.approx(0.4, rel=1e-5)
    # the same buffer on twice the servers: 2 (n-1)/n of it, n from 32 to 64 GPUs, where latency is small
    assert found[8, 0.4] == pytest.approx(0.4 * (63 / 64) / (31 / 32), rel=1e-2)


def test_a_mistake_in_one_combination_is_told_at_its_value():
    text = """name: swept
clusters: {pod: {server: hgx-h100, servers: 4}}
fabrics:
  one:
    shape: leaf-spine
    technology: rocev2
    link:
      - 400 Gb/s
      - 300 Gb/s
    switch: sn5400
workloads: {job: {kind: operations, operations: [{name: a, collective: all-reduce, bytes: 1 MB}]}}
"""
    with pytest.raises(
        spec.StudyError, match=r"swept.yaml:9:9: fabric 'one' cannot be built: the NIC connectx-7 does not"
    ):
        run(spec.loads(text, "swept.yaml"))


SWEPT = study(
    fabrics=fabric(link=["100 Gb/s", "200 Gb/s", "400 Gb/s"], oversubscription=["1:1", "2:1"])
    | {"two": {"like": "one", "link": "400 Gb/s", "oversubscription": 1, "balancing": "spray"}},
    clusters={"pod": {"server": "hgx-h100", "servers": [4, 8]}},
    workloads=job(group=["all", {"size": 8, "stride": 2}]),
    placements=["packed", "scattered"],
)
EVERYTHING = (3 * 2 + 1) * 2 * 2 * 2


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("", EVERYTHING),
        ("fabric=one", EVERYTHING * 6 // 7),
        ("fabric=one|two", EVERYTHING),
        ("fabric!=one", EVERYTHING // 7),
        ("link>=200 Gb/s", EVERYTHING * 5 // 7),
        ("link > 25 GB/s", EVERYTHING * 3 // 7),
        ("link<0.2 Tb/s, servers=8", EVERYTHING * 2 // 7 // 2),
        ("link=100 Gb/s|400 Gb/s,fabric=one", EVERYTHING * 4 // 7),
        ("oversubscription<=1", EVERYTHING * 4 // 7),
        ("oversubscription=2:1", EVERYTHING * 3 // 7),
        ("placement=packed,workload=job,cluster=pod", EVERYTHING // 2),
        ("group={size: 8, stride: 2},servers!=4", EVERYTHING // 4),
    ],
)
def test_conditions_choose(where, count):
    assert len(combinations(spec.from_mapping(SWEPT), where)) == count


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("lnk=100 Gb/s", "no column 'lnk'; did you mean 'link'? (there are: fabric, link, oversubscription, cluster,"),
        ("fabric=tow", "fabric is never 'tow'; did you mean 'two'? (it is: one, two)"),
        ("link=300 Gb/s", "link is never '300 Gb/s'"),
        ("link>=4 GB", "'4 GB' cannot be compared with 100 Gb/s"),
        ("link>=400", "'400' cannot be compared with 100 Gb/s"),
        ("group>8", "group is not a number everywhere"),
        ("link", "write a column, a comparison and a value"),
        ("fabric=one,", "write a column, a comparison and a value"),
        ("link>400 Gb/s", "no combination meets 'link>400 Gb/s'"),
        ("fabric=one,fabric=two", "conditions must hold; for either of several values write fabric=one|two"),
    ],
)
def test_a_condition_that_cannot_be_met_is_told_with_what_there_is(where, said):
    with pytest.raises(InputError) as caught:
        combinations(spec.from_mapping(SWEPT), where)
    assert said in str(caught.value)


def test_too_many_combinations_are_refused_with_their_number_unless_conditions_leave_few():
    many = study(
        fabrics=fabric(qps={"from": 1, "to": 200, "step": 1}),
        workloads=job(bytes={"from": "1 MB", "to": "100 MB", "step": "1 MB"}),
    )
    with pytest.raises(InputError, match=r"20,000 combinations; at most 10,000 are run"):
        run(spec.from_mapping(many))
    assert len(combinations(spec.from_mapping(many), "qps<=3")) == 300


def test_equal_fabrics_are_built_once(monkeypatch):
    from eastwest.study import fabrics

    built, build = [], fabrics.build
    monkeypatch.setattr(fabrics, "build", lambda *given: built.append(given) or build(*given))
    run(spec.from_mapping(study(fabrics=fabric(qps=[1, 2, 4], balancing=["ecmp", "spray"]))))
    assert len(built) == 1
