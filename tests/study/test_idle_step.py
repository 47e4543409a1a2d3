"""A step that takes no time: nobody waits in it, nothing holds it back, and no GPU hour is lost to it."""

from eastwest import spec
from eastwest.report.answer import answer
from eastwest.study import run


def test_a_step_without_work_leaves_no_gpu_idle() -> None:
    fabric = {"shape": "rail-optimized", "technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400"}
    result = run(
        spec.from_mapping(
            {
                "name": "still",
                "clusters": {"pod": {"server": "hgx-h100", "servers": 8}},
                "fabrics": {"one": fabric},
                "workloads": {"job": {"kind": "operations", "operations": [{"name": "it", "compute": "0 s"}]}},
            }
        )
    )
    (row,) = result.rows
    assert (row.step_s, row.gpu_idle_share, row.exposed_share) == (0.0, 0.0, 0.0)
    assert row.cost.idle_gpu_hours_per_day == 0.0
    assert row.bottleneck.where == "nothing"
    assert answer(result) == (
        "On one a training step takes no time: it has nothing to do.",
        "GPUs never wait for the network: a faster one would not shorten the step.",
    )
