"""The path of the data in a study: times by arithmetic, what sets the pace, what is shared, and what is refused."""

from dataclasses import astuple
from typing import Any

import pytest

from eastwest import spec
from eastwest.study import pace, run, scaling, sensitivity, to_json, to_table

PAYLOAD = 4096 / 4178
"""Of a full RoCEv2 packet."""
PCIE = 504.12e9 / 8 * 256 / 280
"""Payload of an H100's PCIe, bytes a second."""
SERVERS, GPUS = 8, 64
APART = {"link": "200 Gb/s", "switch": "sn5400", "storage": {"servers": 2}}
SHARED = {"network": "shared", "storage": {"servers": 2}}
WORK = [{"name": "work", "compute": "1 s"}]
IMAGES = {"samples": 8000, "bytes": "1 MB"}
HAND_ON = [{"name": "hand-on", "send_recv": {"pairs": [[rank, 16 + rank] for rank in range(16)]}, "bytes": "4 GB"}]
NARROW = {"servers_per_unit": 2, "oversubscription": 10}
"""Two uplinks on each leaf."""


def values(around: dict[str, Any], frontend: dict[str, Any] | None, operations: Any = WORK, **fabric: Any) -> Any:
    built = {
        "shape": "leaf-spine",
        "servers_per_unit": 3,
        "technology": "rocev2",
        "link": "400 Gb/s",
        "switch": "sn5400",
        "balancing": "spray",
        **fabric,
    }
    return {
        "name": "fed",
        "tolerance": 0.0,
        "clusters": {"pod": {"server": "hgx-h100", "servers": SERVERS}},
        "fabrics": {"it": built if frontend is None else {**built, "frontend": frontend}},
        "workloads": {"job": {"kind": "operations", "operations": operations, **around}},
    }


def row(around: dict[str, Any], frontend: dict[str, Any] | None = APART, operations: Any = WORK, **fabric: Any) -> Any:
    (only,) = run(spec.from_mapping(values(around, frontend, operations, **fabric))).rows
    return only


def found(
    around: dict[str, Any], frontend: dict[str, Any] | None = APART, operations: Any = WORK, **fabric: Any
) -> Any:
    return row(around, frontend, operations, **fabric).data_path


def seconds(path: Any) -> dict[str, float]:
    return {stage.name: stage.seconds for stage in path.stages}


READ_S = 80e9 / (4 * 25e9 * PAYLOAD)
"""80 GB over the 2 x 2 ports of 200 Gb/s of storage."""


def test_each_stage_takes_its_batch_over_what_it_has():
    told = seconds(
        found({"data": {"samples": 8000, "bytes": "10 MB", "loaded": "2 MB", "cpu": "40 ms", "workers": 80}})
    )
    assert told["storage"] == pytest.approx(READ_S, rel=1e-3)
    assert told["preprocessing"] == pytest.approx(1000 * 0.040 / 80)
    assert told["copy to GPU"] == pytest.approx(8000 / GPUS * 2e6 / PCIE)
    assert told["step"] == pytest.approx(1.0)


def test_storage_sets_the_pace_where_it_is_slowest():
    path = found({"data": {"samples": 16000, "bytes": "10 MB"}})
    assert path.pace_s == pytest.approx(2 * READ_S, rel=1e-3)
    assert (path.limited_by, path.behind) == ("storage", "compute")
    assert path.behind_share == pytest.approx(1.0 / path.pace_s)
    assert path.where.startswith("storage NIC ports")
    assert [stage.utilisation for stage in path.stages][-1] == pytest.approx(1.0 / path.pace_s)


def test_preprocessing_sets_the_pace_where_it_is_slowest():
    path = found({"data": {**IMAGES, "cpu": "200 ms", "workers": 100}})
    assert (path.pace_s, path.limited_by) == (pytest.approx(2.0), "preprocessing")


def test_the_step_sets_the_pace_by_its_larger_part():
    assert found({"data": IMAGES}).limited_by == "compute"
    assert found({"data": IMAGES}, operations=HAND_ON).limited_by == "network"


def test_one_batch_ahead_has_one_step_for_its_whole_way():
    data = {"samples": 8000, "bytes": "5 MB", "cpu": "60 ms", "workers": 80, "prefetch": 1}
    path = found({"data": data})
    assert path.limited_by == "prefetch"
    assert path.pace_s == pytest.approx(sum(seconds(path).values()) - 1.0)


def test_a_server_s_own_disks_stand_in_for_storage():
    told = seconds(found({"data": {**IMAGES, "read_rate": "80 Gb/s"}}, frontend=None))
    assert told["storage"] == pytest.approx(1000e6 / 10e9)


def test_reading_on_a_shared_network_slows_the_exchange_and_on_a_separate_one_not():
    """16 messages of 4 GB go down to a leaf over its 2 x 50 GB/s, of which shared reads have 25 while they last: the
    quarter of the 100 out of the leaf of storage, for the 64 GB of all."""
    data = {"data": {"samples": 8000, "bytes": "8 MB"}}
    apart, shared = found(data, APART, HAND_ON, **NARROW), found(data, SHARED, HAND_ON, **NARROW)
    alone = row(data, APART, HAND_ON, **NARROW).step_s
    assert seconds(apart)["step"] == pytest.approx(alone)
    assert alone == pytest.approx(64e9 / (100e9 * PAYLOAD), rel=1e-3)
    assert seconds(shared)["storage"] == pytest.approx(64e9 / (100e9 * PAYLOAD), rel=1e-3)
    assert seconds(shared)["step"] == pytest.approx((64e9 + 0.64 * 25e9) / (100e9 * PAYLOAD), rel=1e-3)
    assert shared.pace_s == seconds(shared)["step"]


def test_a_shared_read_ends_when_it_does_as_an_operation_of_the_step():
    load = {"name": "load", "storage": {"read": "8 GB"}}
    both = row({}, SHARED, [*HAND_ON, load], **NARROW)
    path = found({"data": {"samples": 8000, "bytes": "8 MB"}}, SHARED, HAND_ON, **NARROW)
    assert max(seconds(path)["step"], seconds(path)["storage"]) == pytest.approx(both.step_s)


def test_a_batch_meets_what_the_step_itself_reads():
    """Both read 80 GB through the same ports, and each takes as long as both."""
    load = [{"name": "load", "storage": {"read": "10 GB"}}]
    told = seconds(found({"data": {"samples": 8000, "bytes": "10 MB"}}, operations=load))
    assert (told["storage"], told["step"]) == (pytest.approx(2 * READ_S, rel=1e-3), pytest.approx(2 * READ_S, rel=1e-3))


WRITTEN_S = 100e9 / (4 * 25e9 * PAYLOAD) + 100e9 / GPUS / PCIE
"""A checkpoint of 100 GB: copied to the hosts, then written through the ports of storage."""


def test_a_synchronous_checkpoint_stops_the_job_until_it_is_written():
    saved = found({"checkpoint": {"bytes": "100 GB", "every": "10 min"}}).checkpoints
    assert saved.exposed_s == pytest.approx(WRITTEN_S, rel=1e-3)
    assert saved.every_s == 600.0
    assert saved.steps == pytest.approx(600.0)
    assert saved.mtbf_s == pytest.approx(16384 * 54 * 86400 / 419 / GPUS)
    assert saved.restart_s == pytest.approx(600.0 + WRITTEN_S, rel=1e-3)


@pytest.mark.parametrize("frontend", [APART, SHARED])
def test_a_checkpoint_may_come_after_so_many_steps(frontend):
    around = {"checkpoint": {"bytes": "1 TB", "mode": "async", "every": "500 steps"}}
    saved = found(around, frontend, HAND_ON, **NARROW).checkpoints
    assert saved.steps == pytest.approx(500)
    assert saved.slowdown > 1.2 or frontend is APART


def test_an_asynchronous_checkpoint_stops_it_for_the_copy_alone():
    saved = found({"checkpoint": {"bytes": "100 GB", "mode": "async"}}).checkpoints
    assert saved.exposed_s == pytest.approx(100e9 / GPUS / PCIE)
    assert saved.write_s == pytest.approx(100e9 / (4 * 25e9 * PAYLOAD), rel=1e-3)
    assert saved.slowdown == 1.0


def test_writing_in_the_background_slows_steps_on_a_shared_network():
    """16 messages share their leaf's two uplinks with what its two servers write: the quarter of them, since the ports
    of storage hold all to that, for as long as there is something to write."""
    saved = found({"checkpoint": {"bytes": "10 TB", "mode": "async"}}, SHARED, HAND_ON, **NARROW).checkpoints
    assert saved.slowdown == pytest.approx(4 / 3, rel=0.02)


def test_a_checkpoint_is_not_begun_before_the_last_is_written():
    saved = found({"checkpoint": {"bytes": "10 TB", "mode": "async", "every": "1 s"}}).checkpoints
    assert saved.every_s == pytest.approx(10e12 / (4 * 25e9 * PAYLOAD), rel=1e-3)


def test_the_best_interval_is_a_step_at_least():
    saved = found({"checkpoint": {"bytes": "1 MB", "mode": "async"}, "reliability": {"gpu_mtbf": "1 h"}}).checkpoints
    assert (saved.every_s, saved.steps) == (pytest.approx(1.0), pytest.approx(1.0))


def test_failures_are_counted_by_gpu_and_by_server():
    around = {
        "checkpoint": {"bytes": "1 GB"},
        "reliability": {"gpu_mtbf": "64000 h", "server_mtbf": "8000 h", "restart": "0 s"},
    }
    saved = found(around).checkpoints
    assert saved.mtbf_s == pytest.approx(500 * 3600)
    assert saved.failures_a_month == pytest.approx(730.5 / 500)


def test_gpu_hours_add_up_to_a_month_of_all_gpus():
    path = found({"data": {"samples": 16000, "bytes": "10 MB"}, "checkpoint": {"bytes": "5 TB"}})
    hours = path.gpu_hours_a_month
    assert sum(astuple(hours)) == pytest.approx(GPUS * 730.5)
    assert hours.compute > hours.data > 0 == hours.network


def test_llama_3_s_failures_leave_more_than_nine_tenths_of_the_time():
    """Over 90 % effective training time on 16,384 GPUs (arXiv 2407.21783), with checkpoints of 14 bytes for each of 406
    billion parameters, over storage of 2 TB/s: a failure every 3.1 hours."""
    around = {
        "checkpoint": {"bytes": "5.68 TB", "write_rate": "2000 Gb/s"},  # of each of 8 servers
        "reliability": {"gpu_mtbf": f"{16384 * 54 * 24 / 419 / 256:.4f} h"},  # on 64 GPUs as often as on 16,384
    }
    saved = found(around, frontend=None).checkpoints
    assert saved.mtbf_s / 3600 == pytest.approx(54 * 24 / 419, rel=1e-3)
    assert saved.write_s == pytest.approx(2.84)
    assert saved.goodput > 0.9


def test_a_job_that_fails_before_its_first_checkpoint_is_told_to_get_nowhere():
    failing = {"checkpoint": {"bytes": "1 TB"}, "reliability": {"gpu_mtbf": "1 min"}}
    (only,) = run(spec.from_mapping(values(failing, APART))).rows
    assert only.data_path.checkpoints.goodput == pytest.approx(0, abs=1e-9)
    (told,) = pace.sentences([only])
    assert told.endswith("it fails again before it gets from one checkpoint to the next.")


def test_gpus_that_only_compute_are_never_idle():
    work = [{"name": "work", "compute": "300 ms"}]  # three tenths of a second are no sum of powers of two
    only = row({}, None, work)
    assert (only.gpu_idle_share, only.cost.idle_gpu_hours_per_day) == (0, 0)
    assert row({"data": IMAGES}, operations=work).gpu_idle_share >= 0


def test_results_have_it_in_json_and_in_columns():
    study = spec.from_mapping(values({"data": IMAGES, "checkpoint": {"bytes": "1 TB"}}, APART))
    result = run(study)
    (told,) = to_json(result)["results"]
    assert told["data_path"]["limited_by"] == "compute"
    table = to_table(result)
    assert table["path_storage_s"][0] == told["data_path"]["stages"][0]["seconds"]
    assert table["path_goodput"][0] == told["data_path"]["checkpoints"]["goodput"]
    assert table["path_lost_work_gpu_hours_a_month"][0] > 0


def test_a_workload_without_any_of_it_has_no_path():
    assert row({}).data_path is None


def test_its_keys_are_swept_as_all_others_are():
    study = spec.from_mapping(values({"data": {**IMAGES, "cpu": ["10 ms", "20 ms"], "workers": 10}}, APART))
    paths = [each.data_path for each in run(study).rows]
    assert [seconds(path)["preprocessing"] for path in paths] == pytest.approx([1.0, 2.0])


REFUSED = [
    ({"data": {"bytes": "1 MB"}}, APART, "data needs its 'samples'"),
    ({"data": {"samples": 8}}, APART, "data needs its 'bytes'"),
    ({"checkpoint": {"every": "1 h"}}, APART, "checkpoint needs its 'bytes'"),
    ({"data": {**IMAGES, "cpu": "1 ms"}}, APART, "on how many cores of each server, with workers: 64"),
    ({"checkpoint": {"bytes": "1 TB", "every": "often"}}, APART, "or steps, as in 500 steps, or optimal"),
    ({"checkpoint": {"bytes": "1 TB", "every": "0 steps"}}, APART, "'0 steps': steps are a whole number from 1"),
    ({"checkpoint": {"bytes": "1 TB", "mode": "asink"}}, APART, "did you mean 'async'"),
    ({"reliability": {"restart": "1 min"}}, APART, "goes on from a checkpoint"),
    ({"data": IMAGES}, None, "or say what a server reads elsewhere, with read_rate"),
    ({"checkpoint": {"bytes": "1 TB"}}, None, "or say what a server writes elsewhere, with write_rate"),
]


@pytest.mark.parametrize(("around", "frontend", "message"), REFUSED)
def test_what_cannot_be_is_refused(around, frontend, message):
    with pytest.raises(spec.StudyError) as refused:
        run(spec.from_mapping(values(around, frontend)))
    assert message in str(refused.value)


def test_packets_are_refused_where_storage_shares_their_network():
    with pytest.raises(spec.StudyError, match="which packets know nothing of"):
        run(spec.from_mapping({**values({"data": IMAGES}, SHARED), "fidelity": "packet"}))


def test_by_packets_storage_apart_is_run_in_fluid():
    message = [{"name": "hand-on", "send_recv": {"pairs": [[0, 8]]}, "bytes": "1 MB"}]
    around = {"data": {**IMAGES, "bytes": "10 MB"}}
    (only,) = run(spec.from_mapping({**values(around, APART, message), "fidelity": "packet", "seeds": 1})).rows
    assert seconds(only.data_path)["storage"] == pytest.approx(READ_S, rel=1e-3)


LLAMA = {
    "kind": "training",
    "model": "llama3-8b",
    "sequence": 8192,
    "global_batch": 64,
    "parallelism": {"tensor": 8, "sharding": "zero1"},
}


def trained(around: dict[str, Any]) -> Any:
    (only,) = run(spec.from_mapping({**values({}, APART), "workloads": {"job": {**LLAMA, **around}}})).rows
    return only


def test_a_training_job_knows_its_batch_and_its_checkpoint():
    """64 sequences of 8,192 token ids in 4 bytes, a vocabulary of 128,256; 14 bytes for each of 8.03 billion."""
    path = trained({"data": {}, "checkpoint": {}}).data_path
    assert seconds(path)["copy to GPU"] == pytest.approx(64 * 8192 * 4 / GPUS / PCIE)
    assert path.checkpoints.bytes_per_server == pytest.approx(14 * 8.03e9 / SERVERS, rel=1e-3)


def test_what_a_training_job_states_itself_stands():
    path = trained({"data": {"samples": 640, "bytes": "1 MB"}, "checkpoint": {"bytes": "8 GB"}}).data_path
    assert seconds(path)["copy to GPU"] == pytest.approx(640e6 / GPUS / PCIE)
    assert path.checkpoints.bytes_per_server == 1e9


def test_the_network_s_gpu_hours_of_a_training_job_are_its_exposed_communication():
    row = trained({"data": {}})
    hours = row.data_path.gpu_hours_a_month
    exposed_s = sum(row.training.exposed_s.values())
    assert hours.network / (hours.network + hours.compute) == pytest.approx(exposed_s / row.step_s)


def test_bubbles_of_a_pipeline_are_told_apart():
    row = trained({"data": {}, "parallelism": {"tensor": 8, "pipeline": 4}, "memory": "ignore"})
    hours = row.data_path.gpu_hours_a_month
    assert hours.bubbles / sum(astuple(hours)) == pytest.approx(row.training.bubble_s / row.step_s)


def gains(around: dict[str, Any], frontend: Any = APART) -> dict[str, float]:
    study = spec.from_mapping(values(around, frontend))
    return {each.resource: each.gain for each in sensitivity(study, "it", "job").gains}


def test_more_storage_is_what_a_job_gains_from_that_storage_holds():
    found = gains({"data": {"samples": 16000, "bytes": "10 MB"}})
    assert found["links of front-end and storage NICs"] == pytest.approx(1 - 1 / 1.1, rel=1e-3)
    assert found["GPU compute"] == pytest.approx(0.0, abs=1e-9)


def test_more_cores_are_what_a_job_gains_from_that_preprocessing_holds():
    found = gains({"data": {**IMAGES, "cpu": "200 ms", "workers": 100}})
    assert found["CPU cores that prepare samples"] == pytest.approx(1 - 1 / 1.1)
    assert found["links of front-end and storage NICs"] == pytest.approx(0.0, abs=1e-9)


def test_a_server_s_faster_disks_help_a_job_that_reads_from_them():
    found = gains({"data": {**IMAGES, "read_rate": "4 Gb/s"}}, frontend=None)
    assert found["what a server reads elsewhere"] == pytest.approx(1 - 1 / 1.1)


def test_a_mix_says_that_it_leaves_data_out():
    written = values({"data": IMAGES}, APART)
    mixes = {"busy": {"jobs": [{"workload": "job", "servers": 4}]}}
    (told,) = run(spec.from_mapping({**written, "mixes": mixes})).warnings
    assert told == "mix busy: data and checkpoints of job are left out beside other jobs"


def test_a_job_that_outgrows_its_storage_scales_no_further():
    """Read at 8 servers in two thirds of the step, at 16 in four thirds, which then sets the pace."""
    around = {"data": {"samples": 8000, "bytes": f"{4 * 25e9 * PAYLOAD * 2 / 3 / 8000:.0f} B"}}
    found = scaling(spec.from_mapping(values(around, APART)), "it", "job", gpus=(64, 128))
    smaller, larger = found.curves[0].sizes
    assert (smaller.step_s, larger.step_s) == (pytest.approx(1.0), pytest.approx(4 / 3, rel=1e-3))
    assert larger.bottleneck == "storage"


def test_strong_scaling_keeps_the_batch_that_storage_delivers():
    around = {"data": {"samples": 8000, "bytes": f"{4 * 25e9 * PAYLOAD * 2 / 3 / 8000:.0f} B"}}
    found = scaling(spec.from_mapping(values(around, APART)), "it", "job", gpus=(64, 128), is_strong=True)
    assert [size.step_s for size in found.curves[0].sizes] == pytest.approx([1.0, 2 / 3], rel=1e-3)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("frontend", [APART, SHARED])
def test_a_step_that_takes_no_time_can_be_saved_too(mode, frontend):
    nothing = [{"name": "nothing", "compute": "0 s"}]
    path = found({"checkpoint": {"bytes": "1 TB", "mode": mode}}, frontend, nothing)
    assert path.pace_s == 0.0
    assert 0.9 < path.checkpoints.goodput < 1.0


def test_mixes_that_leave_data_out_need_no_storage_for_it():
    mixes = {"busy": {"jobs": [{"workload": "job", "servers": 4}]}}
    (job,) = run(spec.from_mapping({**values({"data": IMAGES}, None), "mixes": mixes}), where="mix=busy").jobs
    assert job.step_s == pytest.approx(1.0)


def test_steps_that_count_in_a_day_are_goodput_over_pace():
    path = found({"data": {"samples": 16000, "bytes": "10 MB"}, "checkpoint": {"bytes": "5 TB"}})
    assert path.steps_a_day == pytest.approx(86400 * path.checkpoints.goodput / path.pace_s)
    assert found({"data": IMAGES}).steps_a_day == pytest.approx(86400)
