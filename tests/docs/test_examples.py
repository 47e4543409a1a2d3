"""The example studies run, and their comments are true."""

from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

import eastwest as ew
from eastwest import spec
from eastwest.fabric import summary
from eastwest.study import build_fabric, scaling
from eastwest.study.importing import import_files, write_imported

EXAMPLES = Path(__file__).parents[2] / "examples"
STUDIES = sorted(path for path in EXAMPLES.glob("*.yaml") if not path.stem.endswith("-catalog"))


def counts(study, fabric, cluster=None):
    return summary(build_fabric(spec.load(EXAMPLES / f"{study}.yaml"), fabric, cluster))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in STUDIES])
def test_an_example_is_complete_for_an_editor_and_bears_its_file_s_name(path):
    written = YAML(typ="safe").load(path)
    jsonschema.validate(written, spec.json_schema())
    assert written["name"] == path.stem


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in STUDIES])
def test_an_example_answers_for_every_combination(path):
    study = spec.load(path)
    networks = sum(len(study.clusters_of(fabric)) for fabric in study.fabrics)
    frame = ew.run(path).frame
    assert len(frame) == networks * len(study.workloads) * len(study.placements)
    assert frame["step_s"].min() > 0


def test_the_single_switch_is_full():
    assert counts("single-switch-64", "roce-400g")["ports"]["leaf"] == {"total": 64, "used": 64, "spare": 0}


def test_half_the_spines_halve_the_bisection_and_fast_uplinks_restore_it():
    whole, half, fast = (counts("leaf-spine-256", name) for name in ("non-blocking", "half", "half-fast-uplinks"))
    assert [each["switches"] for each in (whole, half, fast)] == [
        {"leaf": 8, "spine": spines, "core": 0} for spines in (4, 2, 2)
    ]
    assert whole["bisection_bps"] == 2 * half["bisection_bps"] == fast["bisection_bps"]


def test_storage_leaves_training_alone_on_switches_of_its_own_and_slows_it_on_the_gpus_leaves():
    kinds = [counts("shared-storage", fabric) for fabric in ("apart", "together")]
    uplinks = [each["cables"]["leaf-spine"] / each["switches"]["leaf"] for each in kinds]
    assert uplinks == [8, 8]
    assert [kinds[0]["switches"][tier] for tier in ("access", "aggregation")] == [5, 4]
    rows = ew.run(EXAMPLES / "shared-storage.yaml").frame.rows_by_key(["fabric", "workload"], named=True, unique=True)
    step_s = {key: row["step_s"] for key, row in rows.items()}
    assert step_s["apart", "training"] == pytest.approx(step_s["apart", "undisturbed"], rel=1e-6)
    assert step_s["together", "undisturbed"] == pytest.approx(step_s["apart", "undisturbed"], rel=1e-3)
    assert step_s["together", "training"] > 1.05 * step_s["together", "undisturbed"]


def test_three_tiers_are_as_the_comments_count_them():
    assert counts("three-tiers-4096", "rails")["switches"] == {"leaf": 128, "spine": 128, "core": 64}
    thin = counts("three-tiers-4096", "rails-thin-core")["cables"]
    assert thin["spine-core"] == pytest.approx(thin["leaf-spine"] / 4, rel=0.15)  # some is spare: pods are not all full


def test_a_network_of_its_own_has_half_the_cables_from_its_old_row():
    cables = counts("own-network", "as-cabled")["cables"]
    assert (cables["server-leaf"], cables["leaf-spine"]) == (32, 8 + 16)


def test_published_designs_have_the_switches_that_were_published():
    meta, hpn = (counts("published-designs", name) for name in ("meta", "hpn"))
    assert (meta["gpus"], hpn["gpus"]) == (24_576, 15_360)
    assert meta["switches"] == {"leaf": 1536, "spine": 64, "core": 8}
    assert hpn["switches"] == {"leaf": 240, "spine": 120, "core": 0}
    assert hpn["ports"]["leaf"]["spare"] == 240 * 8
    assert hpn["cables"] == {"server-leaf": 240 * 128, "leaf-spine": 240 * 60, "spine-core": 0}


def test_half_the_nics_are_half_the_ports_and_only_the_old_nic_is_warned_of():
    eight, four = (counts("own-parts", "ecmp", cluster) for cluster in ("eight-nics", "four-nics"))
    assert eight["gpus"] == four["gpus"]
    assert eight["nics"] == 2 * four["nics"]
    warnings = ew.run(EXAMPLES / "own-parts.yaml").result.warnings
    assert len(warnings) == 1
    assert "house-nic" in warnings[0]


def test_jobs_apart_do_not_touch_and_scattered_ones_do():
    jobs = ew.run(
        EXAMPLES / "shared-cluster.yaml", where="mix=apart|scattered|scattered-and-busy,fabric=half-sprayed"
    ).jobs
    slowdown = {(row["mix"], row["job"]): row["slowdown"] for row in jobs.to_dicts()}
    assert slowdown["apart", "dense"] == pytest.approx(1)
    assert slowdown["apart", "experts"] == pytest.approx(1)
    assert 1.02 < slowdown["scattered", "dense"] < slowdown["scattered-and-busy", "dense"]


def test_a_lost_spine_stops_roce_until_a_timeout_and_takes_a_plane_from_mrc():
    rows = {row.fabric: row for row in ew.run(EXAMPLES / "spine-lost.yaml").result.rows}
    struck, tuned, mrc = (rows[name].slowdown for name in ("roce-struck", "roce-struck-tuned", "mrc-struck"))
    timeout_s = 4.096e-6 * 2**14
    assert rows["roce-struck"].step_s > timeout_s
    # half the rate from 100 us on, and some ten round trips of 10 us to find out and send again
    whole_s = rows["mrc"].step_s
    assert 1 < mrc < (2 * (whole_s - 100e-6) + 100e-6 + 100e-6) / whole_s < tuned < struck


def test_more_gpus_make_a_batch_slower_that_stays_as_it_is():
    study = spec.load(EXAMPLES / "more-gpus-slower.yaml")
    (curve,) = scaling(study, "rails", "llama", (128, 4096), is_strong=True).curves
    steps = [size.step_s for size in curve.sizes]
    assert min(steps) < steps[-1] < steps[0]
    assert curve.findings[0].startswith("More GPUs made it slower: a step takes")
    assert "held back by data-parallel communication" in curve.findings[0]


def test_a_step_of_llama_3_is_near_its_paper():
    # arXiv 2407.21783, table 4: 41 % on 16,384 GPUs with 8,192 tokens a sequence; ours has no stragglers
    frame = ew.run(EXAMPLES / "llama3-405b.yaml", where="fabric=rails,workload=short").frame
    assert frame["training_mfu"][0] == pytest.approx(0.41, rel=0.15)


def test_the_imported_step_is_what_the_trace_beside_it_becomes(tmp_path):
    found = import_files([EXAMPLES / "traces" / "layers.0.et"], ranks=64)
    write_imported(found, [Path("layers.0.et")], tmp_path / "again")
    assert (tmp_path / "again").read_text() == (EXAMPLES / "traces" / "layers.step.jsonl").read_text()
