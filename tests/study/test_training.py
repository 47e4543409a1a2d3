"""Training jobs in a study: where the time of a step goes, what is refused and how, and sweeps over jobs."""

import pytest

import eastwest as ew
from eastwest import report, spec
from eastwest.spec import StudyError
from eastwest.study import scaling
from eastwest.study.training import pace
from eastwest.workload.training import preset
from eastwest.workload.training.arithmetic import model_flops

FABRICS = {
    "rails": {
        "shape": "rail-optimized",
        "servers_per_unit": 8,
        "technology": "infiniband",
        "link": "400 Gb/s",
        "switch": "qm9700",
    }
}


def study(job, servers=4, server="hgx-h100", **more):
    """A study of one training job: Llama 3 8B on 32 GPUs but for what is stated."""
    workload = {"kind": "training", "model": "llama3-8b", "sequence": 8192, "global_batch": 64, "recompute": "full"}
    return {
        "name": "job",
        "clusters": {"pod": {"server": server, "servers": servers}},
        "fabrics": FABRICS,
        "workloads": {"job": workload | job},
    } | more


def row(job, **more):
    (only,) = ew.run(study(job, **more)).json["results"]
    return only


def test_times_of_a_job_add_up_to_its_step():
    only = row({"parallelism": {"tensor": 2, "pipeline": 4, "sharding": "zero1"}})
    facts = only["training"]
    told = facts["compute_s"] + facts["bubble_s"] + sum(facts["exposed_s"].values())
    assert told == pytest.approx(only["step_s"], rel=1e-9)
    assert min(facts["compute_s"], facts["bubble_s"], facts["exposed_s"]["tensor"], facts["exposed_s"]["data"]) > 0
    assert facts["exposed_s"]["context"] == facts["exposed_s"]["expert"] == 0


def test_utilisation_is_the_models_operations_over_the_peak():
    # the catalogue's peak of an H100 in bf16 is 989.5 TFLOP/s
    only = row({"parallelism": {"sharding": "zero3"}})
    facts, flops = only["training"], model_flops(preset("llama3-8b"), 8192, 64 * 8192)
    assert facts["model_flops"] == pytest.approx(flops)
    assert facts["mfu"] == pytest.approx(flops / only["step_s"] / 32 / 989.5e12, rel=1e-3)
    assert facts["hfu"] > facts["mfu"]
    assert facts["tokens_per_s"] == pytest.approx(64 * 8192 / only["step_s"])


def test_a_measured_rate_rules_all_compute():
    job = {"recompute": "none", "measured_flops": "400 TFLOP/s", "memory": "ignore", "model": "llama2-7b"}
    facts = row(job, servers=1)["training"]
    # 64 sequences of 8192 tokens on 8 GPUs, whose update is no matter of the rate
    flops = model_flops(preset("llama2-7b"), 8192, 64 * 8192) / 8
    assert facts["compute_s"] == pytest.approx(flops / 400e12, rel=0.02)


def test_a_pipeline_waits_for_as_many_passes_as_it_has_other_stages():
    # arXiv 2104.04473: (p-1)/m of the compute, where stages are alike: 2 stages, 4 microbatches
    figures = {"layers": 32, "hidden": 1024, "ffn": 4096, "heads": 8, "vocab": 8}
    job = {"model": figures, "parallelism": {"tensor": 1, "pipeline": 2}, "global_batch": 64}
    facts = row(job)["training"]
    assert facts["microbatches"] == 4
    assert facts["bubble_s"] / facts["compute_s"] == pytest.approx(1 / 4, rel=0.1)
    assert facts["limit"] == "the pipeline's bubble"


def test_a_slow_last_stage_adds_to_the_bubble_and_takes_nothing_from_exchanged_activations():
    # the layers' exchanges are the same; the logits' own is a few numbers a token
    figures = {"layers": 32, "hidden": 4096, "ffn": 16384, "heads": 32}
    job = {"parallelism": {"tensor": 8, "pipeline": 4}, "recompute": "none", "memory": "ignore"}
    even, uneven = (row({"model": figures | {"vocab": vocab}, **job})["training"] for vocab in (8, 131072))
    assert uneven["exposed_s"]["tensor"] == pytest.approx(even["exposed_s"]["tensor"], rel=0.02)
    # others wait while the last stage works on logits: 3/4 of the time that it takes, of which compute's mean has 1/4
    more_compute = uneven["compute_s"] - even["compute_s"]
    assert uneven["bubble_s"] - even["bubble_s"] == pytest.approx(3 * more_compute, rel=0.1)


@pytest.mark.parametrize(
    ("job", "line", "message"),
    [
        (
            {"parallelism": {"tensor": 16}, "model": "qwen3-30b-a3b", "sequence": 8200},
            "sequence",
            "a sequence of 8200 tokens",
        ),
        ({"global_batch": 40}, "global_batch", "a global batch of 40 sequences cannot be cut into microbatches"),
        ({"parallelism": {"expert": 2}}, "expert", "expert 2 needs a model with experts; llama3-8b has none"),
        ({"parallelism": {"pipeline": 3}}, "parallelism", "32 ranks cannot be divided by"),
        ({"model": "llama3-405b"}, "job", "GB more than h100-sxm has"),
        ({"precision": "nvfp4"}, "job", "the catalogue has no sustained rate in nvfp4 for h100-sxm"),
    ],
)
def test_a_job_that_cannot_run_is_refused_with_its_line_and_remedy(tmp_path, job, line, message):
    from ruamel.yaml import YAML

    path = tmp_path / "job.yaml"
    YAML().dump(study(job), path)
    with pytest.raises(StudyError) as refused:
        ew.run(path)
    (mistake,) = refused.value.mistakes
    assert message in mistake.message
    assert f"{line}:" in path.read_text().splitlines()[mistake.line - 1]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"model": "llama3-70"}, "there is no model 'llama3-70'"),
        ({"model": {"layers": 2, "hidden": 100, "ffn": 4, "heads": 3, "vocab": 8}}, "3 heads do not divide a width"),
        ({"software": "megatron"}, "there is no training software 'megatron'"),
        ({"parallelism": {"virtual": 2, "pipeline": 2}}, "need `schedule: interleaved`"),
        ({"efficiency": 0.5, "measured_flops": "1 TFLOP/s"}, "not both"),
        ({"measured_flops": "400 Gb/s"}, "400 Gb/s"),
    ],
)
def test_figures_that_make_no_sense_are_refused_when_the_study_is_read(job, message):
    with pytest.raises(StudyError, match=message):
        ew.run(study(job))


def test_a_sweep_leaves_out_jobs_that_cannot_run_and_says_why():
    answer = ew.run(study({"parallelism": {"tensor": [1, 2, 3], "sharding": "zero1"}})).json
    assert [each["parameters"]["parallelism.tensor"] for each in answer["results"]] == [1, 2]
    (stopped,) = answer["stopped"]
    assert "32 ranks cannot be divided by tensor 3" in stopped["why"]


@pytest.mark.parametrize(
    "job",
    [
        {"parallelism": {"sharding": "zero2"}},
        {"parallelism": {"sharding": "zero3", "shard_group": 8}},
        {"parallelism": {"tensor": 2, "context": 2, "sharding": "zero1"}},
        {"parallelism": {"pipeline": 4, "virtual": 2, "schedule": "interleaved"}},
        {"parallelism": {"pipeline": 4, "schedule": "zero-bubble"}},
        {"parallelism": {"tensor": 4, "sequence_parallel": False, "pipeline": 2}},
        {"model": "qwen3-30b-a3b", "parallelism": {"expert": 8, "sharding": "zero1"}},
        {"parallelism": {"sharding": "zero3"}, "overlap": {"gradients": False, "parameters": False}},
        {"parallelism": {"sharding": "zero1"}, "overlap": {"gradients": False, "parameters": False}},
    ],
)
def test_every_way_to_divide_a_job_runs_and_its_times_add_up(job):
    only = row(job)
    facts = only["training"]
    told = facts["compute_s"] + facts["bubble_s"] + sum(facts["exposed_s"].values())
    assert told == pytest.approx(only["step_s"], rel=1e-9)
    assert 0.05 < facts["mfu"] < 0.8


def test_what_is_beside_compute_takes_no_longer_than_what_waits():
    waits = {"gradients": False, "parameters": False, "pipeline": False}
    for sharding in ("none", "zero1", "zero3"):
        jobs = [
            {"parallelism": {"sharding": sharding}, "overlap": overlap, "memory": "ignore"} for overlap in ({}, waits)
        ]
        beside, after = (row(job)["step_s"] for job in jobs)
        assert beside < after


def test_a_gap_is_told_by_what_was_waited_for_last():
    # a rank computes 1 s; its neighbour waits for that, and then 0.5 s for the message
    only = row({"parallelism": {"pipeline": 2}, "global_batch": 16, "micro_batch": 1, "model": "llama2-7b"})
    assert only["training"]["exposed_s"]["pipeline"] > 0
    assert only["training"]["exposed_s"]["tensor"] == 0


def test_a_job_scaled_weakly_has_as_many_sequences_a_gpu_at_every_size():
    given = spec.from_mapping(study({"parallelism": {"sharding": "zero1"}, "model": "llama2-7b"}))
    (curve,) = scaling(given, "rails", "job", (16, 64)).curves
    assert [size.gpus for size in curve.sizes] == [16, 32, 64]
    stated = row({"parallelism": {"sharding": "zero1"}, "model": "llama2-7b"})["step_s"]
    assert curve.sizes[1].step_s == pytest.approx(stated, rel=1e-9)
    assert curve.sizes[2].step_s == pytest.approx(stated, rel=0.1)


def test_a_job_scaled_strongly_keeps_its_batch():
    given = spec.from_mapping(study({"parallelism": {"sharding": "zero1"}, "model": "llama2-7b"}))
    (curve,) = scaling(given, "rails", "job", (16, 64), is_strong=True).curves
    assert [size.speedup for size in curve.sizes] == pytest.approx([1, 2, 4], rel=0.15)


def test_a_table_and_a_page_tell_of_training_jobs():
    answer = ew.run(study({"parallelism": {"tensor": [1, 2], "sharding": "zero1"}}))
    printed, page = str(answer), report.html(answer.result)
    for words in ("Training jobs", "job, tensor 2", "MFU", "bubble"):
        assert words in printed
        assert words in page
    frame = answer.frame
    assert {"training_mfu", "training_exposed_tensor_s", "training_memory_weights"} <= set(frame.columns)


def test_gpus_without_constants_of_nccl_exchange_round_rings():
    job = {"model": "llama2-7b", "sequence": 4096, "efficiency": 0.4}
    switch = {"shape": "single-switch", "technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400"}
    only = row(job, servers=1, server="hgx-mi300x", fabrics={"one": switch})
    assert not only["choices"]
    assert only["training"]["exposed_s"]["data"] > 0


def test_matrices_split_beyond_a_server_are_warned_of():
    split = ew.run(study({"parallelism": {"tensor": 16, "sharding": "zero1"}})).json
    assert any("16 tensor-parallel ranks and 8 GPUs that share NVLink" in text for text in split["warnings"])
    assert not ew.run(study({"parallelism": {"tensor": 8, "sharding": "zero1"}})).json["warnings"]


def test_a_job_of_a_mix_takes_as_long_as_alone_where_nothing_is_shared():
    job = {"parallelism": {"sharding": "zero1"}, "model": "llama2-7b", "global_batch": 16}
    mix = {"both": {"jobs": [{"workload": "job", "servers": 1, "name": name} for name in ("one", "two")]}}
    answer = ew.run(study(job, mixes=mix), where="mix=both").json
    assert [each["slowdown"] for each in answer["jobs"]] == pytest.approx([1, 1], rel=1e-6)
    assert answer["jobs"][0]["choices"][0]["operation"] == "data all-gather"


def test_a_last_stage_with_more_compute_is_told_to_set_the_pace():
    told = pace([1.0, 1.0, 1.0, 1.4])  # mean 1.1 s
    assert told.startswith("The last stage")
    assert "300 ms more" in told
    assert "fewer layers" in told


def test_stages_of_equal_compute_set_no_pace():
    assert pace([1.0, 1.0, 1.01]) == ""
