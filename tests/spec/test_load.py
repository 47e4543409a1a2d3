import pytest

from eastwest import spec
from eastwest.units import Money


@pytest.fixture(scope="module")
def pune():
    return spec.load("pune-1024")


def test_the_bundled_study_is_found_by_its_name(pune):
    assert pune.name == "pune-1024"
    assert spec.bundled_studies() == ("pune-1024",)
    assert pune.money.gpu_hour == Money(2.5, "USD")
    assert pune.gpus("h100") == 1024


def test_a_folder_of_the_same_name_does_not_hide_a_bundled_study(tmp_path, monkeypatch):
    (tmp_path / "pune-1024").mkdir()
    monkeypatch.chdir(tmp_path)
    assert spec.load("pune-1024").name == "pune-1024"


def test_a_file_wins_over_a_bundled_study(tmp_path, monkeypatch, small):
    (tmp_path / "pune-1024").write_text(small)
    monkeypatch.chdir(tmp_path)
    assert spec.load("pune-1024").name == "small"


def test_a_fabric_like_another_states_only_what_differs(pune):
    built, slower = pune.fabrics["roce-400g"], pune.fabrics["roce-200g"]
    assert slower.link == 200e9
    assert slower.model_dump(exclude={"link", "like"}) == built.model_dump(exclude={"link", "like"})


def test_likes_may_follow_each_other(pune):
    assert pune.fabrics["b200-800g"].link == 800e9
    assert pune.fabrics["b200-800g"].qps == 4
    assert pune.nic("b200-800g", "b200").name == "connectx-8"


def test_the_order_of_fabrics_does_not_matter(changed):
    fabric = {"like": "one", "link": "200 Gb/s"}
    assert changed({("fabrics", "before"): fabric}).fabrics["before"].switch["spine"] == "sn5400"


def test_technology_chooses_how_load_is_balanced(changed):
    assert changed({}).fabrics["one"].balancing == "ecmp"
    infiniband = {("fabrics", "one", "technology"): "infiniband", ("fabrics", "one", "switch"): "qm9700"}
    assert changed(infiniband).fabrics["one"].balancing == "adaptive"
    for technology, habit in (("ultra-ethernet", "spray"), ("mrc", "source")):
        assert changed({("fabrics", "one", "technology"): technology}).fabrics["one"].balancing == habit
    assert changed({**infiniband, ("fabrics", "one", "balancing"): "pinned"}).fabrics["one"].balancing == "pinned"


def test_queue_pairs_are_nccls_where_nothing_is_said(changed):
    fabric = changed({}).fabrics["one"]
    assert (fabric.qps, fabric.qp_use, fabric.message) == (1, "round-robin", 4 * 2**20 / 8)


def test_a_tier_may_have_its_own_switch_breakout_and_ratio(changed):
    fabric = changed(
        {
            ("fabrics", "one", "switch"): {"leaf": "sn5400", "spine": "sn5600"},
            ("fabrics", "one", "breakout"): {"spine": 2},
            ("fabrics", "one", "oversubscription"): {"leaf": "3:2", "spine": 2},
            ("fabrics", "one", "cables"): {"leaf-spine": "50 m"},
        }
    ).fabrics["one"]
    assert fabric.switch == {"leaf": "sn5400", "spine": "sn5600"}
    assert fabric.breakout == {"spine": 2}
    assert fabric.oversubscription == {"leaf": 1.5, "spine": 2.0}
    assert fabric.cables == {"leaf-spine": 50.0}


def test_one_ratio_is_that_of_the_leaves(changed):
    assert changed({("fabrics", "one", "oversubscription"): "4:1"}).fabrics["one"].oversubscription == {"leaf": 4.0}


def test_a_single_switch_inherits_nothing_that_it_cannot_have(changed):
    tall = {
        "shape": "rail-optimized",
        "servers_per_unit": 2,
        "technology": "rocev2",
        "link": "400 Gb/s",
        "switch": "sn5400",
    }
    study = changed({("fabrics", "tall"): tall, ("fabrics", "flat"): {"like": "tall", "shape": "single-switch"}})
    assert study.fabrics["flat"].servers_per_unit is None


def test_one_tier_inherits_nothing_that_belongs_above_the_leaves(changed):
    tall = {
        "shape": "rail-only",
        "servers_per_unit": 2,
        "oversubscription": "2:1",
        "technology": "rocev2",
        "link": "400 Gb/s",
        "switch": "sn5400",
    }
    study = changed({("fabrics", "tall"): tall, ("fabrics", "flat"): {"like": "tall", "tiers": 1}})
    assert (study.fabrics["flat"].servers_per_unit, study.fabrics["flat"].oversubscription) == (2, {})


def test_more_capacity_up_than_down_is_a_ratio_below_one(changed):
    assert changed({("fabrics", "one", "oversubscription"): "1:2"}).fabrics["one"].oversubscription == {"leaf": 0.5}


def test_a_fabric_without_a_cluster_joins_each_in_turn(changed):
    study = changed(
        {
            ("clusters", "other"): {"server": "hgx-b200", "servers": 4},
            ("workloads", "job", "measured_on", "cluster"): "pod",
        }
    )
    assert study.clusters_of("one") == ("pod", "other")


def test_the_nic_is_the_fabrics_else_the_clusters_else_the_servers(changed):
    assert changed({}).nic("one", "pod").name == "connectx-7"
    with_cluster = {("clusters", "pod", "nic"): "connectx-6"}
    assert changed(with_cluster).nic("one", "pod").name == "connectx-6"
    assert changed({**with_cluster, ("fabrics", "one", "nic"): "connectx-8"}).nic("one", "pod").name == "connectx-8"


def test_a_collective_has_the_algorithm_and_channels_of_its_kind(changed):
    job = changed({}).workloads["job"]
    assert (job.collective.resolved_algorithm, job.collective.resolved_channels) == ("rail-ring", 16)
    job = changed({("workloads", "job", "collective", "kind"): "all-to-all"}).workloads["job"]
    assert (job.collective.resolved_algorithm, job.collective.resolved_channels) == ("direct", 1)


def test_communication_in_all_is_its_exposed_part_where_nothing_is_said(changed):
    assert changed({}).workloads["job"].communication_s == 0.4
    assert changed({("workloads", "job", "communication"): "900 ms"}).workloads["job"].communication_s == 0.9


@pytest.mark.parametrize(
    ("written", "size", "stride"),
    [("all", None, 1), (8, 8, 1), ({"size": 4, "stride": 8}, 4, 8), ({"size": 16}, 16, 1)],
)
def test_groups_are_all_neighbours_or_strided(changed, written, size, stride):
    group = changed({("workloads", "job", "collective", "group"): written}).workloads["job"].collective.group
    assert (group.size, group.stride) == (size, stride)


def test_placements_are_words_or_a_seeded_shuffle(changed):
    placements = changed({("placements",): ["packed", "by-rail", "scattered", {"scattered": {"seed": 7}}]}).placements
    assert [str(each) for each in placements] == ["packed", "by-rail", "scattered", "scattered-7"]
    assert placements[3].seed == 7


def test_a_step_may_be_a_list_of_operations(changed):
    operations = [
        {"name": "work", "compute": "3 ms"},
        {"name": "swap", "collective": "all-to-all", "matrix": [["0 B", "2 MB"], ["1 MB", "0 B"]], "group": 2},
        {"name": "pass", "send_recv": {"shift": 8}, "bytes": "1 MB", "after": ["work"]},
        {"name": "tell", "collective": "broadcast", "bytes": "1 MB", "root": 3, "queue": "control", "after": ["swap"]},
    ]
    workload = changed({("workloads", "steps"): {"kind": "operations", "operations": operations}}).workloads["steps"]
    work, swap, passing, tell = workload.operations
    assert work.compute == 3e-3
    assert swap.matrix == ((0.0, 2e6), (1e6, 0.0))
    assert passing.send_recv.shift == 8
    assert (tell.root, tell.queue, tell.after) == (3, "control", ("swap",))


def test_a_matrix_may_lie_in_a_file_beside_the_study(changed, tmp_path):
    (tmp_path / "bytes.csv").write_text("0,2000000\n1e6,0\n")
    swap = {"name": "swap", "collective": "all-to-all", "matrix": "bytes.csv", "group": 2}
    study = changed({("workloads", "job"): {"kind": "operations", "operations": [swap]}})
    assert study.workloads["job"].operations[0].matrix == ((0.0, 2e6), (1e6, 0.0))


def test_own_catalogue_entries_lie_beside_the_study(changed, tmp_path):
    (tmp_path / "parts.yaml").write_text("switches:\n  mine: {like: sn5400, cages: 32}\n")
    study = changed({("catalog",): "parts.yaml", ("fabrics", "one", "switch"): "mine"})
    assert study.catalog_entries().switch("mine").cages == 32


def test_a_study_cannot_be_changed_but_copied_with_its_catalogue(pune):
    with pytest.raises(ValueError, match="frozen"):
        pune.seeds = 3
    copy = pune.model_copy(update={"fidelity": "ideal"})
    assert (copy.fidelity, copy.gpus("b200")) == ("ideal", 1024)


def test_the_starting_file_is_a_study():
    study = spec.loads(spec.starting_file(), "study.yaml")
    assert set(study.workloads) == {"training", "experts"}
    assert len(spec.starting_file().splitlines()) < 60


def test_the_starting_file_is_written_once(tmp_path):
    path = tmp_path / "study.yaml"
    spec.write_starting_file(path)
    assert spec.load(path).name == "my-cluster"
    with pytest.raises(spec.StudyError, match="--force"):
        spec.write_starting_file(path)
    path.write_text("x")
    spec.write_starting_file(path, overwrite=True)
    assert [each.name for each in tmp_path.iterdir()] == ["study.yaml"]
    assert path.read_text() == spec.starting_file()


def test_the_starting_file_is_not_written_where_there_is_no_folder(tmp_path):
    with pytest.raises(spec.StudyError, match="cannot be written"):
        spec.write_starting_file(tmp_path / "none" / "study.yaml")
    with pytest.raises(spec.StudyError, match="is a folder"):
        spec.write_starting_file(tmp_path, overwrite=True)
