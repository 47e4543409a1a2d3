"""Storage in a study: time by arithmetic, what it shares with training and what not, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from eastwest import spec
from eastwest.fabric import write_routes
from eastwest.study import build_fabric, routes, run, sensitivity
from eastwest.study.sketch import sketch

PAYLOAD = 4096 / 4178
"""Of a full RoCEv2 packet."""
SERVERS = 8
APART = {"link": "200 Gb/s", "switch": "sn5400", "storage": {"servers": 2}}
SHARED = {"network": "shared", "storage": {"servers": 2}}


def study(operations: list[dict[str, Any]], frontend: dict[str, Any] | None, **changes: Any) -> spec.Study:
    fabric = {
        "shape": "leaf-spine",
        "servers_per_unit": 3,
        "technology": "rocev2",
        "link": "400 Gb/s",
        "switch": "sn5400",
        "balancing": "spray",
        **changes,
    }
    return spec.from_mapping(
        {
            "name": "storage",
            "tolerance": 0.0,
            "clusters": {"pod": {"server": "hgx-h100", "servers": SERVERS}},
            "fabrics": {"it": fabric if frontend is None else {**fabric, "frontend": frontend}},
            "workloads": {"job": {"kind": "operations", "operations": operations}},
        }
    )


def row(operations: list[dict[str, Any]], frontend: dict[str, Any] | None, **changes: Any) -> Any:
    (only,) = run(study(operations, frontend, **changes)).rows
    return only


READ = {"name": "load", "storage": {"read": "4 GB"}}
SUM = {"name": "sum", "collective": "all-reduce", "bytes": "1 GB", "algorithm": "ring", "channels": 8}


@pytest.mark.parametrize("way", ["read", "write"])
def test_servers_share_the_ports_of_storage(way: str) -> None:
    """8 servers of 4 GB through 2 x 2 ports of 200 Gb/s."""
    found = row([{"name": "it", "storage": {way: "4 GB"}}], APART)
    assert found.step_s == pytest.approx(SERVERS * 4e9 / (4 * 25e9 * PAYLOAD), rel=1e-3)
    assert found.bottleneck.where.startswith("storage NIC ports")
    assert found.bottleneck.utilisation == pytest.approx(1.0, rel=1e-2)
    assert "more servers or ports would help" in found.bottleneck.why
    assert found.exposed_s == pytest.approx(found.step_s)


def test_with_storage_enough_a_server_s_own_ports_hold_it() -> None:
    found = row([READ], {**APART, "storage": {"servers": 16}})
    assert found.step_s == pytest.approx(4e9 / (2 * 25e9 * PAYLOAD), rel=1e-3)
    assert found.bottleneck.where == "front-end NIC ports, access to server"


def test_an_oversubscribed_front_end_holds_it_at_its_uplinks() -> None:
    """Two access switches of 64 ports, one of them up: behind the first 8 servers with 4 NICs and 16 NICs of storage,
    behind the other 48 of storage, from which three quarters of what is read come."""
    narrow = {**APART, "oversubscription": 63, "breakout": 1, "storage": {"servers": 32}, "nics": 4}
    found = row([READ], narrow)
    assert found.step_s == pytest.approx(0.75 * SERVERS * 4e9 / (25e9 * PAYLOAD), rel=1e-3)
    assert found.bottleneck.where in ("aggregation to access links", "access to aggregation links")
    assert "each access has" in found.bottleneck.why


HAND_ON = {"name": "hand-on", "send_recv": {"pairs": [[rank, 16 + rank] for rank in range(16)]}, "bytes": "4 GB"}
SAVE = {"name": "save", "storage": {"write": "8 GB"}}
NARROW = {"servers_per_unit": 2, "oversubscription": 10}
"""Two uplinks on each leaf."""


def test_writing_on_a_shared_network_takes_what_training_then_lacks() -> None:
    """Of each leaf's 2 x 50 GB/s the 16 writes of its 2 servers get 25, since the 64 of all share the 100 into the leaf
    of storage; they end after 0.64 s, and the 16 messages, which had 75 so far, have 100 again."""
    alone, both = row([HAND_ON], SHARED, **NARROW), row([HAND_ON, SAVE], SHARED, **NARROW)
    payload_bytes_s = 100e9 * PAYLOAD
    assert alone.step_s == pytest.approx(64e9 / payload_bytes_s, rel=1e-3)
    assert row([SAVE], SHARED, **NARROW).step_s == pytest.approx(64e9 / payload_bytes_s, rel=1e-3)
    assert both.step_s == pytest.approx((64e9 + 0.64 * 25e9) / payload_bytes_s, rel=1e-3)


def test_writing_on_a_separate_network_leaves_training_alone() -> None:
    apart = {**APART, "storage": {"servers": 4}}
    assert row([SAVE], apart, **NARROW).step_s < 0.5
    both = row([HAND_ON, SAVE], apart, **NARROW)
    assert both.step_s == pytest.approx(row([HAND_ON], None, **NARROW).step_s, rel=1e-9)


def test_reading_hides_behind_compute_and_does_not_slow_it() -> None:
    slowed = study([{"name": "work", "compute": "1 s"}, READ], APART)
    assert run(slowed).rows[0].step_s == pytest.approx(1.0)


def test_reading_that_an_exchange_outlasts_is_not_what_holds_the_step_back() -> None:
    """Both begin with the step; a faster storage would end no sooner than the exchange does."""
    longer = {**SUM, "bytes": "40 GB"}
    assert row([longer, READ], APART).bottleneck.where == row([longer], APART).bottleneck.where
    assert row([SUM, READ], APART).bottleneck.where.startswith("storage NIC ports")


def test_a_step_waits_for_what_it_reads() -> None:
    found = row([READ, {"name": "work", "compute": "1 s", "after": ["load"]}], APART)
    assert found.step_s == pytest.approx(1.0 + row([READ], APART).step_s, rel=1e-6)


def test_jobs_of_a_mix_read_from_their_own_servers() -> None:
    data = study([READ], APART).written
    mixed = spec.from_mapping(
        {**data, "mixes": {"two": {"jobs": [{"workload": "job", "servers": 4}, {"workload": "job", "servers": 4}]}}}
    )
    jobs = run(mixed).jobs
    assert [job.slowdown for job in jobs] == pytest.approx([2.0, 2.0], rel=1e-3)
    assert {job.bottleneck.where.split(",")[0] for job in jobs} == {"storage NIC ports"}


def test_hashed_reading_takes_no_less_than_sprayed() -> None:
    sprayed = row([READ], APART).step_s
    assert row([READ], APART, balancing="ecmp").step_s >= sprayed * (1 - 1e-9)


def test_storage_that_a_fabric_lacks_is_told_at_the_operation() -> None:
    for frontend in (None, {"link": "200 Gb/s", "switch": "sn5400"}):
        with pytest.raises(spec.StudyError, match=r"operation 'load' needs storage, and fabric 'it' has none: give it"):
            run(study([SUM, READ], frontend))
    with pytest.raises(spec.StudyError, match="operation 'load' needs storage, and fabric 'it' has none"):
        sensitivity(study([READ], None), "it", "job")


def test_a_fabric_without_storage_runs_what_needs_none() -> None:
    data = study([READ], None).written
    both = spec.from_mapping(
        {**data, "workloads": {**data["workloads"], "other": {"kind": "operations", "operations": [SUM]}}}
    )
    (only,) = run(both, where="workload=other").rows
    assert only.step_s > 0


@pytest.mark.parametrize(
    ("frontend", "said"),
    [
        ({"link": "200 Gb/s"}, "a separate front-end network needs its 'switch'"),
        ({"switch": "sn5400"}, "a separate front-end network needs its 'link'"),
        ({**SHARED, "link": "200 Gb/s"}, "a shared network has the link of the fabric: leave it out"),
        ({**APART, "nic": "bluefield-9"}, "there is no NIC 'bluefield-9'; did you mean 'bluefield-3'?"),
        ({**APART, "swich": "sn5400"}, "unknown entry 'swich' in frontend of fabric 'it'; did you mean 'switch'?"),
        ({**APART, "storage": {"servers": 0}}, "must be at least 1, not 0"),
        ({**APART, "network": "sharde"}, "did you mean 'shared'?"),
    ],
)
def test_a_mistake_in_a_front_end_is_told(frontend: dict[str, Any], said: str) -> None:
    with pytest.raises(spec.StudyError) as told:
        study([READ], frontend)
    assert said in str(told.value)


def test_what_cannot_be_built_is_told_at_the_front_end() -> None:
    with pytest.raises(spec.StudyError, match="fabric 'it' cannot be built: the NIC bluefield-3 does not run at"):
        run(study([READ], {**APART, "link": "300 Gb/s"}))


@pytest.mark.parametrize("traffic", [{}, {"read": "1 GB", "write": "1 GB"}])
def test_an_operation_either_reads_or_writes(traffic: dict[str, str]) -> None:
    with pytest.raises(spec.StudyError, match="say either what each server reads or what it writes"):
        study([{"name": "it", "storage": traffic}], APART)


def test_what_is_left_of_storage_serves_once_a_nic_has_failed() -> None:
    """Three of four ports are left."""
    found = row([READ], APART, failures=[{"nic": "storage-1/nic-0"}])
    assert found.slowdown == pytest.approx(4 / 3, rel=1e-3)


def test_a_server_that_has_lost_a_nic_reads_all_of_its_bytes_by_the_other() -> None:
    asked = {**APART, "storage": {"servers": 16}}
    found = row([READ], asked, failures=[{"nic": "server-3/frontend-nic-1"}])
    assert found.slowdown == pytest.approx(2.0, rel=1e-3)


def test_a_job_whose_server_is_cut_off_from_storage_is_told() -> None:
    lost = [{"nic": f"server-3/frontend-nic-{nic}"} for nic in (0, 1)]
    result = run(study([READ], APART, failures=lost))
    assert not result.rows
    assert "operation 'load' has no path between servers and storage" in result.stopped[0].why


@pytest.mark.parametrize("balancing", ["ecmp", "pinned"])
def test_tables_from_a_file_lead_to_storage_as_those_that_were_written(balancing: str, tmp_path: Path) -> None:
    given = study([SUM, READ], APART, balancing=balancing)
    built, tables = routes(given, "it")
    write_routes(tables, built, tmp_path / "routes.csv")
    data = given.written
    own = {**data["fabrics"]["it"], "balancing": "ecmp", "routes": "routes.csv"}
    again = spec.from_mapping({**data, "fabrics": {"it": own}}, folder=tmp_path)
    assert run(again).rows[0].step_s == pytest.approx(run(given).rows[0].step_s, rel=1e-9)


def test_a_front_end_nic_that_cannot_take_packets_out_of_order_is_warned_of() -> None:
    (said,) = run(study([READ], {**APART, "nic": "connectx-4", "link": "100 Gb/s"})).warnings
    assert said.startswith("fabric it: spray delivers packets out of order, and connectx-4 cannot place them so")


def test_the_drawing_leaves_the_front_end_out() -> None:
    plain, both = (build_fabric(study([SUM], frontend), "it") for frontend in (None, APART))
    assert sketch(both) == sketch(plain)


@pytest.mark.parametrize(("way", "where"), [("read", "reading"), ("write", "writing")])
def test_disks_that_are_slower_than_their_ports_hold_it(way: str, where: str) -> None:
    """8 servers of 4 GB from or to 2 storage servers of 10 GB/s each."""
    slow = {**APART, "storage": {"servers": 2, way: "10 GB/s"}}
    found = row([{"name": "it", "storage": {way: "4 GB"}}], slow)
    assert found.step_s == pytest.approx(SERVERS * 4e9 / (2 * 10e9), rel=1e-3)
    assert found.bottleneck.where == f"disks of the storage servers, {where}"
    assert "faster disks would help" in found.bottleneck.why


def test_disks_hold_only_what_goes_their_way() -> None:
    slow = {**APART, "storage": {"servers": 2, "write": "10 GB/s"}}
    assert row([READ], slow).step_s == pytest.approx(row([READ], APART).step_s)


def test_faster_disks_are_what_a_step_held_by_them_gains_from() -> None:
    slow = {**APART, "storage": {"servers": 2, "read": "10 GB/s"}}
    gains = {each.resource: each.gain for each in sensitivity(study([READ], slow), "it", "job").gains}
    assert gains["disks of storage servers"] == pytest.approx(1 - 1 / 1.1, rel=1e-3)
    assert gains["links of front-end and storage NICs"] == pytest.approx(0.0, abs=1e-3)
