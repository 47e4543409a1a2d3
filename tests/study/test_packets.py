"""Studies by packets: held against fluid where nothing competes, and refused where packets cannot do it."""

import copy
import dataclasses
import json

import numpy as np
import pytest

from eastwest import spec
from eastwest.errors import InputError
from eastwest.fabric import write_routes
from eastwest.spec import StudyError
from eastwest.study import packets, routes, run, to_json, to_table

STUDY = {
    "name": "packets",
    "fidelity": "packet",
    "seeds": 1,
    "clusters": {"pod": {"server": "hgx-h100", "servers": 4}},
    "fabrics": {
        "one": {
            "shape": "rail-optimized",
            "servers_per_unit": 2,
            "technology": "rocev2",
            "link": "400 Gb/s",
            "switch": "sn5400",
            "balancing": "spray",
        },
    },
    "workloads": {"job": {"kind": "operations", "operations": []}},
}

SINGLE_SWITCH = {"shape": "single-switch", "technology": "rocev2", "link": "400 Gb/s", "switch": "sn5400"}
ALL_TO_ALL = {"name": "exchange", "collective": "all-to-all", "bytes": "64 MiB"}
ALL_REDUCE = {"name": "gradients", "collective": "all-reduce", "bytes": "16 MiB"}


def study(*operations, fabric=None, **changes):
    values = copy.deepcopy(STUDY) | changes
    values["fabrics"]["one"] = values["fabrics"]["one"] | (fabric or {})
    values["workloads"]["job"]["operations"] = list(operations)
    return spec.from_mapping(values)


def by(fidelity, given):
    (row,) = run(given.model_copy(update={"fidelity": fidelity})).rows
    return row


@pytest.mark.parametrize(
    "operation",
    [
        # so many bytes that latency is a small part: fluid adds it to the time of the bytes, packets overlap it
        pytest.param({**ALL_REDUCE, "bytes": "1 GiB", "channels": 8}, id="rail-ring"),
        pytest.param({**ALL_REDUCE, "channels": 8, "bytes": "256 MiB", "algorithm": "tree"}, id="tree"),
        pytest.param({**ALL_REDUCE, "bytes": "64 MiB", "algorithm": "hierarchical-staged"}, id="staged"),
        pytest.param({**ALL_REDUCE, "bytes": "256 MiB", "algorithm": "hierarchical-pipelined"}, id="pipelined"),
        pytest.param(ALL_TO_ALL, id="all-to-all"),
        pytest.param({"name": "shift", "send_recv": {"shift": 8}, "bytes": "64 MiB"}, id="send-recv"),
    ],
)
def test_uncontended_on_a_sprayed_non_blocking_fabric_packets_take_what_fluid_says(operation):
    given = study(operation)
    assert by("packet", given).step_s == pytest.approx(by("fluid", given).step_s, rel=0.05)


@pytest.mark.parametrize(
    "operation", [{**ALL_REDUCE, "algorithm": "ring", "channels": 1, "group": {"size": 4, "stride": 8}}, ALL_TO_ALL]
)
def test_on_a_single_switch_packets_take_what_fluid_says(operation):
    values = copy.deepcopy(STUDY)
    values["fabrics"]["one"] = SINGLE_SWITCH
    values["workloads"]["job"]["operations"] = [operation]
    given = spec.from_mapping(values)
    assert by("packet", given).step_s == pytest.approx(by("fluid", given).step_s, rel=0.05)


@pytest.mark.parametrize(
    ("nic", "fabric"),
    [
        ("pollara-400", {"technology": "ultra-ethernet", "balancing": "default", "switch": "tomahawk5-64x800g"}),
        ("connectx-8", {"technology": "mrc", "balancing": "default", "switch": "mrc-64x800g", "planes": 2}),
        ("connectx-7", {"technology": "infiniband", "balancing": "default", "switch": "qm9700"}),
    ],
)
def test_each_technology_carries_an_all_to_all_in_about_the_time_of_fluid(nic, fabric):
    values = {"clusters": {"pod": {"server": "hgx-h100", "servers": 4, "nic": nic}}}
    given = study(ALL_TO_ALL, fabric=fabric, **values)
    assert by("packet", given).step_s == pytest.approx(by("fluid", given).step_s, rel=0.05)


def test_overlapping_compute_and_two_operations_take_what_fluid_says():
    operations = [
        {"name": "forward", "compute": "1 ms"},
        {**ALL_TO_ALL, "after": ["forward"]},
        {"name": "backward", "compute": "2 ms", "after": ["forward"]},
        {"name": "shift", "send_recv": {"shift": 8}, "bytes": "16 MiB", "after": ["exchange"]},
    ]
    found, fluid = (by(fidelity, study(*operations)) for fidelity in ("packet", "fluid"))
    assert found.step_s == pytest.approx(fluid.step_s, rel=0.05)
    assert found.compute_s == pytest.approx(fluid.compute_s)
    assert found.communication_s == pytest.approx(fluid.communication_s, rel=0.05)


def test_links_carry_the_bytes_that_fluid_puts_on_them_and_answers_besides():
    found, fluid = (by(fidelity, study(ALL_TO_ALL)) for fidelity in ("packet", "fluid"))
    for here, there in zip(found.tiers, fluid.tiers, strict=True):
        # an answer of 82 B to every fourth packet of 4,178 B, over a time that may be 5 % longer
        assert here.mean == pytest.approx(there.mean, rel=0.05, abs=1e-9), here.tier


def test_messages_are_those_of_the_schedule_and_all_packets_arrive():
    row = by("packet", study(ALL_TO_ALL))
    found = row.packets
    # 32 GPUs send to 24 others each by 4 messages of 512 KiB: 64 MiB / 32 is 2 MiB
    assert found.messages == 32 * 24 * 4
    assert found.packets == found.delivered == found.messages * 128
    assert found.median_s <= found.p99_s <= found.max_s
    assert found.tail == found.p99_s / found.median_s >= 1


def test_a_ring_ahead_of_its_ideal_is_no_faster_than_its_bytes_and_is_told():
    # 32 ranks, so that each of 8 channels sends 2 * 31/32 of its eighth over a NIC of 400 Gb/s
    result = run(study({**ALL_REDUCE, "bytes": "100 MB"}))
    (row,) = result.rows
    assert 2 * 31 / 32 * 100e6 / 8 / (50e9 * 4096 / 4178) < row.communication_s < row.ideal_communication_s
    assert row.closeness == pytest.approx(row.ideal_communication_s / row.communication_s)
    (told,) = [note for note in result.notes if "less time than ideal says" in note]
    assert told.startswith("job on one: packets")
    assert "docs/engine.md" in told


def test_packets_that_are_not_ahead_of_the_ideal_are_not_told_to_be():
    result = run(study(ALL_TO_ALL))
    assert result.rows[0].closeness < 1.0
    assert not any("ideal" in note for note in result.notes)


def test_the_tail_of_messages_and_counts_are_in_json_and_table():
    result = run(study(ALL_TO_ALL))
    told = to_json(result)["results"][0]["packets"]
    assert told["tail"] == pytest.approx(told["p99_s"] / told["median_s"])
    assert {"messages", "drops", "trims", "marks", "retransmits", "pauses"} <= set(told)
    assert to_table(result)["packets_messages"].to_list() == [told["messages"]]
    assert any("by packets: of 3,072 messages" in note for note in result.notes)


def test_the_distribution_of_messages_and_the_worst_ports_are_in_json_alone():
    result = run(study(ALL_TO_ALL))
    told = to_json(result)["results"][0]["packets"]
    percentages, times_s = zip(*told["percentiles_s"], strict=True)
    assert (percentages[0], percentages[-1]) == (0, 100)
    assert list(times_s) == sorted(times_s)
    assert (times_s[percentages.index(50)], times_s[-1]) == (told["median_s"], told["max_s"])
    deepest, paused = told["deepest_queues"], told["longest_paused"]
    assert deepest[0]["deepest_queue_bytes"] == told["deepest_queue_bytes"]
    assert sum(port["paused_s"] for port in paused) <= told["paused_s"]
    assert all(" > " in port["port"] for port in (*deepest, *paused))
    assert not any(column.startswith(("packets_percentiles", "packets_longest")) for column in to_table(result).columns)


def test_flows_that_hash_onto_one_link_take_longer_than_sprayed_ones():
    hashed = by("packet", study(ALL_TO_ALL, fabric={"balancing": "ecmp"}))
    sprayed = by("packet", study(ALL_TO_ALL))
    assert hashed.step_s > 1.05 * sprayed.step_s


@pytest.mark.parametrize("balancing", ["wcmp", "flowlet"])
def test_weighted_and_flowlet_switching_carry_a_study(balancing):
    found = by("packet", study(ALL_TO_ALL, fabric={"balancing": balancing}))
    assert found.packets.drops == 0
    # equal links: as good as hashing, which the sprayed fabric is better than
    assert found.step_s > by("packet", study(ALL_TO_ALL)).step_s


def test_adaptive_switches_look_as_far_as_is_said():
    fabric = {
        "balancing": "adaptive",
        "failures": [{"link": ["leaf-u1-r0", "spine-0"], "rate": "100 Gb/s"}],
        "packets": {"switch": {"adaptive": ["shortest-queue", "least-congested"]}},
    }
    local, remote = (row for row in run(study(ALL_TO_ALL, fabric=fabric)).rows if row.failures)
    assert remote.packets != local.packets
    assert remote.step_s == pytest.approx(local.step_s, rel=0.05)  # pauses tell the switches before of the slow cable


def test_a_straggler_makes_every_step_of_a_ring_wait():
    ring = {**ALL_REDUCE, "algorithm": "ring", "channels": 1, "group": {"size": 4, "stride": 8}}
    late = {"packets": {"events": ["straggler server-0/nic-0 by 20 us"]}}
    plain, slow = (by("packet", study(ring, fabric=fabric)).step_s for fabric in ({}, late))
    # what a ring passes on comes through the straggler, whose messages are late
    assert slow > plain + 20e-6


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("lose server-0/nic-0 at 10 us", "a job that loses a NIC ends"),
        ("burst 4 1 MB to server-0/nic-0 at 10 us", "extra flows are for eastwest simulate alone"),
    ],
)
def test_events_of_flows_are_refused_with_their_line(event, why):
    with pytest.raises(StudyError, match=why):
        run(study(ALL_TO_ALL, fabric={"packets": {"events": [event]}}))


def test_what_messages_cost_their_hosts_lengthens_a_step():
    costly = {"packets": {"nic": {"message_overhead": "2 us", "completion_overhead": "2 us"}}}
    plain, slow = (by("packet", study(ALL_REDUCE, fabric=fabric)).step_s for fabric in ({}, costly))
    assert slow > plain + 4e-6


def test_what_packets_states_reaches_the_run():
    marks = {"from": "20 kB", "to": "40 kB"}
    stated = {"transport": {"payload": "2 KiB", "dcqcn": "paper"}, "switch": {"marks": marks}}
    plain, found = (by("packet", study(ALL_TO_ALL, fabric=fabric)).packets for fabric in ({}, {"packets": stated}))
    assert found.packets == 2 * plain.packets  # of half the payload
    assert (plain.marks, plain.messages) == (0, found.messages)
    assert found.marks > 0


def test_settings_are_swept_and_told_in_columns():
    sizes = {"packets": {"transport": {"payload": ["1 KiB", "4 KiB"]}}}
    result = run(study(ALL_TO_ALL, fabric=sizes))
    table = to_table(result).sort("packets.transport.payload")
    assert table["packets.transport.payload"].to_list() == [1024, 4096]
    first, second = table["packets_packets"].to_list()
    assert first == 4 * second


def test_the_same_study_gives_the_same_result():
    given = study(ALL_TO_ALL, fabric={"balancing": "ecmp"}, seeds=2)
    first, second = (run(given).rows[0] for _ in range(2))
    assert first == second


def test_without_seeds_few_are_drawn():
    values = {name: value for name, value in STUDY.items() if name != "seeds"}
    assert (
        packets.draws(
            spec.from_mapping(values | {"workloads": {"job": {"kind": "operations", "operations": [ALL_REDUCE]}}})
        )
        == 3
    )
    assert packets.draws(study(ALL_REDUCE, seeds=7)) == 7


def test_exchanges_inside_a_server_send_no_packets():
    row = by("packet", study({**ALL_REDUCE, "group": 8}))
    assert row.packets.messages == row.packets.packets == 0
    assert to_json(run(study({**ALL_REDUCE, "group": 8})))["results"][0]["packets"]["median_s"] is None


@pytest.mark.parametrize(
    ("fabric", "said"),
    [
        ({"balancing": "source"}, "rocev2 knows ecmp, wcmp, flowlet, spray, adaptive, pinned there, not source"),
        ({"balancing": "ecmp", "hash_seeds": "shared"}, "a seed of its own"),
    ],
)
def test_what_packets_cannot_do_is_refused(fabric, said):
    with pytest.raises(StudyError, match=said):
        run(study(ALL_REDUCE, fabric=fabric))


INFINIBAND = {"technology": "infiniband", "switch": "qm9700"}


def test_on_infiniband_ports_wait_for_credits_where_flows_meet_and_nothing_is_dropped():
    found = by("packet", study(ALL_TO_ALL, fabric={**INFINIBAND, "balancing": "ecmp"})).packets
    assert found.drops == found.retransmits == found.marks == 0
    assert found.pauses > 0
    assert found.paused_s > 0


def tabled(folder, balancing, **columns):
    """A study of a shift between two units, whose routes are a table of its own, changed in some columns."""
    values = copy.deepcopy(STUDY)
    values["fabrics"]["one"] |= {**INFINIBAND, "balancing": balancing}
    shift = {"name": "shift", "send_recv": {"shift": 16}, "bytes": "4 MiB"}
    values["workloads"]["job"]["operations"] = [shift]
    path = folder / "study.yaml"
    path.write_text(json.dumps(values))
    built, tables = routes(spec.load(path), "one")
    write_routes(
        dataclasses.replace(tables, **{name: change(tables) for name, change in columns.items()}),
        built,
        folder / "own.csv",
    )
    values["fabrics"]["one"] |= {"routes": "own.csv", "balancing": "ecmp"}
    path.write_text(json.dumps(values))
    return spec.load(path)


def test_packets_take_the_tables_of_a_file(tmp_path):
    given = tabled(tmp_path, "pinned")
    pinned = study(
        {"name": "shift", "send_recv": {"shift": 16}, "bytes": "4 MiB"}, fabric={**INFINIBAND, "balancing": "pinned"}
    )
    # of links that lead to one switch a table may hold another, with the same time
    assert by("packet", given).step_s == pytest.approx(by("packet", pinned).step_s, rel=1e-3)
    assert by("packet", given).step_s == pytest.approx(by("fluid", given).step_s, rel=0.05)


def test_tables_whose_weights_differ_are_refused(tmp_path):
    given = tabled(tmp_path, "spray", weight=lambda tables: 1.0 + np.arange(len(tables.weight)) % 2)
    with pytest.raises(InputError, match="different weights, which packets ignore"):
        run(given)


def test_sharp_is_refused():
    asked = {**ALL_REDUCE, "algorithm": "sharp"}
    with pytest.raises(StudyError, match="operation 'gradients': packets are not added up in switches"):
        run(study(asked, fabric={"technology": "infiniband", "switch": "qm9700", "balancing": "adaptive"}))


def test_more_packets_than_end_in_reasonable_time_are_refused():
    with pytest.raises(StudyError, match=r"million packet-hops, and 2000 million are possible: take fewer bytes"):
        run(study({**ALL_TO_ALL, "bytes": "1 TB"}))


def test_timelines_and_mixes_are_refused():
    with pytest.raises(InputError, match="keep no timeline"):
        run(study(ALL_REDUCE), is_timed=True)
    mixes = {"both": {"jobs": [{"workload": "job", "servers": 2}, {"workload": "job", "servers": 2}]}}
    with pytest.raises(StudyError, match="mix 'both' cannot be run by packets"):
        run(study(ALL_REDUCE, mixes=mixes))


STRUCK = {"events": ["slow server-0/nic-0 leaf-u0-r0 to 100 Gb/s at 200 us for 2 ms"]}


SHIFT = {"name": "shift", "send_recv": {"pairs": [[0, 8]]}, "bytes": "64 MiB"}
LINK = "server-0/nic-0 leaf-u0-r0"


def test_a_nic_at_a_quarter_of_its_rate_takes_four_times_as_long():
    slow = {"packets": {"events": [f"slow {LINK} to 100 Gb/s at 0 s"]}}
    row = by("packet", study(SHIFT, fabric=slow))
    assert row.slowdown == pytest.approx(4, rel=0.01)
    assert row.events == (f"slow {LINK} to 100 Gb/s at 0 s",)


def test_half_the_rate_for_a_while_costs_half_of_that_while():
    slow = {"packets": {"events": [f"slow {LINK} to 200 Gb/s at 100 us for 600 us"]}}
    row = by("packet", study(SHIFT, fabric=slow))
    assert row.step_s - row.step_s / row.slowdown == pytest.approx(300e-6, rel=0.02)


def test_a_link_that_is_down_for_a_while_costs_that_while():
    down = {"packets": {"transport": {"timeout": "50 us"}, "events": [f"down {LINK} at 200 us for 500 us"]}}
    row = by("packet", study(SHIFT, fabric=down))
    # at most a time-out more, and what was under way
    assert 500e-6 <= row.step_s - row.step_s / row.slowdown <= 500e-6 + 60e-6


def test_what_goes_wrong_after_the_step_changes_nothing():
    late = {"packets": {"events": ["down spine-0 at 1 min"]}}
    row = by("packet", study(ALL_TO_ALL, fabric=late))
    assert row.slowdown == 1.0


def test_the_step_with_and_without_what_goes_wrong_is_told():
    result = run(study(ALL_TO_ALL, fabric={"packets": STRUCK}))
    (row,) = result.rows
    said = f"job on one, {STRUCK['events'][0]}: the step takes {row.slowdown:.3g} times as long as without."
    assert said in result.notes
    assert to_json(result)["results"][0]["events"] == tuple(STRUCK["events"])


def test_other_fidelities_take_no_notice_of_what_goes_wrong():
    row = by("fluid", study(ALL_TO_ALL, fabric={"packets": STRUCK}))
    assert (row.events, row.slowdown) == ((), None)


def test_what_goes_wrong_with_parts_that_are_not_there_is_told_at_its_line():
    wrong = {"packets": {"events": ["down spine-99 at 1 us"]}}
    with pytest.raises(StudyError, match="fabric 'one': 'down spine-99 at 1 us': there is no node 'spine-99'"):
        run(study(ALL_TO_ALL, fabric=wrong))


def test_a_step_that_waits_for_a_path_for_ever_is_told_as_stopped():
    lost = {"packets": {"events": ["down leaf-u0-r0 at 10 us"], "patience": "100 ms"}}
    values = study(ALL_TO_ALL, fabric=lost)
    with pytest.raises(StudyError, match="packets are stuck"):
        run(values)
